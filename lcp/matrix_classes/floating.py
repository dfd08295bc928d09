"""Cheap tests for matrix classes with a tolerance; sparse matrices stay sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, row_sizes

_TINY = float(np.finfo(np.float64).tiny)


def congruence(M: Any) -> Vector:
    """Return powers of two d (n,) that scale the diagonal of diag(d) M diag(d) to about one; 1 if M_ii <= 0."""
    diagonal, sizes = M.diagonal(), row_sizes(M)
    size = float(sizes.max(initial=0.0))
    # A diagonal entry that is only rounding must not enlarge its row.
    usable = diagonal > 1e-14 * np.maximum(sizes, _TINY)
    fallback = size if size > 0.0 else 1.0
    d: Vector = np.exp2(-np.floor(0.5 * np.log2(np.where(usable, np.where(usable, diagonal, 1.0), fallback))))
    return d


def is_symmetric(M: Any, tolerance: float = 1e-12) -> bool:
    """Return True if M, dense or sparse, equals its transpose, relative to its largest entry."""
    if isinstance(M, np.ndarray):
        return bool((np.abs(M - M.T) <= tolerance * np.abs(M).max(initial=0.0)).all())
    largest = float(abs(M).max()) if M.nnz else 0.0
    difference = abs(M - M.T)
    return difference.nnz == 0 or float(difference.max()) <= tolerance * largest


def is_positive_semidefinite(M: Any, tolerance: float = 1e-11) -> bool:
    """Return True if x . M x >= -shift |x|^2 for all x, after scaling the diagonal to one; M need not be symmetric.

    ``shift`` is the tolerance times the largest number of entries in a row of the symmetric part S: relative errors of
    this size in the entries can change an eigenvalue by as much. For a dense M a Cholesky factorisation of S + shift I
    decides. For a sparse M a diagonal entry below -shift decides for no, and diagonal dominance (Gershgorin) for yes.
    Otherwise S + shift I is factored without row exchanges, in an order that keeps it sparse. It is positive definite
    if and only if all pivots are positive (Sylvester's law of inertia; Golub and Van Loan, Matrix Computations, 4th
    ed., section 4.2).
    """
    if M.shape[0] == 0:
        return True
    return _dense_semidefinite(M, tolerance) if isinstance(M, np.ndarray) else _sparse_semidefinite(M, tolerance)


def _dense_semidefinite(M: NDArray[np.float64], tolerance: float) -> bool:
    n = M.shape[0]
    d = congruence(M)
    scaled = M * d * d[:, None]
    S = 0.5 * (scaled + scaled.T)
    # The symmetric part of a skew matrix is rounding, even if it is large relative to zero.
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
    # If a diagonal pivot was not used, it was zero.
    return bool((factor.perm_r == factor.perm_c).all() and (factor.U.diagonal() > 0.0).all())
