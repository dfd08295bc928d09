"""The linear complementarity problem with bounds on both sides (relays, saturated motors, friction with given load)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import bare_vector, checked_square, checked_vector, read_only, row_sizes
from lcp.errors import ProblemError


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BoxLCP:
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

    M: Any
    q: NDArray[np.float64]
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    _M: Any = field(repr=False)
    _q: NDArray[np.float64] = field(repr=False)
    _row_size: NDArray[np.float64] = field(repr=False)

    def __init__(self, M: Any, q: ArrayLike, lo: ArrayLike, hi: ArrayLike) -> None:
        matrix = checked_square("M", M)
        n = int(matrix.shape[0])
        vector = checked_vector("q", q)
        if vector.shape[0] != n:
            raise ProblemError(f"q has length {vector.shape[0]} but M has shape {matrix.shape}")
        low, high = _bound("lo", lo, n), _bound("hi", hi, n)
        for name, bound, wrong in (("lo", low, np.inf), ("hi", high, -np.inf)):
            bad = np.isnan(bound) | (bound == wrong)
            if bad.any():
                i = int(np.flatnonzero(bad)[0])
                raise ProblemError(f"{name}[{i}] = {bound[i]} bounds nothing")
        if (low > high).any():
            i = int(np.flatnonzero(low > high)[0])
            raise ProblemError(f"lo[{i}] = {low[i]} exceeds hi[{i}] = {high[i]}")
        for name, value in (("M", matrix), ("q", vector), ("lo", low), ("hi", high)):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_M", matrix)
        object.__setattr__(self, "_q", vector)
        object.__setattr__(self, "_row_size", row_sizes(matrix))

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return int(self._q.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether M is stored sparse."""
        return not isinstance(self._M, np.ndarray)

    def __reduce__(self) -> tuple[Any, ...]:
        # As in `LCP`: copies are made anew.
        return type(self), (self._M, self._q, self.lo, self.hi)

    def __repr__(self) -> str:
        return f"BoxLCP(n={self.n})"


def _bound(name: str, value: ArrayLike, n: int) -> NDArray[np.float64]:
    if value is None:
        raise ProblemError(f"{name} is None; use {'-inf' if name == 'lo' else 'inf'} for none")
    if not isinstance(value, (list, tuple)) and np.ndim(value) == 0:
        value = np.full(n, value)
    return bare_vector(name, value, n)
