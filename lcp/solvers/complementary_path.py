"""Almost complementary paths over a box: `BoxLemke` for any box, `LemkeHowson` for games.

The rows are v = M x + q + t d, with x_i between its bounds, complementary to v_i: v_i >= 0 where x_i is at its lower
bound, v_i <= 0 at its upper one, v_i = 0 between. Bounds cost no rows: an unknown that crosses its whole width does
not change the basis. The path is followed as if q were q + B (e, e^2, ..., e^n) with a small e > 0 and the first basis
B, usually the identity. Then no tie occurs, and no basis is met twice (R. W. Cottle, J.-S. Pang, R. E. Stone, The
Linear Complementarity Problem (1992), section 4.9). The basis is refactored from the data every 40 pivots.

Variables are numbered x_0 .. x_{n-1}, v_0 .. v_{n-1}, t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.method import MONOTONE, SolverBase, SolveRequest, Traits, integer_option, positive_option
from lcp.polish import refine, refine_boxed
from lcp.problem import LCP, BoxLCP
from lcp.residuals import measure, verified
from lcp.result import Claim, TraceRecorder
from lcp.scaling import BETWEEN, LOWER, UPPER, ScaledBox, States, scaled_box
from lcp.solvers.extended_lemke import covering_vector
from lcp.solvers.frame import SolveState
from lcp.solvers.newton import basic_point
from lcp.status import ProblemError, Status

# A distance to a bound below this fraction of its terms is rounding and counts as zero.
_TIE = 1e-10
# Entries below the first fraction of the largest of their column are rounding and do not block. Below the second
# fraction the dictionary is formed again before they may block.
_ZERO = 1e-9
_SMALL = 1e-5
# Pivots between two factorisations from the data.
_AGE = 40


class ComplementaryPath:
    """One path: basis, dictionary, values."""

    def __init__(
        self,
        box: ScaledBox,
        cover: Vector,
        upper: NDArray[np.bool_],
        limit: int,
        deadline: float,
        basic: NDArray[np.bool_] | None = None,
    ) -> None:
        """Start at the vertex with the unknowns marked in ``upper`` at their upper bound, the others at the lower.

        Unknowns marked in ``basic``, and those without bounds, are basic; `numpy.linalg.LinAlgError` is raised if their
        block is singular. ``cover`` is d.
        """
        n = self.n = box.n
        self.box, self.limit, self.deadline = box, limit, deadline
        free, given = np.isinf(box.lo) & np.isinf(box.hi), box.lo == box.hi
        self.low = np.concatenate([box.lo, np.where(upper | given, -np.inf, 0.0), [0.0]])
        self.high = np.concatenate([box.hi, np.where(upper & ~given, 0.0, np.inf), [np.inf]])
        # x = at, or by its row; the system is columns @ (x, v, t) = q.
        self.columns = np.hstack([-box.M, np.eye(n), -cover[:, None]])
        i = np.arange(n)
        inside = free if basic is None else free | basic
        self.basis = np.where(inside, i, n + i)
        self.outside = np.append(np.where(inside, n + i, i), 2 * n)
        self.at = np.append(np.where(inside, 0.0, np.where(upper, box.hi, box.lo)), 0.0)
        # The column of the first basis in which each variable is, or -1.
        self.first = np.full(2 * n + 1, -1)
        self.first[self.basis] = i
        self.pivots = 0
        self.form()

    def form(self) -> None:
        """Form the dictionary of the basis from the data: basic values = x + T (nonbasic - at)."""
        right = np.column_stack([self.box.q, self.columns[:, self.outside]])
        solved = np.linalg.solve(self.columns[:, self.basis], right)
        if not np.isfinite(solved).all():
            raise np.linalg.LinAlgError("a basis is singular to working precision")
        self.T = -solved[:, 1:]
        self.x = solved[:, 0] + self.T @ self.at
        # The largest term of each value; the terms of q are in the columns of v.
        n = self.n
        v, own = (self.outside >= n) & (self.outside < 2 * n), (self.basis >= n) & (self.basis < 2 * n)
        terms = np.abs(self.at)
        terms[v] = np.abs(self.box.q[self.outside[v] - n])
        self.size = np.abs(self.T) @ terms
        self.size[own] += np.abs(self.box.q[self.basis[own] - n])
        self.age = 0

    def set_nonbasic(self, entering: int, value: float) -> None:
        """Set a nonbasic variable to a value, from which it will decrease."""
        c = self._column(entering)
        self.x += (value - self.at[c]) * self.T[:, c]
        self.size = np.maximum(self.size, np.abs(value * self.T[:, c]))
        self.at[c] = value

    def follow(self, entering: int, rising: bool, ends: tuple[int, ...], recorder: TraceRecorder) -> Status:
        """Pivot until a variable of ``ends`` leaves (SOLVED), the path ends on a ray, or a limit is reached."""
        while True:
            leaving = self.enter(entering, rising, ends)
            if recorder.wanted:
                recorder.add(self.pivots, self.value(2 * self.n))
            if leaving in ends:
                return Status.SOLVED
            if leaving < 0:
                return Status.RAY_TERMINATION
            if self.pivots >= self.limit or cpu_seconds() > self.deadline:
                return Status.ITERATION_LIMIT
            entering, rising = self.complement(leaving)

    def complement(self, leaving: int) -> tuple[int, bool]:
        """Return the variable that enters after one has left, and whether it increases."""
        n = self.n
        if leaving >= n:
            i = leaving - n
            return i, bool(self.at[self._column(i)] == self.low[i])
        below = bool(self.at[self._column(leaving)] == self.low[leaving])
        self.low[n + leaving], self.high[n + leaving] = (0.0, np.inf) if below else (-np.inf, 0.0)
        return n + leaving, below

    def enter(self, entering: int, rising: bool, ends: tuple[int, ...] = ()) -> int:
        """Move a nonbasic variable until a basic one blocks, and exchange the two.

        Return the variable that left the basis: the entering one itself if it crossed its whole width, -1 on a ray. If
        several variables block together, one of ``ends`` leaves first.
        """
        c, sign = self._column(entering), 1.0 if rising else -1.0
        r, step = self._blocking(c, sign, ends)
        if self.age and (r == -2 or (r >= 0 and abs(self.T[r, c]) < _SMALL * np.abs(self.T[:, c]).max())):
            self.form()
            r, step = self._blocking(c, sign, ends)
        self.pivots += 1
        if r == -2:
            return -1
        T, g = self.T, sign * self.T[:, c]
        value = self.at[c] + sign * step
        self.x += step * g
        self.size = np.maximum(self.size, np.maximum(np.abs(self.x), np.abs(step * g)))
        if r < 0:
            self.at[c] = self.high[entering] if rising else self.low[entering]
            return entering
        leaving = int(self.basis[r])
        column, p = T[:, c].copy(), T[r, c]
        row = T[r] / -p
        row[c] = 1.0 / p
        column[r] = 0.0
        T[:, c] = 0.0
        T += np.outer(column, row)
        T[r] = row
        self.x[r], self.size[r] = value, max(abs(value), self.size[r] / abs(p))
        self.basis[r], self.outside[c] = entering, leaving
        self.at[c] = self.low[leaving] if g[r] < 0.0 else self.high[leaving]
        self.age += 1
        if self.age >= _AGE:
            self.form()
        return leaving

    def value(self, variable: int) -> float:
        """Return the present value of a variable."""
        inside = np.flatnonzero(self.basis == variable)
        return float(self.x[inside[0]] if inside.size else self.at[self._column(variable)])

    def rate(self, variable: int, entering: int, rising: bool) -> float:
        """Return the change of a basic variable per unit of change of the entering one."""
        entry = self.T[np.flatnonzero(self.basis == variable)[0], self._column(entering)]
        return float(entry if rising else -entry)

    def states(self) -> States:
        """Return whether each unknown is at its lower bound, at its upper bound or between them."""
        states = np.full(self.n, BETWEEN, dtype=np.int8)
        out = self.outside < self.n
        which = self.outside[out]
        states[which] = np.where(self.at[out] == self.box.lo[which], LOWER, UPPER)
        return states

    def _column(self, variable: int) -> int:
        return int(np.flatnonzero(self.outside == variable)[0])

    def _blocking(self, c: int, sign: float, ends: tuple[int, ...]) -> tuple[int, float]:
        """Return the row that blocks first and the step to it. Row -1 is the entering variable's bound, -2 is none."""
        g = sign * self.T[:, c]
        low, high = self.low[self.basis], self.high[self.basis]
        room = np.where(g < 0.0, self.x - low, high - self.x)
        noise = _TIE * self.size
        room[room <= noise] = 0.0
        blocks = np.flatnonzero((np.abs(g) > _ZERO * np.abs(g).max(initial=0.0)) & np.isfinite(room))
        ratio = room[blocks] / np.abs(g[blocks])
        entering = self.outside[c]
        width = float(self.high[entering] - self.at[c] if sign > 0.0 else self.at[c] - self.low[entering])
        step = min(float(ratio.min(initial=np.inf)), width)
        if not np.isfinite(step):
            return -2, step
        tied = blocks[(ratio - step) * np.abs(g[blocks]) <= noise[blocks]]
        crosses = width <= step + _TIE * step
        if crosses and entering in ends:
            return -1, width
        last = tied[np.isin(self.basis[tied], ends)]
        r = int(last[0]) if last.size else self._first(tied, g, crosses)
        return r, width if r < 0 else float(room[r] / abs(g[r]))

    def _first(self, tied: NDArray[np.intp], g: Vector, crosses: bool) -> int:
        """Return the row that blocks first in the perturbed problem, or -1 for the entering variable's other bound.

        ``crosses`` is True if the entering variable reaches this bound at the same step as the ``tied`` rows.
        """
        if tied.size + crosses == 1:
            return int(tied[0]) if tied.size else -1
        # Derivatives of the basic values by the perturbation of q along each column of the first basis.
        n, first = self.n, self.first
        moved = np.zeros((tied.size + crosses, n))
        rows = np.flatnonzero(first[self.outside] >= 0)
        moved[: tied.size, first[self.outside[rows]]] = -self.T[np.ix_(tied, rows)]
        own = np.flatnonzero(first[self.basis[tied]] >= 0)
        moved[own, first[self.basis[tied[own]]]] = 1.0
        moved[: tied.size] /= -g[tied, None]
        # Entries below this fraction of their row are rounding and count as equal.
        noise = _ZERO * np.abs(moved).max(axis=1)
        # The width has no perturbation: zeros.
        left = np.arange(moved.shape[0])
        for j in range(n):
            if left.size == 1:
                break
            entries = moved[left, j]
            left = left[entries - noise[left] <= (entries + noise[left]).min()]
        return int(tied[left[0]]) if left[0] < tied.size else -1


