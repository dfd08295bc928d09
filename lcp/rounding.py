"""How much of a residual rounding may excuse, row by row; the kernel of plain dense problems does the same.

Unknowns are rounded to float64, so that no row can be met better than to a few units of rounding of its own terms.
That excuses a row, but not that it misses a load of its own: unknowns so large that a load drowns in their rounding
solve nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector

_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 64.0 * _EPS
# Fraction of a row's load that rounding may excuse it misses; terms that cancel to less prove nothing.
_EXCUSABLE = 1e-3
# Fraction of the largest load that a row may miss where all loads are small.
_SMALL_LOADS = 1e-6


def summed_map(
    M: Any,
    load: Vector,
    x: Vector,
    w: Vector,
    size: Vector,
    largest: float,
    parts: Callable[[Vector], tuple[Vector, NDArray[np.bool_]]],
) -> tuple[Vector, float, float, bool]:
    """w with the rows that rounding could decide summed in twice the precision, and what becomes of the natural map.

    Parameters
    ----------
    M, load, x, w
        w = M x + load, all finite; M dense or CSR.
    size
        Largest |M_ij| of each row times the largest |x_j|.
    largest
        Largest load of the whole problem, its equations included.
    parts
        From w to the entries of the natural map, and which of them are a row's and not an unknown's.

    Returns
    -------
    w, natural map, its limit, and whether rounding decided: solved where the natural map is within the limit.
    """
    plain = 1e-8 * max(1.0, float(np.abs(load).max(initial=0.0)))
    # An absolute limit would take x of any size for a solution where all loads are smaller than it.
    limits = np.array([plain, min(plain, _SMALL_LOADS * largest)])
    part, by_row = parts(w)
    limit = limits[by_row.astype(np.intp)]
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = np.flatnonzero((np.abs(part) > limit) | (x.shape[0] * _EPS * size > limit))
    if doubtful.shape[0]:
        w = _summed_twice(M, load, x, w, doubtful)
        part, by_row = parts(w)
        limit = limits[by_row.astype(np.intp)]
    natural = float(np.abs(part).max(initial=0.0))
    over = np.flatnonzero(~(np.abs(part) <= limit))
    if over.shape[0] == 0:
        return w, natural, plain, False
    terms = np.array([_terms_size(M, load, x, int(i)) for i in over])
    excuse = _ROUNDING * terms
    excuse = np.where(load[over] != 0.0, np.minimum(excuse, _EXCUSABLE * np.abs(load[over])), excuse)
    allowed = np.maximum(limit[over], excuse)
    missed = ~(np.abs(part[over]) <= allowed)
    # The smallest limit that was missed, otherwise the largest that was needed.
    if missed.any():
        return w, natural, float(allowed[missed].min()), False
    return w, natural, max(plain, float(allowed.max())), natural > plain


def _row(M: Any, x: Vector, i: int) -> tuple[Vector, Vector]:
    """Entries of row i and the unknowns they meet."""
    if isinstance(M, np.ndarray):
        return np.ascontiguousarray(M[i]), x
    entries = slice(M.indptr[i], M.indptr[i + 1])
    return M.data[entries], np.ascontiguousarray(x[M.indices[entries]])


def _summed_twice(M: Any, load: Vector, x: Vector, w: Vector, rows: NDArray[np.intp]) -> Vector:
    from lcp.kernels.accurate_residual import sum_twice

    w = w.copy()
    for i in rows:
        entries, unknowns = _row(M, x, int(i))
        w[i] = sum_twice(entries, unknowns, float(load[i]))
    return w


def _terms_size(M: Any, load: Vector, x: Vector, i: int) -> float:
    entries, unknowns = _row(M, x, i)
    with np.errstate(over="ignore"):
        return abs(float(load[i])) + float(np.abs(entries * unknowns).sum())
