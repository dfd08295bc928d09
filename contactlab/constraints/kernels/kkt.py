"""One constrained system by one of three methods, and by the rank-revealing one where that one must give up.

The null-space method: the motion along the constraints first, then the multipliers. With Q_1 an orthonormal basis of
the rows of G and Z of their null space, x = Q_1^T y + Z^T z:

    y                         from the rows                          (`row_space.targets`)
    (Z H Z^T) z = Z c - Z H Q_1^T y                                  Cholesky
    mu = Q_1 (H x - c)        then the multipliers of G              (`row_space.multipliers`)

Q H Q^T is formed by two-sided reflections, 4 n^2 operations per row, never from Z. H need only be definite on the null
space.

The direct method: the whole matrix by Gaussian elimination with row pivoting.

[H G^T] [   x   ]   [  c  ]
[G  0 ] [-forces] = [gamma]

Rows and columns are scaled to H having a unit diagonal and G rows of unit length. Pivots of the whole matrix do not
tell how nearly rows depend on each other: two rows an angle e apart leave either one pivot of e^2 or two of e, and e^2
of the digits are lost both ways. The matrix of the rows' products tells, at m^2 n.

Nocedal and Wright, Numerical Optimization (2006), section 16.2; the range-space method is `range_space`.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.constraints.kernels.cholesky import factor, solve_lower, solve_upper
from contactlab.constraints.kernels.kkt_codes import (
    CLEAR_LU_PIVOT,
    CLEAR_PIVOT,
    CLEAR_ROW,
    DEPENDENT,
    DIRECT,
    RANGE_SPACE,
    SINGULAR_INERTIA,
    System,
)
from contactlab.constraints.kernels.range_space import restore_matrix, solve_range_space
from contactlab.constraints.kernels.row_space import multipliers, reduce_rows, reflect, reflect_both, row_space, targets
from contactlab.multibody.kernels.codes import PIVOT
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import rows_at
from lcp.kernels import kernel
from lcp.kernels.basis_solve import lu_factor, lu_solve
from lcp.kernels.reductions import dot


@kernel
def unit_columns(H: FloatArray, scale: FloatArray) -> None:
    """scale (n,): about 1 / sqrt(H_jj), powers of two; where there is no inertia, that of the largest."""
    n = H.shape[0]
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(H[j, j]))
    if not largest > 0.0 or not largest < np.inf:
        for j in range(n):
            scale[j] = 1.0
        return
    for j in range(n):
        diagonal = abs(H[j, j])
        # Below rounding of the rest it says nothing about units.
        used = diagonal if diagonal > 1e-26 * largest else largest
        # used = part 2^exponent, part being in [1/2, 1).
        _, exponent = math.frexp(used)
        scale[j] = math.ldexp(1.0, -((exponent - 1) // 2))


@kernel
def solve_null_space(system: System, tolerance: FloatArray, W: FloatArray, x: FloatArray, forces: FloatArray) -> int:
    """Fill x (n,) and forces (m,) with H x - G^T forces = c, G x = gamma; the rank of G, or `SINGULAR_INERTIA` - k.

    H (n, n) is symmetric, both triangles, and is overwritten. Columns are measured so that H has about a unit diagonal:
    neither rank nor definiteness depend on the units of the coordinates.
    """
    H, G, c, gamma = system
    m, n = G.shape
    s = row_space(W, n, m)
    b = 2 * m * n + 7 * m
    scale = W[b : b + n]
    load = W[b + n : b + 2 * n]
    y = W[b + 2 * n : b + 3 * n]
    v = W[b + 3 * n : b + 4 * n]
    w = W[b + 4 * n : b + 5 * n]
    least = W[b + 5 * n : b + 6 * n]
    columns = W[b + 6 * n : b + 10 * n]
    unit_columns(H, scale)
    for i in range(n):
        row = H[i]
        factor_i = scale[i]
        load[i] = c[i] * factor_i
        for j in range(n):
            row[j] *= factor_i * scale[j]
    rank = reduce_rows(G, scale, tolerance, s)
    targets(s, rank, gamma, y)
    mu = w[:rank]
    if rank < n:
        for k in range(rank):
            reflect_both(s.A, s.tau, k, v, w, H)
            reflect(s.A, s.tau, k, load)
        for i in range(rank, n):
            y[i] = load[i] - dot(H[i], y, rank)
            least[i] = PIVOT * (1.0 + n / 16.0)
        # The trailing block, in place: the rows above it and the columns before it are still to be used.
        at = factor(H, rank, n, least, columns)
        if at >= 0:
            return SINGULAR_INERTIA - at
        solve_lower(H, rank, n, y)
        solve_upper(H, rank, n, y)
        for k in range(rank):
            mu[k] = dot(H[k], y, n) - load[k]
    for j in range(n):
        x[j] = y[j]
    for k in range(rank - 1, -1, -1):
        reflect(s.A, s.tau, k, x)
    if rank == n:
        # Nothing is free to move: the motion is known before H is looked at.
        for i in range(n):
            mu[i] = dot(H[i], x, n) - load[i]
        for k in range(rank):
            reflect(s.A, s.tau, k, mu)
    for j in range(n):
        x[j] *= scale[j]
    multipliers(s, rank, mu, forces)
    return rank


@kernel
def independent(A: FloatArray, n: int, m: int, K: FloatArray, w: FloatArray) -> bool:
    """Return True if the rows A[n:, :n] are clearly independent; K (m m,) and w (5 m,) are scratch."""
    products = rows_at(K, 0, m, m)
    for i in range(m):
        product = products[i]
        for j in range(i + 1):
            product[j] = dot(A[n + i], A[n + j], n)
        w[i] = CLEAR_PIVOT * product[i]
    return factor(products, 0, m, w[:m], w[m : 5 * m]) < 0


@kernel
def solve_direct(system: System, W: FloatArray, order: IntArray, x: FloatArray, forces: FloatArray) -> int:
    """Fill x (n,) and forces (m,); m, or `DEPENDENT` where a pivot is too small to be trusted.

    ``order`` (n + m,) is scratch. Nothing given is changed.
    """
    H, G, c, gamma = system
    m, n = G.shape
    k = n + m
    A = rows_at(W, 0, k, k)
    b = W[k * k : k * k + k]
    out = W[k * k + k : k * k + 2 * k]
    scale = W[k * k + 2 * k : k * k + 3 * k]
    unit_columns(H, scale[:n])
    for i in range(m):
        row = A[n + i]
        given = G[i]
        largest = 0.0
        for j in range(n):
            row[j] = given[j] * scale[j]
            largest = max(largest, abs(row[j]))
        if not largest > 0.0:
            return DEPENDENT
        factor_i = 1.0 / largest
        scale[n + i] = factor_i
        for j in range(n):
            row[j] *= factor_i
        for j in range(m):
            row[n + j] = 0.0
        b[n + i] = gamma[i] * factor_i
    if not independent(A, n, m, W[: m * m], W[k * k + 3 * k :]):
        return DEPENDENT
    for i in range(n):
        row = A[i]
        given = H[i]
        factor_i = scale[i]
        for j in range(n):
            row[j] = given[j] * factor_i * scale[j]
        for j in range(m):
            row[n + j] = A[n + j, i]
        b[i] = c[i] * factor_i
    if not lu_factor(A, k, order):
        return DEPENDENT
    for i in range(k):
        if not abs(A[i, i]) > CLEAR_LU_PIVOT:
            return DEPENDENT
    lu_solve(A, k, order, b, out)
    for i in range(n):
        x[i] = out[i] * scale[i]
    for i in range(m):
        forces[i] = -out[n + i] * scale[n + i]
    return m


@kernel(inline=True)
def solve_kkt(
    method: int,
    parents: IntArray,
    dense: int,
    system: System,
    tolerance: FloatArray,
    W: FloatArray,
    order: IntArray,
    x: FloatArray,
    forces: FloatArray,
) -> int:
    """Fill x (n,) and forces (m,) with H x - G^T forces = c, G x = gamma; the rank of G, or `SINGULAR_INERTIA` - k.

    H is overwritten. Redundant rows make the matrices of the other methods singular: the null-space method, which finds
    the rank first, then answers for them, and for rows that are not well known. ``tolerance`` (m,) is what of each
    row's length is rounding, as `contactlab.constraints.kernels.rank` has it.
    """
    m, n = system.G.shape
    code = DEPENDENT
    known = m <= n
    for i in range(m):
        known = known and tolerance[i] <= CLEAR_ROW
    if known:
        if method == DIRECT:
            code = solve_direct(system, W, order, x, forces)
        elif method == RANGE_SPACE:
            code = solve_range_space(parents, dense, system, W, x, forces)
            if code == DEPENDENT:
                start = (n + m + 1) * (m + 1)
                restore_matrix(system.H, W[start : start + n])
    if code == DEPENDENT:
        code = solve_null_space(system, tolerance, W, x, forces)
    return code
