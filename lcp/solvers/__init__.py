"""The solvers, one per file. `ALL_SOLVERS` is the list that tests, tables and line-ups are derived from.

It holds the methods; `Fallback`, `Refined` and `Regularized` combine them and are not in it.
"""

from __future__ import annotations

from lcp.solvers.cvxpy import CVXPY
from lcp.solvers.enumeration import Enumeration
from lcp.solvers.fallback import Fallback
from lcp.solvers.lemke import Lemke
from lcp.solvers.osqp import OSQP
from lcp.solvers.refined import Refined
from lcp.solvers.regularized import Regularized
from lcp.traits import Traits

ALL_SOLVERS = (Lemke, OSQP, CVXPY, Enumeration)

__all__ = [
    "ALL_SOLVERS",
    "CVXPY",
    "OSQP",
    "Enumeration",
    "Fallback",
    "Lemke",
    "Refined",
    "Regularized",
    "Traits",
]
