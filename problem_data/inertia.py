"""The inertia solve B -> M^-1 B, from a mass matrix, an inverse, an operator or a function.

Every form becomes a callable that takes one vector (nv,) or several as columns (nv, m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from problem_data.operators import (
    PROBE_SEED,
    SHAPE_FAULTS,
    ScipyLinearOperator,
    SparseMatrix,
    VectorFunction,
    are_adjoint,
    call_checked,
    is_sparse,
)
from problem_data.validation import FloatArray, ProblemDataError, first_true, float_array, format_entry, read_only

SolveInertia = Callable[[FloatArray], FloatArray]
InertiaSolve = VectorFunction | SparseMatrix | ScipyLinearOperator | ArrayLike

# Both relative to sqrt(M_ii M_jj), so that units and mass ratios do not matter.
SYMMETRY_TOLERANCE = 1e-9
# With an ill-conditioned M a solve loses digits, which then differ between its two triangles.
SOLVE_SYMMETRY_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class CholeskyInertia:
    """M^-1 B from the lower Cholesky factor of M."""

    M: FloatArray  # (nv, nv) symmetric positive definite mass matrix
    factor: FloatArray  # (nv, nv) lower triangular, M = factor factor^T

    def __call__(self, B: FloatArray) -> FloatArray:
        """M^-1 B for B (nv,) or (nv, m)."""
        right = _right_hand_side(B, self.M.shape[0])
        if right.size == 0:
            return np.zeros(right.shape)
        import scipy.linalg  # heavy: loaded by the first solve, not with the package

        return np.asarray(scipy.linalg.cho_solve((self.factor, True), right), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class InverseInertia:
    """M^-1 B from the inverse matrix itself, an array (nv, nv)."""

    inverse: FloatArray

    def __call__(self, B: FloatArray) -> FloatArray:
        """M^-1 B for B (nv,) or (nv, m)."""
        return self.inverse @ _right_hand_side(B, self.inverse.shape[0])


@dataclass(frozen=True, eq=False)
class FunctionInertia:
    """M^-1 B from a user's function, adapted to the arguments that it understands."""

    function: VectorFunction  # B -> M^-1 B
    nv: int  # number of generalised velocities
    #: vectors, matrices: Whether the function takes (nv,) and whether it takes (nv, m); at least one is true.
    vectors: bool
    matrices: bool

    def __call__(self, B: FloatArray) -> FloatArray:
        """M^-1 B for B (nv,) or (nv, m)."""
        right = _right_hand_side(B, self.nv)
        if right.ndim == 1:
            if self.vectors:
                return self._call(right)
            return self._call(right[:, np.newaxis])[:, 0]
        if self.matrices:
            return self._call(right)
        out = np.empty(right.shape)
        for j in range(right.shape[1]):
            out[:, j] = self._call(np.ascontiguousarray(right[:, j]))
        return out

    def _call(self, right: FloatArray) -> FloatArray:
        return call_checked("result", "solve_inertia", self.function, right, right.shape)


def inertia_solve(solve: InertiaSolve | None, M: ArrayLike | None, nv: int) -> SolveInertia:
    """Return the checked inertia solve, B -> M^-1 B for B (nv,) and (nv, m), from exactly one of ``solve`` and M.

    An array, a sparse matrix or a LinearOperator ``solve`` is the inverse; M (nv, nv) is symmetric positive definite.
    """
    if isinstance(solve, CholeskyInertia) and (M is None or M is solve.M):
        # dataclasses.replace passes both, which are then the same inertia.
        if solve.M.shape != (nv, nv):
            raise ProblemDataError(
                "M", f"shape {solve.M.shape}, wanted ({nv}, {nv}): one row and column per generalised velocity"
            )
        return solve
    if M is not None and solve is not None:
        raise ProblemDataError("solve_inertia", "given together with M; give exactly one of the two")
    if M is not None:
        return cholesky_inertia(M, nv)
    if solve is None:
        raise ProblemDataError("solve_inertia", "missing, and M is missing too; give exactly one of the two")
    return _check_solve(_wrap(solve, nv), nv)


def cholesky_inertia(M: ArrayLike, nv: int) -> CholeskyInertia:
    """Factor a mass matrix; the error for one that is not symmetric positive definite names the fault."""
    matrix = float_array("M", M, (nv, nv), "one row and column per generalised velocity")
    scale = check_symmetric_with_positive_diagonal("M", matrix, SYMMETRY_TOLERANCE)
    scaled = matrix / np.outer(scale, scale)  # unit diagonal: pivots then show the rank in any units
    try:
        pivots = np.diagonal(np.linalg.cholesky(scaled)) ** 2
        definite = bool((pivots > 4 * nv * np.finfo(np.float64).eps).all())
    except np.linalg.LinAlgError:
        definite = False
    if not definite:
        raise ProblemDataError("M", _definiteness_fault(scaled, scale))
    factor: FloatArray = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    return CholeskyInertia(read_only(matrix), read_only(factor))


