"""Almost complementary paths over a box. Ties are broken lexicographically, and the basis is refactored from the data.

The rows are v = M x + q + t d, with x_i between its bounds, complementary to v_i: v_i >= 0 where x_i is at its lower
bound, v_i <= 0 at its upper one, v_i = 0 between. Bounds cost no rows: an unknown that crosses its whole width does
not change the basis. The path is followed as if q were q + (e, e^2, ..., e^n) with a small e > 0. Then no tie occurs,
and no basis is met twice (R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section
4.9).

Variables are numbered x_0 .. x_{n-1}, v_0 .. v_{n-1}, t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.result import TraceRecorder
from lcp.solvers.shared.scaled_box import BETWEEN, LOWER, UPPER, ScaledBox, States
from lcp.status import Status

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

    def __init__(self, box: ScaledBox, cover: Vector, upper: NDArray[np.bool_], limit: int, deadline: float) -> None:
        """Start at the vertex with the unknowns marked in ``upper`` at their upper bound, the others at the lower.

        Unknowns without bounds are basic; `numpy.linalg.LinAlgError` is raised if their block is singular. ``cover`` is
        d.
        """
        n = self.n = box.n
        self.box, self.limit, self.deadline = box, limit, deadline
        free, given = np.isinf(box.lo) & np.isinf(box.hi), box.lo == box.hi
        self.low = np.concatenate([box.lo, np.where(upper | given, -np.inf, 0.0), [0.0]])
        self.high = np.concatenate([box.hi, np.where(upper & ~given, 0.0, np.inf), [np.inf]])
        # x = at, or by its row; the system is columns @ (x, v, t) = q.
        self.columns = np.hstack([-box.M, np.eye(n), -cover[:, None]])
        i = np.arange(n)
        self.basis = np.where(free, i, n + i)
        self.outside = np.append(np.where(free, n + i, i), 2 * n)
        self.at = np.append(np.where(free, 0.0, np.where(upper, box.hi, box.lo)), 0.0)
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
        blocks = np.flatnonzero((np.abs(g) > _ZERO * np.abs(g).max()) & np.isfinite(room))
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
        """Return the row that blocks first in the perturbed problem, or -1 for the entering variable's width."""
        if tied.size + crosses == 1:
            return int(tied[0]) if tied.size else -1
        # Derivatives of the basic values by the perturbation of each row, which acts like v_j.
        n = self.n
        moved = np.zeros((tied.size + crosses, n))
        rows = np.flatnonzero((self.outside >= n) & (self.outside < 2 * n))
        moved[: tied.size, self.outside[rows] - n] = -self.T[np.ix_(tied, rows)]
        own = np.flatnonzero((self.basis[tied] >= n) & (self.basis[tied] < 2 * n))
        moved[own, self.basis[tied[own]] - n] = 1.0
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
