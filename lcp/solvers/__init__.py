"""The solvers. Tests, tables and solver sequences are derived from the tuple `ALL_SOLVERS`.

Its solvers need only the core dependencies. `OPTIONAL_SOLVERS` need packages that may not be installed, and then return
UNSUITABLE. `Cascade`, `Fallback`, `Refined`, `Regularized` and `BlockTriangular` combine solvers.
"""

from __future__ import annotations

from lcp.method import Traits
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.cascade import Cascade
from lcp.solvers.complementary_path import BoxLemke, LemkeHowson
from lcp.solvers.composed import BlockTriangular, Fallback, Refined, Regularized
from lcp.solvers.concave_minimization import ConcaveMinimization
from lcp.solvers.enumeration import Enumeration, Feasibility
from lcp.solvers.extended_lemke import ExtendedLemke
from lcp.solvers.first_order import APGD
from lcp.solvers.gauss_seidel import NonsmoothNonlinearCG, ProjectedGaussSeidel
from lcp.solvers.interior_point import InteriorPoint
from lcp.solvers.lemke import Lemke
from lcp.solvers.nonsmooth_newton import FischerNewton, MinMapNewton
from lcp.solvers.principal_pivoting import ActiveSetPivoting, CottleDantzig, Murty
from lcp.solvers.quadratic_codes import CVXPY, OSQP, PIQP, Clarabel, ProxQP

ALL_SOLVERS = (
    Lemke,
    ExtendedLemke,
    BoxLemke,
    LemkeHowson,
    ActiveSetPivoting,
    CottleDantzig,
    BlockPrincipalPivoting,
    Murty,
    ProjectedGaussSeidel,
    APGD,
    NonsmoothNonlinearCG,
    ConcaveMinimization,
    MinMapNewton,
    FischerNewton,
    InteriorPoint,
    OSQP,
    Clarabel,
    CVXPY,
    Enumeration,
)
OPTIONAL_SOLVERS = (PIQP, ProxQP)

__all__ = [
    "ALL_SOLVERS", "APGD", "CVXPY", "OPTIONAL_SOLVERS", "OSQP", "PIQP", "ActiveSetPivoting", "BlockPrincipalPivoting",
    "BlockTriangular", "BoxLemke", "Cascade", "Clarabel", "ConcaveMinimization", "CottleDantzig", "Enumeration",
    "ExtendedLemke", "Fallback", "Feasibility", "FischerNewton", "InteriorPoint", "Lemke", "LemkeHowson",
    "MinMapNewton", "Murty", "NonsmoothNonlinearCG", "ProjectedGaussSeidel", "ProxQP", "Refined", "Regularized",
    "Traits",
]  # fmt: skip
