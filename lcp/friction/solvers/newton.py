"""Damped semismooth Newton on Alart and Curnier's equations: the loop that several solvers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lcp.arrays import Vector
from lcp.friction.solvers.alart_curnier import AlartCurnier

# Values of the merit that a step is compared with: the largest of the last few (Grippo, Lampariello, Lucidi 1986).
_MEMORY = 6
_ARMIJO = 1e-4
_HALVINGS = 12


@dataclass(frozen=True)
class NewtonRun:
    """Where a run of Newton's method ended: the best rows, its merit ||F||, the steps made, whether it converged."""

    rows: Vector
    merit: float
    iterations: int
    converged: bool
    singular: bool = False


def newton(
    equations: AlartCurnier,
    rows: Vector,
    done: Callable[[Vector, Vector, int], bool],
    *,
    max_iterations: int,
    late: Callable[[], bool],
) -> NewtonRun:
    """Iterate from ``rows`` until ``done(rows, F, iteration)``, with a nonmonotone line search on ||F||."""
    u = equations.motion(rows)
    F = equations.residual(rows, u)
    merit = float(np.linalg.norm(F))
    best, best_merit = rows, merit
    history = [merit]
    extra = 0.0
    for iteration in range(max_iterations + 1):
        if done(rows, F, iteration):
            return NewtonRun(rows, merit, iteration, True)
        if iteration == max_iterations or late():
            break
        move = equations.step(rows, u, extra)
        if move is None:
            # Singular: as if every contact gave way a little, which changes the step and not the equations.
            extra = max(10.0 * extra, 1e-10)
            move = equations.step(rows, u, extra) if extra < 1.0 else None
            if move is None:
                return NewtonRun(best, best_merit, iteration, False, True)
        _, d = move
        bound = max(history[-_MEMORY:])
        t, chosen = 1.0, None
        least = np.inf
        for _ in range(_HALVINGS):
            trial = rows + t * d
            moved = equations.motion(trial)
            G = equations.residual(trial, moved)
            size = float(np.linalg.norm(G))
            if size < least:
                least, chosen = size, (trial, moved, G)
            if size <= (1.0 - _ARMIJO * t) * bound:
                chosen, least = (trial, moved, G), size
                break
            t *= 0.5
        if chosen is None or not np.isfinite(least):
            return NewtonRun(best, best_merit, iteration, False)
        rows, u, F = chosen
        merit = least
        history.append(merit)
        if merit < best_merit:
            best, best_merit = rows, merit
    return NewtonRun(best, best_merit, max_iterations, False)
