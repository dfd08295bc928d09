"""The linear complementarity problem."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.errors import OutOfRangeError, ProblemError


def checked_vector(name: str, value: ArrayLike, n: int | None = None) -> NDArray[np.float64]:
    """An owned, contiguous float64 vector of length ``n``, or a `ProblemError` naming what is wrong."""
    vector = bare_vector(name, value, n)
    if not np.isfinite(vector).all():
        i = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ProblemError(f"{name}[{i}] = {vector[i]} is not finite")
    return vector


def bare_vector(name: str, value: ArrayLike, n: int | None = None) -> NDArray[np.float64]:
    """As `checked_vector`, infinities and NaN admitted."""
    try:
        given = np.asarray(value)
        if np.iscomplexobj(given):
            raise ProblemError(f"{name} is complex; a complementarity problem is real")
        vector = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{name} is not a real array: {error}") from None
    if vector.ndim != 1:
        raise ProblemError(f"{name} must be a vector, got shape {vector.shape}")
    if n is not None and vector.shape[0] != n:
        raise ProblemError(f"{name} must have length {n}, got {vector.shape[0]}")
    return vector


def dense_matrix(name: str, value: Any) -> NDArray[np.float64]:
    """An owned, contiguous, finite float64 matrix; a sparse one is made dense."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        given = np.asarray(value)
        if np.iscomplexobj(given):
            raise ProblemError(f"{name} is complex; a complementarity problem is real")
        matrix = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{name} is not a real matrix: {error}") from None
    if matrix.size == 0 and matrix.ndim < 2:
        matrix = matrix.reshape((0, 0))
    if matrix.ndim == 2 and not np.isfinite(matrix).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise ProblemError(f"{name}[{at[0]}, {at[1]}] = {matrix[at]} is not finite")
    return matrix


def checked_square(name: str, value: Any) -> Any:
    """An owned square matrix, sparse (CSR) if the given one is."""
    if hasattr(value, "tocsr"):
        matrix = _owned_csr(name, value)
    else:
        matrix = dense_matrix(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"{name} must be square, got shape {matrix.shape}")
    return matrix


def _owned_csr(name: str, value: Any) -> Any:
    """An owned, finite float64 CSR matrix without duplicates or stored zeros."""
    if np.iscomplexobj(value):
        raise ProblemError(f"{name} is complex; a complementarity problem is real")
    try:
        matrix = value.tocsr().astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{name} is not a real matrix: {error}") from None
    if matrix is value:
        matrix = value.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if matrix.ndim == 2 and bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise ProblemError(f"{name}[{row}, {matrix.indices[bad[0]]}] = {matrix.data[bad[0]]} is not finite")
    return matrix


def read_only(array: Any) -> Any:
    """A view, dense or sparse, of the same memory that cannot be written."""
    if not isinstance(array, np.ndarray):
        outer = copy.copy(array)
        outer.data, outer.indices, outer.indptr = map(read_only, (array.data, array.indices, array.indptr))
        return outer
    view = array.view()
    view.flags.writeable = False
    return view


def check_range(what: str, *arrays: NDArray[np.float64]) -> None:
    """Raise `OutOfRangeError` where something formed of finite data is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise OutOfRangeError(f"{what} is beyond double precision")


def row_sizes(matrix: Any) -> NDArray[np.float64]:
    """Largest |entry| of each row, dense or sparse."""
    if isinstance(matrix, np.ndarray):
        found: NDArray[np.float64] = np.abs(matrix).max(axis=1, initial=0.0)
        return found
    return np.asarray(abs(matrix).max(axis=1).toarray()).ravel() if matrix.shape[0] else np.zeros(0)


_NO_SIZES = np.zeros(0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LCP:
    """Find z with w = M z + q, z >= 0, w >= 0 and z . w = 0.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse. Copied; integer and float32 input become float64.
    q
        Vector (n,). Copied.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number; the text names it.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), definition 1.1.1.
    """

    M: Any
    q: NDArray[np.float64]
    # The same memory, writable: a read-only array is another type to the kernels and would compile them twice.
    _M: Any = field(repr=False)
    _q: NDArray[np.float64] = field(repr=False)
    # Largest |M_ij| of each row of a sparse M, which every measurement needs; empty for a dense one.
    _row_size: NDArray[np.float64] = field(repr=False)

    def __init__(self, M: Any, q: ArrayLike) -> None:
        matrix = checked_square("M", M)
        vector = checked_vector("q", q)
        if vector.shape[0] != matrix.shape[0]:
            raise ProblemError(f"q has length {vector.shape[0]} but M has shape {matrix.shape}")
        object.__setattr__(self, "M", read_only(matrix))
        object.__setattr__(self, "q", read_only(vector))
        object.__setattr__(self, "_M", matrix)
        object.__setattr__(self, "_q", vector)
        object.__setattr__(self, "_row_size", row_sizes(matrix) if self.sparse else _NO_SIZES)

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self._q.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether M is stored sparse."""
        return not isinstance(self._M, np.ndarray)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made anew: field by field, M and _M would be two arrays and the first of them writable.
        return type(self), (self._M, self._q)

    def __repr__(self) -> str:
        return f"LCP(n={self.n}, {'sparse' if self.sparse else 'dense'})"


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
