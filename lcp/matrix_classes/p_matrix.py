"""P-matrices, for which LCP(M, q) has exactly one solution for every q, and Z-, K- and H_+-matrices.

All principal minors of a P-matrix are positive. Off-diagonal entries of a Z-matrix are not positive. The inverse of a
K-matrix is not negative, and neither is the inverse of the comparison matrix of an H_+-matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, determinant, doubles, eliminated, gauss_jordan, integers
from lcp.analysis.proven_bounds import comparison, h_matrix_vector, least_eigenvalue
from lcp.arrays import Vector, first_true
from lcp.matrix_classes.verdict import (
    ClassVerdict,
    Counterexample,
    bits,
    broken_rows,
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
    if (i := first_true(np.diag(matrix) <= 0.0)) is not None:
        return _negative_minor(matrix, integers(matrix), (i,))
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
        return _negative_minor(matrix, exact, indices)
    if n > EXACT_MINORS:
        detail = (
            f"a minor is zero to rounding and n = {n} exceeds {EXACT_MINORS}, up to which all are evaluated exactly"
        )
        return ClassVerdict(None, "P", detail=detail)
    bad = _first_bad(exact, 1, tuple(range(n)), ())
    if bad is not None:
        return _negative_minor(matrix, exact, bad)
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
            return _negative_minor(matrix, exact, pair)
    if least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, "P", detail="positive definite after scaling")
    detail = f"n = {n} exceeds max_n, up to which all 2^n minors are tried, and M is not proven definite or H_+"
    return ClassVerdict(None, "P", detail=detail)


def _negative_minor(matrix: Vector, exact: Integers, indices: tuple[int, ...]) -> ClassVerdict:
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
    """Return vectors whose signs a block may reverse, as doubles.

    They are the exact null vector of a singular block, or exact columns of the inverse; and eigenvectors of negative
    eigenvalues.
    """
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


def is_z_matrix(M: Any) -> ClassVerdict:
    """Decide whether no off-diagonal entry is positive, for any size. The counterexample is (i, j) with M[i, j] > 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.11.
    """
    matrix = square(M)
    off = matrix - np.diag(np.diag(matrix))
    if not (off > 0.0).any():
        return ClassVerdict(True, "Z", detail="by its signs")
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(off)), off.shape))
    return ClassVerdict(False, "Z", Counterexample((i, j)), f"M[{i}, {j}] = {matrix[i, j]:.3g} is positive")


def is_k_matrix(M: Any, *, max_n: int = 64) -> ClassVerdict:
    """Decide whether M is both Z and P: a nonsingular M-matrix, with a nonnegative inverse.

    A vector v > 0 with M v > 0 proves the class. If M is singular to rounding, its leading minors decide, in integers,
    up to ``max_n``. The counterexample is an entry (i, j) that is positive, or a 0 != x >= 0 with M x <= 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.11.
    """
    matrix = square(M)
    signs = is_z_matrix(matrix)
    if not signs:
        return ClassVerdict(False, "K", signs.witness, f"not Z: {signs.detail}")
    return _inverse_nonnegative(matrix, matrix, "K", max_n)


def is_h_plus_matrix(M: Any, *, max_n: int = 64) -> ClassVerdict:
    """Decide whether the diagonal is positive and the comparison matrix <M> is a K-matrix.

    The counterexample is the index of a diagonal entry, or a 0 != x >= 0 with <M> x <= 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.3; A. Berman, R. J. Plemmons, Nonnegative Matrices in the Mathematical
    Sciences (1994), chapter 6.
    """
    matrix = square(M)
    return _inverse_nonnegative(matrix, comparison(matrix), "H_+", max_n)


def _inverse_nonnegative(matrix: Vector, C: Vector, name: str, max_n: int) -> ClassVerdict:
    """Return the verdict ``name`` on ``matrix``: True if its diagonal is positive and the Z-matrix C is a K-matrix.

    C is ``matrix`` itself or its comparison matrix. If rounding leaves the sign open, elimination in integers decides
    for n <= ``max_n``; for larger n without a counterexample the verdict is None.
    """
    n = C.shape[0]
    if (i := first_true(np.diag(matrix) <= 0.0)) is not None:
        return ClassVerdict(
            False, name, Counterexample((i,), np.eye(n)[i]), f"M[{i}, {i}] = {matrix[i, i]:.3g} is not positive"
        )
    if h_matrix_vector(C) is not None:
        return ClassVerdict(True, name, detail="a vector v > 0 whose image is positive, rounding included")
    if n > max_n:
        x = _perron(C)
        if broken_rows(C, x, strict=False):
            return _negative_verdict(C, x, tuple(np.flatnonzero(x).tolist()), name)
        detail = f"singular to rounding, and n = {n} exceeds max_n = {max_n} of exact elimination"
        return ClassVerdict(None, name, detail=detail)
    exact = integers(C)
    order = _leading_bad(exact)
    if order is None:
        return ClassVerdict(True, name, detail="all leading minors are positive, in integers")
    indices = tuple(range(order))
    for x in (_perron(C[:order, :order]), doubles(_null_or_negative(exact, order))):
        full = extended(x, indices, n)
        if broken_rows(C, full, strict=False):
            return _negative_verdict(C, full, indices, name)
    return ClassVerdict(False, name, Counterexample(indices), f"the leading minor of order {order} is not positive")


def _negative_verdict(C: Vector, x: Vector, indices: tuple[int, ...], name: str) -> ClassVerdict:
    margin = rows_margin(C, x)
    # Rows outside the support have only entries that are not positive, so the whole image is not positive.
    return ClassVerdict(False, name, Counterexample(indices, x), "x >= 0 whose image is not positive", margin)


def _perron(C: Vector) -> Vector:
    """Return a nonnegative x (n,) for which C x is likely to be a negative multiple of it, in scaled units.

    It is computed in floating point from the least eigenvalue; the caller has to verify it.
    """
    row, column = scales(C)
    scaled = row[:, None] * C * column
    values, vectors = np.linalg.eig(scaled)
    x = np.abs(vectors[:, int(np.argmin(values.real))].real)
    x = np.where(x > 1e-13 * x.max(), x, 0.0)
    # Sums of nonnegative terms give small entries full relative accuracy, unlike the eigenvector.
    rest = float(np.diag(scaled).max()) * np.eye(x.shape[0]) - scaled
    for _ in range(4):
        x = rest @ x
        x = x / max(float(x.max()), np.finfo(np.float64).tiny)
    vector: Vector = column * x
    return vector


def _leading_bad(exact: Integers) -> int | None:
    """Return the order of the first leading principal minor that is not positive, or None if all are positive."""
    A, previous = exact, 1
    for order in range(1, exact.shape[0] + 1):
        if A[0, 0] <= 0:
            return order
        pivot = A[0, 0]
        A, previous = eliminated(A, 0, previous), pivot
    return None


def _null_or_negative(exact: Integers, order: int) -> Integers:
    """Return x >= 0 on the leading block with A x = 0 except in its last row, which is not positive."""
    k = order - 1
    x = np.zeros(order, dtype=object)
    x[k] = 1
    if k:
        head = tuple(range(k))
        reduced = gauss_jordan(np.hstack([sub(exact, head), -exact[:k, k : k + 1]]), k)
        inner, scale = reduced.solution()
        x = x * scale
        x[:k] = inner
    return x
