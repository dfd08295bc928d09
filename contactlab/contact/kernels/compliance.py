"""The normal row of a contact that gives way: a spring and a damper, as a softened row."""

from __future__ import annotations

from lcp.kernels import kernel


@kernel(inline=True)
def compliant_terms(gap: float, h: float, stiffness: float, dissipation: float) -> tuple[float, float]:
    """KN [m/s] and gammaN [s/kg] of 0 <= fN, N v+ + kN + gammaN fN >= 0 for a spring k with a damper b.

    In penetration fN = -k (gap + h N v+) - b N v+, with gamma = 1/(h k + b) and erp = h k/(h k + b) as in
    `contactlab.formulation.softening`. A contact that is still open meets its spring where it closes: spring and damper
    act on the way beyond, fN = -(k + b/h) (gap + h N v+). At gap = 0 the two are one.
    """
    total = h * stiffness + dissipation
    share = 1.0 if gap > 0.0 else h * stiffness / total
    return share * gap / h, 1.0 / total
