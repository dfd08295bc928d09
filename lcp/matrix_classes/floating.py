"""Which class a matrix belongs to, as far as that can be told cheaply; sparse ones without making them dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, row_sizes

_TINY = float(np.finfo(np.float64).tiny)


def congruence(M: Any) -> Vector:
    """Powers of two d (n,) that bring the diagonal of diag(d) M diag(d) near one; 1 where it is not positive."""
    diagonal, sizes = M.diagonal(), row_sizes(M)
    size = float(sizes.max(initial=0.0))
    # Nothing may be blown up by a diagonal that is only rounding.
    usable = diagonal > 1e-14 * np.maximum(sizes, _TINY)
    fallback = size if size > 0.0 else 1.0
    d: Vector = np.exp2(-np.floor(0.5 * np.log2(np.where(usable, np.where(usable, diagonal, 1.0), fallback))))
    return d


def is_symmetric(M: Any, tolerance: float = 1e-12) -> bool:
    """Whether M, dense or sparse, equals its transpose, relative to its largest entry."""
    if isinstance(M, np.ndarray):
        return bool((np.abs(M - M.T) <= tolerance * np.abs(M).max(initial=0.0)).all())
    largest = float(abs(M).max()) if M.nnz else 0.0
    difference = abs(M - M.T)
    return difference.nnz == 0 or float(difference.max()) <= tolerance * largest


def is_positive_semidefinite(M: Any, tolerance: float = 1e-11) -> bool:
    """Whether x . M x >= -shift |x|^2 for all x, after scaling the diagonal to one; M need not be symmetric.

    ``shift`` is the tolerance times the largest number of entries in a row of the symmetric part S, which is what
    relative errors of that size in its entries can move an eigenvalue by. Of a dense M a Cholesky factorisation of
    S + shift I decides. Of a sparse one in turn: a diagonal entry below -shift settles it in the negative, diagonal
    dominance (Gershgorin) in the positive; otherwise S + shift I is factored without row exchanges, in an order that
    keeps it sparse, and is positive definite exactly where all the pivots are positive (Sylvester's law of inertia;
    Golub and Van Loan, Matrix Computations, 4th ed., section 4.2).
    """
    if M.shape[0] == 0:
        return True
    return _dense_semidefinite(M, tolerance) if isinstance(M, np.ndarray) else _sparse_semidefinite(M, tolerance)


def _dense_semidefinite(M: NDArray[np.float64], tolerance: float) -> bool:
    n = M.shape[0]
    d = congruence(M)
    scaled = M * d * d[:, None]
    S = 0.5 * (scaled + scaled.T)
    # What is left of a skew part is rounding, however large it is beside a symmetric part of nothing.
    S = np.where(np.abs(S) <= 4.0 * np.finfo(np.float64).eps * np.abs(scaled), 0.0, S)
    S = S / max(float(np.abs(S).max()), _TINY)
    try:
        np.linalg.cholesky(S + (tolerance * n) * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


def _sparse_semidefinite(M: Any, tolerance: float) -> bool:
    from scipy import sparse
    from scipy.sparse.linalg import splu

    n = M.shape[0]
    scale = sparse.diags_array(congruence(M))
    congruent = sparse.csc_array(scale @ (0.5 * (M + M.T)) @ scale)
    S = sparse.csc_array(congruent / max(float(abs(congruent).max()) if congruent.nnz else 0.0, _TINY))
    shift = tolerance * float(np.diff(S.indptr).max())
    diagonal = S.diagonal()
    if (diagonal < -shift).any():
        return False
    around: Vector = np.asarray(abs(S).sum(axis=0)).ravel() - np.abs(diagonal)
    if (around <= diagonal + shift).all():
        return True
    shifted = sparse.csc_array(S + shift * sparse.eye_array(n, format="csc"))
    try:
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # "Factor is exactly singular"
        return False
    # A diagonal pivot passed over was zero.
    return bool((factor.perm_r == factor.perm_c).all() and (factor.U.diagonal() > 0.0).all())
