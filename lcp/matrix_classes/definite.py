"""Positive (semi)definite matrices, symmetric or not: x . M x >= 0, decided exactly.

The first functions are cheap tests with a tolerance; sparse matrices stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.analysis.exact import Integers, doubles, eliminated, gauss_jordan, integers
from lcp.analysis.proven_bounds import least_eigenvalue
from lcp.arrays import Vector, row_abs_max, scaled_matrix
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample, broken_form, form_margin, square, sub

_TINY = float(np.finfo(np.float64).tiny)


def congruence(M: Any) -> Vector:
    """Return powers of two d (n,) that scale the diagonal of diag(d) M diag(d) to about one; 1 if M_ii <= 0."""
    diagonal, sizes = M.diagonal(), row_abs_max(M)
    size = float(sizes.max(initial=0.0))
    # A diagonal entry that is only rounding must not enlarge its row.
    usable = diagonal > 1e-14 * np.maximum(sizes, _TINY)
    fallback = size if size > 0.0 else 1.0
    d: Vector = np.exp2(-np.floor(0.5 * np.log2(np.where(usable, np.where(usable, diagonal, 1.0), fallback))))
    return d


def congruent(M: Any, d: Vector) -> Any:
    """Return diag(d) M diag(d), dense or CSC."""
    scaled = scaled_matrix(M, d, d)
    if isinstance(M, np.ndarray):
        return scaled
    from scipy import sparse

    return sparse.csc_matrix(scaled)


def is_positive_semidefinite(M: Any, tolerance: float = 1e-11) -> bool:
    """Return True if x . M x >= -shift |x|^2 for all x, after scaling the diagonal to one; M need not be symmetric.

    ``shift`` is the tolerance times the largest number of entries in a row of the symmetric part S. Relative errors of
    the size of the tolerance can change an eigenvalue by as much. For a dense M a Cholesky factorisation of S + shift I
    decides. For a sparse M a diagonal entry below -shift decides for no, and diagonal dominance (Gershgorin) for yes.
    Otherwise S + shift I is factored without row exchanges, in an order that keeps it sparse. It is positive definite
    if and only if all pivots are positive (Sylvester's law of inertia; Golub and Van Loan, Matrix Computations, 4th
    ed., section 4.2).
    """
    if M.shape[0] == 0:
        return True
    return _dense_semidefinite(M, tolerance) if isinstance(M, np.ndarray) else _sparse_semidefinite(M, tolerance)


def _dense_semidefinite(M: NDArray[np.float64], tolerance: float) -> bool:
    """Return True if S + ``tolerance`` n I has a Cholesky factor, S the symmetric part of M, scaled by `congruence`."""
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
    """Return True if the scaled symmetric part is diagonally dominant, or has positive pivots, after a small shift.

    The shift of the diagonal is ``tolerance`` times the largest number of entries in a column.
    """
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


_NAMES = {False: "PSD", True: "PD"}


def is_psd_matrix(M: Any, *, max_n: int = 64) -> ClassVerdict:
    """Decide whether x . M x >= 0 for all x; M need not be symmetric. The counterexample is an x with x . M x < 0.

    A Cholesky factorisation with a shift proves the class, and an eigenvector refutes it. A matrix that is singular to
    rounding is eliminated in integers, up to ``max_n``. A Gram matrix formed in floating point may miss the class by a
    rounding error. Then ``margin`` is small; `is_positive_semidefinite` uses a tolerance.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.1.
    """
    return _decide(square(M), max_n, strict=False)


def is_pd_matrix(M: Any, *, max_n: int = 64) -> ClassVerdict:
    """Decide whether x . M x > 0 for all x != 0; the counterexample is an x != 0 with x . M x <= 0."""
    return _decide(square(M), max_n, strict=True)


def _decide(matrix: Vector, max_n: int, *, strict: bool) -> ClassVerdict:
    """Decide positive (semi)definiteness: by a Cholesky factorisation, an eigenvector, or elimination in integers.

    Elimination needs n <= ``max_n``; for larger n a matrix that is singular to rounding has the verdict None.
    """
    name, n = _NAMES[strict], matrix.shape[0]
    d = congruence(matrix)
    scaled = matrix * d * d[:, None]
    # A congruence by powers of two is exact unless numbers leave the range.
    whole = np.isfinite(scaled).all() and ((np.abs(scaled) > 2.0**-900) | (matrix == 0.0)).all()
    if not whole:
        d, scaled = np.ones(n), matrix
    if n == 0 or least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, name, detail="a Cholesky factorisation with a shift for rounding")
    with np.errstate(over="ignore", invalid="ignore"):
        half = 0.5 * scaled + 0.5 * scaled.T
    vectors = np.linalg.eigh(half)[1] if np.isfinite(half).all() else np.eye(n)
    x = d * vectors[:, 0]
    if np.isfinite(x).all() and broken_form(matrix, x, strict=True):
        return _negative_verdict(matrix, x, name, "an eigenvector")
    if n > max_n:
        detail = f"singular to rounding, and n = {n} exceeds max_n = {max_n} of exact elimination"
        return ClassVerdict(None, name, detail=detail)
    exact = integers(matrix)
    definite, vector = _eliminate(exact + exact.T)
    if definite or (vector is not None and not strict and int(vector @ (exact @ vector)) == 0):
        return ClassVerdict(True, name, detail="exact elimination")
    assert vector is not None
    x = doubles(vector)
    if broken_form(matrix, x, strict=not strict):
        return _negative_verdict(matrix, x, name, "exact elimination")
    return ClassVerdict(
        False,
        name,
        Counterexample(tuple(np.flatnonzero(x).tolist())),
        "exact elimination; no vector of doubles shows it",
    )


def _negative_verdict(matrix: Vector, x: Vector, name: str, how: str) -> ClassVerdict:
    """Return the verdict False with the counterexample x (x . M x <= 0), scaled to about one.

    ``how`` begins its detail.
    """
    x = x / np.exp2(np.floor(np.log2(np.abs(x).max())))
    support = tuple(np.flatnonzero(x).tolist())
    margin = form_margin(matrix, x)
    value = f"{-margin:.1e} of its terms" if margin else "0"
    return ClassVerdict(False, name, Counterexample(support, x), f"{how}: x . M x = {value}", margin)


def _eliminate(S: Integers) -> tuple[bool, Integers | None]:
    """Return whether the symmetric S is positive definite; if not, also an x != 0 with x . S x < 0, or = 0."""
    n = S.shape[0]
    left = list(range(n))
    chosen: list[int] = []
    A, previous = S, 1
    while left:
        diagonal = [int(A[i, i]) for i in range(len(left))]
        least = min(range(len(left)), key=diagonal.__getitem__)
        if diagonal[least] < 0:
            return False, _lifted(S, chosen, {left[least]: 1})
        most = max(range(len(left)), key=diagonal.__getitem__)
        if diagonal[most] == 0:
            rows = np.argwhere(A != 0)
            if rows.size == 0:
                return False, _lifted(S, chosen, {left[0]: 1})
            i, j = (int(a) for a in rows[0])
            return False, _lifted(S, chosen, {left[i]: 1, left[j]: -1 if A[i, j] > 0 else 1})
        pivot = A[most, most]
        A, previous = eliminated(A, most, previous), pivot
        chosen.append(left.pop(most))
    return True, None


def _lifted(S: Integers, chosen: list[int], values: dict[int, int]) -> Integers:
    """Return an integer multiple of x, whose entries in ``chosen`` minimise x . S x for given other entries.

    ``values`` has the given entries by index; all others, except the chosen ones, are zero.
    """
    n = S.shape[0]
    x = np.zeros(n, dtype=object)
    for i, value in values.items():
        x[i] = value
    if chosen:
        right = -(S[chosen] @ x)
        reduced = gauss_jordan(np.hstack([sub(S, tuple(chosen)), right[:, None]]), len(chosen))
        inner, scale = reduced.solution()
        x = x * scale
        x[chosen] = inner
    return x
