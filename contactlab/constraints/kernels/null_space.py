"""The null-space method: the motion along the constraints first, then the multipliers.

With Q_1 an orthonormal basis of the rows of G and Z of their null space, x = Q_1^T y + Z^T z:

    y                         from the rows                          (`row_space.targets`)
    (Z H Z^T) z = Z c - Z H Q_1^T y                                  Cholesky
    mu = Q_1 (H x - c)        then the multipliers of G              (`row_space.multipliers`)

Q H Q^T is formed by two-sided reflections, 4 n^2 operations per row, never from Z. Nocedal and Wright, Numerical
Optimization (2006), section 16.2. H need only be definite on the null space.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.constraints.kernels.cholesky import factor, solve_lower, solve_upper
from contactlab.constraints.kernels.householder import reflect, reflect_both
from contactlab.constraints.kernels.kkt_codes import LOOSE, System
from contactlab.constraints.kernels.row_space import multipliers, reduce_rows, row_space, targets
from contactlab.multibody.kernels.codes import PIVOT
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel
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
def solve_null_space(system: System, tolerance: float, W: FloatArray, x: FloatArray, forces: FloatArray) -> int:
    """Fill x (n,) and forces (m,) with H x - G^T forces = c, G x = gamma; the rank of G, or `LOOSE` - k.

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
            return LOOSE - at
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
