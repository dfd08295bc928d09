"""Rigorous proofs in floating point for matrices of any size: positive definiteness, and the H-matrix property.

Bounds include rounding: floating-point results with their errors, rounded outward.

Python has no directed rounding modes. Bounds are a-priori ones (N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd edition 2002, section 3.1), with twice the unit of rounding throughout, so that the bounds themselves
can be evaluated in floating point. They hold for any order of summation, so BLAS can compute the sums.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector

#: Twice the unit of rounding.
EPS = 2.0**-52
#: The smallest normal number: an upper bound of the error by underflow in one operation.
TINY = 2.0**-1022


def round_up(x: Any) -> Any:
    """Return the next double above the result of one rounded operation: at least the exact result."""
    return np.nextafter(x, np.inf)


def round_down(x: Any) -> Any:
    """Return the next double below the result of one rounded operation: at most the exact result."""
    return np.nextafter(x, -np.inf)


def row_lengths(A: Any) -> int:
    """Return the largest number of terms in a row of A, dense or CSR."""
    if isinstance(A, np.ndarray):
        return int(A.shape[1])
    return int(np.diff(A.indptr).max(initial=0))


def product(A: Any, x: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """Return (s, e) with |A x - s| <= e, for A dense or CSR and x a vector or, for dense A, a matrix."""
    terms = row_lengths(A)
    value = np.asarray(A @ x)
    size = np.asarray(abs(A) @ np.abs(x))
    return value, round_up((terms + 4) * EPS * size + 4 * (terms + 1) * TINY)


def upper_product(A: Any, x: Vector) -> Vector:
    """Return upper bounds of A x for nonnegative A and x."""
    value, error = product(A, x)
    bound: Vector = round_up(value + error)
    return bound


def upper_norm(x: Vector) -> float:
    """Return an upper bound of the Euclidean norm."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    ratio = x / largest
    return float(round_up(largest * round_up(np.sqrt(float(ratio @ ratio) * (1.0 + (x.shape[0] + 8) * EPS) + TINY))))


def least_eigenvalue(M: Vector) -> float:
    """Return a proven lower bound of the least eigenvalue of (M + M^T) / 2; -inf if no positive one was proven.

    A completed Cholesky factorisation of S - s I is the exact one of a matrix within g trace(S), with g a small
    multiple of n eps. So every eigenvalue of S exceeds s minus that. S. M. Rump, Verification of positive definiteness,
    BIT 46 (2006); the constant here is four times the one there, for any order of operations.
    """
    n = M.shape[0]
    if n == 0:
        return np.inf
    S = 0.5 * M + 0.5 * M.T
    diagonal = np.diag(S)
    if not (np.isfinite(S).all() and (diagonal > 0.0).all()):
        return -np.inf
    trace = float(round_up(diagonal.sum() * (1.0 + n * EPS)))
    # Rounding of S itself, of the shifted diagonal, and of the factorisation.
    largest = float(np.abs(S).max())
    error = round_up(4.0 * (n + 3) * EPS * trace + n * (EPS * largest + 4.0 * TINY))
    try:
        value = float(np.linalg.eigvalsh(S)[0])
    except np.linalg.LinAlgError:
        return -np.inf
    shift = value - 2.0 * float(error)
    for _ in range(3):
        if not shift > error:
            break
        try:
            np.linalg.cholesky(S - shift * np.eye(n))
        except np.linalg.LinAlgError:
            shift = 0.75 * shift
            continue
        return float(round_down(shift - error))
    # Nearly singular: the least value that still proves positivity.
    try:
        np.linalg.cholesky(S - 1.5 * float(error) * np.eye(n))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(0.25 * error)


def comparison(M: Any) -> Any:
    """Return the comparison matrix <M>: |m_ii| on the diagonal, -|m_ij| elsewhere; sparse if M is."""
    if isinstance(M, np.ndarray):
        C = -np.abs(M)
        np.fill_diagonal(C, np.abs(np.diag(M)))
        return C
    from scipy import sparse

    return sparse.csr_matrix(-abs(M) + 2.0 * sparse.diags(np.abs(M.diagonal())))


def h_matrix_vector(M: Any) -> tuple[Vector, Vector] | None:
    """Return (v, t) with v > 0 and <M> v >= t > 0, which proves M to be an H-matrix; None if none was found.

    Then <M>^-1 >= 0, and |M_aa^-1| <= <M>^-1 for every principal block. A. Berman, R. J. Plemmons, Nonnegative Matrices
    in the Mathematical Sciences (1994), chapter 6, theorem 2.3.
    """
    n = M.shape[0]
    C = comparison(M)
    sizes = np.asarray(abs(C).sum(axis=1)).ravel()
    if n == 0 or not (np.isfinite(sizes).all() and (C.diagonal() > 0.0).all()):
        return (np.zeros(0), np.zeros(0)) if n == 0 else None
    # Every row in units of its diagonal, so that rows of very different size are treated equally.
    v = float_solve(C, C.diagonal().copy())
    if v is None or not (np.isfinite(v).all() and (v > 0.0).all()):
        return None
    t = lower_image(C, v)
    return (v, t) if (t > 0.0).all() else None


def lower_image(C: Any, v: Vector) -> Vector:
    """Return lower bounds of C v."""
    value, error = product(C, v)
    bound: Vector = round_down(value - error)
    return bound


def float_solve(A: Any, b: Vector) -> Vector | None:
    """Return A^-1 b in floating point, for dense or sparse A; None if the factorisation fails."""
    if isinstance(A, np.ndarray):
        try:
            return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
    from scipy.sparse.linalg import splu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            x: Vector = splu(A.tocsc()).solve(b)
        except RuntimeError:
            return None
    return x
