"""The linear complementarity problem."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_square, checked_vector, read_only, row_sizes
from lcp.errors import ProblemError

_ARRAY, _DOUBLE = np.ndarray, np.dtype(np.float64)
# Kernels check data only where they are there already: nobody imports a compiler to state a problem.
_loaded = sys.modules.get


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AffineRows:
    """w = M z + q, the rows of a plain and of a boxed problem."""

    # Writable: a read-only array is another type to the kernels and would compile them twice.
    _M: Any = field(repr=False)
    _q: Vector = field(repr=False)

    @cached_property
    def M(self) -> Any:
        """The matrix, read-only."""
        return read_only(self._M)

    @cached_property
    def q(self) -> Vector:
        """The vector, read-only."""
        vector: Vector = read_only(self._q)
        return vector

    def _set_rows(self, M: Any, q: ArrayLike) -> None:
        """Copy and check the data, at construction."""
        matrix = checked_square("M", M)
        vector = checked_vector("q", q)
        if vector.shape[0] != matrix.shape[0]:
            raise ProblemError(f"q has length {vector.shape[0]} but M has shape {matrix.shape}")
        self._keep_rows(matrix, vector)

    def _keep_rows(self, matrix: Any, vector: Vector) -> None:
        """Take data that are checked already, and nobody else's."""
        self.__dict__.update(_M=matrix, _q=vector)

    @cached_property
    def _row_size(self) -> Vector:
        """Largest |M_ij| of each row."""
        return row_sizes(self._M)

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self._q.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether M is stored sparse."""
        return not isinstance(self._M, np.ndarray)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LCP(AffineRows):
    """Find z with w = M z + q, z >= 0, w >= 0 and z . w = 0.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse. Copied; integer and float32 input become float64.
    q
        Vector (n,). Copied.
    noise
        How far each entry of q may be from what it stands for, (n,) and >= 0, where its maker knows: a verdict takes
        no notice of less. None where every digit of q is meant.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number; the text names it.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), definition 1.1.1.
    """

    _noise: Vector | None = field(repr=False)

    def __init__(self, M: Any, q: ArrayLike, noise: ArrayLike | None = None) -> None:
        # Arrays as they should be need few looks: to take in four unknowns takes as long as to solve for them.
        if (
            noise is None and type(M) is _ARRAY and type(q) is _ARRAY and M.dtype is _DOUBLE and q.dtype is _DOUBLE
            and q.ndim == 1 and M.shape == q.shape * 2
        ):  # fmt: skip
            matrix, vector = M.copy(), q.copy()
            # Another thread may be importing them: what they have so far is not all.
            all_finite = getattr(_loaded("lcp.kernels.residuals"), "all_finite", None)
            if all_finite is not None and all_finite(matrix, vector):
                own = self.__dict__
                own["_M"], own["_q"], own["_noise"] = matrix, vector, None
                return
        self._set_rows(M, q)
        known = None if noise is None else checked_vector("noise", noise, self.n)
        if known is not None and (known < 0.0).any():
            i = int(np.argmax(known < 0.0))
            raise ProblemError(f"noise[{i}] = {known[i]} is negative")
        object.__setattr__(self, "_noise", known)

    @cached_property
    def noise(self) -> Vector | None:
        """How far entries of q may be from what they stand for, read-only; None where every digit is meant."""
        return None if self._noise is None else read_only(self._noise)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made anew: field by field, M and _M would be two arrays and the first of them writable.
        return type(self), (self._M, self._q, *(() if self._noise is None else (self._noise,)))

    def __repr__(self) -> str:
        return f"LCP(n={self.n}, {'sparse' if self.sparse else 'dense'})"


def of_checked(M: Vector, q: Vector) -> LCP:
    """An `LCP` of dense data that are checked already, and that nobody changes."""
    problem = object.__new__(LCP)
    problem.__dict__.update(_M=M, _q=q, _noise=None)
    return problem


def kernel_arrays(problem: LCP) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """M and q as dense, contiguous, writable-typed arrays for the kernels, which do not modify them."""
    matrix = np.ascontiguousarray(problem._M.toarray()) if problem.sparse else problem._M
    return matrix, problem._q


def csr_arrays(
    problem: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """(indptr, indices, data) of the M of an `LCP` or `BoxLCP`, int64 and writable-typed, for the sparse kernels."""
    from scipy import sparse

    matrix = problem._M if problem.sparse else sparse.csr_matrix(problem._M)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return indptr, indices, np.ascontiguousarray(matrix.data, dtype=np.float64)


def dense_bytes(problem: Any) -> int:
    """Memory a dense M of this problem takes."""
    return 8 * int(problem.n) ** 2
