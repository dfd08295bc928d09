"""One constrained system, H x - G^T forces = c with G x = gamma, by one of two methods.

The rank-revealing null-space method also solves the cases in which the range-space method fails.

Range-space method. The multipliers come first, from the matrix of the rows' responses, and then the motion. With H =
L^T L, Y = L^-T G^T and z = L^-T c:

    (Y^T Y) forces = gamma - Y^T z,      x = L^-1 (z + Y forces)

L has nonzero entries only on the branches of a tree, and so have the columns of Y: a row on a branch has entries from
there to the root only (Featherstone 2008, sections 6.5 and 8.2; RBDL's range-space method). Without a tree, all
coordinates are one branch.

Null-space method. The motion along the constraints comes first, and then the multipliers. With Q_1 an orthonormal basis
of the rows of G, and Z of their null space, x = Q_1^T y + Z^T z:

    y                         from the rows                          (`targets`)
    (Z H Z^T) z = Z c - Z H Q_1^T y                                  Cholesky
    mu = Q_1 (H x - c)        then the multipliers of G              (`multipliers`)

Q H Q^T is formed by two-sided reflections, 4 n^2 operations per row, without forming Z. H needs to be definite only on
the null space.

Nocedal and Wright, Numerical Optimization (2006), section 16.2.
"""

from __future__ import annotations

import math

import numpy as np

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
from contactlab.multibody.constraints.kernels.kkt_codes import (
    CLEAR_LU_PIVOT,
    CLEAR_PIVOT,
    CLEAR_ROW,
    DEPENDENT,
    RANGE_SPACE,
    SINGULAR_INERTIA,
    System,
)
from contactlab.multibody.kernels.codes import GOOD, PIVOT
from contactlab.multibody.kernels.mass_matrix import factor_ltl
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def responses(parents: IntArray, L: FloatArray, touched: FloatArray, m: int, Y: FloatArray) -> None:
    """Replace m + 1 columns of Y by L^-T Y along the branches; rows with ``touched`` 0.0 are zero but for the last."""
    # From the leaves to the root: divide by the diagonal, subtract from the ancestors.
    for i in range(L.shape[0] - 1, -1, -1):
        row = L[i]
        y = Y[i]
        inverse = 1.0 / row[i]
        j = parents[i]
        # If no row acts on this branch, only the column of c; otherwise all columns, and the parent is marked too.
        first = m
        if touched[i] > 0.0:
            first = 0
            if j >= 0:
                touched[j] = 1.0
        for k in range(first, m + 1):
            y[k] *= inverse
        while j >= 0:
            other = Y[j]
            a = row[j]
            for k in range(first, m + 1):
                other[k] -= a * y[k]
            j = parents[j]


@kernel(inner=True, vectors=True)
def gram(Y: FloatArray, touched: FloatArray, K: FloatArray) -> None:
    """Fill the lower triangle of K (m + 1, w) with Y^T Y, from the rows of Y (n, w) with ``touched`` > 0.

    Entries above the diagonal have no meaning.
    """
    n, w = Y.shape
    # Clear K.
    for i in range(K.shape[0]):
        row = K[i]
        for j in range(w):
            row[j] = 0.0
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
def solve_range_space(parents: IntArray, system: System, W: FloatArray, x: FloatArray, forces: FloatArray) -> int:
    """Fill x (n,) and forces (m,); m, or `DEPENDENT` if H or the responses are not clearly definite.

    The lower triangle of H (n, n) holds its factor afterwards; `restore_matrix` undoes this.
    """
    H, G, c, gamma = system
    m, n = G.shape
    w = (m + 4) // 4 * 4
    # Views into the workspace.
    Y = view_2d(W, 0, n, w)
    K = view_2d(W, n * w, m + 1, w)
    b = (n + m + 1) * w
    diagonal = W[b : b + n]
    touched = W[b + n : b + 2 * n]
    least = W[b + 2 * n : b + 3 * n + m + 1]
    # Factor H along the branches, with pivots that are clearly positive.
    for j in range(n):
        diagonal[j] = H[j, j]
        least[j] = CLEAR_LU_PIVOT * H[j, j]
    if factor_ltl(parents, least, H) != GOOD:
        return DEPENDENT
    for j in range(n):
        if not H[j, j] * H[j, j] > CLEAR_LU_PIVOT * diagonal[j]:
            return DEPENDENT
    # Y := [G^T | c], and the coordinates that rows act on.
    for j in range(n):
        row = Y[j]
        any_ = 0.0
        for i in range(m):
            value = G[i, j]
            row[i] = value
            if value != 0.0:
                any_ = 1.0
        row[m] = c[j]
        for i in range(m + 1, w):
            row[i] = 0.0
        touched[j] = any_
    # Responses, their products, and the system of the multipliers.
    responses(parents, H, touched, m, Y)
    if not solve_forces(Y, touched, gamma, K, least, forces):
        return DEPENDENT
    # x := z + Y forces.
    for j in range(n):
        x[j] = Y[j, m]
        if touched[j] > 0.0:
            x[j] += dot(Y[j], forces, m)
    # x := L^-1 x.
    for i in range(n):
        row = H[i]
        value = x[i]
        j = parents[i]
        while j >= 0:
            value -= row[j] * x[j]
            j = parents[j]
        x[i] = value / row[i]
    return m


@kernel
def restore_matrix(H: FloatArray, diagonal: FloatArray) -> None:
    """Restore the lower triangle and the diagonal of H from its upper triangle and ``diagonal`` (n,)."""
    n = H.shape[0]
    for i in range(n):
        row = H[i]
        for j in range(i):
            row[j] = H[j, i]
        row[i] = diagonal[i]


@kernel
def unit_columns(H: FloatArray, scale: FloatArray) -> None:
    """Fill scale (n,) with about 1 / sqrt(H_jj), in powers of two; entries without inertia have the largest H_jj."""
    n = H.shape[0]
    # Largest entry of the diagonal; without one all scales are 1.
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(H[j, j]))
    if not largest > 0.0 or not largest < np.inf:
        for j in range(n):
            scale[j] = 1.0
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
    for j in range(n):
        x[j] = y[j]
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
    """Return True if the rows (m,) are at most n and have little rounding, as the fast methods need them."""
    clear = tolerance.shape[0] <= n
    for i in range(tolerance.shape[0]):
        clear = clear and tolerance[i] <= CLEAR_ROW
    return clear


@kernel(inline=True)
def solve_kkt(
    method: int,
    parents: IntArray,
    system: System,
    tolerance: FloatArray,
    W: FloatArray,
    x: FloatArray,
    forces: FloatArray,
) -> int:
    """Solve H x - G^T forces = c, G x = gamma into x (n,), forces (m,); return the rank, or `SINGULAR_INERTIA` - k.

    H is overwritten. Redundant rows make the matrix of the range-space method singular. The null-space method, which
    finds the rank first, then solves the system, and also if rows have much rounding. ``tolerance`` (m,) is the
    rounding error of each row as a fraction of its length (`contactlab.multibody.constraints.kernels.factorizations`).
    """
    m, n = system.G.shape
    if method == RANGE_SPACE and are_clear(tolerance, n):
        code = solve_range_space(parents, system, W, x, forces)
        if code != DEPENDENT:
            return code
        start = (n + m + 1) * ((m + 4) // 4 * 4)
        restore_matrix(system.H, W[start : start + n])
    return solve_null_space(system, tolerance, W, x, forces)
