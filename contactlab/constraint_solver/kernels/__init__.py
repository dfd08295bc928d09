"""Laws of constraint rows: relation of the rate s = J v+ to the force f at the end of a step, for each kind.

Four numbers, k, gamma, lo and hi, define a row:

    lo <= f <= hi,      s + k + gamma f  >= 0 where f = lo,  <= 0 where f = hi,  = 0 between

    kind                      k                              gamma          bounds
    contact normal, limit     `unilateral_law`               same           0, inf
    friction, spin, rolling   -(rate of the surface)         0              mu fN, or a length times fN, see below
    equation of positions     rate + `equality_law`          cfm            -inf, inf
    drive                     `bounded_law`                  its own        its own
    spring between points     `bounded_law`                  its own        -inf, inf
    dry friction              0                              0              -bound, bound

Rows of friction have no constant bounds. Together they have the bound mu fN (sliding) or a length times fN (moments),
through a slack variable, with the unknown normal force fN of a contact; see `discretized_lcp`.

The compiled loop and the model problem both call these functions. Verification states the laws again independently.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.kernels import kernel

# Kinds of rows of joints with entries of their own, as `contactlab.constraint_solver.model_problem.drives.RowKind` has
# them.
LIMIT: Final = 0
MIMIC: Final = 2
LOOP: Final = 3
SPRING: Final = 7


@kernel(inline=True)
def rigid_contact_law(
    gap: float,
    before: float,
    free: float,
    h: float,
    restitution: float,
    restitution_threshold: float,
    erp: float,
    fastest: float,
) -> float:
    """Return k [m/s] of the rigid row 0 <= f, s + k >= 0: Newton's restitution, or the gap closed within the step.

    A contact that would close within the step with an approach faster than ``restitution_threshold`` is an impact: s >=
    -e s-. With e = 0 it can close its gap like any other contact (s >= -gap/h). The fraction ``erp`` of a penetration
    is removed per step, at a speed of at most ``fastest``. In an impact the larger of the two speeds applies, not their
    sum.

    Parameters
    ----------
    gap
        Distance [m], negative in penetration.
    before, free
        Rate [m/s] before the step, and after it without constraint forces.
    h, restitution, restitution_threshold, erp
        Step [s], coefficient e, impact threshold [m/s], stabilised fraction of the penetration.
    fastest
        Bound [m/s] on the speed at which penetration is removed. If infinite, impacts have only s >= -e s-.
    """
    impact = gap + h * free <= 0.0 and before < -restitution_threshold
    # Without a bound on the removal of penetration, impacts have restitution only.
    if fastest == math.inf:
        if impact:
            return restitution * before
        return gap / h if gap > 0.0 else erp * gap / h
    if gap > 0.0:
        return restitution * before if impact and restitution > 0.0 else gap / h
    # In penetration: the larger of restitution and bounded removal.
    push = max(erp * gap / h, -fastest)
    return min(restitution * before, push) if impact else push


@kernel(inline=True)
def unilateral_law(
    gap: float,
    before: float,
    free: float,
    h: float,
    restitution: float,
    restitution_threshold: float,
    erp: float,
    cfm: float,
    stiffness: float,
    dissipation: float,
    fastest: float,
) -> tuple[float, float]:
    """Return k [m/s] and gamma [s/kg] of a contact's normal row or a stop; rigid if h k + b is 0 or infinite.

    In penetration a spring with a damper has the force f = -k (gap + h s) - b s, for any speed of approach. Here gamma
    = 1/(h k + b) and erp = h k/(h k + b), as in `contactlab.constraint_solver.softening`. An open row reaches its
    spring when it closes: spring and damper act on the further distance, f = -(k + b/h) (gap + h s). At gap = 0 the two
    formulas agree.
    """
    response = h * stiffness + dissipation
    if 0.0 < response < math.inf:
        share = 1.0 if gap > 0.0 else h * stiffness / response
        return share * gap / h, 1.0 / response
    return rigid_contact_law(gap, before, free, h, restitution, restitution_threshold, erp, fastest), cfm


@kernel(inline=True)
def equality_law(error: float, h: float, erp: float) -> float:
    """Return k of a position equation: the fraction ``erp`` of its error is removed within the step."""
    return erp * error / h


@kernel(inline=True)
def bounded_law(
    error: float,
    target: float,
    low: float,
    high: float,
    h: float,
    stiffness: float,
    damping: float,
    speed: float,
) -> tuple[float, float, float, float]:
    """Return k, gamma, lo and hi of a row with bounded force: dry friction, a part of a drive, or a spring.

    With stiffness or damping the force is -stiffness (error + h s) - damping (s - speed) at the end of the step. So has
    a spring between points, with the rate s of its length. The other rows control the speed ``target``, which is 0 for
    dry friction.
    """
    response = h * stiffness + damping
    if response > 0.0:
        gamma = 1.0 / response
        return gamma * (stiffness * error - damping * speed), gamma, low, high
    return 0.0 - target, 0.0, low, high
