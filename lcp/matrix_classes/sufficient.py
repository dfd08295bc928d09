"""Sufficient matrices: principal pivoting works for them, and the solutions of LCP(M, q) are a convex set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, doubles, gauss_jordan, integers, signs
from lcp.arrays import Vector, first_true
from lcp.matrix_classes.definite import is_psd_matrix
from lcp.matrix_classes.p_matrix import is_p_matrix
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample, image_signs, rows_margin, square, sub


def is_column_sufficient(M: Any, *, max_n: int = 10) -> ClassVerdict:
    """Decide whether x_i (M x)_i <= 0 for all i implies x_i (M x)_i = 0 for all i.

    The solutions of every LCP(M, q) are then a convex set. Positive semidefinite and P-matrices are column sufficient.
    Otherwise every principal pivotal transform of M is formed in integers, up to n = ``max_n``, and its blocks of order
    two are checked. The counterexample is an x with x_i (M x)_i <= 0 for all i and < 0 for some i.

    References
    ----------
    R. W. Cottle, J.-S. Pang, V. Venkateswaran, Sufficient matrices and the linear complementarity problem, Linear
    Algebra and its Applications 114/115 (1989); R. W. Cottle, S.-M. Guu, Two characterizations of sufficient matrices,
    same journal 170 (1992), for the transforms.
    """
    return _decide(square(M), max_n, "column sufficient")


def is_row_sufficient(M: Any, *, max_n: int = 10) -> ClassVerdict:
    """Decide whether the transpose of M is column sufficient: every stationary point of z . (M z + q) solves LCP(M, q).

    The counterexample x is one of the transpose; see `is_column_sufficient`.
    """
    return _decide(np.ascontiguousarray(square(M).T), max_n, "row sufficient")


def is_sufficient(M: Any, *, max_n: int = 10) -> ClassVerdict:
    """Decide whether M is row and column sufficient."""
    columns, rows = is_column_sufficient(M, max_n=max_n), is_row_sufficient(M, max_n=max_n)
    for part in (columns, rows):
        if part.member is False:
            return ClassVerdict(False, "sufficient", part.witness, f"not {part.name}: {part.detail}", part.margin)
    member = True if columns and rows else None
    return ClassVerdict(member, "sufficient", detail=columns.detail if columns.member is None else rows.detail)


def _decide(matrix: Vector, max_n: int, name: str) -> ClassVerdict:
    """Decide column sufficiency: by classes that imply it, then by pairs of rows of all pivotal transforms.

    The verdict has the given ``name``. The transforms are in integers. For n > ``max_n`` the verdict is None, unless
    a class or a diagonal entry decides.
    """
    for verdict in (is_psd_matrix(matrix), is_p_matrix(matrix)):
        if verdict:
            return ClassVerdict(True, name, detail=f"{verdict.name}: {verdict.detail}")
    n = matrix.shape[0]
    if (i := first_true(np.diag(matrix) < 0.0)) is not None:
        return ClassVerdict(False, name, Counterexample((i,), np.eye(n)[i]), f"M[{i}, {i}] is negative", 1.0)
    if n > max_n:
        return ClassVerdict(
            None, name, detail=f"n = {n} exceeds max_n = {max_n}, up to which all 2^n transforms are formed"
        )
    broken: tuple[int, ...] | None = None
    exact = integers(matrix)
    for code in range(1 << n):
        block = tuple(i for i in range(n) if code >> i & 1)
        pivoted = _transform(exact, block)
        if pivoted is None:
            continue
        transform, scale = pivoted
        for pair, vectors in _bad_pairs(transform):
            broken = pair
            for x in vectors:
                # The unknowns of the matrix: entries of the block are exchanged.
                moved = scale * x
                moved[list(block)] = (transform @ x)[list(block)]
                z = doubles(moved)
                # Exactly: x_i (M x)_i <= 0 for all i, and < 0 for some i.
                products = np.sign(z) * image_signs(matrix, z)[0]
                if (products <= 0).all() and (products < 0).any():
                    margin = rows_margin(matrix, z)
                    detail = f"rows {pair} of the transform on {block}"
                    return ClassVerdict(
                        False, name, Counterexample(tuple(np.flatnonzero(z).tolist()), z), detail, margin
                    )
    if broken is not None:
        return ClassVerdict(False, name, Counterexample(broken), "a pair of a transform; no vector of doubles shows it")
    return ClassVerdict(True, name, detail="all principal pivotal transforms, pair by pair")


def _transform(A: Integers, block: tuple[int, ...]) -> tuple[Integers, int] | None:
    """Return the principal pivotal transform of A on a block, times a positive integer; None if the block is singular.

    With y = A x, it maps (y_a, x_b) to (x_a, y_b).
    """
    n = A.shape[0]
    k = len(block)
    if k == 0:
        return A, 1
    rest = [i for i in range(n) if i not in block]
    eye = np.array([[int(i == j) for j in range(k)] for i in range(k)], dtype=object).reshape(k, k)
    across = A[np.ix_(block, rest)]
    reduced = gauss_jordan(np.hstack([sub(A, block), eye, across]), k)
    if reduced.rank < k:
        return None
    scale = reduced.scale
    solved = reduced.rows[:, k:]
    out = np.zeros((n, n), dtype=object)
    out[np.ix_(block, block)] = solved[:, :k]
    out[np.ix_(block, rest)] = -solved[:, k:]
    below = A[np.ix_(rest, block)]
    out[np.ix_(rest, block)] = below @ solved[:, :k]
    out[np.ix_(rest, rest)] = scale * A[np.ix_(rest, rest)] - below @ solved[:, k:]
    return (out, scale) if scale > 0 else (-out, -scale)


def _bad_pairs(T: Integers) -> Iterator[tuple[tuple[int, ...], list[Integers]]]:
    """Yield entries and pairs of a transform that are not column sufficient, with vectors that prove it.

    A block [[a, b], [c, d]] is column sufficient if and only if a, d, a d - b c >= 0, and a = b = 0 implies c = 0, and
    c = d = 0 implies b = 0.
    """
    n = T.shape[0]
    sign = signs(T)
    for i in range(n):
        if sign[i, i] < 0:
            yield (i,), [_scatter(n, (i,), (1,))]
    for i in range(n):
        for j in range(i + 1, n):
            a, b, c, d = (int(v) for v in (T[i, i], T[i, j], T[j, i], T[j, j]))
            if a < 0 or d < 0:
                continue
            first: list[tuple[int, int]] = []
            if a * d - b * c < 0:
                # b and c have one sign: choose x with opposite signs, between the lines on which a row vanishes.
                s = -1 if b > 0 else 1
                first = [(abs(b) + d, s * (a + abs(c))), (abs(b), s * a), (d, s * abs(c)), (1, s)]
            elif a == 0 and b == 0 and c != 0:
                first = [(-c * (1 + abs(d)), c * c), (-(abs(d) + 1) * (1 if c > 0 else -1), 1)]
            elif c == 0 and d == 0 and b != 0:
                first = [(b * b, -b * (1 + abs(a))), (1, -(abs(a) + 1) * (1 if b > 0 else -1))]
            if first:
                yield (i, j), [_scatter(n, (i, j), pair) for pair in first]


def _scatter(n: int, indices: tuple[int, ...], values: tuple[int, ...]) -> Integers:
    x = np.zeros(n, dtype=object)
    x[list(indices)] = values
    return x
