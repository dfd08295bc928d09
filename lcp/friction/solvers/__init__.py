"""The friction solvers, one per file. `ALL_FRICTION_SOLVERS` is the list tests and tables are derived from."""

from __future__ import annotations

from lcp.friction.solvers.admm import ADMM
from lcp.friction.solvers.cascade import FrictionCascade
from lcp.friction.solvers.contact_interior_point import ContactInteriorPoint
from lcp.friction.solvers.nsgs import NSGS
from lcp.friction.solvers.proximal_point import ProximalPoint
from lcp.friction.solvers.semismooth_newton import SemismoothNewton

ALL_FRICTION_SOLVERS = (NSGS, SemismoothNewton, ProximalPoint, ADMM, ContactInteriorPoint)

__all__ = [
    "ADMM",
    "ALL_FRICTION_SOLVERS",
    "NSGS",
    "ContactInteriorPoint",
    "FrictionCascade",
    "ProximalPoint",
    "SemismoothNewton",
]
