"""Projected Gauss-Seidel sweeps with relaxation.

C. W. Cryer, SIAM J. Control 9 (1971); Cottle, Pang and Stone (1992), section 5.2. One step is
z_i <- clip(z_i - omega w_i / M_ii, lo_i, hi_i), with w taken at the newest z.

From dense columns, w is kept up to date by d M_{.i} after a step d: the compiler makes it full-width arithmetic without
a sum to wait for, and an unknown that stays at its bound costs nothing. From sparse rows, w_i is formed when it is
needed; the neighbours that were moved last enter the sum last, so that a row waits for its neighbour as briefly as
possible.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, kernel
from lcp.kernels.affine import Matrix, columns_product

# Sweeps after which w is formed anew from dense columns: rounding of the updates must not add up.
REFRESH: Final = 64

FORWARD: Final = 0
SYMMETRIC: Final = 1


@kernel(inner=True)
def columns_sweep(
    C: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, backward: bool
) -> float:
    """One sweep with w = M z + q kept up to date; the sum of M_ii d_i^2 over its steps d. ``step`` = omega / M_ii."""
    n = z.shape[0]
    moved = 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        old = z[i]
        new = min(max(old - step[i] * w[i], lo[i]), hi[i])
        d = new - old
        if d != 0.0:
            z[i] = new
            column = C[i]
            for j in range(n):
                w[j] += d * column[j]
            moved += diagonal[i] * d * d
    return moved


@kernel(inner=True)
def rows_sweep(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, backward: bool
) -> float:
    """One sweep from sparse rows, columns ascending; the sum of M_ii d_i^2 over its steps d."""
    _, indptr, indices, data = matrix
    n = z.shape[0]
    moved = 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        total = q[i]
        if backward:
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * z[indices[at]]
        else:
            last = indptr[i + 1] - 1
            for at in range(last - indptr[i] + 1):
                total += data[last - at] * z[indices[last - at]]
        old = z[i]
        new = min(max(old - step[i] * total, lo[i]), hi[i])
        z[i] = new
        moved += diagonal[i] * (new - old) * (new - old)
    return moved


@kernel(inner=True)
def sweep(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int
) -> float:
    """One forward sweep, followed by a backward one where ``order`` is `SYMMETRIC`; the squared length of its steps.

    ``w`` is M z + q on entry and on exit where M is dense, and not touched where it is sparse.
    """
    moved = 0.0
    for backward in range(1 + order):
        if matrix[0].shape[0] > 0:
            moved += columns_sweep(matrix[0], diagonal, step, lo, hi, z, w, backward == 1)
        else:
            moved += rows_sweep(matrix, q, diagonal, step, lo, hi, z, backward == 1)
    return moved


@kernel
def projected_gauss_seidel(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int,
    moved: Floats,
) -> None:  # fmt: skip
    """As many sweeps of z as ``moved`` has entries, which become the squared lengths of their steps."""
    dense = matrix[0].shape[0] > 0
    for k in range(moved.shape[0]):
        if dense and k % REFRESH == 0:
            columns_product(matrix[0], q, z, w)
        moved[k] = sweep(matrix, q, diagonal, step, lo, hi, z, w, order)
