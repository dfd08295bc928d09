"""The direct method: the whole matrix [H G^T; G 0] by Gaussian elimination with row pivoting.

[H G^T] [   x   ]   [  c  ]
[G  0 ] [-forces] = [gamma]

Nocedal and Wright, Numerical Optimization (2006), section 16.2. Rows and columns are scaled to H having a unit diagonal
and G rows of unit length.

Pivots of the whole matrix do not tell how nearly rows depend on each other: two rows an angle e apart leave either one
pivot of e^2 or two of e, and e^2 of the digits are lost both ways. The matrix of the rows' products tells, at m^2 n.
"""

from __future__ import annotations

from contactlab.constraints.kernels.cholesky import factor
from contactlab.constraints.kernels.kkt_codes import CLEAR_LU_PIVOT, CLEAR_PIVOT, DEPENDENT, System
from contactlab.constraints.kernels.null_space import unit_columns
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel
from lcp.kernels.basis_solve import lu_factor, lu_solve
from lcp.kernels.reductions import dot


@kernel
def independent(A: FloatArray, n: int, m: int, K: FloatArray, w: FloatArray) -> bool:
    """Whether the rows A[n:, :n] are clearly independent; K (m m,) and w (5 m,) are scratch."""
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
