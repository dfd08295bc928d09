"""Damped Newton's method on the natural map, made finite for P-matrices by principal pivoting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import Traits, bool_option, integer_option, positive_option
from lcp.result import Claim
from lcp.scaling import BETWEEN, ScaledBox
from lcp.solvers.newton import (
    Equations,
    NewtonMethod,
    SolveMonitor,
    basic_point,
    damped_steps,
    direction,
    exchange_wrong_signs,
    follow_smoothing,
    gradient,
    line_search,
)
from lcp.status import Status

# Damped steps that may pass without halving the natural map before the smoothing path takes over.
_PATIENCE = 6


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
        x = damped_steps(progress, natural_map, _step, start, _PATIENCE)
        if progress.accurate():
            return progress.claim(Status.SOLVED)
        if self.smoothing and not progress.exhausted:
            end = follow_smoothing(progress, start)
            if progress.accurate():
                return progress.claim(Status.SOLVED, "from the smoothing path")
            x = x if end is None else end
        return exchange_wrong_signs(progress, box.states(x, box.rows(x)))


def natural_map(box: ScaledBox, x: Vector, w: Vector) -> Equations:
    """Return the natural map and the element of its generalised Jacobian that takes the bound at a tie."""
    between = (box.states(x, w) == BETWEEN).astype(np.float64)
    return Equations(box.natural(x, w), 1.0 - between, between)


def _step(box: ScaledBox, x: Vector, at: Equations) -> tuple[Vector, Equations] | None:
    return _newton_step(box, x, at) or _projected_gradient_step(box, x, at)


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
