"""The friction solvers. Tests and tables are derived from the list `ALL_FRICTION_SOLVERS`."""

from __future__ import annotations

from lcp.friction.solvers.alart_curnier import SemismoothNewton
from lcp.friction.solvers.contact_strategies import ContactStrategies
from lcp.friction.solvers.first_order import ADMM, NSGS

ALL_FRICTION_SOLVERS = (ContactStrategies, NSGS, SemismoothNewton, ADMM)

__all__ = ["ADMM", "ALL_FRICTION_SOLVERS", "NSGS", "ContactStrategies", "SemismoothNewton"]
