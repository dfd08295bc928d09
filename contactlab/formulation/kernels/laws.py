"""Laws of constraint rows: the relation of the rate s = J v+ of each kind to its force f at the end of a step.

A row is stated by four numbers, k, gamma, lo and hi:

    lo <= f <= hi,      s + k + gamma f  >= 0 where f = lo,  <= 0 where f = hi,  = 0 between

    kind                      k                              gamma          bounds
    contact normal, limit     `unilateral_law`               same           0, inf
    friction, spin, rolling   -(rate of the surface)         0              mu fN, or a length times fN, see below
    equation of positions     rate + `equality_law`          cfm            -inf, inf
    velocity drive            -target                        0              -bound, bound
    position drive            `bounded_law`                  its own        -bound, bound
    spring between points     `bounded_law`                  its own        -inf, inf
    dry friction              0                              0              -bound, bound

Rows of friction have no constant bounds: they share mu fN (sliding) or a length times fN (moments), where fN is the
unknown force of a contact, through a slack variable; see `discretized_lcp`.

The compiled loop and the model problem both call these; verification states them once more, on purpose.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.kernels import kernel

# Kinds of rows of joints, as `contactlab.formulation.model_problem.options.RowKind` has them.
LIMIT: Final = 0
VELOCITY_DRIVE_RIGID: Final = 1
MIMIC: Final = 2
LOOP: Final = 3
FRICTION: Final = 4
VELOCITY_DRIVE: Final = 5
POSITION_DRIVE: Final = 6
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
    """k [m/s] of the rigid row 0 <= f, s + k >= 0: Newton's restitution, or the gap closed within the step.

    A contact that would close within the step while approaching faster than ``restitution_threshold`` is an impact: s
    >= -e s-, and with e = 0 it may close its gap like any other (s >= -gap/h). Penetration is pushed out by the
    fraction ``erp`` per step, no faster than ``fastest``; in an impact the faster of the two speeds is asked for, never
    their sum.

    Parameters
    ----------
    gap
        Distance [m], negative in penetration.
    before, free
        Rate [m/s] before the step, and after it without constraint forces.
    h, restitution, restitution_threshold, erp
        Step [s], coefficient e, impact threshold [m/s], stabilised fraction of the penetration.
    fastest
        Bound [m/s] on the speed at which penetration is pushed out. Infinite: none, and impacts have s >= -e s- alone.
    """
    impact = gap + h * free <= 0.0 and before < -restitution_threshold
    # Without a bound on the push-out, impacts have restitution only.
    if fastest == math.inf:
        if impact:
            return restitution * before
        return gap / h if gap > 0.0 else erp * gap / h
    if gap > 0.0:
        return restitution * before if impact and restitution > 0.0 else gap / h
    # In penetration: the faster of restitution and bounded push-out.
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
    """k [m/s] and gamma [s/kg] of a contact's normal row or a stop; rigid if h k + b is 0 or infinite.

    In penetration a spring with a damper gives f = -k (gap + h s) - b s, with gamma = 1/(h k + b) and erp = h k/(h k +
    b) as in `contactlab.formulation.softening`, struck at any speed alike. A row that is still open meets its spring
    when it closes: spring and damper act on the distance beyond, f = -(k + b/h) (gap + h s). At gap = 0 the two are
    one.
    """
    response = h * stiffness + dissipation
    if 0.0 < response < math.inf:
        share = 1.0 if gap > 0.0 else h * stiffness / response
        return share * gap / h, 1.0 / response
    return rigid_contact_law(gap, before, free, h, restitution, restitution_threshold, erp, fastest), cfm


@kernel(inline=True)
def equality_law(error: float, h: float, erp: float) -> float:
    """k of an equation of positions: the share ``erp`` of its error is taken back within the step."""
    return erp * error / h


@kernel(inline=True)
def bounded_law(
    kind: int,
    error: float,
    target: float,
    bound: float,
    h: float,
    stiffness: float,
    damping: float,
    target_velocity: float,
) -> tuple[float, float, float, float]:
    """k, gamma, lo and hi of a row that holds one coordinate as far as its force goes: dry friction or a drive.

    A position drive is f = -stiffness (error + h s) - damping (s - target_velocity), taken at the end of the step, and
    so is a spring between points, with s the rate of its length; the others want a speed, ``target``, which is 0 of dry
    friction.
    """
    if kind in (POSITION_DRIVE, SPRING):
        gamma = 1.0 / (h * stiffness + damping)
        return gamma * (stiffness * error - damping * target_velocity), gamma, -bound, bound
    if kind == FRICTION:
        return 0.0, 0.0, -bound, bound
    return -target, 0.0, -bound, bound