@dataclass(frozen=True)
class BoxLemke(SolverBase[LCP | BoxLCP]):
    """Complementary pivoting from a vertex of the box, for any M if all bounds are finite (Cao and Ferris 1996).

    The artificial variable shifts the rows, never the bounds. With the upper multipliers as further unknowns,
    M' = [[M, I], [-I, 0]], the covering vector is (1, 0), and a path can end in a ray only if an unknown can grow
    without bound. So the method solves every problem with finite bounds, and every solvable one with copositive-plus M.
    For other problems it may end in a ray. Bounds need no rows. The block of unknowns without bounds, which are
    eliminated first, must be nonsingular. Ties are broken lexicographically. A pivot costs n^2 operations, and the
    dictionary is formed again from the data every 40 pivots. The number of pivots grows exponentially with n for random
    M: thousands at n = 50.

    Parameters
    ----------
    max_pivots
        Limit over all paths; None for max(1000, 1000 n).
    restarts
        Further paths, from other vertices and with other covering vectors, after one that did not end in a verified
        solution.
    time_limit
        Seconds, checked at every pivot.

    References
    ----------
    M. Cao, M. C. Ferris, A pivotal method for affine variational inequalities, Mathematics of Operations Research 21
    (1996), algorithm 3.1 and theorem 4.4.
    """

    max_pivots: int | None = integer_option(None)
    restarts: int = integer_option(3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.COPOSITIVE | Traits.FINITE_BOX | Traits.BOXED

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Follow one path after another until a verified solution, or a limit."""
        n, box = problem.n, scaled_box(problem)
        limit = max(1000, 1000 * n) if self.max_pivots is None else self.max_pivots
        search = SolveState(problem, request, self.time_limit, limit, "artificial variable")
        if n == 0:
            return search.claim(Status.SOLVED)
        below, above = np.isfinite(box.lo), np.isfinite(box.hi)
        moves = (box.lo < box.hi) & (below | above)
        nearest = np.where(below, box.lo, np.where(above, box.hi, 0.0))
        middle = np.where(below & above, 0.5 * box.lo + 0.5 * box.hi, nearest)
        falls, least = box.rows(middle) < 0.0, np.inf
        for number in range(self.restarts + 1):
            # Start at the vertex that the rows at the middle of the box indicate, and every other time at the opposite.
            upper = above & (~below | (falls == (number % 2 == 0)))
            cover = np.where(moves, np.where(upper, -1.0, 1.0), 0.0) * covering_vector(n, number // 2)
            try:
                path = ComplementaryPath(box, cover, upper, search.share(number == self.restarts), search.deadline)
            except np.linalg.LinAlgError:
                return search.claim(Status.UNSUITABLE, "the block of the unknowns without bounds is singular")
            try:
                needed = np.divide(-path.x, cover, out=np.zeros(n), where=moves)
                path.set_nonbasic(2 * n, 2.0 * float(needed.max(initial=0.0)))
                status = path.follow(2 * n, False, (2 * n,), search.recorder)
            except np.linalg.LinAlgError:
                status = Status.SINGULAR_BASIS
            residual = np.inf
            if status is Status.SOLVED:
                # Unknowns of 1e-7 next to unknowns of 1 may need their last digits, which a residual does not show.
                for accurate in (False, True):
                    x = basic_point(box, path.states(), accurate=accurate)
                    z = search.best if x is None else np.clip(box.original(x), search.lo, search.hi)
                    residual = measure(problem, z)[0].backward_error
                    if x is None or residual <= request.tolerance:
                        break
                better = refine_boxed(problem, z, request.tolerance) if residual > request.tolerance else None
                z, residual = (z, residual) if better is None else (better, 0.0)
                if residual < least or residual <= request.tolerance:
                    search.best, least = z, residual
            claim = search.end_path(
                path.pivots, status, residual <= request.tolerance, f"{number + 1} paths" if number else ""
            )
            if claim is not None:
                return claim
        return search.claim(search.first_status or Status.STALLED, search.detail)


@dataclass(frozen=True)
class LemkeHowson(SolverBase[LCP]):
    """An equilibrium of a bimatrix game by complementary pivoting (Lemke and Howson 1964).

    Let A and B (m, n) be the costs, all positive, of a player with m and one with n strategies. They define the problem
    with M = [[0, A], [B^T, 0]] and q = -1. For its solution (x, y), x / sum(x) and y / sum(y) are an equilibrium, and
    the sums are one over the costs B and A there. Every such problem has a solution, and every label, the first
    strategy to be dropped, leads to one. Rows and unknowns may have any units and order: required are q < 0 and, after
    some permutation, this form. Other problems are UNSUITABLE.

    Ties are broken lexicographically, so that degenerate games end. Zero costs are lifted by adding a constant to all
    costs of a player. If the cost at the equilibrium is zero, it is not a solution, and the next label is tried.

    Parameters
    ----------
    label
        Index of the unknown that is dropped first. Different labels may lead to different equilibria.
    restarts
        Limit on further labels, in order, after one without a verified solution; None for all.
    max_pivots
        Limit over all labels; None for max(1000, 100 n). Some games need exponentially many (Savani and von Stengel
        2006).
    time_limit
        Seconds, checked at every pivot.

    References
    ----------
    C. E. Lemke, J. T. Howson, Equilibrium points of bimatrix games, SIAM Journal 12 (1964).
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 1.2 and 4.4 (4.4.20).
    B. von Stengel, Computing equilibria for two-person games, Handbook of Game Theory 3 (2002), section 2.
    """

    label: int = integer_option(0)
    restarts: int | None = integer_option(None)
    max_pivots: int | None = integer_option(None)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = Traits.BIMATRIX_GAME

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Follow the path of one label after another until a verified solution, or a limit."""
        n, tolerance = problem.n, request.tolerance
        limit = max(1000, 100 * n) if self.max_pivots is None else self.max_pivots
        search = SolveState(problem, request, self.time_limit, limit)
        players = player_strategies(problem)
        if players is None:
            return search.claim(Status.UNSUITABLE, "not of the form of a game")
        if self.label >= n:
            raise ProblemError(f"LemkeHowson.label is {self.label}, the problem has {n} unknowns")
        box = scaled_box(problem)
        game = _lifted(box, players)
        labels = np.roll(np.arange(n), -self.label)[: None if self.restarts is None else self.restarts + 1]
        for number, label in enumerate(labels.tolist()):
            share = search.share(number == labels.size - 1)
            path = ComplementaryPath(game, np.zeros(n), np.zeros(n, dtype=np.bool_), share, search.deadline)
            try:
                status = _follow(path, label)
            except np.linalg.LinAlgError:
                status = Status.SINGULAR_BASIS
            x = basic_point(box, path.states()) if status is Status.SOLVED else None
            better = None
            if x is not None and np.isfinite(x).all():
                z = search.best = np.maximum(box.original(x), 0.0)
                natural = float(np.abs(np.minimum(z, problem._M @ z + problem._q)).max())
                search.recorder.add(search.iterations + path.pivots, natural)
                better = z if verified(problem, z, tolerance) else refine(problem, z, tolerance)
                search.best = z if better is None else better
            claim = search.end_path(path.pivots, status, better is not None, f"label {label}")
            if claim is not None:
                return claim
        return search.claim(search.first_status or Status.STALLED, search.detail)


def player_strategies(problem: LCP) -> NDArray[np.bool_] | None:
    """Return a mask (n,) of the unknowns that are strategies of the first player, or None if the problem is not a game.

    A game has M >= 0 with q < 0. There are no entries between two strategies of one player, all strategies are
    connected by entries, and no row is zero, because nothing could solve it.
    """
    M = problem._M
    # The first row shows for most problems that they are not games.
    if problem.n < 2 or problem.sparse or M[0, 0] != 0.0 or not problem._q[0] < 0.0:
        return None
    if not (problem._q < 0.0).all() or np.diag(M).any() or (M < 0.0).any() or not M.any(axis=1).all():
        return None
    meets = (M > 0.0) | (M.T > 0.0)
    first = np.zeros(problem.n, dtype=np.bool_)
    first[0] = True
    while True:
        second = meets[first].any(axis=0)
        if (first & second).any():
            return None
        grown = first | meets[second].any(axis=0)
        if (grown == first).all():
            return first if (first | second).all() else None
        first = grown


def _lifted(box: ScaledBox, first: NDArray[np.bool_]) -> ScaledBox:
    """Return the game, with a constant added to all costs of each player if some are zero."""
    across = first[:, None] != first
    if (box.M[across] > 0.0).all():
        return box
    # A cost c more for whatever both do: (A + b d^T) y >= b is A y >= (1 - d.y) b, for any weights d > 0.
    most = box.M.max(axis=0)
    more = np.outer(box.q / box.q.min(), np.where(most > 0.0, most, 1.0))
    return replace(box, M=box.M + np.where(across, more, 0.0))


def _follow(path: ComplementaryPath, label: int) -> Status:
    """Follow the path of a game on which only the pair ``label`` is not complementary, until it is.

    The path begins with two exchanges on rays that come from infinity, one for each player. Return SOLVED at a
    solution, STALLED if no row of the other player stops a ray, or the status of `ComplementaryPath.follow`.
    """
    n, M, q = path.n, path.box.M, path.box.q
    entering = label
    for _ in range(2):
        # Far out all rows of the other player hold; coming in, the last one to hold stops it.
        rows = np.flatnonzero(M[:, entering])
        path.set_nonbasic(entering, 2.0 * float((-q[rows] / M[rows, entering]).max()))
        leaving = path.enter(entering, False)
        if leaving == n + label:
            return Status.SOLVED
        if leaving - n not in rows:
            return Status.STALLED
        entering = leaving - n
    return path.follow(entering, True, (label, n + label), TraceRecorder(False))
