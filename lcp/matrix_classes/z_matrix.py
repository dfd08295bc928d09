"""Z-, K- and H_+-matrices: off-diagonal entries that are not positive, and inverses that are not negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, doubles, eliminated, gauss_jordan, integers
from lcp.analysis.verified import comparison, h_matrix_vector
from lcp.arrays import Vector
from lcp.matrix_classes.verdict import Verdict, Witness, broken_rows, extended, rows_margin, square, sub
from lcp.scaling import scales


def is_z_matrix(M: Any) -> Verdict:
    """Whether no entry off the diagonal is positive; of any size. Witness of a no: (i, j) with M[i, j] > 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.11.
    """
    matrix = square(M)
    off = matrix - np.diag(np.diag(matrix))
    if not (off > 0.0).any():
        return Verdict(True, "Z", detail="by its signs")
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(off)), off.shape))
    return Verdict(False, "Z", Witness((i, j)), f"M[{i}, {j}] = {matrix[i, j]:.3g} is positive")


def is_k_matrix(M: Any, *, max_n: int = 64) -> Verdict:
    """Whether M is both Z and P: a nonsingular M-matrix, with a nonnegative inverse.

    Proven by a vector v > 0 with M v > 0; what is within rounding of singular by its leading minors in integers, up to
    ``max_n``. Witness of a no: an entry (i, j) that is positive, or 0 != x >= 0 with M x <= 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.11.
    """
    matrix = square(M)
    signs = is_z_matrix(matrix)
    if not signs:
        return Verdict(False, "K", signs.witness, f"not Z: {signs.detail}")
    return _inverse_nonnegative(matrix, matrix, "K", max_n)


def is_h_plus_matrix(M: Any, *, max_n: int = 64) -> Verdict:
    """Whether the diagonal is positive and the comparison matrix <M> is a K-matrix.

    Witness of a no: the index of a diagonal entry, or 0 != x >= 0 with <M> x <= 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.3; A. Berman, R. J. Plemmons, Nonnegative Matrices in the Mathematical
    Sciences (1994), chapter 6.
    """
    matrix = square(M)
    return _inverse_nonnegative(matrix, comparison(matrix), "H_+", max_n)


def _inverse_nonnegative(matrix: Vector, C: Vector, name: str, max_n: int) -> Verdict:
    """Whether the Z-matrix C is a K-matrix, the diagonal of ``matrix`` being positive."""
    n = C.shape[0]
    low = np.flatnonzero(np.diag(matrix) <= 0.0)
    if low.size:
        i = int(low[0])
        return Verdict(False, name, Witness((i,), np.eye(n)[i]), f"M[{i}, {i}] = {matrix[i, i]:.3g} is not positive")
    if h_matrix_vector(C) is not None:
        return Verdict(True, name, detail="a vector v > 0 whose image is positive, rounding included")
    if n > max_n:
        x = _perron(C)
        if broken_rows(C, x, strict=False):
            return _refused(C, x, tuple(np.flatnonzero(x).tolist()), name)
        detail = f"singular to rounding, and n = {n} exceeds max_n = {max_n} of exact elimination"
        return Verdict(None, name, detail=detail)
    exact = integers(C)
    order = _leading_bad(exact)
    if order is None:
        return Verdict(True, name, detail="all leading minors are positive, in integers")
    indices = tuple(range(order))
    for x in (_perron(C[:order, :order]), doubles(_null_or_negative(exact, order))):
        full = extended(x, indices, n)
        if broken_rows(C, full, strict=False):
            return _refused(C, full, indices, name)
    return Verdict(False, name, Witness(indices), f"the leading minor of order {order} is not positive")


def _refused(C: Vector, x: Vector, indices: tuple[int, ...], name: str) -> Verdict:
    margin = rows_margin(C, x)
    # Rows outside the support only have entries that are not positive: the whole image is not positive.
    return Verdict(False, name, Witness(indices, x), "x >= 0 whose image is not positive", margin)


def _perron(C: Vector) -> Vector:
    """x >= 0 that a Z-matrix, rows and columns in units near one, maps to a negative multiple: in floating point."""
    row, column = scales(C)
    scaled = row[:, None] * C * column
    values, vectors = np.linalg.eig(scaled)
    x = np.abs(vectors[:, int(np.argmin(values.real))].real)
    x = np.where(x > 1e-13 * x.max(), x, 0.0)
    # Sums of nonnegative terms give small entries the relative accuracy that the eigenvector has as a whole only.
    rest = float(np.diag(scaled).max()) * np.eye(x.shape[0]) - scaled
    for _ in range(4):
        x = rest @ x
        x = x / max(float(x.max()), np.finfo(np.float64).tiny)
    vector: Vector = column * x
    return vector


def _leading_bad(exact: Integers) -> int | None:
    """The order of the first leading principal minor that is not positive."""
    A, previous = exact, 1
    for order in range(1, exact.shape[0] + 1):
        if A[0, 0] <= 0:
            return order
        pivot = A[0, 0]
        A, previous = eliminated(A, 0, previous), pivot
    return None


def _null_or_negative(exact: Integers, order: int) -> Integers:
    """x >= 0 on the leading block with A x zero but in its last row, where it is not positive."""
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