def check_symmetric_with_positive_diagonal(field: str, matrix: FloatArray, tolerance: float) -> FloatArray:
    """Return square roots of the diagonal; raise if an entry is not positive or the matrix not symmetric."""
    diagonal = np.diagonal(matrix)
    if (i := first_true(diagonal <= 0.0)) is not None:
        raise ProblemDataError(
            field,
            f"not positive definite: {format_entry(field, matrix, (i, i))} on the diagonal (shape {matrix.shape})",
        )
    scale = np.sqrt(diagonal)
    gap = np.abs(matrix - matrix.T) / np.outer(scale, scale)
    if gap.size and float(gap.max()) > tolerance:
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gap)), gap.shape))
        raise ProblemDataError(
            field,
            f"not symmetric: {format_entry(field, matrix, (i, j))} but {format_entry(field, matrix, (j, i))} "
            f"(shape {matrix.shape})",
        )
    return scale


def _definiteness_fault(scaled: FloatArray, scale: FloatArray) -> str:
    """Return the text of an error: the smallest eigenvalue of M, ``scaled`` to unit diagonal, and its velocity."""
    values, vectors = np.linalg.eigh(scaled)
    direction = vectors[:, 0] / scale
    i = int(np.argmax(np.abs(vectors[:, 0])))
    kind = "singular" if abs(values[0]) <= 100 * scaled.shape[0] * np.finfo(np.float64).eps else "not positive definite"
    direction = np.round(direction / np.max(np.abs(direction)), 6) + 0.0
    shown = np.array2string(direction, threshold=12, precision=4, separator=", ")
    return (
        f"{kind}: smallest eigenvalue {values[0]:.3g} (of M scaled to unit diagonal, shape {scaled.shape}); no inertia "
        f"along the velocity {shown}, mostly coordinate {i}"
    )


def _right_hand_side(B: ArrayLike, nv: int) -> FloatArray:
    """Return B as float64, (nv,) or (nv, m); raise `ProblemDataError` for another shape."""
    right = np.asarray(B, dtype=np.float64)
    if right.ndim not in (1, 2) or right.shape[0] != nv:
        raise ProblemDataError("solve_inertia", f"applied to shape {right.shape}, wanted ({nv},) or ({nv}, m)")
    return right


def _wrap(solve: InertiaSolve, nv: int) -> SolveInertia:
    """Return an array or sparse matrix (M^-1), a linear operator or a function as an inertia solve."""
    if isinstance(solve, CholeskyInertia | InverseInertia | FunctionInertia):
        return solve
    if isinstance(solve, ScipyLinearOperator) and not is_sparse(solve):
        if tuple(solve.shape) != (nv, nv):
            raise ProblemDataError("solve_inertia", f"shape {tuple(solve.shape)}, wanted ({nv}, {nv})")
        return FunctionInertia(solve.matvec, nv, vectors=True, matrices=False)
    if callable(solve):
        return _detect_arguments(solve, nv)
    inverse = solve.toarray() if is_sparse(solve) else cast(ArrayLike, solve)
    return InverseInertia(read_only(float_array("solve_inertia", inverse, (nv, nv), "the inverse of M")))


def _detect_arguments(function: VectorFunction, nv: int) -> FunctionInertia:
    """Find out by trial which arguments a user's function takes.

    A matrix result is trusted only if it equals the results for its columns: ``lambda b: b / masses`` returns
    the right shape for nv columns and the wrong numbers.
    """
    probe = np.random.default_rng(PROBE_SEED).standard_normal((nv, 2))
    first, second, both = (_try_call(function, part) for part in (probe[:, 0], probe[:, 1], probe))
    if first is None or second is None:
        if both is None:  # neither form works: call again for an error that says how
            call_checked("result", "solve_inertia", function, probe[:, 0], (nv,))
        return FunctionInertia(function, nv, vectors=False, matrices=True)
    expected = np.column_stack([float_array("solve_inertia", column, (nv,)) for column in (first, second)])
    agrees = both is not None and np.allclose(both, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max(initial=0.0))
    return FunctionInertia(function, nv, vectors=True, matrices=agrees)


def _try_call(function: VectorFunction, argument: FloatArray) -> FloatArray | None:
    """Return the function's result for the argument, or None if it cannot take an argument of this shape."""
    try:
        value = np.asarray(function(np.array(argument, order="C")), dtype=np.float64)
    except SHAPE_FAULTS:
        return None
    return value if value.shape == argument.shape else None


def _check_solve(solve: SolveInertia, nv: int) -> SolveInertia:
    """Return the solve, after one seeded random test of shape, finiteness, symmetry and sign."""
    x, y = np.random.default_rng(PROBE_SEED + 1).standard_normal((2, nv))
    X, Y = float_array("solve_inertia", solve(x), (nv,)), float_array("solve_inertia", solve(y), (nv,))
    if not are_adjoint(x, y, X, Y, SOLVE_SYMMETRY_TOLERANCE):
        raise ProblemDataError(
            "solve_inertia", f"not symmetric: y.(M^-1 x) = {y @ X:.9g} but x.(M^-1 y) = {x @ Y:.9g} for a random x, y"
        )
    if nv and not float(x @ X) > 0.0:
        raise ProblemDataError("solve_inertia", f"not positive definite: x.(M^-1 x) = {x @ X:.9g} for a random x")
    return solve
