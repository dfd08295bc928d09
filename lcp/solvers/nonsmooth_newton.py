"""Newton's method on two sets of nonsmooth equations: Fischer and Burmeister's, and the natural map.

On the natural map principal pivoting makes it finite for P-matrices. Both solve F(x) = 0 with a line search and J = D_a
+ D_b M.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.factors import block, solution
from lcp.method import Traits, bool_option, integer_option, positive_option, real_option
from lcp.result import Claim
from lcp.scaling import BETWEEN, ScaledBox, States
from lcp.solvers.newton import NewtonMethod, SolveMonitor, basic_point, exchange_wrong_signs, polished
from lcp.status import Status

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
        """Return 1/2 |F|^2."""
        return 0.5 * float(self.F @ self.F)


Reformulation = Callable[[ScaledBox, Vector, Vector], Equations]
#: A step from x, where the equations are given, to the next x and the equations there.
Step = Callable[[ScaledBox, Vector, Equations], tuple[Vector, Equations] | None]


def gradient(box: ScaledBox, at: Equations) -> Vector:
    """Return J^T F, the gradient of the merit function."""
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
    jacobian = _jacobian(matrix, at.a[coupled], at.b[coupled])
    inner = solution(jacobian, right, symmetric_pattern=box.symmetric_pattern, shifts=True)
    if inner is None:
        return None
    d[coupled] = inner
    return d


def _jacobian(M: Any, a: Vector, b: Vector) -> Any:
    """Return diag(a) + diag(b) M, sparse if M is."""
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


def damped_steps(
    progress: SolveMonitor, function: Reformulation, step_from: Step, x: Vector, patience: int, *, polish: bool = False
) -> Vector:
    """Make steps until a verified solution, or until ``patience`` steps did not halve F; return the last iterate.

    With ``polish`` the basic points of active sets are tried as well.
    """
    box = progress.box
    at = function(box, x, box.rows(x))
    states: States | None = None
    best, left = np.inf, patience
    while left > 0 and not progress.exhausted:
        progress.iterations += 1
        step = step_from(box, x, at)
        if step is None:
            return x
        x, at = step
        solved = progress.check_iterate(x)
        if polish:
            states = polished(progress, x, states, solved=solved)
        if progress.should_stop():
            return x
        left -= 1
        size = float(np.abs(at.F).max())
        if size <= 0.5 * best:
            best, left = size, patience
    return x


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
    """Return (s + sqrt(s^2 + width^2)) / 2 and its derivative, without cancellation for negative s."""
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


# Steps that may pass without halving the equations before the smoothing path gives another start, and after it.
_PATIENCE, _LAST_PATIENCE = 15, 60
# The Newton step must descend at least like this (De Luca, Facchinei and Kanzow 1996, their rho and p).
_RHO, _POWER = 1e-10, 2.1
_HALF_ROOT = math.sqrt(0.5)


@dataclass(frozen=True)
class FischerNewton(NewtonMethod):
    """Semismooth Newton on z + w - sqrt(z^2 + w^2) with line search (Fischer 1992; De Luca, Facchinei, Kanzow 1996).

    The merit function 1/2 |F|^2 is smooth, so the line search always ends. The Newton step is used if it descends
    enough, otherwise the gradient. For a P-matrix the level sets are bounded and every stationary point is a solution.
    The method then converges from any start, fast at the end. For P0-matrices, such as positive semidefinite ones,
    stationary points are solutions too, but the iterates may be unbounded. Bounds on both sides are treated as by
    Billups (1995): z - lo against -phi(hi - z, -w). Unknowns without a bound have the equation w = 0, and fixed ones z
    - lo = 0. At z = w = 0, where phi has a kink, both derivatives are 1 - sqrt(1/2).

    If the equations are not halved within some steps, a start nearer the solution is searched along the smoothing path.
    If two iterates agree which unknowns are at bounds, the others are solved for, which ends the method with full
    accuracy. Far solutions of ill-conditioned problems are at the end of valleys too long for any line search;
    triangular P-matrices with entries of 64 and a unit diagonal are an example. Then the least-index pivoting of
    `MinMapNewton` continues from the last active set; it is finite for P-matrices.

    Parameters
    ----------
    penalty
        Weight in [0, 1) of a second term max(z, 0) max(w, 0); the first term has the weight 1 - penalty. This is the
        penalised function of Chen, Chen and Kanzow, who use 0.05. It bounds the level sets of strictly feasible
        monotone problems.
    polish
        Whether active sets are guessed and solved, and pivoting may end the solve.
    smoothing
        Whether the smoothing path may be used.
    max_iterations
        Limit on the Newton and pivoting steps together.
    time_limit
        Seconds, checked between steps.

    References
    ----------
    A. Fischer, A special Newton-type optimization method, Optimization 24 (1992).
    T. De Luca, F. Facchinei, C. Kanzow, A semismooth equation approach to the solution of nonlinear complementarity
    problems, Mathematical Programming 75 (1996).
    B. Chen, X. Chen, C. Kanzow, A penalized Fischer-Burmeister NCP-function, Mathematical Programming 88 (2000).
    S. C. Billups, Algorithms for complementarity problems and generalized equations, PhD thesis, Wisconsin (1995).
    """

    penalty: float = real_option(0.0, least=0.0, most=0.999)
    polish: bool = bool_option(True)
    smoothing: bool = bool_option(True)
    max_iterations: int = integer_option(10_000)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = (
        Traits.POSITIVE_DEFINITE | Traits.P_MATRIX | Traits.WARM_START | Traits.SPARSE | Traits.BOXED
    )

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Make Newton steps, possibly from a second start, until a verified solution, a stall or a limit."""
        box = progress.box
        function = fischer_burmeister(self.penalty)
        step = functools.partial(_step, function)
        patience = _PATIENCE if self.smoothing else _LAST_PATIENCE
        damped_steps(progress, function, step, start, patience, polish=self.polish)
        if self.smoothing and not progress.accurate and not progress.exhausted:
            second = follow_smoothing(progress, start)
            if second is not None and not progress.should_stop():
                damped_steps(progress, function, step, second, _LAST_PATIENCE, polish=self.polish)
        if progress.accurate:
            return progress.claim(Status.SOLVED)
        if progress.exhausted:
            return progress.limit()
        if self.polish:
            best = box.start(progress.best)
            return exchange_wrong_signs(progress, box.states(best, box.rows(best)))
        return progress.claim(Status.STALLED, "the Fischer-Burmeister equations do not fall any further")


