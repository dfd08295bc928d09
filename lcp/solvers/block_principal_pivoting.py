"""Principal pivoting between active sets: all wrong signs are exchanged at once, or the one of least index.

`exchange_wrong_signs` is finite for P-matrices. `BlockPrincipalPivoting` and `Murty` are its two rules, and the Newton
methods end with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.method import SolveRequest, Traits, integer_option, positive_option, real_option
from lcp.problem import LCP, BoxLCP, bounds_of, csr_arrays
from lcp.result import Claim
from lcp.scaling import BETWEEN, LOWER, UPPER, ScaledBox, States
from lcp.solvers.newton import NewtonMethod, SolveMonitor, basic_point
from lcp.status import ProblemError, Status

# Signs within this fraction of their terms are rounding and count as satisfied.
_SIGN = 1e-13
# Limit on successive exchanges of all wrong signs that do not reduce their number (Judice and Pires use 10).
_PATIENCE = 10
# If the final basis is no solution, the zero tolerance is multiplied by this factor, at most this often.
_SHARPER, _LEVELS = 1e-2, 2
# Exchanges in one direction after which the exchanged sets of a sparse problem are extended to neighbours.
_STREAK = 6


def wrong_signs(box: ScaledBox, states: States, x: Vector, slack: float = _SIGN) -> tuple[NDArray[np.bool_], States]:
    """Return a mask of the sign conditions violated by a basic point, and the states after exchanging them."""
    w = box.rows(x)
    sizes = np.abs(x)
    x_slack = slack * float(sizes.max(initial=0.0))
    w_slack = slack * (abs(box.M) @ sizes + np.abs(box.q))
    inside = states == BETWEEN
    below, above = inside & (x < box.lo - x_slack), inside & (x > box.hi + x_slack)
    # An unknown whose bounds coincide is fixed: its row may have any sign.
    leaves = (((states == LOWER) & (w < -w_slack)) | ((states == UPPER) & (w > w_slack))) & (box.lo < box.hi)
    following = np.where(below, LOWER, np.where(above, UPPER, np.where(leaves, BETWEEN, states)))
    return below | above | leaves, following.astype(np.int8)


def exchange_wrong_signs(
    progress: SolveMonitor,
    states: States,
    *,
    patience: int = _PATIENCE,
    slack: float = _SIGN,
    order: NDArray[np.intp] | None = None,
    detail: str = "",
) -> Claim:
    """Exchange wrong signs until all are right: all together while this helps, otherwise the first in ``order``.

    Exchanging all is the undamped Newton step of the natural map. After ``patience`` such steps without a new minimum
    of the number of wrong signs, exchanges are made by least index until there is one (J. J. Judice and F. M. Pires, A
    block principal pivoting algorithm for large-scale strictly monotone linear complementarity problems, Computers and
    Operations Research 21, 1994). Steps that only add, or only remove, like the previous one are not counted. The
    least-index rule ends for every P-matrix from any start (K. G. Murty, Note on a Bard-type scheme for solving the
    complementarity problem, Opsearch 11, 1974), and so does the combination. Murty's induction also holds for bounds on
    both sides: with the unknowns before it solved, w_n is a strictly increasing function of x_n, which therefore
    changes its bound at most twice.
    """
    box = progress.box
    progress.begin_phase()
    front, dense = _FrontAccelerator(box), isinstance(box.M, np.ndarray)
    fewest, left, level = box.n + 1, patience, 0
    # If an active set is met again under the least-index rule, M is not a P-matrix. Brent's marks are at 1, 2, 4, ...
    mark, steps, following_mark = b"", 0, 1
    while True:
        x = basic_point(box, states)
        if x is None:
            return progress.claim(Status.SINGULAR_BASIS, "an active block is singular: M is no P-matrix")
        wrong, following = wrong_signs(box, states, x, slack * _SHARPER**level)
        count = int(wrong.sum())
        # A measure of a large sparse problem takes as long as a step.
        if (count == 0 or dense or progress.recorder.wanted) and progress.check_iterate(x):
            return progress.claim(Status.SOLVED, detail)
        if count == 0:
            # A residual in working precision may not show an error of 1e-10 in the largest unknown, large against a
            # load.
            x = basic_point(box, states, accurate=True)
            if x is not None and progress.check_iterate(x, record=False):
                return progress.claim(Status.SOLVED, detail)
            if level == _LEVELS:
                return progress.claim(Status.STALLED, "the final basis is no solution of the original data")
            level, fewest = level + 1, box.n + 1
            continue
        if progress.exhausted:
            return progress.limit(detail)
        progress.iterations += 1
        monotone = front.look(wrong, states)
        if count < fewest:
            fewest, left, mark = count, patience, b""
        if left > 0:
            left -= not monotone
            moved = front.moved(wrong, states)
        else:
            candidates = np.arange(box.n) if order is None else order
            moved = candidates[wrong[candidates]][:1]
        states = states.copy()
        states[moved] = np.where(states[moved] != BETWEEN, BETWEEN, following[moved])
        if left == 0:
            if states.tobytes() == mark:
                return progress.claim(Status.STALLED, "an active set came back: M is no P-matrix")
            steps += 1
            if steps == following_mark:
                mark, following_mark = states.tobytes(), 2 * following_mark


class _FrontAccelerator:
    """Accelerator for active sets of sparse problems that advance only from neighbour to neighbour."""

    def __init__(self, box: ScaledBox) -> None:
        self._matrix, self._movable = box.M, box.lo < box.hi
        self._direction, self._streak, self._stride = 0, 0, 0

    def look(self, wrong: NDArray[np.bool_], states: States) -> bool:
        """Return True if the next exchange only adds or only removes, like the previous one."""
        adds = bool((wrong & (states != BETWEEN)).any())
        removes = bool((wrong & (states == BETWEEN)).any())
        direction = int(adds) - int(removes)
        monotone = direction != 0 and direction == self._direction
        self._direction = direction
        if adds and monotone:
            self._streak += 1
            if self._streak > _STREAK:
                self._stride = max(1, 2 * self._stride)
        else:
            self._streak = 0
            if removes:
                # The stride was too long: unknowns that were passed over are found again with shorter strides.
                self._stride //= 4
        return monotone

    def moved(self, wrong: NDArray[np.bool_], states: States) -> NDArray[np.intp]:
        """Return the pairs to exchange: the wrong ones, and all within the present stride of the ones to add."""
        if isinstance(self._matrix, np.ndarray) or self._stride == 0:
            return np.flatnonzero(wrong)
        taken = wrong.copy()
        open_to = self._movable & (states != BETWEEN) & ~taken
        edge = wrong & (states != BETWEEN)
        for _ in range(self._stride):
            edge = (abs(self._matrix).T @ edge > 0.0) & open_to
            if not edge.any():
                break
            open_to &= ~edge
            taken |= edge
        return np.flatnonzero(taken)


class _Exchanges(NewtonMethod):
    """Base class of both rules: their options, and the states at a start."""

    zero_tolerance: float

    def _states(self, progress: SolveMonitor, start: Vector) -> States:
        """Return the unknowns of the start between their bounds; unknowns without bounds are always between them."""
        box = progress.box
        states = np.where(start <= box.lo, LOWER, np.where(start >= box.hi, UPPER, BETWEEN))
        return np.where(box.lo == box.hi, LOWER, states).astype(np.int8)


@dataclass(frozen=True)
class BlockPrincipalPivoting(_Exchanges):
    """Principal pivoting that exchanges all infeasible pairs at once (Kostreva 1978; Judice and Pires 1994).

    The method needs a few factorisations of active blocks at any n; it is meant for large strictly monotone problems.
    Blocks are exchanged while the number of infeasible pairs decreases at least every ``backups`` rounds. Rounds that
    only add, or only remove, like the previous one are not counted. Otherwise single pairs are exchanged by Murty's
    rule until the number decreases, so that the method ends for every P matrix.

    A sparse M stays sparse (SuperLU). If the active set advances only from neighbour to neighbour, like the edge of a
    contact zone, the exchanges are extended to neighbours, in strides that double. For a large M near an M-matrix the
    first active set is computed on groups of neighbours; these factorisations are not counted. Bounds on both sides are
    native, also infinite and equal ones. The method stops at a singular block, because no P matrix has one.

    Parameters
    ----------
    backups
        Limit on block exchanges that do not reduce the number of infeasible pairs; None for 10 + 2 log2(n).
    max_iterations
        Limit on factorisations; None for max(1000, 10 n) but at most 100 000.
    zero_tolerance
        Relative size that counts as zero: for z_i relative to the largest z, for w_i to the terms of its row. The
        method reduces it if a solution is not accepted.
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

    def _limit(self, n: int) -> int:
        return min(max(1000, 10 * n), 100_000) if self.max_iterations is None else self.max_iterations

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Exchange infeasible pairs until a verified solution, a singular block or a limit."""
        box, problem = progress.box, progress.problem
        states = self._states(progress, start)
        coarse = coarse_problem(problem) if (start == box.start(None)).all() else None
        if coarse is not None:
            # The status does not matter, because a start needs no proof.
            part = replace(self, max_iterations=min(progress.max_iterations, _COARSE), time_limit=0.5 * self.time_limit)
            there = part._claim(coarse.problem, SolveRequest(None, progress.tolerance, False)).z
            low, high = bounds_of(coarse.problem)
            states = np.where(there <= low, LOWER, np.where(there >= high, UPPER, BETWEEN))[coarse.group]
            states = np.where(box.lo == box.hi, LOWER, states).astype(np.int8)
        backups = 10 + 2 * int(box.n).bit_length() if self.backups is None else self.backups
        return exchange_wrong_signs(progress, states, patience=backups + 1, slack=self.zero_tolerance)


@dataclass(frozen=True)
class Murty(_Exchanges):
    """Principal pivoting on the least infeasible index, a Bard-type scheme (Murty 1974).

    The simplest method for P matrices: the first pair that is not complementary is exchanged, and no basis is met
    twice. Bounds on both sides are native. The number of pivots depends on the order of the indices and may be
    exponential; a pivot solves the equations of its active set. If an active set comes back or its block is singular, M
    is not a P matrix and the method stops. A sparse M is made dense.

    Parameters
    ----------
    order
        Order of the indices, a permutation of 0 .. n - 1 with the preferred index first; None for the natural order.
    max_pivots
        Limit on pivots; None for max(10000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between pivots.

    References
    ----------
    K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974); R. W. Cottle,
    J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 4.2.
    """

    order: Sequence[int] | None = None
    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = Traits.P_MATRIX | Traits.POSITIVE_DEFINITE | Traits.WARM_START | Traits.BOXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            given = np.asarray(self.order)
            if given.ndim != 1 or not np.array_equal(np.sort(given), np.arange(given.shape[0])):
                raise ProblemError(f"Murty.order must be a permutation of 0 .. n - 1, got {self.order!r}")
            object.__setattr__(self, "order", tuple(int(i) for i in given))

    def _limit(self, n: int) -> int:
        if self.order is not None and len(self.order) != n:
            raise ProblemError(f"Murty.order has length {len(self.order)}, the problem {n}")
        return max(10_000, 50 * n) if self.max_pivots is None else self.max_pivots

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Exchange the first infeasible pair until a verified solution, a singular block or a limit."""
        states, order = self._states(progress, start), None if self.order is None else np.array(self.order)
        return exchange_wrong_signs(progress, states, patience=0, slack=self.zero_tolerance, order=order)


# Limit on factorisations for the start on groups of neighbours.
_COARSE = 40
# Number of unknowns from which a coarse problem is used, and its maximum size as a fraction of this number.
_LARGE, _PART = 3000, 0.6
# Smallest fraction of the diagonal at which an entry makes two unknowns neighbours, and the weight of the smoothing.
_WEAK, _WEIGHT = 0.05, 0.66
# Largest positive off-diagonal entry as a fraction of the diagonal; with larger ones M is not like a diffusion.
_POSITIVE = 0.1


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
