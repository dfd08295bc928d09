"""The rank rule: when a row of equations is zero, and when it depends on others. Every factorisation of rows uses it.

Entries of G are sums of terms. A row is uncertain by ``floor``:

    floor_i = RANK_TOLERANCE scale_i        scale_i: the size of the terms that an entry is made of
    floor_i = eps max(nb, nv) max_j |G_j|   if no scale is known, as `numpy.linalg.lstsq` has it

A row without an entry above floor_i is zero. A row depends on others if its remainder, after these are subtracted, is
not longer than its uncertainty: floor_i and the floors of the subtracted rows, times their coefficients, added in
squares. `row_tolerances` gives floor_i / |G_i|.

A mechanism that is not assembled exactly has rows that are more uncertain. Position errors e (m or rad) move the
configuration by about e_i / scale_i radians, or metres over levers of about 1 m, and the directions of rows by as much:

    floor_i = scale_i (RANK_TOLERANCE + min(CONFIGURATION max_j |e_j| / scale_j, MOST_UNCERTAIN))

the maximum taken over the rows that share a velocity with row i. Without this part an overconstrained linkage, such as
Bennett's, would lock as soon as it drifts by a millionth: its redundant rows are then independent, but by less than
the configuration is off (on Bennett's by 0.2 to 1 times the relative error; of 4 times, runs follow its one degree of
freedom). If the maximum is above NEARLY_ASSEMBLED, rows are taken as they are: there is no assembled mechanism
nearby whose rank they could have.
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
    """Return the Euclidean length, of entries whose squares would overflow, too."""
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
    """Return the largest entry that row i of G can have and be zero."""
    if scale.shape[0] > 0:
        return RANK_TOLERANCE * scale[i]
    largest = 0.0
    for k in range(G.shape[0]):
        largest = max(largest, row_length(G[k]))
    return _EPS * max(G.shape[0], G.shape[1]) * largest


@kernel
def row_floors(G: FloatArray, scale: FloatArray, error: FloatArray, floor: FloatArray) -> None:
    """Fill floor (nb,), to which rows are known.

    ``scale`` and ``error`` are (nb,), of length 0 if they are not known. A scale below |G_i| counts as |G_i|.
    """
    m = G.shape[0]
    if scale.shape[0] == 0:
        common = zero_floor(G, scale, 0) if m > 0 else 0.0
        for i in range(m):
            floor[i] = common
        return
    off = False
    for i in range(error.shape[0]):
        # Errors that add less than a thousandth to the floor are not reported.
        off = off or abs(error[i]) > 1e-3 / CONFIGURATION * RANK_TOLERANCE * scale[i]
    for i in range(m):
        relative = RANK_TOLERANCE
        if off:
            off_by = configuration_error(G, scale, error, i)
            relative += min(CONFIGURATION * off_by, MAX_UNCERTAIN) if off_by <= NEARLY_ASSEMBLED else 0.0
        floor[i] = relative * max(scale[i], row_length(G[i]))


@kernel
def row_tolerances(G: FloatArray, scale: FloatArray, error: FloatArray, tolerance: FloatArray) -> None:
    """Fill tolerance (nb,): floor_i / |G_i|, 1 for zero rows; the rest is as for `row_floors`."""
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
