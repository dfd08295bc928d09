"""One constrained system, H x - G^T forces = c with G x = gamma, by one of three methods.

The rank-revealing null-space method also solves the cases in which the other two fail.

Direct method. The whole matrix is factorised by Gaussian elimination with row pivoting:

    [H G^T] [   x   ]   [  c  ]
    [G  0 ] [-forces] = [gamma]

Rows and columns are scaled so that H has a unit diagonal and G rows of unit length. Pivots of the whole matrix do not
show how nearly rows depend on each other. Two rows with an angle e between them have either one pivot of e^2 or two of
e. In both cases e^2 of the digits are lost. The matrix of the rows' products shows it, at a cost of m^2 n.

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

from contactlab.constraints.kernels.factorizations import (
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
from contactlab.multibody.kernels.codes import GOOD, PIVOT
from contactlab.multibody.kernels.mass_matrix import factor_ltl
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.kernels import kernel
from lcp.kernels.basis_solve import lu_factor, lu_solve
from lcp.kernels.reductions import dot


@kernel
def responses(parents: IntArray, L: FloatArray, touched: FloatArray, Y: FloatArray) -> None:
    """Replace Y (n, m + 1) by L^-T Y along the branches; rows with ``touched`` 0.0 are zero except the last column."""
    m = Y.shape[1] - 1
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


@kernel
def gram(Y: FloatArray, touched: FloatArray, K: FloatArray) -> None:
    """Fill the lower triangle of K (m + 1, m + 1) with Y^T Y, from the rows of Y (n, m + 1) with ``touched`` > 0.

    The last diagonal entry and the upper triangle are set to 0.
    """
    m = K.shape[0] - 1
    # Clear K.
    for i in range(m + 1):
        row = K[i]
        for j in range(m + 1):
            row[j] = 0.0
    # Add y y^T for each row y of Y that some constraint touches, skipping zeros.
    for k in range(Y.shape[0]):
        if touched[k] > 0.0:
            y = Y[k]
            for i in range(m):
                a = y[i]
                if a != 0.0:
                    row = K[i]
                    for j in range(i + 1):
                        row[j] += a * y[j]
            a = y[m]
            row = K[m]
            for j in range(m):
                row[j] += a * y[j]


@kernel
def solve_forces(
    Y: FloatArray,
    touched: FloatArray,
    gamma: FloatArray,
    K: FloatArray,
    least: FloatArray,
    forces: FloatArray,
) -> bool:
    """Fill forces (m,) with the solution of Y_1^T Y_1 forces = gamma - Y_1^T z, for Y = [Y_1 z] (n, m + 1).

    Return False if the rows are not clearly independent. K (m + 1, m + 1) and ``least`` (m,) are scratch.
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
    w = m + 1
    # Views into the workspace.
    Y = view_2d(W, 0, n, w)
    b = n * w
    K = view_2d(W, b, w, w)
    b += w * w
    diagonal = W[b : b + n]
    touched = W[b + n : b + 2 * n]
    least = W[b + 2 * n : b + 3 * n + w]
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
        touched[j] = any_
    # Responses, their products, and the system of the multipliers.
    responses(parents, H, touched, Y)
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


@kernel
def independent(A: FloatArray, n: int, m: int, K: FloatArray, w: FloatArray) -> bool:
    """Return True if the rows A[n:, :n] are clearly independent; K (m m,) and w (m,) are scratch."""
    products = view_2d(K, 0, m, m)
    for i in range(m):
        product = products[i]
        for j in range(i + 1):
            product[j] = dot(A[n + i], A[n + j], n)
        w[i] = CLEAR_PIVOT * product[i]
    return factor(products, 0, m, w) < 0


@kernel
def solve_direct(system: System, W: FloatArray, order: IntArray, x: FloatArray, forces: FloatArray) -> int:
    """Fill x (n,) and forces (m,); return m, or `DEPENDENT` if a pivot is too small.

    ``order`` (n + m,) is scratch. The system is not changed.
    """
    H, G, c, gamma = system
    m, n = G.shape
    k = n + m
    # Views into the workspace.
    A = view_2d(W, 0, k, k)
    b = W[k * k : k * k + k]
    out = W[k * k + k : k * k + 2 * k]
    scale = W[k * k + 2 * k : k * k + 3 * k]
    # Rows of G in scaled columns, with a largest entry of 1.
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
    if not independent(A, n, m, W[: m * m], W[k * k + 3 * k : k * k + 3 * k + m]):
        return DEPENDENT
    # Scaled H next to the columns G^T.
    for i in range(n):
        row = A[i]
        given = H[i]
        factor_i = scale[i]
        for j in range(n):
            row[j] = given[j] * factor_i * scale[j]
        for j in range(m):
            row[n + j] = A[n + j, i]
        b[i] = c[i] * factor_i
    # Factor, and trust it only with clear pivots.
    if not lu_factor(A, k, order):
        return DEPENDENT
    for i in range(k):
        if not abs(A[i, i]) > CLEAR_LU_PIVOT:
            return DEPENDENT
    # Solve, and scale back.
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
    system: System,
    tolerance: FloatArray,
    W: FloatArray,
    order: IntArray,
    x: FloatArray,
    forces: FloatArray,
) -> int:
    """Solve H x - G^T forces = c, G x = gamma into x (n,), forces (m,); return the rank, or `SINGULAR_INERTIA` - k.

    H is overwritten. Redundant rows make the matrices of the other methods singular. The null-space method, which finds
    the rank first, then solves the system, and also if rows have much rounding. ``tolerance`` (m,) is the rounding
    error of each row as a fraction of its length (`contactlab.constraints.kernels.rank`).
    """
    m, n = system.G.shape
    # The fast methods need rows with little rounding.
    code = DEPENDENT
    known = m <= n
    for i in range(m):
        known = known and tolerance[i] <= CLEAR_ROW
    if known:
        if method == DIRECT:
            code = solve_direct(system, W, order, x, forces)
        elif method == RANGE_SPACE:
            code = solve_range_space(parents, system, W, x, forces)
            if code == DEPENDENT:
                start = (n + m + 1) * (m + 1)
                restore_matrix(system.H, W[start : start + n])
    # Otherwise use the rank-revealing method.
    if code == DEPENDENT:
        code = solve_null_space(system, tolerance, W, x, forces)
    return code
