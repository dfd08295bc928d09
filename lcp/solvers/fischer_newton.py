"""Semismooth Newton's method on the Fischer-Burmeister equations."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import Traits, bool_option, integer_option, positive_option, real_option
from lcp.result import Claim
from lcp.scaling import ScaledBox
from lcp.solvers.newton import (
    Equations,
    NewtonMethod,
    Reformulation,
    SolveMonitor,
    damped_steps,
    direction,
    exchange_wrong_signs,
    follow_smoothing,
    gradient,
    line_search,
)
from lcp.status import Status

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
        if self.smoothing and not progress.accurate() and not progress.exhausted:
            second = follow_smoothing(progress, start)
            if second is not None and not progress.should_stop():
                damped_steps(progress, function, step, second, _LAST_PATIENCE, polish=self.polish)
        if progress.accurate():
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
