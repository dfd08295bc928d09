"""Linear complementarity problems: find z with w = M z + q, 0 <= z, 0 <= w, z . w = 0.

Plain (`LCP`), mixed with equations (`MLCP`) and with bounds on both sides (`BoxLCP`); nonlinear (`NCP`, `MCP`); and
Coulomb friction with its exact cone (`FrictionProblem`, `GlobalFrictionProblem`).

>>> import lcp
>>> result = lcp.solve(lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
>>> result.status.name
'SOLVED'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lcp.conversions import (
    Conversion,
    HorizontalLCP,
    box_to_lcp,
    box_to_mlcp,
    coupled_to_box,
    horizontal_to_lcp,
    horizontal_to_mlcp,
    lcp_to_mlcp,
    mlcp_to_lcp,
)
from lcp.dispatch import Solver
from lcp.enumeration import EnumerationResult, MixedSolution, enumerate_solutions
from lcp.farkas import Farkas, infeasibility_proof
from lcp.friction.global_problem import FrictionReduction, GlobalFrictionProblem
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import (
    DEFAULT_FRICTION_TOLERANCE,
    FrictionAttempt,
    FrictionClaim,
    FrictionResiduals,
    FrictionResult,
)
from lcp.friction.residuals import measure as friction_residuals
from lcp.friction.solvers import (
    ADMM,
    ALL_FRICTION_SOLVERS,
    NSGS,
    ContactStrategies,
    SemismoothNewton,
)
from lcp.nonlinear.josephy_newton import JosephyNewton
from lcp.nonlinear.problem import MCP, NCP
from lcp.parametric import ParametricPath, parametric
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP
from lcp.reduction import Reduction, reduce
from lcp.residuals import Residuals, residuals
from lcp.result import (
    Attempt,
    Claim,
    MCPClaim,
    MCPResult,
    MLCPResult,
    Ray,
    Result,
    SolveError,
    Step,
    Trace,
    TraceRecorder,
)
from lcp.solve import FrictionSolver, default_friction_solver, default_solver, solve
from lcp.solvers import (
    ALL_SOLVERS,
    APGD,
    CVXPY,
    OPTIONAL_SOLVERS,
    OSQP,
    PIQP,
    ActiveSetPivoting,
    BlockPrincipalPivoting,
    BlockTriangular,
    BoxLemke,
    Cascade,
    Clarabel,
    ConcaveMinimization,
    CottleDantzig,
    Enumeration,
    ExtendedLemke,
    Fallback,
    Feasibility,
    FischerNewton,
    InteriorPoint,
    Lemke,
    LemkeHowson,
    MinMapNewton,
    Murty,
    NonsmoothNonlinearCG,
    ProjectedGaussSeidel,
    ProxQP,
    Refined,
    Regularized,
    Traits,
)
from lcp.status import DomainError, ProblemError, Status

if TYPE_CHECKING:
    from lcp.analysis.error_bound import ErrorBound, error_bound
    from lcp.analysis.sensitivity import Sensitivity, sensitivity
    from lcp.batch import BatchResult, solve_batch
    from lcp.branching import AllSolutions, BlockSolutions, all_solutions
    from lcp.matrix_classes import ClassVerdict, Counterexample, MatrixClasses, classify

__all__ = [
    "ADMM", "ALL_FRICTION_SOLVERS", "ALL_SOLVERS", "APGD", "CVXPY", "DEFAULT_FRICTION_TOLERANCE", "LCP", "MCP", "MLCP",
    "NCP", "NSGS", "OPTIONAL_SOLVERS", "OSQP", "PIQP", "ActiveSetPivoting", "AllSolutions", "Attempt", "BatchResult",
    "BlockPrincipalPivoting", "BlockSolutions", "BlockTriangular", "BoxLCP", "BoxLemke", "Cascade", "Claim", "Clarabel",
    "ClassVerdict", "ContactStrategies", "Conversion", "ConcaveMinimization", "CottleDantzig", "Counterexample",
    "CoupledBoxLCP", "DomainError",
    "EnumerationResult", "Enumeration", "ErrorBound", "ExtendedLemke", "Fallback", "Farkas", "Feasibility",
    "FischerNewton", "FrictionAttempt", "FrictionClaim", "FrictionProblem", "FrictionReduction", "FrictionResiduals",
    "FrictionResult", "FrictionSolver", "GlobalFrictionProblem", "HorizontalLCP", "InteriorPoint", "JosephyNewton",
    "Lemke", "LemkeHowson", "MCPClaim", "MCPResult", "MLCPResult", "MatrixClasses", "MinMapNewton", "MixedSolution",
    "Murty", "NonsmoothNonlinearCG", "ParametricPath", "ProblemError", "ProjectedGaussSeidel", "ProxQP", "Ray",
    "Reduction", "Refined", "Regularized", "Residuals", "Result", "SemismoothNewton", "Sensitivity", "SolveError",
    "Solver", "Status", "Step", "Trace", "TraceRecorder", "Traits", "all_solutions", "box_to_lcp", "box_to_mlcp",
    "classify", "coupled_to_box", "default_friction_solver", "default_solver", "enumerate_solutions", "error_bound",
    "friction_residuals", "horizontal_to_lcp", "horizontal_to_mlcp", "infeasibility_proof", "lcp_to_mlcp",
    "mlcp_to_lcp", "parametric", "reduce", "residuals", "sensitivity", "solve", "solve_batch",
]  # fmt: skip

# Functions that study one problem or many: imported on first use.
_HOME = {
    name: module
    for module, names in {
        "lcp.analysis.error_bound": ("ErrorBound", "error_bound"),
        "lcp.analysis.sensitivity": ("Sensitivity", "sensitivity"),
        "lcp.batch": ("BatchResult", "solve_batch"),
        "lcp.branching": ("AllSolutions", "BlockSolutions", "all_solutions"),
        "lcp.matrix_classes": ("MatrixClasses", "ClassVerdict", "Counterexample", "classify"),
    }.items()
    for name in names
}


# Names of Drake and Siconos that have other names here.
_FOREIGN = {
    "Drake's": {
        "Lemke": "MobyLcpSolver MobyLCPSolver SolveLcpLemke UnrevisedLemkeSolver",
        "Regularized": "SolveLcpLemkeRegularized",
        "residuals": "IsSolution ComputeZeroTolerance",
        "reduce": "MlcpToLcpData MlcpToLcp",
    },
    "Siconos'": {
        "LCP": "LinearComplementarityProblem",
        "MLCP": "MixedLinearComplementarityProblem",
        "BoxLCP": "RelayProblem AVI",
        "NCP": "NonlinearComplementarityProblem",
        "MCP": "MixedComplementarityProblem",
        "FrictionProblem": "FrictionContactProblem",
        "GlobalFrictionProblem": "GlobalFrictionContactProblem",
    },
}


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use."""
    if name not in _HOME:
        text = f"module {__name__!r} has no attribute {name!r}"
        for library, table in _FOREIGN.items():
            text += "".join(
                f": {library} {name} is lcp.{here} here" for here, theirs in table.items() if name in theirs.split()
            )
        raise AttributeError(text, name=name)
    value: object = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, without modules and imports."""
    return sorted(__all__)
