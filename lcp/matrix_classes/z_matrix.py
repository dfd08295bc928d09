"""Z-, K- and H_+-matrices: their off-diagonal entries are not positive, and inverses not negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, doubles, eliminated, gauss_jordan, integers
from lcp.analysis.proven_bounds import comparison, h_matrix_vector
from lcp.arrays import Vector
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample, broken_rows, extended, rows_margin, square, sub
from lcp.scaling import scales


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
    low = np.flatnonzero(np.diag(matrix) <= 0.0)
    if low.size:
        i = int(low[0])
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