def _step(function: Reformulation, box: ScaledBox, x: Vector, at: Equations) -> tuple[Vector, Equations] | None:
    """Return the Newton step if it descends enough, otherwise the step along the gradient."""
    down = gradient(box, at)
    d = direction(box, at)
    if d is not None:
        slope = float(down @ d)
        # Not a float of Python's, whose powers raise OverflowError.
        if slope <= -_RHO * np.power(np.linalg.norm(d), _POWER):
            step = line_search(box, function, x, d, at, slope)
            if step is not None:
                return step[0], step[2]
    step = line_search(box, function, x, -down, at, -float(down @ down))
    return None if step is None or not step[2].merit < at.merit else (step[0], step[2])


def fischer_burmeister(penalty: float = 0.0) -> Reformulation:
    """Return the equations of `FischerNewton` with an element of their generalised Jacobian."""

    def phi(a: Vector, b: Vector) -> tuple[Vector, Vector, Vector]:
        value, da, db = _phi(a, b)
        if penalty == 0.0:
            return value, da, db
        keep, a_plus, b_plus = 1.0 - penalty, np.maximum(a, 0.0), np.maximum(b, 0.0)
        inside = (a > 0.0) & (b > 0.0)
        return (
            keep * value + penalty * a_plus * b_plus,
            keep * da + penalty * np.where(inside, b, 0.0),
            keep * db + penalty * np.where(inside, a, 0.0),
        )

    def function(box: ScaledBox, x: Vector, w: Vector) -> Equations:
        low, high = np.isfinite(box.lo), np.isfinite(box.hi)
        given = box.lo == box.hi
        above = np.where(low, x - np.where(low, box.lo, 0.0), 0.0)
        below = np.where(high, np.where(high, box.hi, 0.0) - x, 0.0)
        # From the inside out: u is w, bent down if an upper bound requires w <= 0.
        value, of_room, of_minus_w = phi(below, -w)
        u, u_x, u_w = np.where(high, -value, w), np.where(high, of_room, 0.0), np.where(high, of_minus_w, 1.0)
        value, of_above, of_u = phi(above, u)
        F = np.where(low, value, u)
        a = np.where(low, of_above + of_u * u_x, u_x)
        b = np.where(low, of_u * u_w, u_w)
        return Equations(np.where(given, above, F), np.where(given, 1.0, a), np.where(given, 0.0, b))

    return function


