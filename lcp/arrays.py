"""Arrays of a problem, checked at construction; errors name the wrong entry."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.status import OutOfRangeError, ProblemError

Vector = NDArray[np.float64]
# Entries from which on the sum is checked first.
_MANY = 10_000


def checked_vector(name: str, value: ArrayLike, n: int | None = None) -> Vector:
    """Return an owned, contiguous float64 vector of length ``n``; raise a `ProblemError` that names the fault."""
    vector = checked_vector_nonfinite(name, value, n)
    check_finite(name, vector)
    return vector


def checked_vector_nonfinite(name: str, value: ArrayLike, n: int | None = None) -> Vector:
    """Return an owned float64 vector of length ``n``, as `checked_vector`; infinities and NaN are allowed."""
    vector = real_array(name, value)
    if vector.ndim != 1:
        raise ProblemError(f"{name} must be a vector, got shape {vector.shape}")
    if n is not None and vector.shape[0] != n:
        raise ProblemError(f"{name} must have length {n}, got {vector.shape[0]}")
    return vector


def dense_matrix(name: str, value: Any) -> NDArray[np.float64]:
    """Return an owned, contiguous, finite float64 matrix; a sparse one is made dense."""
    matrix = real_array(name, value.toarray() if hasattr(value, "toarray") else value, "matrix")
    if matrix.size == 0 and matrix.ndim < 2:
        matrix = matrix.reshape((0, 0))
    if matrix.ndim == 2:
        check_finite(name, matrix)
    return matrix


def real_array(name: str, value: Any, kind: str = "array", *, owned: bool = True) -> NDArray[np.float64]:
    """Return a contiguous, writable float64 array of any shape: the given one if it is one and need not be owned.

    For kernels a read-only array has another type, although they do not write to it.
    """
    if owned and type(value) is np.ndarray and value.dtype == np.float64:
        return np.array(value, order="C")
    parts = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        # numpy would drop the mask and read the masked values.
        raise ProblemError(f"{name} is a masked array; fill or leave out what is masked")
    try:
        given = np.asarray(value)
        if np.iscomplexobj(given):
            raise ProblemError(f"{name} is complex; a complementarity problem is real")
        array = np.asarray(given, dtype=np.float64, order="C")
        return np.array(array) if owned or not array.flags.writeable else array
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{name} is not a real {kind}: {error}") from None


def check_finite(name: str, array: NDArray[np.float64]) -> None:
    """Refuse an array with an entry that is not finite; the error names the first one."""
    if array.size > _MANY:
        # If the sum is finite, all terms are; this takes half of the time.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(array.sum()):
                return
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ProblemError(f"{name}[{', '.join(map(str, at))}] = {array[at]} is not finite")


def checked_square(name: str, value: Any) -> Any:
    """Return an owned square matrix; it is sparse (CSR) if the given one is."""
    if hasattr(value, "tocsr"):
        matrix = _owned_csr(name, value)
    else:
        matrix = dense_matrix(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"{name} must be square, got shape {matrix.shape}")
    return matrix


def shaped_matrix(name: str, value: Any, shape: tuple[int, int], *, sparse: bool = False) -> Any:
    """Return an owned matrix of this shape: CSR if the given one is sparse and ``sparse`` is set, else dense."""
    matrix = _owned_csr(name, value) if sparse and hasattr(value, "tocsr") else dense_matrix(name, value)
    if isinstance(matrix, np.ndarray) and matrix.size == 0 and 0 in shape:
        # An empty block has no numbers; np.zeros(0) and [] are accepted for it as well.
        return np.zeros(shape)
    if matrix.shape != shape:
        raise ProblemError(f"{name} must have shape {shape}, got {matrix.shape}")
    return matrix


def _owned_csr(name: str, value: Any) -> Any:
    """Return an owned, finite float64 CSR matrix without duplicates or stored zeros."""
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
    """Return a read-only view of the same memory, dense or sparse."""
    if not isinstance(array, np.ndarray):
        outer = copy.copy(array)
        outer.data, outer.indices, outer.indptr = map(read_only, (array.data, array.indices, array.indptr))
        return outer
    view = array.view()
    view.flags.writeable = False
    return view


def check_range(what: str, *arrays: NDArray[np.float64]) -> None:
    """Raise `OutOfRangeError` if a result computed from finite data is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise OutOfRangeError(f"{what} is beyond double precision")


def first_true(mask: NDArray[np.bool_]) -> int | None:
    """Return the first index at which a mask (n,) is True, or None."""
    return int(np.argmax(mask)) if mask.any() else None


def scaled_matrix(M: Any, row: Vector, column: Vector) -> Any:
    """Return diag(row) M diag(column), dense or CSR as M is."""
    if isinstance(M, np.ndarray):
        return row[:, None] * M * column
    from scipy import sparse

    return (sparse.diags_array(row) @ M @ sparse.diags_array(column)).tocsr()


def graph_components(graph: Any, *, strong: bool = False) -> list[NDArray[np.intp]]:
    """Return the indices of each connected component of a graph (n, n), ascending, in the order of scipy's labels."""
    from scipy.sparse.csgraph import connected_components

    if graph.shape[0] == 0:
        return []
    labels = connected_components(graph, directed=strong, connection="strong")[1]
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def largest(x: NDArray[np.float64]) -> float:
    """Return the largest magnitude in a dense array, 0 if it is empty."""
    return float(np.abs(x).max(initial=0.0))


def row_abs_max(matrix: Any) -> Vector:
    """Return the largest |entry| of each row, dense or sparse."""
    if isinstance(matrix, np.ndarray):
        sizes: NDArray[np.float64] = np.abs(matrix).max(axis=1, initial=0.0)
        return sizes
    return np.asarray(abs(matrix).max(axis=1).toarray()).ravel() if matrix.shape[0] else np.zeros(0)


def is_symmetric(M: Any, tolerance: float = 1e-12) -> bool:
    """Return True if M, dense or sparse, equals its transpose, relative to its largest entry."""
    if isinstance(M, np.ndarray):
        return bool((np.abs(M - M.T) <= tolerance * np.abs(M).max(initial=0.0)).all())
    size = float(abs(M).max()) if M.nnz else 0.0
    difference = abs(M - M.T)
    return difference.nnz == 0 or float(difference.max()) <= tolerance * size
