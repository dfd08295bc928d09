"""Block principal pivoting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.method import SolverBase, SolveRequest, Traits, integer_option, positive_option, real_option
from lcp.problem import LCP, BoxLCP, bounds_of, csr_arrays
from lcp.result import Claim
from lcp.scaling import entrywise_scales
from lcp.solvers.frame import SolveState
from lcp.status import Status

# If a feasible basis is not yet a solution, zero tolerances are multiplied by this factor, at most this often.
_SHARPER, _LEVELS = 1e-2, 2
# Limit on factorisations for the start on groups of neighbours.
_COARSE = 40
Solve = Callable[[Vector], Vector]

# A pivot below this fraction of its terms is rounding.
_SINGULAR = 1e-14
# Number of unknowns from which a coarse problem is used, and its maximum size as a fraction of this number.
_LARGE, _PART = 3000, 0.6
# Smallest fraction of the diagonal at which an entry makes two unknowns neighbours, and the weight of the smoothing.
_WEAK, _WEIGHT = 0.05, 0.66
# Largest positive off-diagonal entry as a fraction of the diagonal; with larger ones M is not like a diffusion.
_POSITIVE = 0.1


@dataclass(frozen=True)
class BlockPrincipalPivoting(SolverBase[LCP | BoxLCP]):
    """Principal pivoting that exchanges all infeasible pairs at once (Kostreva 1978; Judice and Pires 1994).

    The method needs a few factorisations of active blocks at any n; it is meant for large strictly monotone problems.
    Blocks are exchanged while the number of infeasible pairs decreases at least every ``backups`` rounds. Rounds that
    only add, or only remove, like the previous one are not counted. Otherwise single pairs are exchanged by Murty's
    rule until the number decreases, so that the method ends for every P matrix.

    A sparse M stays sparse (SuperLU). If the active set advances only from neighbour to neighbour, like the edge of a
    contact zone, the exchanges are extended to neighbours, in strides that double. For a large M near an M-matrix the
    first active set is computed on groups of neighbours; these factorisations are not counted. Dense symmetric blocks
    are solved by Cholesky's method, others by LU. Bounds on both sides are native, also infinite and equal ones. The
    method stops at a singular block, because no P matrix has one.

    Parameters
    ----------
    backups
        Limit on block exchanges that do not reduce the number of infeasible pairs; None for 10 + 2 log2(n).
    max_iterations
        Limit on factorisations; None for max(1000, 10 n) but at most 100 000.
    zero_tolerance
        Relative size that counts as zero: for z_i relative to the largest z, for w_i to |q_i| + max_j |M_ij| max_j z_j.
        The method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between factorisations.

    References
    ----------
    M. M. Kostreva, Block pivot methods for solving the complementarity problem, Linear Algebra and its Applications 21
    (1978); J. J. Judice, F. M. Pires, A block principal pivoting algorithm for large-scale strictly monotone linear
    complementarity problems, Computers and Operations Research 21 (1994); with bounds: J. J. Judice, F. M. Pires,
    Basic-set algorithm for a generalized linear complementarity problem, Journal of Optimization Theory and
    Applications 74 (1992).
    """

    backups: int | None = integer_option(None)
    max_iterations: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = (
        Traits.P_MATRIX | Traits.POSITIVE_DEFINITE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED
    )

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Exchange infeasible pairs until a verified solution, a singular block or a limit.

        All are exchanged together while their number falls, otherwise the one of least index. Without ``z0`` a large
        problem that is like a diffusion starts from the active set of a coarser problem. If the final basis is no
        solution, the zero tolerance is reduced. The claim has the measured candidate of least backward error.
        """
        z0, tolerance, trace = request
        n, M, q = problem.n, problem._M, problem._q
        solve = SolveState(problem, request, self.time_limit)
        lo, hi = solve.lo, solve.hi
        limit = min(max(1000, 10 * n), 100_000) if self.max_iterations is None else self.max_iterations
        if solve.keep_best(solve.best).solved(tolerance):
            return solve.claim(Status.SOLVED)
        coarse = coarse_problem(problem) if z0 is None else None
        # -1 for unknowns at the lower bound, 1 at the upper bound, 0 between them, where w must vanish.
        state = np.where(np.isfinite(lo), -1, 1)
        if z0 is not None:
            state = np.where((z0 > lo) & (z0 < hi), 0, np.where((z0 >= hi) & np.isfinite(hi), 1, state))
        state[np.isinf(lo) & np.isinf(hi)] = 0
        state[lo == hi] = -1
        if coarse is not None:
            # The status does not matter, because a start needs no proof.
            part = replace(self, max_iterations=min(limit, _COARSE), time_limit=0.5 * self.time_limit)
            there, (low, high) = (
                part._claim(coarse.problem, SolveRequest(None, tolerance, False)).z,
                bounds_of(coarse.problem),
            )
            state = np.where(there <= low, -1, np.where(there >= high, 1, 0))[coarse.group]
            state[lo == hi] = -1
        blocks, units = ActiveBlocks(M), entrywise_scales(M)
        backups = 10 + 2 * int(n).bit_length() if self.backups is None else self.backups
        least, patience, level = n + 1, backups, 0
        front, seen = _FrontAccelerator(problem), set[int]()
        for iteration in range(1, limit + 1):
            if solve.timed_out():
                return solve.claim(Status.ITERATION_LIMIT, "time limit")
            solve.iterations = iteration
            z = np.where(state < 0, lo, hi)
            inside = state == 0
            z[inside] = 0.0
            if not blocks.fill(z, inside, q):
                return solve.claim(Status.SINGULAR_BASIS, "an active block is singular: M is no P matrix")
            w = M @ z + q
            infeasible = _infeasible(z, w, state, lo, hi, self.zero_tolerance * _SHARPER**level, units, q)
            count = int(np.count_nonzero(infeasible))
            if (count == 0 or trace) and solve.keep_best(np.clip(z, lo, hi)).solved(tolerance):
                return solve.claim(Status.SOLVED, "warm basis accepted" if z0 is not None and iteration == 1 else "")
            if count == 0:
                if level == _LEVELS:
                    return solve.claim(Status.STALLED, "the final basis is no solution of the original data")
                level, least = level + 1, n + 1
                continue
            monotone = front.look(infeasible, state)
            if count < least:
                least, patience = count, backups
                seen.clear()
            elif patience >= 0 and not monotone:
                patience -= 1
            if patience >= 0:
                moved = front.moved(infeasible, state, lo < hi)
            else:
                # Use Murty's rule until the number of infeasible pairs has a new minimum.
                moved = np.flatnonzero(infeasible)[:1]
                key = hash(state.tobytes())
                if key in seen:
                    return solve.claim(Status.STALLED, "an active set came back: M is no P matrix")
                seen.add(key)
            state[moved] = np.where(state[moved] == 0, np.where(z[moved] < lo[moved], -1, 1), 0)
        solve.iterations = limit
        return solve.claim(Status.ITERATION_LIMIT, "problem too long: max_iterations reached")


