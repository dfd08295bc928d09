"""P-matrices: all principal minors are positive, and LCP(M, q) has exactly one solution for every q."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, determinant, doubles, eliminated, gauss_jordan, integers
from lcp.analysis.proven_bounds import h_matrix_vector, least_eigenvalue
from lcp.arrays import Vector
from lcp.matrix_classes.verdict import (
    ClassVerdict,
    Counterexample,
    bits,
    broken_signs,
    extended,
    rows_margin,
    square,
    sub,
)
from lcp.scaling import scales

#: Largest n whose minors are all evaluated in integers if floating point does not decide their signs.
EXACT_MINORS = 16


def is_p_matrix(M: Any, *, max_n: int = 20) -> ClassVerdict:
    """Decide whether all principal minors of M are positive.

    A proven positive definite or H_+ matrix is a P-matrix of any size. Otherwise 2^n minors are enclosed, up to
    ``max_n``. If an enclosure does not decide the sign, the minors are evaluated exactly, up to n = 16.

    The counterexample is an index set with a minor <= 0, and a sign-reversing vector: x != 0 with x_i (M x)_i <= 0 for
    all i.

    References
    ----------
    M. Fiedler, V. Ptak, On matrices with non-positive off-diagonal elements and positive principal minors, Czechoslovak
    Mathematical Journal 12 (1962), theorem 3.3; Cottle, Pang and Stone (1992), section 3.3.
    """
    matrix = square(M)
    n = matrix.shape[0]
    if n == 0:
        return ClassVerdict(True, "P", detail="empty")
    low = np.flatnonzero(np.diag(matrix) <= 0.0)
    if low.size:
        return _negative_verdict(matrix, integers(matrix), (int(low[0]),))
    if h_matrix_vector(matrix) is not None:
        return ClassVerdict(True, "P", detail="H_+")
    row, column = scales(matrix)
    scaled = row[:, None] * matrix * column
    if n > max_n:
        return _by_pairs(matrix, scaled)
    if least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, "P", detail="positive definite after scaling")
    return _by_minors(matrix, scaled)


def _by_minors(matrix: Vector, scaled: Vector) -> ClassVerdict:
    """Decide whether ``matrix`` is a P-matrix from all principal minors, of up to 2^n - 1 index sets.

    ``scaled`` is the matrix with powers of two, which the floating-point scan uses. Minors that it cannot decide are
    evaluated in integers for n <= `EXACT_MINORS`; for larger n the verdict is None.
    """
    from lcp.kernels.principal_blocks import ALL_POSITIVE, NOT_POSITIVE, scan_minors

    n = matrix.shape[0]
    A, R = np.zeros((n + 1, n, n)), np.zeros((n + 1, n, n))
    A[0] = scaled
    # Scaling by powers of two is exact unless it underflows.
    R[0] = np.where((np.abs(scaled) < 2.0**-960) & (matrix != 0.0), 2.0**-960, 0.0)
    code = np.zeros(1, dtype=np.int64)
    status = scan_minors(A, R, np.zeros(n + 1, dtype=np.int64), code)
    if status == ALL_POSITIVE:
        return ClassVerdict(True, "P", detail=f"all {2**n - 1} principal minors are positive")
    exact = integers(matrix)
    indices = bits(int(code[0]))
    if status == NOT_POSITIVE or determinant(sub(exact, indices)) <= 0:
        return _negative_verdict(matrix, exact, indices)
    if n > EXACT_MINORS:
        detail = (
            f"a minor is zero to rounding and n = {n} exceeds {EXACT_MINORS}, up to which all are evaluated exactly"
        )
        return ClassVerdict(None, "P", detail=detail)
    bad = _first_bad(exact, 1, tuple(range(n)), ())
    if bad is not None:
        return _negative_verdict(matrix, exact, bad)
    return ClassVerdict(True, "P", detail=f"all {2**n - 1} principal minors are positive, in integers")


def _first_bad(A: Integers, previous: int, left: tuple[int, ...], chosen: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return an index set with a minor <= 0; ``A`` has the minors of ``chosen`` with one row and column of ``left``."""
    if not left:
        return None
    if A[0, 0] <= 0:
        return (*chosen, left[0])
    bad = _first_bad(A[1:, 1:], previous, left[1:], chosen)
    if bad is None and len(left) > 1:
        bad = _first_bad(eliminated(A, 0, previous), A[0, 0], left[1:], (*chosen, left[0]))
    return bad