def _phi(a: Vector, b: Vector) -> tuple[Vector, Vector, Vector]:
    """Return a + b - sqrt(a^2 + b^2) and its derivatives, each in a form without cancellation."""
    root = np.hypot(a, b)
    kink = root == 0.0
    safe = np.where(kink, 1.0, root)
    total = a + b
    together = total > 0.0
    value = np.where(together, 2.0 * a * (b / np.where(together, total + root, 1.0)), total - root)
    u, v = np.where(kink, _HALF_ROOT, a / safe), np.where(kink, _HALF_ROOT, b / safe)
    # 1 - u = v^2 / (1 + u), as u^2 + v^2 = 1.
    da = np.where(u > 0.0, v * v / (1.0 + np.abs(u)), 1.0 - u)
    db = np.where(v > 0.0, u * u / (1.0 + np.abs(v)), 1.0 - v)
    return value, da, db


# Damped steps that may pass without halving the natural map before the smoothing path takes over.
_MAP_PATIENCE = 6


@dataclass(frozen=True)
class MinMapNewton(NewtonMethod):
    """Nonsmooth Newton with line search on min(z, Mz + q), finite on P-matrices (Pang 1990; Harker and Pang 1990).

    In each step the unknowns that are nearer to their bound than their row is to zero are set to the bound, and the
    rows of the others are solved: a system of their number, sparse if M is. The full step is tried first. At a
    nondegenerate solution it is exact, so that the method ends there in finitely many steps. Steps are halved until 1/2
    |min(z, w)|^2 decreases (Armijo). A singular block is shifted, and if nothing helps, a projected gradient step is
    made.

    The line search alone does not prove convergence: the natural map has kinks at which no Newton step descends. After
    a few steps that do not halve the map, a start nearer the solution is searched along the smoothing path (Chen and
    Harker 1993). Then undamped steps follow under the least-index safeguard of Judice and Pires (1994). This is finite
    for every P-matrix, also with bounds on both sides; for other matrices nothing is proven.

    Parameters
    ----------
    max_iterations
        Limit on the Newton and pivoting steps together.
    smoothing
        Whether the smoothing path may be used. It matters for large obstacle problems.
    time_limit
        Seconds, checked between steps.

    References
    ----------
    J.-S. Pang, Newton's method for B-differentiable equations, Mathematics of Operations Research 15 (1990).
    P. T. Harker, J.-S. Pang, A damped-Newton method for the linear complementarity problem, in: Computational Solution
    of Nonlinear Systems of Equations, AMS Lectures in Applied Mathematics 26 (1990).
    K. Erleben, Numerical methods for linear complementarity problems in physics-based animation, SIGGRAPH (2013).
    """

    max_iterations: int = integer_option(10_000)
    smoothing: bool = bool_option(True)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = (
        Traits.POSITIVE_DEFINITE | Traits.P_MATRIX | Traits.WARM_START | Traits.SPARSE | Traits.BOXED
    )

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Damped steps, then the smoothing path, then principal pivoting, until a verified solution or a limit."""
        box = progress.box
        x = damped_steps(
            progress, natural_map, lambda *at: _newton_step(*at) or _projected_gradient_step(*at), start, _MAP_PATIENCE
        )
        if progress.accurate:
            return progress.claim(Status.SOLVED)
        if self.smoothing and not progress.exhausted:
            end = follow_smoothing(progress, start)
            if progress.accurate:
                return progress.claim(Status.SOLVED, "from the smoothing path")
            x = x if end is None else end
        return exchange_wrong_signs(progress, box.states(x, box.rows(x)))


def natural_map(box: ScaledBox, x: Vector, w: Vector) -> Equations:
    """Return the natural map and the element of its generalised Jacobian that takes the bound at a tie."""
    between = (box.states(x, w) == BETWEEN).astype(np.float64)
    return Equations(box.natural(x, w), 1.0 - between, between)


def _newton_step(box: ScaledBox, x: Vector, at: Equations) -> tuple[Vector, Equations] | None:
    """Return the next x and its equations, or None if there is no direction or no step descends.

    The step goes to the basic point of x's active set without a line search if the merit falls there.
    """
    # The full step is the basic point of the active set, solved for itself: without the rounding of x + d.
    target = basic_point(box, box.states(x, box.rows(x)))
    d = direction(box, at) if target is None else target - x
    if d is None:
        return None
    if target is not None:
        there = natural_map(box, target, box.rows(target))
        if there.merit <= (1.0 - 2e-4) * at.merit:
            return target, there
    step = line_search(box, natural_map, x, d, at, -2.0 * at.merit)
    return None if step is None else (step[0], step[2])


def _projected_gradient_step(box: ScaledBox, x: Vector, at: Equations) -> tuple[Vector, Equations] | None:
    """Return the next x along the projected gradient, and its equations, or None if the merit does not fall."""
    d = np.clip(x - gradient(box, at), box.lo, box.hi) - x
    step = line_search(box, natural_map, x, d, at, 0.0)
    moved = step is not None and step[2].merit < at.merit
    return (step[0], step[2]) if moved and step is not None else None
