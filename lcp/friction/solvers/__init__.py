"""The friction solvers. `ALL_FRICTION_SOLVERS` is the list tests and tables are derived from."""

from __future__ import annotations

from lcp.friction.solvers.admm import ADMM
from lcp.friction.solvers.alart_curnier import SemismoothNewton
from lcp.friction.solvers.cascade import FrictionCascade
from lcp.friction.solvers.contact_attempts import ContactAttempts
from lcp.friction.solvers.nsgs import NSGS
from lcp.friction.solvers.proximal_point import ProximalPoint

ALL_FRICTION_SOLVERS = (NSGS, SemismoothNewton, ProximalPoint, ADMM, ContactAttempts)

__all__ = [
    "ADMM", "ALL_FRICTION_SOLVERS", "NSGS", "ContactAttempts", "FrictionCascade", "ProximalPoint", "SemismoothNewton",
]  # fmt: skip
