"""Linear complementarity problems: find z with w = M z + q, 0 <= z, 0 <= w, z . w = 0.

>>> import lcp
>>> result = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
>>> result.status.name
'SOLVED'
"""

from lcp.errors import ProblemError, SolveError
from lcp.problem import LCP
from lcp.residuals import Residuals, residuals
from lcp.result import Attempt, Claim, Ray, Result
from lcp.solve import Solver, default_solver, solve
from lcp.solvers import ALL_SOLVERS, Lemke, Traits
from lcp.status import Status

__all__ = [
    "ALL_SOLVERS",
    "LCP",
    "Attempt",
    "Claim",
    "Lemke",
    "ProblemError",
    "Ray",
    "Residuals",
    "Result",
    "SolveError",
    "Solver",
    "Status",
    "Traits",
    "default_solver",
    "residuals",
    "solve",
]
