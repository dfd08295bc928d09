"""CVXPY, a modelling layer over many QP codes, as an LCP solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.errors import ProblemError
from lcp.method import Request
from lcp.options import flag, positive
from lcp.problem import LCP
from lcp.result import Claim
from lcp.solvers.shared.quadratic import QPResult, QPSolverBase, QuadraticProgram
from lcp.traits import MONOTONE, Traits

# Added to the diagonal, which is near one.
_ROUNDING = 1e-12
_DEFAULT = "CLARABEL"
# Names of the tolerances and time limits of some engines. The others run with their defaults.
_TOLERANCES: dict[str, dict[str, float]] = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 20000, "polishing": False},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9},
    "PIQP": {"eps_abs": 1e-10, "eps_rel": 1e-10},
    "PROXQP": {"eps_abs": 1e-9},
}
_TIME_LIMITS = {"CLARABEL": "time_limit", "OSQP": "time_limit", "SCS": "time_limit_secs", "HIGHS": "time_limit"}


@dataclass(frozen=True)
class CVXPY(QPSolverBase):
    """Any QP code that CVXPY knows, on the QP of a positive semidefinite problem (Diamond and Boyd 2016).

    Other problems are UNSUITABLE. The problem is scaled before and the solution polished after, as in `OSQP`; a sparse
    M stays sparse, and bounds stay bounds.

    Parameters
    ----------
    engine
        Name of an installed solver of CVXPY for quadratic programs, such as CLARABEL, OSQP, SCS, HIGHS, PIQP, PROXQP;
        None for Clarabel, an interior-point method that is installed with CVXPY.
    polish
        Polish on the active set (see `Refined`).
    time_limit
        Seconds, for the engines CLARABEL, OSQP, SCS and HIGHS; the others have no limit, or another name for it.

    References
    ----------
    S. Diamond, S. Boyd, CVXPY: a Python-embedded modeling language for convex optimization, JMLR 17 (2016).
    """

    engine: str | None = None
    polish: bool = flag(True)
    time_limit: float = positive(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def __post_init__(self) -> None:
        """Refuse an engine that is not a name."""
        super().__post_init__()
        name: object = self.engine  # whatever the caller's types say
        if name is not None and not (isinstance(name, str) and name):
            raise ProblemError(f"CVXPY.engine must be the name of a solver or None, got {name!r}")

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        """Solve as the other QP codes.

        An engine that is not installed is a `ProblemError` that lists the installed ones.
        """
        import cvxpy

        if self._name() not in cvxpy.installed_solvers():
            installed = ", ".join(cvxpy.installed_solvers())
            raise ProblemError(f"CVXPY.engine = {self.engine!r} is not installed; there are: {installed}")
        return super()._claim(problem, request)

    def _name(self) -> str:
        return _DEFAULT if self.engine is None else self.engine.upper()

    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        import cvxpy
        from scipy import sparse

        n, name = program.c.shape[0], self._name()
        x = cvxpy.Variable(n)
        conditions = _between(x, program.lo, program.hi)
        if program.G is not None:
            A, b, C, low, high = program.split_rows()
            conditions += [A @ x == b] if A is not None else []
            conditions += _between(C @ x, low, high) if C is not None else []
        # The semidefiniteness was checked; rounding must not let CVXPY refuse it, nor break a factorisation.
        shift = sparse.eye_array(n, format="csc") if program.sparse else np.eye(n)
        P = program.P + _ROUNDING * shift
        objective = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(P)) + program.c @ x
        task = cvxpy.Problem(cvxpy.Minimize(objective), conditions)
        limit = {_TIME_LIMITS[name]: self.time_limit} if name in _TIME_LIMITS else {}
        with warnings.catch_warnings():
            # "Solution may be inaccurate": our own test of the answer decides.
            warnings.simplefilter("ignore")
            try:
                _run_engine(task, name, limit)
            except cvxpy.error.SolverError as error:
                return QPResult(None, f"CVXPY with {name}: {error}", 0)
        steps = task.solver_stats.num_iters if task.solver_stats is not None else 0
        limited = task.status == cvxpy.USER_LIMIT
        return QPResult(x.value, f"CVXPY with {name}: {task.status}", int(steps or 0), limited)


def _between(value: Any, low: Vector, high: Vector) -> list[Any]:
    """Return low <= value <= high for the bounds that are finite."""
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    conditions = [value[below] >= low[below]] if below.shape[0] else []
    return conditions + ([value[above] <= high[above]] if above.shape[0] else [])


def _run_engine(task: Any, name: str, limit: dict[str, float]) -> None:
    """Solve with tight tolerances.

    If CVXPY discards a less accurate result, solve again with the tolerances of the engine.
    """
    import cvxpy

    tight = _TOLERANCES.get(name)
    if tight is not None:
        try:
            task.solve(solver=name, **tight, **limit)
            return
        except cvxpy.error.SolverError:
            pass
    task.solve(solver=name, **limit)
