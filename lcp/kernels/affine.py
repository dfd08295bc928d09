"""w = M z + q of a matrix given by its dense columns or by compressed sparse rows.

A `Matrix` holds ``C`` (n, n), row i of which is column i of M, and ``indptr``, ``indices``, ``data``; one kind of them
is empty. One type serves both, so that every method is compiled once.
"""

from __future__ import annotations

import numpy as np

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


@kernel
def merits(
    matrix: Matrix, q: Floats, lo: Floats, hi: Floats, row_size: Floats, z: Floats, w: Floats, out: Floats
) -> None:
    """Fill w = M z + q and out[:3] with natural map, scaled residual and largest |z_i|; ``row_size`` is max_j |M_ij|.

    The measures of `lcp.residuals` at the cost of one product, by which an iteration decides when it is worth while to
    ask there; a bound at zero and another at infinity make the plain problem.
    """
    affine(matrix, q, z, w)
    n = q.shape[0]
    z_size = 0.0
    for i in range(n):
        z_size = max(z_size, abs(z[i]))
    natural = 0.0
    scaled = 0.0
    finite = True
    for i in range(n):
        finite = finite and np.isfinite(z[i]) and np.isfinite(w[i])
        above = z[i] - lo[i]
        below = z[i] - hi[i]
        unit = z_size
        if unit == 0.0:
            unit = min(abs(above), abs(below))
        if not (np.isfinite(unit) and unit > 0.0):
            unit = 1.0
        w_unit = abs(q[i]) + row_size[i] * z_size
        part = w[i] / w_unit if w_unit > 0.0 else 0.0
        natural = max(natural, abs(max(below, min(above, w[i]))))
        scaled = max(scaled, abs(max(below / unit, min(above / unit, part))))
    out[0] = natural if finite else np.inf
    out[1] = scaled if finite else np.inf
    out[2] = z_size
