"""Bounds that another unknown sets: friction rows bounded by a normal force, as `findex` of ODE and Bullet has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_vector, read_only
from lcp.box import BoxLCP, checked_bounds
from lcp.conversions import Conversion
from lcp.errors import ProblemError
from lcp.problem import AffineRows


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CoupledBoxLCP(AffineRows):
    """A `BoxLCP` some of whose bounds are -mu_i z_j and mu_i z_j, with j = findex_i.

    The coupling is part of the problem: engines that fix the bounds at a former z_j, or sweep, solve another one.

    Parameters
    ----------
    M, q
        As of `BoxLCP`.
    lo, hi
        Bounds (n,) of the rows that are not coupled, or one number for all; those of coupled rows are not looked at.
    findex
        Whole numbers (n,): the row whose unknown bounds this one, or -1. That row is not coupled itself and has
        lo >= 0, so that its unknown is a size; otherwise the problem is none of linear complementarity, and is refused.
    mu
        Factors (n,) >= 0, or one number; those of rows that are not coupled are not looked at.

    Raises
    ------
    ProblemError
        For a shape or value that does not fit, naming the row.

    References
    ----------
    R. Smith, Open Dynamics Engine user guide (2006), "contact" (the bounds lo, hi and findex of a row).
    """

    lo: Vector
    hi: Vector
    findex: NDArray[np.int64]
    mu: Vector

    def __init__(self, M: Any, q: ArrayLike, lo: ArrayLike, hi: ArrayLike, findex: ArrayLike, mu: ArrayLike) -> None:
        self._set_rows(M, q)
        n = self.n
        source = np.asarray(findex)
        if source.shape != (n,) or not (source.dtype.kind in "iu" or n == 0):
            raise ProblemError(f"findex must be whole numbers of shape ({n},), got {source.dtype} {source.shape}")
        source = source.astype(np.int64)
        coupled = source != -1
        factors = checked_vector("mu", np.full(n, mu) if np.ndim(mu) == 0 else mu, n)
        low, high = (np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), (n,))) if np.ndim(b) == 0 else
                     np.array(b, dtype=np.float64) for b in (lo, hi))  # fmt: skip
        if low.shape == high.shape == (n,):
            low[coupled], high[coupled] = 0.0, np.inf
        low, high = checked_bounds(low, high, n)
        for i in np.flatnonzero(coupled):
            j = int(source[i])
            if not 0 <= j < n or coupled[j]:
                what = "is coupled itself" if 0 <= j < n else "is no row"
                raise ProblemError(f"findex[{i}] = {j} {what}")
            if not low[j] >= 0.0:
                raise ProblemError(f"findex[{i}] = {j}, where lo = {low[j]}: bounds -mu |z| and mu |z| are not linear")
            if not factors[i] >= 0.0:
                raise ProblemError(f"mu[{i}] = {factors[i]} is negative")
        for name, value in (("lo", low), ("hi", high), ("findex", source), ("mu", factors)):
            object.__setattr__(self, name, read_only(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._M, self._q, self.lo, self.hi, self.findex, self.mu)

    def __repr__(self) -> str:
        return f"CoupledBoxLCP(n={self.n}, coupled={int((self.findex >= 0).sum())})"

    def at(self, z: Vector) -> BoxLCP:
        """The problem with the bounds that z itself sets: z solves this one exactly where it solves that."""
        coupled = np.flatnonzero(self.findex >= 0)
        lo, hi = self.lo.copy(), self.hi.copy()
        hi[coupled] = self.mu[coupled] * np.maximum(z[self.findex[coupled]], 0.0)
        lo[coupled] = -hi[coupled]
        return BoxLCP(self._M, self._q, lo, hi)


def coupled_to_box(problem: CoupledBoxLCP) -> Conversion[BoxLCP]:
    """Bounds that are numbers: z_i = y_i - mu_i z_j with y_i >= 0, and a pair for the upper bound, as in `box_to_mlcp`.

    The multiplier s_i >= 0 of the upper bound stands against the room 2 mu_i z_j - y_i >= 0, and the row of y_i becomes
    w_i + s_i >= 0. Unknowns are (z with y_i in the coupled places, s). M is made dense.
    """
    n, coupled = problem.n, np.flatnonzero(problem.findex >= 0)
    source, mu, d = problem.findex[coupled], problem.mu[coupled], coupled.shape[0]
    M = problem._M if isinstance(problem._M, np.ndarray) else problem._M.toarray()
    shift = np.zeros((n, n))
    shift[coupled, source] = mu
    select = np.zeros((n, d))
    select[coupled, np.arange(d)] = 1.0
    room = -select.T
    room[np.arange(d), source] += 2.0 * mu
    wide = np.block([[M - M @ shift, select], [room, np.zeros((d, d))]])
    none = np.zeros(d)
    box = BoxLCP(
        wide,
        np.concatenate([problem._q, none]),
        np.concatenate([problem.lo, none]),
        np.concatenate([problem.hi, none + np.inf]),
    )

    def recover(x: Vector) -> Vector:
        z = checked_vector("x", x, n + d)[:n]
        limit = mu * z[source]
        y = z[coupled]
        # At either end the bound itself, not a difference.
        near = np.abs(y - 2.0 * limit) <= 4.0 * np.finfo(np.float64).eps * 2.0 * limit
        z[coupled] = np.where(near, limit, y - limit)
        return z

    def start(z: Vector) -> Vector:
        w = M @ z + problem._q
        limit = mu * z[source]
        x = np.concatenate([z, np.where(z[coupled] >= limit, np.maximum(-w[coupled], 0.0), 0.0)])
        x[coupled] = np.maximum(z[coupled] + limit, 0.0)
        return x

    return Conversion(box, recover, start)
