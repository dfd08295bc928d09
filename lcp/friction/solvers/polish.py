"""From a solution to some digits to one to rounding: Newton on the equations of the modes it shows."""

from __future__ import annotations

from lcp.arrays import Vector
from lcp.friction.blocks import scaled
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import measure
from lcp.friction.solvers.alart_curnier import AlartCurnier

# Proximal weights (in units of W's median diagonal entry), tried in turn: contacts share a load that nothing decides as
# they do now. Rounding of the equations comes back by its share of the weight in forces that W does not feel, so that a
# large weight goes further where it converges; a small one converges where W is ill-conditioned.
_WEIGHTS = (1e-4, 1e-6, 1e-9)
_STEPS = 8
# Steps in a row without gain that are put up with.
_WORSE = 2
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
    equations = AlartCurnier(problem, units.W, units.q)
    best = r
    for weight in _WEIGHTS:
        equations.set_shift(weight)
        rows, worse = units.start(best), 0
        for _ in range(_STEPS):
            equations.q = units.q - weight * rows * equations.present
            move = equations.step(rows, equations.motion(rows))
            if move is None:
                break
            rows = rows + move[1]
            candidate = units.original(rows)
            error = _error(problem, candidate)
            if error < best_error:
                best, best_error, worse = candidate, error, 0
            else:
                # A contact may have changed its mode on the way.
                worse += 1
                if worse > _WORSE:
                    break
        if best_error <= _ROUNDING:
            break
    return best


def _error(problem: FrictionProblem, r: Vector) -> float:
    residual, _ = measure(problem, r)
    return residual.error
