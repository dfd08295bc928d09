"""w = M z + q of a matrix given by its dense columns or by compressed sparse rows.

A `Matrix` holds ``C`` (n, n), row i of which is column i of M, and ``indptr``, ``indices``, ``data``; one kind of them
is empty. One type serves both, so that every method is compiled once.
"""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel

Matrix = tuple[Floats, Ints, Ints, Floats]


@kernel(inner=True)
def columns_product(C: Floats, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w from dense columns, four at a time, those that meet only zeros of z being passed over."""
    n = q.shape[0]
    for j in range(n):
        w[j] = q[j]
    i = 0
    while i + 4 <= n:
        a = z[i]
        b = z[i + 1]
        c = z[i + 2]
        d = z[i + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            first = C[i]
            second = C[i + 1]
            third = C[i + 2]
            fourth = C[i + 3]
            for j in range(n):
                w[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
        i += 4
    while i < n:
        a = z[i]
        first = C[i]
        for j in range(n):
            w[j] += a * first[j]
        i += 1


@kernel(inner=True)
def rows_product(matrix: Matrix, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w from compressed sparse rows."""
    _, indptr, indices, data = matrix
    for i in range(q.shape[0]):
        total = q[i]
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * z[indices[k]]
        w[i] = total


@kernel
def affine(matrix: Matrix, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w = M z + q."""
    if matrix[0].shape[0] > 0:
        columns_product(matrix[0], q, z, w)
    else:
        rows_product(matrix, q, z, w)
