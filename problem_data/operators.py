"""Constraint Jacobians as linear maps, from any of the forms that users have.

A Jacobian is used as ``N @ v`` and ``N.T @ f``, with one vector or with several as columns. Four forms are
accepted: an array, a scipy.sparse matrix, a scipy ``LinearOperator`` (anything with ``shape``, ``matvec`` and
``rmatvec``) and a pair of callables ``(forward, transpose)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from problem_data.validation import FloatArray, ProblemDataError, check_shape, float_array, read_only

VectorFunction = Callable[[FloatArray], ArrayLike]

# Relative to |y| |A x| + |x| |A^T y|. Rounding gives about 1e-16 times the number of terms; a wrong sign, scale or
# row gives about 1.
ADJOINT_TOLERANCE = 1e-8
PROBE_SEED = 20170530

# Exceptions of a user's function that does not accept the shape of its argument.
SHAPE_FAULTS = (ValueError, TypeError, IndexError, AttributeError, NotImplementedError)


class LinearMap(Protocol):
    """Linear map: the operations of ``data.N``, ``data.F``, ``data.L`` and ``data.G``, given in any form."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def T(self) -> LinearMap:
        """The transposed map."""
        ...

    def __matmul__(self, other: FloatArray, /) -> FloatArray:
        """Apply to one vector, or to several as columns."""
        ...


@runtime_checkable
class ScipyLinearOperator(Protocol):
    """The part of scipy's ``LinearOperator`` used here (scipy.sparse.linalg is not imported to recognise it)."""

    @property
    def shape(self) -> Any:
        """Rows and columns."""
        ...

    def matvec(self, x: Any, /) -> Any:
        """Product with one vector."""
        ...

    def rmatvec(self, x: Any, /) -> Any:
        """Product of the adjoint with one vector."""
        ...


class SparseMatrix(Protocol):
    """The part of scipy's sparse matrices and arrays by which a type checker knows them."""

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        ...

    def tocsr(self, copy: bool = ...) -> Any:
        """Return the matrix in compressed rows."""
        ...


Operator = ArrayLike | SparseMatrix | ScipyLinearOperator | tuple[VectorFunction, VectorFunction]


@dataclass(frozen=True, eq=False, repr=False)
class FunctionMap:
    """A linear map given by two functions of one vector; matrices are taken column by column."""

    field: str  # name of the map in error messages
    shape: tuple[int, int]  # rows and columns
    #: forward, transpose: x (columns,) -> (rows,) and y (rows,) -> (columns,).
    forward: VectorFunction
    transpose: VectorFunction

    @property
    def T(self) -> FunctionMap:
        """The transposed map."""
        name = self.field
        field = name.removesuffix(".T") if name.endswith(".T") else name + ".T"
        return FunctionMap(field, (self.shape[1], self.shape[0]), self.transpose, self.forward)

    def __matmul__(self, other: ArrayLike, /) -> FloatArray:
        x = np.asarray(other, dtype=np.float64)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ProblemDataError(self.field, f"applied to shape {x.shape}, wanted ({self.shape[1]},) or (.., m)")
        if x.ndim == 1:
            return self._apply(x)
        out = np.empty((self.shape[0], x.shape[1]))
        for j in range(x.shape[1]):
            out[:, j] = self._apply(np.ascontiguousarray(x[:, j]))
        return out

    def _apply(self, x: FloatArray) -> FloatArray:
        return call_checked("product", self.field, self.forward, x, (self.shape[0],))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        return cast(FloatArray, dense(self).astype(dtype or np.float64))

    def __repr__(self) -> str:
        return f"FunctionMap({self.field}, shape={self.shape})"


