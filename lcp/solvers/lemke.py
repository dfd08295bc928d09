"""Lemke's complementary pivoting method."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import checked_vector, first_true
from lcp.claims import result_from_claim
from lcp.interruptible import cpu_seconds
from lcp.kernels import RAY, RUNNING, SOLVED
from lcp.method import MONOTONE, SolverBase, SolveRequest, Traits, integer_option, positive_option, real_option
from lcp.problem import LCP, MLCP, kernel_arrays
from lcp.residuals import DEFAULT_TOLERANCE, Residuals
from lcp.result import Attempt, Claim, Parts, Ray, Result, lazy_result
from lcp.solvers.frame import SolveState, artificial_value, pivots_per_call
from lcp.solvers.mixed_pivoting import solve_mixed
from lcp.status import STATUS_OF_CODE, ProblemError, Status

# Unknowns up to which a solve is one call; single pieces of work of larger problems take long (`lcp.solve.LARGE`).
_IN_ONE = 500
# Pivots between two returns to Python, which check Ctrl-C and the time limit; fewer for large problems.
_BUDGET = 256


@dataclass(frozen=True)
class Lemke(SolverBase[LCP | MLCP]):
    """Complementary pivoting along the path of an artificial variable (Lemke 1965).

    The method finds a solution for P and strictly copositive M, for positive semidefinite M if the problem is feasible,
    and for the copositive matrices of frictional contact with q in their dual range (Anitescu and Potra 1997); ties are
    broken lexicographically. The tableau has only nonbasic columns and is equilibrated by powers of two. The final
    basis is solved again from the original data and refined once. A sparse M is made dense.

    A start z0 is a guess of the basis {z > 0}. If this basis is not a solution, pivoting starts from it on the
    principal pivot transform, without dependent indices. If this path ends without a solution, a cold start follows
    with the whole limit. For P and semidefinite M the cold path is Lemke's.

    Parameters
    ----------
    max_pivots
        Limit over all restarts, without the path from z0; None for max(1000, 50 n). Some problems need 2^n (Murty 1978,
        Fathi 1979).
    pivot_tolerance
        Smallest admissible pivot relative to its column, in the first try; restarts admit smaller ones.
    tie_tolerance
        Ratios that differ by less, relative to the largest right-hand side, are ties: the artificial variable leaves
        first, then the lexicographic rule decides.
    restarts
        Limit on new starts, with other pivot thresholds and covering vectors, after a path that did not end in a
        verified solution. The sixth and seventh scale by geometric means, for bodies a trillion times as heavy as
        others.
    covering_vector
        Vector d (n,) of the artificial variable: d >= 0, and positive if q < 0. For another q the start w = q + d t is
        feasible for no t, which raises `ProblemError`. None for ones in equilibrated units. For a mixed problem it
        covers the rows that remain after the free unknowns are pivoted in.
    time_limit
        Seconds, checked about every tenth of a second, except during the solve of the last basis (not inside a compiled
        simulation loop).

    References
    ----------
    C. E. Lemke, Bimatrix equilibrium points and mathematical programming, Management Science 11 (1965).
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), algorithms 4.4.1 and 4.9.3.
    M. Anitescu, F. A. Potra, Nonlinear Dynamics 14 (1997), theorem 2.2.
    Of mixed problems, whose free unknowns enter the basis first: R. W. H. Sargent, Mathematical Programming Study 7
    (1978); J. J. Judice, J. Machado, A. Faustino, An extension of the Lemke's method for the solution of a generalized
    linear complementarity problem, System Modeling and Optimization, Lecture Notes in Control and Information Sciences
    (1992).
    """

    max_pivots: int | None = integer_option(None)
    pivot_tolerance: float = real_option(1e-6, least=0.0, most=0.999)
    tie_tolerance: float = real_option(1e-12, least=0.0, most=0.999)
    restarts: int = integer_option(7)
    covering_vector: tuple[float, ...] | None = None
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.COPOSITIVE | Traits.WARM_START | Traits.MIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.covering_vector is not None:
            cover = checked_vector("Lemke.covering_vector", self.covering_vector)
            if (i := first_true(cover < 0.0)) is not None:
                raise ProblemError(f"Lemke.covering_vector[{i}] = {cover[i]} is negative")
            if cover.size and not cover.any():
                raise ProblemError("Lemke.covering_vector has no positive entry")
            object.__setattr__(self, "covering_vector", tuple(cover.tolist()))

    def kernel_options(self, tolerance: float = DEFAULT_TOLERANCE) -> NDArray[np.float64]:
        """Return the options as the kernel takes them; see `lcp.kernels.lemke`."""
        limit = math.nan if self.max_pivots is None else self.max_pivots
        covered = self.covering_vector is not None
        # Not free of units, and one entry without a meaning.
        return np.array([limit, self.pivot_tolerance, self.tie_tolerance, tolerance, self.restarts, covered, 0.0, 0.0])

    def _solve_and_verify(self, problem: LCP, z0: NDArray[np.float64] | None, tolerance: float) -> Result | None:
        """Solve a small dense problem and measure its solution in one kernel; return None if this path does not apply.

        It applies to `Lemke` itself without a covering vector, for a dense M of at most `_IN_ONE` rows and exact q. The
        parts of the result are computed when they are first read.
        """
        clock = time.perf_counter()
        M, q = problem._M, problem._q
        n = q.shape[0]
        if n > _IN_ONE or problem._q_uncertainty is not None or type(M) is not np.ndarray:
            return None
        if type(self) is not Lemke or self.covering_vector is not None:
            return None
        call, size, length, budget = _judging(n)
        work, answer = np.empty(size), np.empty(length)
        options = self._default_options if tolerance == DEFAULT_TOLERANCE else self._judged_options(tolerance)
        start, warm = (q, False) if z0 is None else (z0, True)
        code = call(M, q, start, warm, options, work, answer, True, budget)
        parts = PARTS
        if code != SOLVED:
            deadline = cpu_seconds() + self.time_limit
            while code == RUNNING:
                if cpu_seconds() > deadline:
                    # The iterate of an unfinished path is no candidate for a solution.
                    claim = Claim(np.zeros(n), Status.ITERATION_LIMIT, int(answer[-5]), "time limit")
                    return cast(Result, result_from_claim(problem, self, claim, tolerance, clock))
                code = call(M, q, start, warm, options, work, answer, False, budget)
            # Use the claimed code: residuals that are not finite have another status, but the path has met the ray.
            if code != SOLVED and answer[-1] == RAY:
                ray = _ray(work, n)
                parts = {**PARTS, "evidence": lambda *_: ray}
        answer.setflags(write=False)
        known = {"z": answer[:n], "status": STATUS_OF_CODE[code], "solver": self, "tolerance": tolerance}
        return lazy_result(parts, answer, known, clock)

    @functools.cached_property
    def _default_options(self) -> NDArray[np.float64]:
        return self._judged_options(DEFAULT_TOLERANCE)

    def __getstate__(self) -> dict[str, Any]:
        # Copies may be given other options.
        return {name: value for name, value in self.__dict__.items() if name != "_default_options"}

    def _judged_options(self, tolerance: float) -> NDArray[np.float64]:
        options = self.kernel_options(tolerance)
        options[_kernel().FREE_OF_UNITS] = 1.0
        return options

    def _claim(self, problem: LCP | MLCP, request: SolveRequest) -> Claim:
        """Pivot until a verified solution, a ray or a limit; free unknowns of a mixed problem are pivoted in first."""
        z0, tolerance, trace = request
        if isinstance(problem, MLCP):
            return solve_mixed(problem, self, z0=z0, tolerance=tolerance, trace=trace)
        k = _kernel()
        n = problem.n
        M, q = kernel_arrays(problem)
        wf = np.empty(k.lemke_float_size(n))
        wi = np.empty(k.lemke_int_size(n), dtype=np.int64)
        if self.covering_vector is not None:
            if len(self.covering_vector) != n:
                raise ProblemError(f"Lemke.covering_vector has length {len(self.covering_vector)}, the problem {n}")
            if (i := first_true((q < 0.0) & (np.array(self.covering_vector) == 0.0))) is not None:
                raise ProblemError(
                    f"Lemke.covering_vector[{i}] = 0 but q[{i}] = {q[i]} < 0: w = q + d t is feasible for no t"
                )
            wf[wf.shape[0] - n :] = self.covering_vector
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        options = self.kernel_options(tolerance)
        options[k.FREE_OF_UNITS] = problem._q_uncertainty is None
        search = SolveState(problem, request, self.time_limit, quantity="artificial variable")
        z, warm = search.best, z0 is not None
        start = z if z0 is None else z0

        def record() -> None:
            search.iterations = int(info[k.PIVOTS])
            if trace and info[k.STAGE] == k.PIVOTING:
                search.recorder.add(search.iterations, artificial_value(wf[:n], wi[:n]))

        code = search.run(
            lambda budget: k.lemke_drive(M, q, start, warm, options, wf, wi, z, info, budget),
            pivots_per_call(n, _BUDGET), record,
        )  # fmt: skip
        if code == RUNNING:
            # The iterate of an unfinished path is no candidate for a solution.
            search.best = np.zeros(n)
            return search.claim(Status.ITERATION_LIMIT, "time limit")
        detail = _detail_text(int(info[k.WARM]), int(info[k.RESTART]), int(info[k.WARM_PIVOTS]))
        status = STATUS_OF_CODE[code]
        return search.claim(status, detail, _ray(wf, n) if status is Status.RAY_TERMINATION else None)


def _detail_text(used: int, restarts: int, in_vain: int) -> str:
    """Return the detail text of a solve."""
    if used:
        return "warm basis accepted" if used == _kernel().WARM_BASIS else "warm start"
    words = [f"{in_vain} pivots from the start in vain"] if in_vain else []
    return "; ".join(words + ([f"{restarts} restarts"] if restarts else []))


def _ray(work: NDArray[np.float64], n: int) -> Ray:
    """Return the ray that the kernel leaves at the head of its workspace."""
    return Ray(work[:n].copy(), work[n : 2 * n].copy(), float(work[2 * n]))


def _attempts(result: Result, answer: NDArray[np.float64]) -> tuple[Attempt, ...]:
    # Pivots, use of the start, restarts, pivots without success, and the claimed status code.
    pivots, *account, claimed = (int(number) for number in answer[-5:])
    false_claim = claimed == SOLVED and not result.solved
    return (Attempt(result.solver, result.status, pivots, result.residual, _detail_text(*account), false_claim),)


#: Functions that make the parts of a result from the output of `lcp.kernels.batch.lemke_judged`.
PARTS: Parts = {
    "w": lambda result, answer: answer[(n := result.z.shape[0]) : 2 * n],
    # The pivots are the only number of a result that is valid before its solve has ended.
    "iterations": lambda _, answer: int(answer[-5]),
    "residual": lambda _, answer: Residuals(*answer[-13:-6].tolist()),
    "attempts": _attempts,
    "regularization": lambda *_: 0.0,
    "evidence": lambda *_: None,
    "trace": lambda *_: None,
}


@functools.lru_cache(maxsize=256)
def _judging(n: int) -> tuple[Any, int, int, int]:
    """Return the kernel `lemke_judged`, the lengths of its workspace and result, and its pivots per call."""
    from lcp.kernels import batch

    return batch.lemke_judged, int(batch.judged_size(n)), 2 * n + batch.ANSWER_SIZE, pivots_per_call(n, _BUDGET)


@functools.cache
def _kernel() -> ModuleType:
    """Return the kernel's module, imported once (an import statement at every solve costs a microsecond)."""
    from lcp.kernels import lemke

    return lemke
