"""One constrained system, H x - G^T forces = c with G x = gamma, by the null-space method; forces from responses.

The motion along the constraints comes first, and then the multipliers. With Q_1 an orthonormal basis of the rows of G,
and Z of their null space, x = Q_1^T y + Z^T z:

    y                         from the rows                          (`targets`)
    (Z H Z^T) z = Z c - Z H Q_1^T y                                  Cholesky
    mu = Q_1 (H x - c)        then the multipliers of G              (`multipliers`)

Q H Q^T is formed by two-sided reflections, 4 n^2 operations per row, without forming Z. H needs to be definite only on
the null space. The rows can have any rank.

If the responses Y_1 of the rows are known, and H = L^T L, z = L^-T c, the forces follow from Y_1^T Y_1 forces = gamma -
Y_1^T z (`solve_forces`; Featherstone 2008, section 8.2). This is faster, but needs rows that are clearly independent.

Nocedal and Wright, Numerical Optimization (2006), section 16.2.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.multibody.constraints.kernels import (
    CLEAR_PIVOT,
    CLEAR_ROW,
    SINGULAR_INERTIA,
    System,
)
from contactlab.multibody.constraints.kernels.factorizations import (
    factor,
    multipliers,
    reduce_rows,
    reflect,
    reflect_both,
    row_space,
    solve_lower,
    solve_upper,
    targets,
)
from contactlab.multibody.kernels import PIVOT
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.kernels import copy, fill
from lcp.compiler.views import view_1d
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel(inner=True, vectors=True)
def gram(Y: FloatArray, touched: FloatArray, K: FloatArray) -> None:
    """Fill the lower triangle of K (m + 1, w) with Y^T Y, from the rows of Y (n, w) with ``touched`` > 0.

    Entries above the diagonal have no meaning.
    """
    n, w = Y.shape
    # Clear K.
    K[:] = 0.0
    # Add y y^T for each row y of Y that some constraint touches, four columns at a time, skipping zeros.
    for k in range(n):
        if touched[k] > 0.0:
            for i in range(K.shape[0]):
                a = Y[k, i]
                if a != 0.0:
                    for j in range(0, i + 1, 4):
                        y, r = view_1d(Y, k * w + j, 4), view_1d(K, i * w + j, 4)
                        r[0], r[1], r[2], r[3] = r[0] + a * y[0], r[1] + a * y[1], r[2] + a * y[2], r[3] + a * y[3]


@kernel
def solve_forces(
    Y: FloatArray,
    touched: FloatArray,
    gamma: FloatArray,
    K: FloatArray,
    least: FloatArray,
    forces: FloatArray,
) -> bool:
    """Fill forces (m,) with the solution of Y_1^T Y_1 forces = gamma - Y_1^T z, for Y = [Y_1 z 0] (n, `lanes(m)`).

    Return False if the rows are not clearly independent. K (m + 1, `lanes(m)`) and ``least`` (m,) are scratch.
    """
    m = forces.shape[0]
    gram(Y, touched, K)
    for i in range(m):
        forces[i] = gamma[i] - K[m, i]
        least[i] = CLEAR_PIVOT * K[i, i]
    if factor(K, 0, m, least) >= 0:
        return False
    solve_lower(K, 0, m, forces)
    solve_upper(K, 0, m, forces)
    return True


@kernel
def unit_columns(H: FloatArray, scale: FloatArray) -> None:
    """Fill scale (n,) with about 1 / sqrt(H_jj), in powers of two; without inertia, the largest H_jj counts."""
    n = H.shape[0]
    # Largest entry of the diagonal; without one all scales are 1.
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(H[j, j]))
    if not largest > 0.0 or not largest < np.inf:
        fill(1.0, scale)
        return
    for j in range(n):
        diagonal = abs(H[j, j])
        # An entry below the rounding of the others does not determine the unit of its coordinate.
        used = diagonal if diagonal > 1e-26 * largest else largest
        # used = part 2^exponent, part being in [1/2, 1).
        _, exponent = math.frexp(used)
        scale[j] = math.ldexp(1.0, -((exponent - 1) // 2))


@kernel
def solve_null_space(system: System, tolerance: FloatArray, W: FloatArray, x: FloatArray, forces: FloatArray) -> int:
    """Solve H x - G^T forces = c, G x = gamma into x (n,), forces (m,); return the rank, or `SINGULAR_INERTIA` - k.

    H (n, n) is symmetric, both triangles, and is overwritten. Columns are scaled so that H has about a unit diagonal.
    Then neither rank nor definiteness depend on the units of the coordinates.
    """
    H, G, c, gamma = system
    m, n = G.shape
    # Views into the workspace.
    s = row_space(W, n, m)
    b = 2 * m * n + 7 * m
    scale = W[b : b + n]
    load = W[b + n : b + 2 * n]
    y = W[b + 2 * n : b + 3 * n]
    v = W[b + 3 * n : b + 4 * n]
    w = W[b + 4 * n : b + 5 * n]
    least = W[b + 5 * n : b + 6 * n]
    # H with about a unit diagonal, c in the same units.
    unit_columns(H, scale)
    for i in range(n):
        row = H[i]
        factor_i = scale[i]
        load[i] = c[i] * factor_i
        for j in range(n):
            row[j] *= factor_i * scale[j]
    # Motion across the constraints, from the rows.
    rank = reduce_rows(G, scale, tolerance, s)
    targets(s, rank, gamma, y)
    mu = w[:rank]
    if rank < n:
        # Q H Q^T and Q c.
        for k in range(rank):
            reflect_both(s.A, s.tau, k, v, w, H)
            reflect(s.A, s.tau, k, load)
        # Motion along the constraints: (Z H Z^T) z = Z c - Z H Q_1^T y.
        for i in range(rank, n):
            y[i] = load[i] - dot(H[i], y, rank)
            least[i] = PIVOT * (1.0 + n / 16.0)
        # The trailing block is factored in place: the rows above and the columns before it are used below.
        at = factor(H, rank, n, least)
        if at >= 0:
            return SINGULAR_INERTIA - at
        solve_lower(H, rank, n, y)
        solve_upper(H, rank, n, y)
        # Multipliers of the orthonormal rows.
        for k in range(rank):
            mu[k] = dot(H[k], y, n) - load[k]
    # Back from Q x to x.
    copy(y, x)
    for k in range(rank - 1, -1, -1):
        reflect(s.A, s.tau, k, x)
    if rank == n:
        # If no direction is free, the motion is known without H.
        for i in range(n):
            mu[i] = dot(H[i], x, n) - load[i]
        for k in range(rank):
            reflect(s.A, s.tau, k, mu)
    # Back to the units of the coordinates, and multipliers of the rows as given.
    for j in range(n):
        x[j] *= scale[j]
    multipliers(s, rank, mu, forces)
    return rank


@kernel(inline=True)
def are_clear(tolerance: FloatArray, n: int) -> bool:
    """Return True if the rows (m,) are at most n and have little rounding, as `solve_forces` needs them."""
    clear = tolerance.shape[0] <= n
    for i in range(tolerance.shape[0]):
        clear = clear and tolerance[i] <= CLEAR_ROW
    return clear
