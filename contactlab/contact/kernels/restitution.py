"""The normal bias of a contact: Newton's restitution, or the gap closed within the step."""

from __future__ import annotations

from lcp.kernels import kernel


@kernel(inline=True)
def normal_term(gap: float, vn_minus: float, vn_free: float, h: float, e: float, v_min: float, erp: float) -> float:
    """KN [m/s] of the condition 0 <= fN, N v+ + kN >= 0 of one contact.

    A contact that would close within the step while approaching faster than ``v_min`` is an impact: N v+ >= -e N v-.
    Any other may at most close its gap (N v+ >= -gap/h); penetration is pushed out by the fraction ``erp`` per step.

    Parameters
    ----------
    gap
        Distance [m], negative in penetration.
    vn_minus, vn_free
        Normal velocity N v [m/s] before the step, and after it without contact forces.
    h, e, v_min, erp
        Step [s], coefficient of restitution, impact threshold [m/s], stabilised fraction of the penetration.
    """
    if gap + h * vn_free <= 0.0 and vn_minus < -v_min:
        return e * vn_minus
    if gap > 0.0:
        return gap / h
    return erp * gap / h