def _by_pairs(matrix: Vector, scaled: Vector) -> ClassVerdict:
    """Decide beyond the limit, by definiteness and the minors of order two, which are cheap."""
    n = matrix.shape[0]
    diagonal = np.diag(scaled)
    with np.errstate(over="ignore", invalid="ignore"):
        minors = np.multiply.outer(diagonal, diagonal) - scaled * scaled.T
    exact = None
    for i, j in np.argwhere(np.triu(minors <= 1e-15 * np.abs(scaled * scaled.T), 1))[:100]:
        pair = (int(i), int(j))
        exact = integers(matrix) if exact is None else exact
        if determinant(sub(exact, pair)) <= 0:
            return _negative_verdict(matrix, exact, pair)
    if least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, "P", detail="positive definite after scaling")
    detail = f"n = {n} exceeds max_n, up to which all 2^n minors are tried, and M is not proven definite or H_+"
    return ClassVerdict(None, "P", detail=detail)


def _negative_verdict(matrix: Vector, exact: Integers, indices: tuple[int, ...]) -> ClassVerdict:
    """Return the negative verdict for a minor, checked in integers, with a sign-reversing vector if one is found."""
    minor = determinant(sub(exact, indices))
    if minor > 0:
        return ClassVerdict(None, "P", detail="an enclosure and the exact minor disagree")
    n = matrix.shape[0]
    word = "zero" if minor == 0 else "negative"
    detail = f"the principal minor of {indices} is {word}"
    for x in _reversed_candidates(matrix, exact, indices, minor == 0):
        full = extended(x, indices, n)
        if broken_signs(matrix, full):
            return ClassVerdict(False, "P", Counterexample(indices, full), detail, rows_margin(matrix, full))
    return ClassVerdict(False, "P", Counterexample(indices), detail + "; no vector of doubles shows it")


def _reversed_candidates(matrix: Vector, exact: Integers, indices: tuple[int, ...], singular: bool) -> list[Vector]:
    """Return exact null vectors of a singular block, or eigenvectors of negative eigenvalues, which reverse signs."""
    candidates: list[Vector] = []
    block = sub(exact, indices)
    if singular:
        candidates.append(doubles(gauss_jordan(block).null_vector(len(indices))))
    else:
        # x = A^-1 e_i has A x = e_i, and x_i is negative if the smaller minors are positive.
        eye = np.array([[int(i == j) for j in range(len(indices))] for i in range(len(indices))], dtype=object)
        reduced = gauss_jordan(np.hstack([block, eye]), len(indices))
        sign = 1 if reduced.scale > 0 else -1
        inverse = reduced.rows[:, len(indices) :] * sign
        candidates.extend(doubles(inverse[:, i]) for i in range(len(indices)) if inverse[i, i] <= 0)
    values = np.ascontiguousarray(matrix[np.ix_(indices, indices)])
    row, column = scales(values)
    values = row[:, None] * values * column
    unit = np.abs(np.diag(values))
    for size in (np.where(unit > 0.0, unit, 1.0), np.ones(len(indices))):
        eigenvalues, vectors = np.linalg.eig(values / size[:, None])
        for k in np.argsort(eigenvalues.real):
            if eigenvalues[k].imag == 0.0 and eigenvalues[k].real <= 0.0:
                x = column * vectors[:, k].real
                candidates.insert(0, x)
                candidates.append(np.where(np.abs(x) > 1e-10 * np.abs(x).max(), x, 0.0))
    return candidates
