"""The map N - mu Q: what normal forces do where the friction of sliding contacts comes with them.

A contact that slides has the friction -mu fN along its sliding direction, so that its normal force acts along its
row of (N - mu Q)^T. The rows of Q of the non-sliding contacts, which are not stored, are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from problem_data.errors import ProblemDataError
from problem_data.operators import LinearMap
from problem_data.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class SlidingFrictionMap:
    """(N - mu Q), or its transpose, applied without forming it."""

    N: LinearMap  # (nc, nv) normal rows of all contacts
    Q: LinearMap  # (ns, nv) rows of the sliding directions
    mu: FloatArray  # (ns,) coefficients of the sliding contacts
    sliding: IntArray  # (ns,) the sliding contacts
    transposed: bool  # false: w -> (N - mu Q) w; true: f -> (N - mu Q)^T f

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        nc, nv = self.N.shape
        return (nv, nc) if self.transposed else (nc, nv)

    @property
    def T(self) -> SlidingFrictionMap:
        """The transposed map."""
        return replace(self, transposed=not self.transposed)

    def __matmul__(self, other: ArrayLike, /) -> FloatArray:
        x = np.asarray(other, dtype=np.float64)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ProblemDataError(self._name, f"applied to shape {x.shape}, wanted ({self.shape[1]},) or (.., m)")
        mu = self.mu if x.ndim == 1 else self.mu[:, np.newaxis]
        if self.transposed:
            return self.N.T @ x - self.Q.T @ (mu * x[self.sliding])
        rates = np.array(self.N @ x)
        rates[self.sliding] -= mu * (self.Q @ x)
        return rates

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        return cast(FloatArray, (self @ np.eye(self.shape[1])).astype(dtype or np.float64))

    def __repr__(self) -> str:
        return f"SlidingFrictionMap({self._name}, shape={self.shape})"

    @property
    def _name(self) -> str:
        return "N_minus_muQ_T" if self.transposed else "N_minus_muQ_T.T"


def normal_minus_friction(N: FloatArray, Q: FloatArray, mu: FloatArray, sliding: IntArray) -> FloatArray:
    """The rows of N - mu Q as a new dense array (nc, nv), from dense N (nc, nv) and Q (ns, nv)."""
    rows = np.array(N, order="C")
    rows[sliding] -= mu[:, np.newaxis] * Q
    return rows
