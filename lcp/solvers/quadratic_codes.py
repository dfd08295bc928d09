"""OSQP, Clarabel, PIQP and ProxQP, codes for quadratic programs, and CVXPY, a layer over many, as LCP solvers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import MONOTONE, SolveRequest, Traits, bool_option, integer_option, positive_option, real_option
from lcp.problem import LCP, BoxLCP
from lcp.result import Claim
from lcp.solvers.quadratic_program import QPResult, QPSolverBase, QuadraticProgram
from lcp.status import ProblemError

# Bound that ProxQP treats as infinite.
_INFINITE = 1e20


@dataclass(frozen=True)
class _Code(QPSolverBase):
    """Common options of the QP codes; `OSQP` documents them."""

    eps: float = real_option(1e-9, least=0.0, most=1.0, open_ends=True)
    max_iter: int = integer_option(1000, least=1)
    polish: bool = bool_option(True)

    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED


@dataclass(frozen=True)
class OSQP(_Code):
    """Operator splitting on the QP of a positive semidefinite problem by OSQP (Stellato et al. 2020).

    UNSUITABLE if M, symmetric or not, is not positive semidefinite. OSQP is a first-order method. The problem is scaled
    to unit diagonal and unit load before. The solution is polished on its active set from the original data, and has
    the accuracy of a pivoting method if the active set is right. Infeasible problems are reported with a Farkas vector
    (sparse ones only up to n = 1000). A sparse M stays sparse, and bounds stay bounds.

    `Clarabel`, `PIQP` and `ProxQP` share all this except the order of the method and its options; they are also
    UNSUITABLE if their packages are not installed.

    Parameters
    ----------
    eps
        Absolute and relative tolerance of the code: of OSQP's residuals; of Clarabel and PIQP on gap and feasibility;
        of ProxQP the absolute one on primal and dual feasibility.
    max_iter
        Limit on iterations of the code, for ProxQP on outer ones.
    polish
        Polish on the active set (see `Refined`); the polishing of the code is not used.
    time_limit
        Seconds; PIQP and ProxQP have none.

    References
    ----------
    B. Stellato et al., OSQP: an operator splitting solver for quadratic programs, Math. Prog. Comp. 12 (2020).
    """

    max_iter: int = integer_option(20000, least=1)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = _Code.traits | Traits.WARM_START

    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        """Solve the program by OSQP, warm-started at ``start`` if it is given."""
        import osqp
        from scipy import sparse

        rows, low, high = program.all_rows()
        solver = osqp.OSQP()
        solver.setup(
            P=sparse.triu(sparse.csc_matrix(program.P), format="csc"),
            q=program.c,
            A=rows,
            l=low,
            u=high,
            verbose=False,
            eps_abs=self.eps,
            eps_rel=self.eps,
            eps_prim_inf=1e-9,
            eps_dual_inf=1e-9,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            # Our polishing follows, and OSQP's prints to the console if it has nothing to do.
            polishing=False,
        )
        if start is not None:
            solver.warm_start(x=start)
        answer = solver.solve(raise_error=False)
        word = str(answer.info.status)
        limited = "maximum iterations" in word or "time limit" in word
        return QPResult(answer.x, f"OSQP: {word}", int(answer.info.iter), limited)


@dataclass(frozen=True)
class Clarabel(_Code):
    """Homogeneous interior-point method on the QP of a positive semidefinite problem by Clarabel (Goulart, Chen 2024).

    Classes, scaling, polish and options as of `OSQP`.

    References
    ----------
    P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives (2024),
    arXiv:2405.12762.
    """

    eps: float = real_option(1e-12, least=0.0, most=1.0, open_ends=True)
    max_iter: int = integer_option(200, least=1)
    time_limit: float = positive_option(300.0)

    package: ClassVar[str | None] = "clarabel"

    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        """Solve the program by Clarabel; ``start`` is ignored."""
        import clarabel
        from scipy import sparse

        # Rows R x with R x + s = b: equations, then rows with upper bounds, then rows with lower bounds.
        rows, low, high = program.all_rows()
        rows = rows.tocsr()
        equal = low == high
        above, below = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
        R = sparse.vstack([rows[equal], rows[above], -rows[below]], format="csc")
        b = np.concatenate([high[equal], high[above], -low[below]])
        count = int(equal.sum())
        cones = [clarabel.ZeroConeT(count)] if count else []
        cones.append(clarabel.NonnegativeConeT(R.shape[0] - count))
        settings = clarabel.DefaultSettings()
        _configure(settings, verbose=False, max_iter=self.max_iter, time_limit=self.time_limit, max_threads=1)
        _configure(settings, tol_gap_abs=self.eps, tol_gap_rel=self.eps, tol_feas=self.eps)
        P = sparse.triu(sparse.csc_matrix(program.P), format="csc")
        answer = clarabel.DefaultSolver(P, program.c, R, b, cones, settings).solve()
        word = str(answer.status)
        limited = word in ("MaxIterations", "MaxTime")
        return QPResult(answer.x, f"Clarabel: {word}", int(answer.iterations), limited)


@dataclass(frozen=True)
class PIQP(_Code):
    """Proximal interior-point method on the QP of a positive semidefinite problem by PIQP (Schwan et al. 2023).

    Classes, scaling, polish and options as of `OSQP`, without a limit on time.

    References
    ----------
    R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, PIQP: a proximal interior-point quadratic programming solver, IEEE
    Conference on Decision and Control (2023).
    """

    eps: float = real_option(1e-10, least=0.0, most=1.0, open_ends=True)
    max_iter: int = integer_option(250, least=1)

    package: ClassVar[str | None] = "piqp"

    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        """Solve the program by PIQP; ``start`` is ignored."""
        import piqp

        A, b, C, low, high = program.split_rows()
        P = program.P.tocsc() if program.sparse else program.P
        solver = piqp.SparseSolver() if program.sparse else piqp.DenseSolver()
        _configure(solver.settings, max_iter=self.max_iter, eps_abs=self.eps, eps_rel=self.eps)
        _configure(solver.settings, eps_duality_gap_abs=self.eps, eps_duality_gap_rel=self.eps)
        equations = (None, None) if A is None else (A, b)
        rows = (None, None, None) if C is None else (C, low, high)
        solver.setup(P, program.c, *equations, *rows, program.lo, program.hi)
        status = solver.solve()
        word = status.name.removeprefix("PIQP_").lower().replace("_", " ")
        limited = status == piqp.PIQP_MAX_ITER_REACHED
        return QPResult(solver.result.x, f"PIQP: {word}", int(solver.result.info.iter), limited)


@dataclass(frozen=True)
class ProxQP(_Code):
    """Primal-dual augmented Lagrangian on the QP of a positive semidefinite problem by ProxQP (Bambade et al. 2022).

    Classes, scaling, polish and options as of `OSQP`, without a limit on time; its sparse form is slow on banded
    problems beyond n = 1000.

    References
    ----------
    A. Bambade, S. El-Kazdadi, A. Taylor, J. Carpentier, ProxQP: yet another quadratic programming solver for robotics
    and beyond, Robotics: Science and Systems (2022).
    """

    package: ClassVar[str | None] = "proxsuite"
    traits: ClassVar[Traits] = _Code.traits | Traits.WARM_START

    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        """Solve the program by ProxQP, warm-started at ``start`` if it is given."""
        from proxsuite import proxqp

        n = program.c.shape[0]
        if program.sparse:
            # The sparse form has no bounds of its own.
            C, low, high = program.all_rows()
            task = proxqp.sparse.QP(n, 0, C.shape[0])
            bounds: tuple[Vector, ...] = ()
        else:
            C, low, high = program.G, program.low, program.high
            task = proxqp.dense.QP(n, 0, 0 if C is None else C.shape[0], True)
            bounds = (_finite(program.lo), _finite(program.hi))
        rows = (None, None, None) if C is None else (C, _finite(low), _finite(high))
        P = program.P.tocsc() if program.sparse else program.P
        _configure(task.settings, eps_abs=self.eps, eps_rel=0.0, eps_primal_inf=1e-9, eps_dual_inf=1e-9)
        task.settings.max_iter = self.max_iter
        task.init(P, program.c, None, None, *rows, *bounds)
        if start is not None:
            task.settings.initial_guess = proxqp.InitialGuess.WARM_START
        task.solve(*((start, None, None) if start is not None else ()))
        info = task.results.info
        word = info.status.name.removeprefix("PROXQP_").lower().replace("_", " ")
        limited = info.status == proxqp.PROXQP_MAX_ITER_REACHED
        return QPResult(task.results.x, f"ProxQP: {word}", int(info.iter), limited)


def _configure(settings: Any, **values: Any) -> None:
    """Set options of a code."""
    for name, value in values.items():
        setattr(settings, name, value)


def _finite(bound: Vector) -> Vector:
    return np.clip(bound, -_INFINITE, _INFINITE)


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
    polish: bool = bool_option(True)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def __post_init__(self) -> None:
        """Refuse an engine that is not a name."""
        super().__post_init__()
        name: object = self.engine  # whatever the caller's types say
        if name is not None and not (isinstance(name, str) and name):
            raise ProblemError(f"CVXPY.engine must be the name of a solver or None, got {name!r}")

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
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
        """Solve the program with the engine by CVXPY; ``start`` is ignored.

        A small multiple of the identity is added to P. If the engine fails, the result has no x, and its detail is the
        error.
        """
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
        failure = ""
        with warnings.catch_warnings():
            # "Solution may be inaccurate": our own test of the answer decides.
            warnings.simplefilter("ignore")
            # If CVXPY discards a less accurate result, solve again with the tolerances of the engine.
            for tolerances in (_TOLERANCES[name], {}) if name in _TOLERANCES else ({},):
                try:
                    task.solve(solver=name, **tolerances, **limit)
                    break
                except cvxpy.error.SolverError as error:
                    failure = str(error)
            else:
                return QPResult(None, f"CVXPY with {name}: {failure}", 0)
        steps = task.solver_stats.num_iters if task.solver_stats is not None else 0
        limited = task.status == cvxpy.USER_LIMIT
        return QPResult(x.value, f"CVXPY with {name}: {task.status}", int(steps or 0), limited)


def _between(value: Any, low: Vector, high: Vector) -> list[Any]:
    """Return low <= value <= high for the bounds that are finite."""
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    conditions = [value[below] >= low[below]] if below.shape[0] else []
    return conditions + ([value[above] <= high[above]] if above.shape[0] else [])
