"""Test whether bilateral equations are satisfied, nearly agree, or contradict one another, with the bounds used."""

from __future__ import annotations

import math
from typing import Final

from contactlab.constraints.kernels.kkt_codes import RANK_TOLERANCE
from contactlab.constraints.kernels.rank import largest_entry, row_floors, row_length, zero_floor
from contactlab.spatial.arrays import FloatArray
from lcp.contacts.kernels.condition_scales import keep_worst, min_rate_scale
from lcp.kernels import kernel

# Scaled residual of G v+ + kG up to which the equations are satisfied except for rounding,
CONSISTENT: Final = 1e-9
# and the fraction of a row's terms by which its residual can be off before the equations count as contradictory.
NEARLY: Final = 1e-2
# Position errors assumed for data without errors, in units of the lengths of rows.
ASSEMBLY: Final = 1e-6


@kernel
def certify_bilateral(
    G: FloatArray,
    Y: FloatArray,
    k: FloatArray,
    row_scale: FloatArray,
    v_plus: FloatArray,
    u: FloatArray,
    cert: FloatArray,
) -> None:
    """Fill cert (2,) with |G v+ + k| and its scale for the row with the largest ratio.

    ``Y`` has rows M^-1 G_i, ``row_scale`` is `scaleG` of problem data. ``u`` (nv + 1,) is the size of each velocity
    before cancellation, and of all velocities, as `certify` returns it.
    """
    cert[0] = 0.0
    cert[1] = 0.0
    # Rate of each row, and the size of its terms.
    for i in range(G.shape[0]):
        rate = k[i]
        own = 0.0
        for p in range(v_plus.shape[0]):
            rate += G[i, p] * v_plus[p]
            own += G[i, p] * Y[i, p]
        scale = max(rate_terms(G[i], k[i], u), min_rate_scale(own, float(u[v_plus.shape[0]])))
        if not abs(rate) < float("inf"):
            cert[0] = float("inf")
            cert[1] = 1.0
            return
        if abs(rate) > CONSISTENT * scale:
            # The uncertainty of entries of a zero row is the floor of the rank rule.
            floor = zero_floor(G, row_scale, i)
            if not largest_entry(G[i]) > floor:
                scale = max(scale, floor / CONSISTENT * largest_entry(u[: v_plus.shape[0]]))
        keep_worst(cert, 0, abs(rate), scale)


@kernel(inline=True)
def rate_terms(row: FloatArray, k: float, u: FloatArray) -> float:
    """Return the sum of the sizes of the terms of a row's rate."""
    terms = abs(k)
    for p in range(row.shape[0]):
        terms += abs(row[p]) * u[p]
    return terms


@kernel
def contradicted_row(
    G: FloatArray,
    k: FloatArray,
    row_scale: FloatArray,
    error: FloatArray,
    h: float,
    v_plus: FloatArray,
    u: FloatArray,
    work: FloatArray,
) -> int:
    """Return the index of the row with the largest error beyond errors of assembly, or -1.

    Equations that do not quite agree are satisfied in the least-squares sense, in the rows' own units. Position errors
    e_i explain terms k_i up to |e_i| / h over a step h (0.0: no step); then no least-squares residual is longer than
    these terms. If errors are unknown, a step may have errors of ASSEMBLY |G_i|, in metres or radians. In addition,
    each row has the tolerance

        NEARLY (|k_i| + sum_p |G_ip| u_p) + floor_i sum_p u_p,

    where floor_i is the rounding of its entries by the rank rule. ``work`` (>= nb,) is scratch.
    """
    # Rates that errors of assembly explain.
    explained = 0.0
    for i in range(error.shape[0]):
        if abs(error[i]) > RANK_TOLERANCE * row_scale[i]:
            part = min(abs(k[i]), abs(error[i]) / h) if h > 0.0 else abs(k[i])
            explained += part * part
    if error.shape[0] == 0 and h > 0.0:
        for i in range(G.shape[0]):
            part = min(abs(k[i]), ASSEMBLY * row_length(G[i]) / h)
            explained += part * part
    explained = math.sqrt(explained)
    # Rounding of the rows, and the sum of the velocities' sizes.
    row_floors(G, row_scale, error, work)
    motion = 0.0
    for p in range(v_plus.shape[0]):
        motion += u[p]
    # The row with the largest error beyond these.
    worst = -1
    most = 0.0
    for i in range(G.shape[0]):
        rate = k[i]
        for p in range(v_plus.shape[0]):
            rate += G[i, p] * v_plus[p]
        beyond = abs(rate) - explained - NEARLY * rate_terms(G[i], k[i], u) - work[i] * motion
        if beyond > most:
            most = beyond
            worst = i
    return worst
