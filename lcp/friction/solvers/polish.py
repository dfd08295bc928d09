"""From a solution to some digits to one to rounding: Newton on the equations of the modes it shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcp.friction.blocks import scaled
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import measure
from lcp.friction.solvers.alart_curnier import AlartCurnier

Vector = NDArray[np.float64]

# Proximal weight (in units of W's median diagonal entry): contacts share a load that nothing decides as they do now.
_WEIGHT = 1e-9
_STEPS = 6
# Error at which nothing is left to gain.
_ROUNDING = 1e-15


def polished(problem: FrictionProblem, r: Vector) -> Vector:
    """The best of r and of a few Newton steps from it, by the larger of the two measures.

    Near a solution each contact's mode (open, stick, slide) no longer changes, and Newton's step on Alart and Curnier's
    equations is that on the equations of the modes: r = 0; u = 0; u_N = 0 with r_T against u_T.
    """
    best_error = _error(problem, r)
    if best_error <= _ROUNDING:
        return r
    units = scaled(problem)
    equations = AlartCurnier(problem, units.W, units.q, _WEIGHT)
    rows = units.start(r)
    best = r
    for _ in range(_STEPS):
        equations.q = units.q - _WEIGHT * rows * equations.present
        found = equations.step(rows, equations.motion(rows))
        if found is None:
            break
        rows = rows + found[1]
        candidate = units.original(rows)
        error = _error(problem, candidate)
        if not error < best_error:
            break
        best, best_error = candidate, error
    return best


def _error(problem: FrictionProblem, r: Vector) -> float:
    found, _ = measure(problem, r)
    return found.error
