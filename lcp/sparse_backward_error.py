"""The backward error of `lcp.kernels.backward_error` for a matrix in compressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.arrays import Vector


def sparse_backward_error(
    M: Any, q: Vector, noise: Vector, lo: Vector, hi: Vector, z: Vector
) -> float:
    """As the kernel; columns are looked at one by one, where their unknowns decide."""
    from lcp.kernels.accurate_residual import sum_twice
    from lcp.kernels.backward_error import EPS, EXCUSABLE, LOST, reach

    if not z.shape[0]:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        size = abs(M)
        terms = size @ np.abs(z) + np.abs(q)
        loads = np.where(np.abs(q) > noise, np.abs(q), 0.0)
        loads += size @ np.where((z == lo) | (z == hi), np.abs(z), 0.0)
        w = np.asarray(M @ z + q)
        for k in np.flatnonzero((loads > 0.0) & (np.diff(M.indptr) * EPS * terms > LOST * loads)):
            row = slice(M.indptr[k], M.indptr[k + 1])
            w[k] = sum_twice(M.data[row], np.ascontiguousarray(z[M.indices[row]]), float(q[k]))
    if not (np.isfinite(w).all() and np.isfinite(terms).all()):
        return float(np.inf)
    miss = np.maximum(np.abs(w) - noise, 0.0)
    rows = np.divide(miss, terms, out=np.zeros_like(miss), where=miss > 0.0)
    spoilt = (loads > 0.0) & (miss > EXCUSABLE * loads)
    rows[spoilt] = np.maximum(rows[spoilt], miss[spoilt] / loads[spoilt])
    above, below = z - lo, z - hi
    columns = None
    worst = 0.0
    # From the largest on: most others cannot be worse than what is found then.
    for i in np.argsort(-np.where((above < 0.0) | (below > 0.0), np.inf, rows)):
        if rows[i] <= worst and above[i] >= 0.0 and below[i] <= 0.0:
            break
        columns = M.tocsc() if columns is None else columns
        rows_met = columns.indices[columns.indptr[i] : columns.indptr[i + 1]]
        column = np.zeros((rows_met.shape[0], 1))
        column[:, 0] = columns.data[columns.indptr[i] : columns.indptr[i + 1]]
        seen = noise[rows_met], terms[rows_met], loads[rows_met]
        low, high = (reach(column, 0, *pair, *seen) for pair in ((above[i], lo[i]), (below[i], hi[i])))
        worst = max(worst, abs(max(high, min(low, np.copysign(rows[i], w[i])))))
    return float(worst)
