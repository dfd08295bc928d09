"""The rank rule of all factorisations of rows: when a row is zero, and when it depends on other rows.

Entries of G are sums of terms. The uncertainty of a row is ``floor``:

    floor_i = RANK_TOLERANCE scale_i        scale_i: the size of the terms that an entry is made of
    floor_i = eps max(nb, nv) max_j |G_j|   if no scale is known, as `numpy.linalg.lstsq` has it

A row without an entry above floor_i is zero. The remainder of a row is the row less its projection on others. A row
depends on the others if its remainder is not longer than its uncertainty: the root of the sum of squares of floor_i and
of the floors of the subtracted rows times their coefficients. `row_tolerances` gives floor_i / |G_i|.

Rows of a mechanism that is not assembled exactly are more uncertain. Position errors e (m or rad) change the
configuration by about e_i / scale_i radians, or metres for levers of about 1 m. They change the directions of rows by
as much:

    floor_i = scale_i (RANK_TOLERANCE + min(CONFIGURATION max_j |e_j| / scale_j, MAX_UNCERTAIN))

with the maximum over the rows that share a velocity with row i. Without this term, an overconstrained linkage such as
Bennett's would lock as soon as it drifts by a millionth. Its redundant rows are then independent, but by less than the
error of the configuration: on Bennett's linkage by 0.2 to 1 times the relative error. With 4 times the error,
simulations follow its one degree of freedom. If the maximum is above NEARLY_ASSEMBLED, this term is omitted, because
there is no assembled mechanism nearby.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from contactlab.constraints.kernels.kkt_codes import CONFIGURATION, MAX_UNCERTAIN, NEARLY_ASSEMBLED, RANK_TOLERANCE
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

_EPS: Final = float(np.finfo(np.float64).eps)


@kernel(inline=True)
def largest_entry(row: FloatArray) -> float:
    """Return max |row_j|."""
    largest = 0.0
    for j in range(row.shape[0]):
        largest = max(largest, abs(row[j]))
    return largest


@kernel
def row_length(row: FloatArray) -> float:
    """Return the Euclidean length, also of entries whose squares would overflow."""
    largest = largest_entry(row)
    if not largest > 0.0:
        return 0.0
    total = 0.0
    for j in range(row.shape[0]):
        part = row[j] / largest
        total += part * part
    return largest * math.sqrt(total)


@kernel(inline=True)
def is_zero_row(row: FloatArray, scale: float) -> bool:
    """Return True if a row is only rounding of terms of size ``scale``."""
    return not largest_entry(row) > RANK_TOLERANCE * scale


@kernel
def zero_floor(G: FloatArray, scale: FloatArray, i: int) -> float:
    """Return the largest entry with which row i of G counts as zero."""
    if scale.shape[0] > 0:
        return RANK_TOLERANCE * scale[i]
    largest = 0.0
    for k in range(G.shape[0]):
        largest = max(largest, row_length(G[k]))
    return _EPS * max(G.shape[0], G.shape[1]) * largest


@kernel
def row_floors(G: FloatArray, scale: FloatArray, error: FloatArray, floor: FloatArray) -> None:
    """Fill floor (nb,) with the uncertainties of the rows of G (nb, nv), by the rule at the top of this file.

    ``scale`` and ``error`` are (nb,), of length 0 if they are unknown. A scale below |G_i| is replaced by |G_i|.
    """
    m = G.shape[0]
    if scale.shape[0] == 0:
        common = zero_floor(G, scale, 0) if m > 0 else 0.0
        for i in range(m):
            floor[i] = common
        return
    off = False
    for i in range(error.shape[0]):
        # Errors that add less than a thousandth to the floor are ignored.
        off = off or abs(error[i]) > 1e-3 / CONFIGURATION * RANK_TOLERANCE * scale[i]
    for i in range(m):
        relative = RANK_TOLERANCE
        if off:
            off_by = configuration_error(G, scale, error, i)
            relative += min(CONFIGURATION * off_by, MAX_UNCERTAIN) if off_by <= NEARLY_ASSEMBLED else 0.0
        floor[i] = relative * max(scale[i], row_length(G[i]))


@kernel
def row_tolerances(G: FloatArray, scale: FloatArray, error: FloatArray, tolerance: FloatArray) -> None:
    """Fill tolerance (nb,) with floor_i / |G_i|, 1 for zero rows; the other arguments are as for `row_floors`."""
    row_floors(G, scale, error, tolerance)
    for i in range(G.shape[0]):
        length = row_length(G[i])
        tolerance[i] = tolerance[i] / length if length > tolerance[i] else 1.0


@kernel(inner=True)
def configuration_error(G: FloatArray, scale: FloatArray, error: FloatArray, i: int) -> float:
    """Return the largest error_k / scale_k of the rows that share a velocity with row i, itself included."""
    worst = 0.0
    for k in range(G.shape[0]):
        size = max(scale[k], row_length(G[k]))
        share = abs(error[k]) / size if size > 0.0 else 0.0
        if share > worst:
            for j in range(G.shape[1]):
                if G[i, j] != 0.0 and G[k, j] != 0.0:
                    worst = share
                    break
    return worst
