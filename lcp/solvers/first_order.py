"""The frame of the first-order solvers, and accelerated projected gradient descent.

The frame owns the start, the work per call, limits, the trace and the best iterate; a solver advances z.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, first_true, is_symmetric, row_abs_max
from lcp.farkas import Farkas
from lcp.method import SYMMETRIC_MONOTONE, SolverBase, SolveRequest, Traits, integer_option, positive_option
from lcp.problem import LCP, BoxLCP, bounds_of, csr_arrays
from lcp.result import Claim
from lcp.solvers.frame import SolveState
from lcp.status import Status

#: Function that advances z, in place, by a number of iterations.
Advance = Callable[[Vector, int], None]

# Multiply-adds between two returns to Python, where Ctrl-C and the time limit are checked: a few hundredths of a
# second.
_PORTION = 20_000_000
# Multiply-adds between two checks for convergence, because a check has a fixed cost in Python.
_CHECK = 500_000
# If z keeps every digit over this many iterations, it is a fixed point.
_FIXED_POINT_ITERATIONS = 8
_FIXED_POINT = "a fixed point of rounding, or a cycle"
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BoxProblemArrays:
    """Arrays of a problem with bounds lo <= z <= hi. M is dense by columns, or sparse by rows."""

    C: NDArray[np.float64]  # dense: row i is column i of M (M itself if it is exactly symmetric). Sparse: (0, 0).
    #: indptr, indices, data: Sparse: the rows. Dense: empty.
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    data: Vector
    #: q, lo, hi: Vectors (n,); a plain problem has bounds 0 and infinity.
    q: Vector
    lo: Vector
    hi: Vector
    #: diagonal, row_size: M_ii and max_j |M_ij|.
    diagonal: Vector
    row_size: Vector
    symmetric: bool  # whether M is symmetric up to rounding after its diagonal is scaled to one

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return int(self.q.shape[0])

    @property
    def matrix(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], Vector]:
        """The matrix as kernel arguments."""
        return self.C, self.indptr, self.indices, self.data

    @property
    def work(self) -> int:
        """Multiply-adds of a product with M."""
        return int(self.C.size + self.data.shape[0] + self.n)

    def inverse_diagonal(self) -> Vector:
        """Return 1 / M_ii, or 0 if M_ii <= 0 or the bounds coincide, so that z_i does not move."""
        usable = (self.diagonal > 0.0) & (self.lo < self.hi)
        return np.divide(1.0, self.diagonal, out=np.zeros(self.n), where=usable)

    def metric(self) -> Vector:
        """Return 1 / M_ii (n,), rounded to powers of four.

        If M_ii <= 0, max_j |M_ij| replaces M_ii; a zero row has 1.
        """
        size = np.where(self.diagonal > 0.0, self.diagonal, self.row_size)
        with np.errstate(divide="ignore"):
            power = np.floor(0.5 * np.log2(size))
        return np.exp2(-2.0 * np.where(np.isfinite(power), power, 0.0))

    def clipped(self, z: Vector) -> Vector:
        """Return the nearest vector between the bounds, as a new array."""
        return np.minimum(np.maximum(z, self.lo), self.hi)


def boxed_rows(problem: LCP | BoxLCP) -> BoxProblemArrays:
    """Return the arrays of a problem; a sparse M stays sparse."""
    from lcp.matrix_classes import congruence, congruent

    M = problem._M
    lo, hi = bounds_of(problem)
    none, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
    if problem.sparse:
        C, (indptr, indices, data) = np.empty((0, 0)), csr_arrays(problem)
    else:
        C = M if np.array_equal(M, M.T) else np.ascontiguousarray(M.T)
        indptr, indices, data = nowhere, nowhere, none
    return BoxProblemArrays(
        C=C,
        indptr=indptr,
        indices=indices,
        data=data,
        q=problem._q,
        # Both kinds of bounds as ordinary writable arrays: read-only ones are another type to the kernels.
        lo=lo.copy(),
        hi=hi.copy(),
        diagonal=np.array(M.diagonal(), dtype=np.float64),
        row_size=np.ascontiguousarray(row_abs_max(M)),
        symmetric=is_symmetric(congruent(M, congruence(M))),
    )


def largest_curvature(rows: BoxProblemArrays, metric: Vector) -> float:
    """Return an upper bound of (d . M d) / sum(d_i^2 / metric_i), or 1 if M is zero.

    It is the largest row sum of the scaled |M| (Gershgorin).
    """
    unit = np.sqrt(metric)
    if rows.C.shape[0] > 0:
        sums = np.abs(rows.C).T @ unit
    else:
        sums = np.zeros(rows.n)
        np.add.at(sums, np.repeat(np.arange(rows.n), np.diff(rows.indptr)), np.abs(rows.data) * unit[rows.indices])
    bound = float((unit * sums).max(initial=0.0))
    return bound if bound > 0.0 else 1.0


def initial_iterate(
    problem: LCP | BoxLCP, rows: BoxProblemArrays, z0: Vector | None, *, by_diagonal: bool
) -> Vector | Claim:
    """Return a start between the bounds, or a claim if the problem is already decided.

    Unknowns whose row of M is zero are put at the bound that q_i admits. ``by_diagonal`` means that the method divides
    by M_ii.
    """
    origin = rows.clipped(np.zeros(rows.n))
    if isinstance(problem, LCP) and (rows.q >= 0.0).all():
        return Claim(origin, Status.SOLVED, 0)
    z = origin.copy() if z0 is None else rows.clipped(z0)
    open_rows = rows.lo < rows.hi
    empty = open_rows & (rows.row_size == 0.0)
    if empty.any():
        wanted = np.where(rows.q > 0.0, rows.lo, np.where(rows.q < 0.0, rows.hi, z))
        if (i := first_true(empty & np.isinf(wanted))) is not None:
            return _contradicted(problem, rows, origin, i)
        z[empty] = wanted[empty]
    if by_diagonal:
        bad = open_rows & ~empty & ~(rows.diagonal > 0.0)
        if (i := first_true(bad)) is not None:
            detail = (
                f"{int(bad.sum())} diagonal entries are not positive, M[{i}, {i}] = {rows.diagonal[i]:g} the first: "
                "such a row, as those of the sliding speeds of frictional contact, cannot be solved for its own unknown"
            )
            return Claim(origin, Status.UNSUITABLE, 0, detail)
    return z


def _contradicted(problem: LCP | BoxLCP, rows: BoxProblemArrays, origin: Vector, i: int) -> Claim:
    """Return the claim for a row i of M that is zero: w_i = q_i, and no bound admits its sign."""
    detail = f"row {i} of M is zero and q[{i}] = {rows.q[i]:g}: w[{i}] cannot change, and no bound admits it"
    if not isinstance(problem, LCP):
        return Claim(origin, Status.UNSUITABLE, 0, detail)
    y = np.zeros(rows.n)
    y[i] = 1.0
    return Claim(origin, Status.INFEASIBLE, 0, detail, evidence=Farkas(y=y, v=np.zeros(0)))


def next_check(iteration: int, work: int, interval: int | None) -> int:
    """Return the iteration of the next convergence check: 1, 2, 4, 8, 16, then such that checks cost less than a tenth.

    A check costs one or two sweeps and a fixed time. Both decide the interval, which is at most a quarter of the
    iterations made so far. The schedule does not depend on the clock, so that a solve can be repeated.
    """
    if interval is not None:
        return iteration + interval
    if iteration < 16:
        return max(1, 2 * iteration)
    return iteration + max(16, min(iteration // 4, _CHECK // max(1, work)))


class Iteration(NamedTuple):
    """One iterative method: its advance function, multiply-adds of one iteration, and a function for the final note."""

    advance: Advance
    work: int
    note: Callable[[], str]


class IterativeMethod(SolverBase[LCP | BoxLCP]):
    """Base class of the first-order solvers: its fields are the limits, `_make_iteration` prepares it."""

    #: Whether the method divides by M_ii.
    by_diagonal: ClassVar[bool]
    max_iterations: int
    time_limit: float
    check_interval: int | None

    @abstractmethod
    def _make_iteration(self, rows: BoxProblemArrays, start: Vector) -> Iteration | Claim:
        """Return the iteration from a start, or the claim that the method does not apply."""

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Advance z until its residuals meet the tolerance, it no longer changes, or a limit is reached.

        The claim has the best of the iterates that were checked; it is always finite.
        """
        rows = boxed_rows(problem)
        z = initial_iterate(problem, rows, request.z0, by_diagonal=self.by_diagonal)
        if isinstance(z, Claim):
            return z
        motion = self._make_iteration(rows, z)
        if isinstance(motion, Claim):
            return motion
        advance, work, note = motion
        state = SolveState(problem, request, self.time_limit)
        portion = max(1, _PORTION // max(1, work))
        still, still_at, best_at = z.copy(), 0, 0
        status, reason = Status.ITERATION_LIMIT, ""
        while True:
            iteration, candidate = state.iterations, z.copy()
            residual = state.keep_best(candidate)
            if not np.isfinite(residual.natural_map):
                status, reason = Status.NOT_FINITE, f"overflow within {iteration} iterations"
                break
            if state.best is candidate:
                best_at = iteration
            if residual.solved(state.tolerance):
                return state.claim(Status.SOLVED, note())
            if iteration - still_at >= _FIXED_POINT_ITERATIONS:
                if (np.abs(z - still) <= 4.0 * _EPS * np.abs(z)).all():
                    status = Status.STALLED
                    reason = f"iterations {still_at} and {iteration} gave the same z: {_FIXED_POINT}"
                    break
                still[:], still_at = z, iteration
            if iteration >= self.max_iterations:
                break
            interval = 1 if request.trace else self.check_interval
            target = min(self.max_iterations, next_check(iteration, work, interval))
            while state.iterations < target and not state.timed_out():
                count = min(portion, target - state.iterations)
                advance(z, count)
                state.iterations += count
            if state.iterations < target:
                reason = "time limit"
                break
        best_found = f"best iterate: {best_at} of {state.iterations}"
        return state.claim(status, "; ".join(part for part in (reason, note(), best_found) if part))


@dataclass(frozen=True)
class APGD(IterativeMethod):
    """Accelerated projected gradient descent with restarts (Mazhar, Heyn, Negrut, Tasora 2015).

    Minimises z . M z / 2 + q . z between the bounds. If M is symmetric, its stationary points are the solutions of the
    problem; otherwise the status is UNSUITABLE. Convergence is proven for semidefinite M if there is a solution.
    Gradients use the metric of the diagonal of M, rounded to powers of two, so that units of the unknowns do not
    matter. A sparse M stays sparse.

    Parameters
    ----------
    max_iterations
        Limit on iterations, each a product with M and, seldom, another.
    time_limit, check_interval
        As of `ProjectedGaussSeidel`.

    References
    ----------
    H. Mazhar, T. Heyn, D. Negrut, A. Tasora, Using Nesterov's method to accelerate multibody dynamics with friction
    and contact, ACM Transactions on Graphics 34 (2015).
    Y. Nesterov, A method of solving a convex programming problem with convergence rate O(1/k^2), Soviet Mathematics
    Doklady 27 (1983).
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sciences 2 (2009).
    B. O'Donoghue, E. Candes, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015).
    """

    max_iterations: int = integer_option(100_000)
    time_limit: float = positive_option(300.0)
    check_interval: int | None = integer_option(None, least=1)

    by_diagonal: ClassVar[bool] = False
    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _make_iteration(self, rows: BoxProblemArrays, start: Vector) -> Iteration | Claim:
        """Return the iteration with a bound on the curvature of M, or the claim UNSUITABLE if M is not symmetric."""
        if not rows.symmetric:
            detail = "M is not symmetric: z . M z / 2 + q . z has other stationary points than the solutions"
            return Claim(rows.clipped(np.zeros(rows.n)), Status.UNSUITABLE, 0, detail)
        from lcp.kernels import first_order as k

        metric, work, state = rows.metric(), np.zeros((5, rows.n)), np.zeros(k.APGD_STATE_SIZE)
        work[0] = start
        k.affine(rows.matrix, rows.q, start, work[1])
        work[2] = work[1]
        largest = largest_curvature(rows, metric)
        state[[k.CURVATURE, k.LARGEST, k.THETA]] = min(1.0, largest), largest, 1.0

        def advance(z: Vector, count: int) -> None:
            k.apgd(rows.matrix, rows.q, metric, rows.lo, rows.hi, count, z, work, state)

        return Iteration(
            advance, rows.work, lambda: f"{int(state[k.RESTARTS])} restarts, {int(state[k.PRODUCTS])} products"
        )
