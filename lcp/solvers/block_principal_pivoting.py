"""Block principal pivoting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.box import BoxLCP, bounds_of
from lcp.clock import processor_seconds
from lcp.method import Method, Request
from lcp.options import positive, real, whole
from lcp.polish.active_set_boxed import equilibrating_units
from lcp.problem import LCP, csr_arrays
from lcp.residuals import measure
from lcp.result import Claim
from lcp.status import Status
from lcp.trace import TraceRecorder
from lcp.traits import Traits

# Zero tolerances are sharpened by this factor, at most so often, when what they call feasible is not yet a solution.
_SHARPER, _LEVELS = 1e-2, 2
# Factorisations for the start on groups of neighbours.
_COARSE = 40
Solve = Callable[[Vector], Vector]

# A pivot below this part of the entries it came from is rounding.
_SINGULAR = 1e-14
# Unknowns from which on a coarse problem pays, and part of the unknowns that it may have.
_LARGE, _PART = 3000, 0.6
# Part of the diagonal below which an entry makes no neighbours, and the weight of the smoothing.
_WEAK, _WEIGHT = 0.05, 0.66
# Part of the diagonal that positive entries beside it may be: more is no diffusion, and groups say nothing.
_POSITIVE = 0.1


@dataclass(frozen=True)
class BlockPrincipalPivoting(Method[LCP | BoxLCP]):
    """Principal pivoting that exchanges all infeasible pairs at once (Kostreva 1978; Judice and Pires 1994).

    A handful of factorisations of active blocks, whatever n: the method for large strictly monotone problems. Blocks
    are exchanged while the number of infeasible pairs falls at least every ``backups`` rounds (rounds that only add, or
    only remove, as the one before did not counting); otherwise one pair at a time by Murty's rule until it does, which
    makes the method end for every P matrix. A sparse M stays sparse (SuperLU), and where the active set creeps forward
    from neighbour to neighbour, as the edge of a contact zone does, it is moved on in doubling strides; for a large M
    near an M-matrix the first set is that found on groups of neighbours, whose factorisations are not counted. Dense
    symmetric blocks are solved by Cholesky, others by LU. Bounds on both sides are native, infinite and equal ones
    included. Stops at a singular block, which no P matrix has.

    Parameters
    ----------
    backups
        Block exchanges allowed that do not lessen the number of infeasible pairs; None for 10 + 2 log2(n).
    max_iterations
        Limit on factorisations; None for max(1000, 10 n) but at most 100 000.
    zero_tolerance
        What counts as zero, relative: of z_i to the largest z, of w_i to |q_i| + max_j |M_ij| max_j z_j. Sharpened by
        the method itself where the answer is not accepted.
    time_limit
        Seconds, heeded between factorisations.

    References
    ----------
    M. M. Kostreva, Block pivot methods for solving the complementarity problem, Linear Algebra and its Applications 21
    (1978); J. J. Judice, F. M. Pires, A block principal pivoting algorithm for large-scale strictly monotone linear
    complementarity problems, Computers and Operations Research 21 (1994); with bounds: J. J. Judice, F. M. Pires,
    Basic-set algorithm for a generalized linear complementarity problem, Journal of Optimization Theory and
    Applications 74 (1992).
    """

    backups: int | None = whole(None)
    max_iterations: int | None = whole(None)
    zero_tolerance: float = real(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive(300.0)

    traits: ClassVar[Traits] = (
        Traits.P_MATRIX | Traits.POSITIVE_DEFINITE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED
    )

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        z0, tolerance, trace = request
        n, M, q = problem.n, problem._M, problem._q
        lo, hi = bounds_of(problem)
        recorder = TraceRecorder(trace)
        deadline = processor_seconds() + self.time_limit
        limit = min(max(1000, 10 * n), 100_000) if self.max_iterations is None else self.max_iterations
        best: Vector = np.clip(np.zeros(n), lo, hi)
        residual = measure(problem, best)[0]
        recorder.add(0, residual.natural_map)
        if residual.solved(tolerance):
            return Claim(best, Status.SOLVED, 0, trace=recorder.trace())
        best_error = residual.backward_error
        free = np.isinf(lo) & np.isinf(hi)
        coarse = coarse_problem(problem) if z0 is None else None
        state = _first_state(lo, hi, free, z0)
        if coarse is not None:
            # Whatever it came to: a start needs no proof.
            part = replace(self, max_iterations=min(limit, _COARSE), time_limit=0.5 * self.time_limit)
            there, (low, high) = (
                part._claim(coarse.problem, Request(None, tolerance, False)).z,
                bounds_of(coarse.problem),
            )
            state = np.where(there <= low, -1, np.where(there >= high, 1, 0))[coarse.group]
            state[lo == hi] = -1
        blocks, units = ActiveBlocks(M), equilibrating_units(M)
        backups = 10 + 2 * int(n).bit_length() if self.backups is None else self.backups
        least, patience, level = n + 1, backups, 0
        front, seen = _Front(problem), set[int]()
        for iteration in range(1, limit + 1):
            if processor_seconds() > deadline:
                return Claim(best, Status.ITERATION_LIMIT, iteration - 1, "time limit", trace=recorder.trace())
            z = np.where(state < 0, lo, hi)
            inside = state == 0
            z[inside] = 0.0
            if not blocks.fill(z, inside, q):
                return Claim(best, Status.SINGULAR_BASIS, iteration, "an active block is singular: M is no P matrix",
                             trace=recorder.trace())  # fmt: skip
            w = M @ z + q
            infeasible = _infeasible(z, w, state, lo, hi, self.zero_tolerance * _SHARPER**level, units, q)
            count = int(np.count_nonzero(infeasible))
            if count == 0 or trace:
                candidate = np.clip(z, lo, hi)
                residual = measure(problem, candidate)[0]
                recorder.add(iteration, residual.natural_map)
                if residual.solved(tolerance):
                    detail = "warm basis accepted" if z0 is not None and iteration == 1 else ""
                    return Claim(candidate, Status.SOLVED, iteration, detail, trace=recorder.trace())
                if residual.backward_error < best_error:
                    best, best_error = candidate, residual.backward_error
            if count == 0:
                if level == _LEVELS:
                    return Claim(best, Status.STALLED, iteration, "the final basis is no solution of the original data",
                                 trace=recorder.trace())  # fmt: skip
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
                # Murty's rule from here on, until fewer pairs are infeasible than ever before.
                moved = np.flatnonzero(infeasible)[:1]
                key = hash(state.tobytes())
                if key in seen:
                    return Claim(best, Status.STALLED, iteration, "an active set came back: M is no P matrix",
                                 trace=recorder.trace())  # fmt: skip
                seen.add(key)
            state[moved] = np.where(state[moved] == 0, np.where(z[moved] < lo[moved], -1, 1), 0)
        return Claim(best, Status.ITERATION_LIMIT, limit, "problem too long: max_iterations reached",
                     trace=recorder.trace())  # fmt: skip


def _first_state(lo: Vector, hi: Vector, free: NDArray[np.bool_], z0: Vector | None) -> NDArray[np.int64]:
    """-1 at the lower bound, 1 at the upper, 0 between them, where w is to vanish."""
    state = np.where(np.isfinite(lo), -1, 1)
    if z0 is not None:
        state = np.where((z0 > lo) & (z0 < hi), 0, np.where((z0 >= hi) & np.isfinite(hi), 1, state))
    state[free] = 0
    state[lo == hi] = -1
    return state.astype(np.int64)


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
    """The pairs that are not complementary; of a given z_i (lo = hi) any w_i will do."""
    row, column = units
    size = float(np.abs(z / column).max(initial=0.0))
    z_zero, w_zero = tolerance * size * column, tolerance * (np.abs(q) + size / row)
    between = (state == 0) & ((z < lo - z_zero) | (z > hi + z_zero))
    below = (state < 0) & (w < -w_zero)
    above = (state > 0) & (w > w_zero)
    infeasible: NDArray[np.bool_] = (between | below | above) & (lo < hi)
    return infeasible


class _Front:
    """Watches the active set of a sparse problem and hastens it where it only creeps from neighbour to neighbour."""

    def __init__(self, problem: LCP | BoxLCP) -> None:
        self._matrix = problem._M if problem.sparse else None
        self._direction, self._streak, self._stride = 0, 0, 0

    def look(self, infeasible: NDArray[np.bool_], state: NDArray[np.int64]) -> bool:
        """Whether the next exchange only adds or only removes, as the one before."""
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
                # It went too far: what was passed over is found again in shorter strides.
                self._stride //= 4
        return monotone

    def moved(
        self, infeasible: NDArray[np.bool_], state: NDArray[np.int64], movable: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """The pairs to exchange: the infeasible ones and what lies within the present stride of those to add."""
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
    """Solves the active block of M, dense or sparse, of each set it is asked for."""

    def __init__(self, M: Any) -> None:
        """Look at M once: whether it is symmetric."""
        self._dense = isinstance(M, np.ndarray)
        self._columns = M if self._dense else M.tocsc()
        self._rows = M
        if self._dense:
            scale = np.sqrt(np.abs(np.diag(M)))
            self._symmetric = bool((np.abs(M - M.T) <= 1e-12 * scale[:, None] * scale).all())

    def fill(self, z: Vector, inside: NDArray[np.bool_], q: Vector) -> bool:
        """Give the entries of z inside their bounds the values at which their w vanish, refined once."""
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
        from scipy.linalg import lapack

        block = np.asfortranarray(self._columns[np.ix_(active, active)])
        diagonal = np.diag(block)
        if self._symmetric and diagonal.min() > 0.0:
            factor, info = lapack.dpotrf(block, lower=True)
            # The squared pivots are Schur complements: those of a singular block are rounding.
            if info == 0 and (np.diag(factor) ** 2 > _SINGULAR * diagonal).all():
                return lambda b: np.asarray(lapack.dpotrs(factor, b, lower=True)[0])
        row = 1.0 / np.maximum(np.abs(block).max(axis=1), np.finfo(np.float64).tiny)
        column = 1.0 / np.maximum(np.abs(row[:, None] * block).max(axis=0), np.finfo(np.float64).tiny)
        lu, pivots, info = lapack.dgetrf(np.asfortranarray(row[:, None] * block * column))
        if info != 0 or not np.abs(np.diag(lu)).min() > _SINGULAR:
            return None
        return lambda b: np.asarray(column * lapack.dgetrs(lu, pivots, row * b)[0])

    def _sparse_solve(self, active: NDArray[np.intp]) -> Solve | None:
        from scipy.sparse.linalg import splu

        block = self._columns[:, active][active]
        try:
            # SuperLU says so by this exception, and only then, when a pivot is exactly zero.
            factor = splu(block, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        except RuntimeError:
            return None
        return lambda b: np.asarray(factor.solve(b))


class Coarse(NamedTuple):
    """The problem on groups, and the group of each unknown."""

    problem: BoxLCP
    group: NDArray[np.int64]


def coarse_problem(problem: LCP | BoxLCP) -> Coarse | None:
    """The next coarser problem of a large sparse one that is like a diffusion (M near an M-matrix), else None.

    Where its solution is at bounds, that of the problem mostly is. Groups and their smoothed interpolation are those of
    multigrid methods (P. Vanek, J. Mandel, M. Brezina, Computing 56, 1996); the active set found there is a start for
    the next finer problem, as in cascadic methods (F. A. Bornemann, P. Deuflhard, Numerische Mathematik 75, 1996).
    """
    n = problem.n
    if n < _LARGE or not problem.sparse:
        return None
    from scipy import sparse

    from lcp.kernels.aggregates import aggregate

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
    return Coarse(BoxLCP(coarse, q, low, np.maximum(low, high)), group)
