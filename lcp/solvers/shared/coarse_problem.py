"""A sparse problem on groups of neighbouring unknowns: where its solution is at bounds, that of the problem mostly is.

Groups and their smoothed interpolation are those of multigrid methods (P. Vanek, J. Mandel, M. Brezina, Computing 56,
1996); the active set found there is a start for the next finer problem, as in cascadic methods (F. A. Bornemann,
P. Deuflhard, Numerische Mathematik 75, 1996).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP, bounds_of
from lcp.problem import LCP, csr_arrays

# Unknowns from which on a coarse problem pays, and part of the unknowns that it may have.
_LARGE, _PART = 3000, 0.6
# Part of the diagonal below which an entry makes no neighbours, and the weight of the smoothing.
_WEAK, _WEIGHT = 0.05, 0.66
# Part of the diagonal that positive entries beside it may be: more is no diffusion, and groups say nothing.
_POSITIVE = 0.1


class Coarse(NamedTuple):
    """The problem on groups, and the group of each unknown."""

    problem: BoxLCP
    group: NDArray[np.int64]


def coarse_problem(problem: LCP | BoxLCP) -> Coarse | None:
    """The next coarser problem of a large sparse one that is like a diffusion (M near an M-matrix), else None."""
    n = problem.n
    if n < _LARGE or not problem.sparse:
        return None
    from scipy import sparse

    from lcp.kernels.aggregates import aggregate

    diagonal = problem._M.diagonal()
    indptr, indices, data = csr_arrays(problem)
    beside = float(np.maximum(data, 0.0).sum() - diagonal.sum())
    if not (diagonal > 0.0).all() or beside > _POSITIVE * float(diagonal.sum()):
        return None
    lo, hi = bounds_of(problem)
    kind = np.isfinite(lo) + 2 * np.isfinite(hi) + 4 * (lo == hi)
    group, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count = aggregate(indptr, indices, data, _WEAK * diagonal, kind.astype(np.int64), group, first)
    if count > _PART * n:
        return None
    M = sparse.csr_array(problem._M)
    members = sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, count))
    to_fine: Any = members - sparse.diags_array(_WEIGHT / diagonal) @ (M @ members)
    sizes = np.bincount(group, minlength=count)
    low, high = (np.bincount(group, bound, minlength=count) / sizes for bound in (lo, hi))
    coarse, q = (to_fine.T @ (M @ to_fine)).tocsr(), to_fine.T @ problem._q
    if not (np.isfinite(coarse.data).all() and np.isfinite(q).all()):
        return None
    return Coarse(BoxLCP(coarse, q, low, np.maximum(low, high)), group)
