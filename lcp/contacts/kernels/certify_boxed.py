"""Mechanical conditions of boxed rows, on the scales of `condition_scales`: s_i of a rate, phi_i of a force.

With s = B v+ + kB + gammaB fB of a row::

    BOX_BOUNDS           lo <= fB <= hi
    BOX_GAP              s >= 0 where hi = inf, s <= 0 where lo = -inf
    BOX_COMPLEMENTARITY  (fB - lo) max(s, 0) = 0, (hi - fB) max(-s, 0) = 0, of finite bounds

A force between bounds is computed from its distance to one of them, with rounding relative to the bound. So s_i is at
least `MIN_RELATIVE_SCALE` times the rate that the larger bound causes in the row. A power is compared with the larger
of (distance to the bound) s_i and phi_i |s|: small only if one of the two is.
"""

from __future__ import annotations

from typing import Final

from lcp.contacts.kernels.boxed_rows import larger_bound
from lcp.contacts.kernels.column_ranges import row_response
from lcp.contacts.kernels.condition_scales import MIN_RELATIVE_SCALE, begin_certificate, keep_worst, row_rate
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, kernel

# Condition numbers, in the order of contactlab.certificate.BOXED_CONDITIONS.
BOX_BOUNDS: Final = 0
BOX_GAP: Final = 1
BOX_COMPLEMENTARITY: Final = 2
BOXED_CERT_SIZE: Final = 6


@kernel
def certify_boxed(rows: ContactSystem, f: Floats, v_plus: Floats, rates: Floats, u: Floats, cert: Floats) -> None:
    """Fill cert (6,) with the worst violation of each condition and its scale; infinite if a value is not finite.

    f are the forces of all rows, u (nv + 1,) is the output of `certify`.
    """
    # boxed rows follow all other rows
    lo = rows.lo
    hi = rows.hi
    first = rows.nc + rows.nr + rows.nl + rows.nb
    if not begin_certificate(f[:0], f, v_plus, cert[:BOXED_CERT_SIZE]):
        return
    # rate, its scale and the scale of the force of each boxed row
    for b in range(lo.shape[0]):
        i = first + b
        rate, scale, force = row_rate(rows, i, f, v_plus, rates, u)
        # the scale is at least a small fraction of the speed that the larger bound causes
        response = row_response(rows, i)
        least = MIN_RELATIVE_SCALE * response * larger_bound(lo[b], hi[b])
        if scale < least:
            scale = least
            force = least / response
        # rate with softness, and the distance outside the bounds
        s = rate + rows.gamma[i] * f[i]
        keep_worst(cert, BOX_BOUNDS, max(0.0, lo[b] - f[i], f[i] - hi[b]), force)
        # a positive rate requires the force at its lower bound
        if lo[b] > -float("inf"):
            up = max(0.0, s)
            room = abs(f[i] - lo[b])
            keep_worst(cert, BOX_COMPLEMENTARITY, up * room, max(room * scale, force * up))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, s), scale)
        # a negative rate requires the force at its upper bound
        if hi[b] < float("inf"):
            down = max(0.0, -s)
            room = abs(hi[b] - f[i])
            keep_worst(cert, BOX_COMPLEMENTARITY, down * room, max(room * scale, force * down))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, -s), scale)
