"""The linear complementarity problem with bounds on both sides (relays, saturated motors, friction with given load)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, bare_vector, read_only
from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.problem import LCP, AffineRows


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BoxLCP(AffineRows):
    """Find z with lo <= z <= hi and, for w = M z + q: w_i >= 0 at lo_i, w_i <= 0 at hi_i, w_i = 0 between them.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse. Copied.
    q
        Vector (n,). Copied.
    lo, hi
        Bounds (n,), or one number for all; -inf and inf mean none. Where lo_i = hi_i, z_i is given and w_i arbitrary.

    Raises
    ------
    ProblemError
        For a shape that does not fit, an entry that is not a finite real number, or lo_i > hi_i.

    References
    ----------
    S. P. Dirkse, M. C. Ferris, The PATH solver, Optimization Methods and Software 5 (1995).
    """

    lo: Vector
    hi: Vector

    def __init__(self, M: Any, q: ArrayLike, lo: ArrayLike, hi: ArrayLike) -> None:
        self._set_rows(M, q)
        low, high = checked_bounds(lo, hi, self.n)
        object.__setattr__(self, "lo", read_only(low))
        object.__setattr__(self, "hi", read_only(high))

    def __reduce__(self) -> tuple[Any, ...]:
        # As in `LCP`: copies are made anew.
        return type(self), (self._M, self._q, self.lo, self.hi)

    def __repr__(self) -> str:
        return f"BoxLCP(n={self.n})"


def checked_bounds(lo: ArrayLike, hi: ArrayLike, n: int) -> tuple[Vector, Vector]:
    """Both bounds as vectors (n,), or a `ProblemError` naming the entry that bounds nothing or exceeds the other."""
    low, high = _bound("lo", lo, n), _bound("hi", hi, n)
    for name, bound, wrong in (("lo", low, np.inf), ("hi", high, -np.inf)):
        bad = np.isnan(bound) | (bound == wrong)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise ProblemError(f"{name}[{i}] = {bound[i]} bounds nothing")
    if (low > high).any():
        i = int(np.flatnonzero(low > high)[0])
        raise ProblemError(f"lo[{i}] = {low[i]} exceeds hi[{i}] = {high[i]}")
    return low, high


def _bound(name: str, value: ArrayLike, n: int) -> NDArray[np.float64]:
    if value is None:
        raise ProblemError(f"{name} is None; use {'-inf' if name == 'lo' else 'inf'} for none")
    if not isinstance(value, (list, tuple)) and np.ndim(value) == 0:
        value = np.full(n, value)
    return bare_vector(name, value, n)


def bounds_of(problem: LCP | MLCP | BoxLCP) -> tuple[Vector, Vector]:
    """Lower and upper bounds of z: 0 and infinity of an `LCP`; of an `MLCP` those of (u, y), u having none."""
    if isinstance(problem, BoxLCP):
        return problem.lo, problem.hi
    if isinstance(problem, MLCP):
        return np.repeat([-np.inf, 0.0], [problem.n_free, problem.n]), np.full(problem.n_free + problem.n, np.inf)
    return np.zeros(problem.n), np.full(problem.n, np.inf)