def _infeasible(
    z: Vector,
    w: Vector,
    state: NDArray[np.int64],
    lo: Vector,
    hi: Vector,
    tolerance: float,
    units: tuple[Vector, Vector],
    q: Vector,
) -> NDArray[np.bool_]:
    """Return a mask of the pairs that are not complementary; a fixed z_i (lo = hi) admits any w_i."""
    row, column = units
    size = float(np.abs(z / column).max(initial=0.0))
    z_zero, w_zero = tolerance * size * column, tolerance * (np.abs(q) + size / row)
    between = (state == 0) & ((z < lo - z_zero) | (z > hi + z_zero))
    below = (state < 0) & (w < -w_zero)
    above = (state > 0) & (w > w_zero)
    infeasible: NDArray[np.bool_] = (between | below | above) & (lo < hi)
    return infeasible


class _FrontAccelerator:
    """Accelerator for active sets of sparse problems that advance only from neighbour to neighbour."""

    def __init__(self, problem: LCP | BoxLCP) -> None:
        self._matrix = problem._M if problem.sparse else None
        self._direction, self._streak, self._stride = 0, 0, 0

    def look(self, infeasible: NDArray[np.bool_], state: NDArray[np.int64]) -> bool:
        """Return True if the next exchange only adds or only removes, like the previous one."""
        adds = bool((infeasible & (state != 0)).any())
        removes = bool((infeasible & (state == 0)).any())
        direction = int(adds) - int(removes)
        monotone = direction != 0 and direction == self._direction
        self._direction = direction
        if adds and monotone:
            self._streak += 1
            if self._streak > 6:
                self._stride = max(1, 2 * self._stride)
        else:
            self._streak = 0
            if removes:
                # The stride was too long: unknowns that were passed over are found again with shorter strides.
                self._stride //= 4
        return monotone

    def moved(
        self, infeasible: NDArray[np.bool_], state: NDArray[np.int64], movable: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Return the pairs to exchange: the infeasible ones, and all within the present stride of the ones to add."""
        if self._matrix is None or self._stride == 0:
            return np.flatnonzero(infeasible)
        indptr, indices = self._matrix.indptr, self._matrix.indices
        taken = infeasible.copy()
        open_to = movable & (state != 0) & ~taken
        edge = np.flatnonzero(infeasible & (state != 0))
        for _ in range(self._stride):
            counts = indptr[edge + 1] - indptr[edge]
            offsets = np.repeat(indptr[edge] - np.cumsum(counts) + counts, counts)
            neighbours = indices[offsets + np.arange(counts.sum())]
            edge = np.unique(neighbours[open_to[neighbours]])
            if edge.shape[0] == 0:
                break
            open_to[edge] = False
            taken[edge] = True
        return np.flatnonzero(taken)


class ActiveBlocks:
    """Solver of active blocks of M, dense or sparse."""

    def __init__(self, M: Any) -> None:
        """Store M and whether it is symmetric."""
        self._dense = isinstance(M, np.ndarray)
        self._columns = M if self._dense else M.tocsc()
        self._rows = M
        if self._dense:
            scale = np.sqrt(np.abs(np.diag(M)))
            self._symmetric = bool((np.abs(M - M.T) <= 1e-12 * scale[:, None] * scale).all())

    def fill(self, z: Vector, inside: NDArray[np.bool_], q: Vector) -> bool:
        """Set z at the mask ``inside`` to the values at which w = M z + q vanishes there, refined once, in place.

        The other entries of z are given. Return False if the block is singular or a value is not finite.
        """
        active = np.flatnonzero(inside)
        if active.shape[0] == 0:
            return True
        solve = self._dense_solve(active) if self._dense else self._sparse_solve(active)
        if solve is None:
            return False
        rows = self._rows[active]
        for _ in range(2):
            with np.errstate(over="ignore", invalid="ignore"):
                z[active] -= solve(rows @ z + q[active])
            if not np.isfinite(z[active]).all():
                return False
        return True

    def _dense_solve(self, active: NDArray[np.intp]) -> Solve | None:
        """Factor M_aa of the active indices; return a function b -> M_aa^-1 b, or None if the block is singular.

        A symmetric block with positive pivots is factored by Cholesky's method, any other by equilibrated LU.
        """
        from scipy.linalg import lapack

        block = np.asfortranarray(self._columns[np.ix_(active, active)])
        diagonal = np.diag(block)
        if self._symmetric and diagonal.min() > 0.0:
            factor, info = lapack.dpotrf(block, lower=True)
            # The squared pivots are Schur complements, which are rounding in a singular block.
            if info == 0 and (np.diag(factor) ** 2 > _SINGULAR * diagonal).all():
                return lambda b: np.asarray(lapack.dpotrs(factor, b, lower=True)[0])
        row = 1.0 / np.maximum(np.abs(block).max(axis=1), np.finfo(np.float64).tiny)
        column = 1.0 / np.maximum(np.abs(row[:, None] * block).max(axis=0), np.finfo(np.float64).tiny)
        lu, pivots, info = lapack.dgetrf(np.asfortranarray(row[:, None] * block * column))
        if info != 0 or not np.abs(np.diag(lu)).min() > _SINGULAR:
            return None
        return lambda b: np.asarray(column * lapack.dgetrs(lu, pivots, row * b)[0])

    def _sparse_solve(self, active: NDArray[np.intp]) -> Solve | None:
        """Factor the sparse M_aa of the active indices; return a function b -> M_aa^-1 b, or None if it is singular."""
        from scipy.sparse.linalg import splu

        block = self._columns[:, active][active]
        try:
            # SuperLU raises this exception if, and only if, a pivot is exactly zero.
            factor = splu(block, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        except RuntimeError:
            return None
        return lambda b: np.asarray(factor.solve(b))


class CoarseProblem(NamedTuple):
    """Aggregated problem, and the group of each unknown."""

    problem: BoxLCP
    group: NDArray[np.int64]


def coarse_problem(problem: LCP | BoxLCP) -> CoarseProblem | None:
    """Return the next coarser problem of a large sparse one that is like a diffusion (M near an M-matrix), or None.

    Unknowns of a group whose coarse unknown is at a bound are mostly at this bound too. Groups and their smoothed
    interpolation are the same as in multigrid methods (P. Vanek, J. Mandel, M. Brezina, Computing 56, 1996). The coarse
    active set is a start for the next finer problem, as in cascadic methods (F. A. Bornemann, P. Deuflhard, Numerische
    Mathematik 75, 1996).
    """
    n = problem.n
    if n < _LARGE or not problem.sparse:
        return None
    from scipy import sparse

    from lcp.kernels.block_principal_pivoting import aggregate

    diagonal = problem._M.diagonal()
    indptr, indices, data = csr_arrays(problem)
    beside = float(np.maximum(data, 0.0).sum() - diagonal.sum())
    if not (diagonal > 0.0).all() or beside > _POSITIVE * float(diagonal.sum()):
        return None
    lo, hi = bounds_of(problem)
    kind = np.isfinite(lo) + 2 * np.isfinite(hi) + 4 * (lo == hi)
    group, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count = aggregate(indptr, indices, data, _WEAK * diagonal, kind.astype(np.int64), group, first)
    if count > _PART * n:
        return None
    M = sparse.csr_array(problem._M)
    members = sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, count))
    to_fine: Any = members - sparse.diags_array(_WEIGHT / diagonal) @ (M @ members)
    sizes = np.bincount(group, minlength=count)
    low, high = (np.bincount(group, bound, minlength=count) / sizes for bound in (lo, hi))
    coarse, q = (to_fine.T @ (M @ to_fine)).tocsr(), to_fine.T @ problem._q
    if not (np.isfinite(coarse.data).all() and np.isfinite(q).all()):
        return None
    return CoarseProblem(BoxLCP(coarse, q, low, np.maximum(low, high)), group)
