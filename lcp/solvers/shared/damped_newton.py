"""Newton's method with a line search on F(x) = 0, J = D_a + D_b M, for reformulations of complementarity problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcp.arrays import Vector
from lcp.solvers.shared.factors import solution
from lcp.solvers.shared.progress import SolveMonitor, block, polished
from lcp.solvers.shared.scaled_box import ScaledBox, States

_DECREASE = 1e-4
_SHORTEST = 2.0**-40
# Smoothing: the root of the parameter is multiplied by the first factor after a full Newton step. It is multiplied by
# the second factor if the third number of shortened steps brought no full one. The path ends when the root has fallen
# to the fourth number times its first value, or after the fifth number of steps.
_FALL, _SLOW_FALL, _VISITS, _LEAST, _STEPS = 0.1, 0.5, 40, 1e-13, 300


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """F(x) and the diagonals of an element D_a + D_b M of its generalised Jacobian, all (n,)."""

    F: Vector
    a: Vector
    b: Vector

    @property
    def merit(self) -> float:
        """1/2 |F|^2."""
        return 0.5 * float(self.F @ self.F)


Reformulation = Callable[[ScaledBox, Vector, Vector], Equations]


def gradient(box: ScaledBox, at: Equations) -> Vector:
    """J^T F."""
    slope: Vector = at.a * at.F + box.M.T @ (at.b * at.F)
    return slope


def direction(box: ScaledBox, at: Equations) -> Vector | None:
    """Return d with J d = -F. Rows without D_b are solved separately, and a singular J is regularised."""
    coupled = np.flatnonzero(at.b != 0.0)
    alone = at.b == 0.0
    d = np.zeros(box.n)
    d[alone] = -at.F[alone] / at.a[alone]
    if coupled.shape[0] == 0:
        return d
    right = -at.F[coupled] - at.b[coupled] * (box.M @ d)[coupled]
    matrix = box.M if coupled.shape[0] == box.n else block(box.M, coupled)
    inner = solution(_jacobian(matrix, at.a[coupled], at.b[coupled]), right,
                     symmetric_pattern=box.symmetric_pattern, shifts=True)  # fmt: skip
    if inner is None:
        return None
    d[coupled] = inner
    return d


def _jacobian(M: Any, a: Vector, b: Vector) -> Any:
    if isinstance(M, np.ndarray):
        J = b[:, None] * M
        J[np.diag_indices_from(J)] += a
        return J
    from scipy import sparse

    return sparse.diags_array(b) @ M + sparse.diags_array(a)


def line_search(
    box: ScaledBox, function: Reformulation, x: Vector, d: Vector, at: Equations, slope: float
) -> tuple[Vector, float, Equations] | None:
    """Return the longest step 1, 1/2, 1/4, ... with merit(x + t d) <= merit(x) + 1e-4 t slope (Armijo), or None."""
    w, change = box.rows(x), box.M @ d
    t = 1.0
    while t >= _SHORTEST:
        trial = x + t * d
        there = function(box, trial, w + t * change)
        if there.merit <= at.merit + _DECREASE * t * slope:
            return trial, t, there
        t *= 0.5
    return None


def smoothed(root_of_mu: float) -> Reformulation:
    """Return the smoothed natural map x - p(x - w).

    Its zeros for an LCP, x_i w_i = mu, x > 0, w > 0, are the central path.

    p(t) = lo + h(t - lo) - h(t - hi) with h(s) = (s + sqrt(s^2 + 4 mu)) / 2. B. Chen and P. T. Harker, A
    non-interior-point continuation method for linear complementarity problems, SIAM J. Matrix Anal. Appl. 14 (1993);
    S. A. Gabriel and J. J. More, Smoothing of mixed complementarity problems (1997), for the box.
    """
    width = 2.0 * root_of_mu

    def function(box: ScaledBox, x: Vector, w: Vector) -> Equations:
        t = x - w
        low, high = np.isfinite(box.lo), np.isfinite(box.hi)
        s = np.where(low, t - np.where(low, box.lo, 0.0), np.where(high, np.where(high, box.hi, 0.0) - t, t))
        # Two-sided: lo + h(t - lo) - h(t - hi); one-sided: lo + h(t - lo) or hi - h(hi - t); free: t.
        h, slope = _smooth_max(s, width)
        both = low & high
        r = t - np.where(both, box.hi, 0.0)
        k, k_slope = _smooth_max(r, width)
        p = np.where(both, box.lo + h - k, np.where(low, box.lo + h, np.where(high, box.hi - h, t)))
        b = np.where(both, slope - k_slope, np.where(low | high, slope, 1.0))
        return Equations(x - p, 1.0 - b, b)

    return function


def _smooth_max(s: Vector, width: float) -> tuple[Vector, Vector]:
    """(s + sqrt(s^2 + width^2)) / 2 and its derivative, without cancellation for negative s."""
    root = np.hypot(s, width)
    sum_ = root + np.abs(s)
    small = np.divide(0.5 * width * width, sum_, out=np.zeros_like(s), where=sum_ > 0.0)
    value = np.where(s > 0.0, 0.5 * sum_, small)
    return value, np.divide(value, root, out=np.full_like(s, 0.5), where=root > 0.0)


def follow_smoothing(progress: SolveMonitor, x: Vector) -> Vector | None:
    """Return a point near the end of the smoothing path from x, or a solution that the monitor has kept.

    None at limits.

    Newton's method on the natural map moves the free boundary of an obstacle problem by one node per step; the path
    moves it as a whole. If two successive points agree which unknowns are on bounds, the basic point of this active set
    is tried.
    """
    box = progress.box
    progress.begin_phase()
    w = box.rows(x)
    root = max(float(np.abs(box.natural(x, w)).max(initial=0.0)), 1e-3)
    end = _LEAST * root
    states: States | None = None
    visits, steps = 0, 0
    while root > end and steps < _STEPS:
        if progress.exhausted:
            return None
        progress.iterations += 1
        visits, steps = visits + 1, steps + 1
        function = smoothed(root)
        at = function(box, x, box.rows(x))
        d = direction(box, at)
        step = None if d is None else line_search(box, function, x, d, at, -2.0 * at.merit)
        if step is not None:
            x = step[0]
            states = polished(progress, x, states, solved=progress.check_iterate(x))
            if progress.should_stop():
                return x
        full = step is not None and step[1] == 1.0
        if full or step is None or visits >= _VISITS:
            root *= _FALL if full else _SLOW_FALL
            visits = 0
    return x