def call_checked(
    what: str, field: str, function: VectorFunction, argument: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """Call a user's function and return its result, checked for shape and finiteness.

    The argument is a copy, so that a function that works in place changes nothing else.
    """
    try:
        value = function(argument.copy())
    except SHAPE_FAULTS as error:
        raise ProblemDataError(
            field, f"{what} failed on an argument of shape {argument.shape}: {type(error).__name__}: {error}"
        ) from error
    return float_array(field, value, shape, f"{what} of an argument of shape {argument.shape}")


def is_sparse(value: object) -> TypeGuard[Any]:
    """Return True for a scipy.sparse matrix or array. If scipy.sparse is not loaded, no value is one."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def is_pair(value: object) -> TypeGuard[tuple[VectorFunction, VectorFunction]]:
    """Return True for a (forward, transpose) pair of callables."""
    return isinstance(value, tuple | list) and len(value) == 2 and all(callable(part) for part in value)


def as_linear_map(
    field: str, value: Operator | None, *, nv: int, rows: int | None, pair_rows: int | None, why: str
) -> LinearMap:
    """Checked linear map from any accepted form; None, a missing class of constraints, is a map with 0 rows.

    With ``rows`` None the map defines the number of rows, and ``pair_rows`` does so for a pair of callables, which has
    no shape. ``why`` is the origin of the number, for error messages. Arrays and sparse matrices are copied: the result
    is a read-only array, a CSR matrix or a `FunctionMap`.
    """
    if value is None:
        if rows:
            raise ProblemDataError(field, f"missing, wanted shape ({rows}, {nv}): {why}")
        return cast(LinearMap, read_only(np.zeros((0, nv))))
    if is_sparse(value):
        return _sparse_map(field, value, (rows, nv), why)
    if is_pair(value):
        count = pair_rows if rows is None else rows
        if count is None:
            raise ProblemDataError(
                field, f"the number of rows of a pair of callables cannot be told: give {why} of full length"
            )
        return _check_adjoint(FunctionMap(field, (count, nv), value[0], value[1]))
    if isinstance(value, ScipyLinearOperator):
        check_shape(field, tuple(value.shape), (rows, nv), why)
        return _check_adjoint(FunctionMap(field, (int(value.shape[0]), nv), value.matvec, value.rmatvec))
    if callable(value):
        raise ProblemDataError(field, "one callable, wanted a pair (forward, transpose)")
    return cast(LinearMap, read_only(float_array(field, cast(ArrayLike, value), (rows, nv), why)))


def dense(linear_map: LinearMap) -> FloatArray:
    """Return the matrix of a linear map, as a new C-contiguous array. Functions are evaluated on the shorter side."""
    if isinstance(linear_map, FunctionMap):
        rows, columns = linear_map.shape
        if rows <= columns:
            return np.ascontiguousarray((linear_map.T @ np.eye(rows)).T)
        return linear_map @ np.eye(columns)
    if is_sparse(linear_map):
        return np.ascontiguousarray(linear_map.toarray(), dtype=np.float64)
    return np.array(linear_map, dtype=np.float64, order="C")


def _sparse_map(field: str, value: Any, wanted: tuple[int | None, int], why: str) -> LinearMap:
    """Return a read-only CSR copy of a sparse matrix in float64, checked for its shape, dtype and finite entries."""
    check_shape(field, tuple(value.shape), wanted, why)
    if value.dtype.kind not in "iuf":
        raise ProblemDataError(field, f"sparse of dtype {value.dtype}, shape {value.shape}; wanted real numbers")
    matrix = value.tocsr(copy=True).astype(np.float64)
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
        raise ProblemDataError(
            field,
            f"{field}[{row}, {matrix.indices[position]}] = {matrix.data[position]}, wanted a finite number "
            f"(shape {matrix.shape}, {np.count_nonzero(bad)} such entries)",
        )
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return cast(LinearMap, matrix)


def are_adjoint(x: FloatArray, y: FloatArray, Ax: FloatArray, ATy: FloatArray, tolerance: float) -> bool:
    """Return True if y . (A x) equals x . (A^T y) within a fraction of their sizes."""
    gap = abs(float(y @ Ax) - float(x @ ATy))
    scale = float(np.linalg.norm(y) * np.linalg.norm(Ax) + np.linalg.norm(x) * np.linalg.norm(ATy))
    return gap <= tolerance * scale


def _check_adjoint(linear_map: FunctionMap) -> LinearMap:
    """Return the map itself, after one seeded random product each way has shown that the two are adjoint."""
    rows, columns = linear_map.shape
    random = np.random.default_rng(PROBE_SEED)
    x, y = random.standard_normal(columns), random.standard_normal(rows)
    Ax, ATy = linear_map @ x, linear_map.T @ y
    if not are_adjoint(x, y, Ax, ATy, ADJOINT_TOLERANCE):
        raise ProblemDataError(
            linear_map.field,
            f"forward and transpose are not adjoint: y.(A x) = {y @ Ax:.9g}, x.(A^T y) = {x @ ATy:.9g} "
            f"for a random x, y (shape {linear_map.shape})",
        )
    return linear_map
