"""The range-space method: the multipliers first, from the matrix of the rows' responses, then the motion.

With H = L^T L, Y = L^-T G^T and z = L^-T c:

    (Y^T Y) forces = gamma - Y^T z,      x = L^-1 (z + Y forces)

L keeps to the branches of a tree, and so do the columns of Y: rows that touch a branch fill it from there to the root
and nothing else (Featherstone 2008, sections 6.5 and 8.2; RBDL's range-space method). Without a tree, or on deep
chains, H = L L^T is a dense factorisation and L^-T and L^-1 change places.
"""

from __future__ import annotations

from contactlab.constraints.kernels.cholesky import factor, solve_lower, solve_upper
from contactlab.constraints.kernels.kkt_codes import CLEAR_LU_PIVOT, CLEAR_PIVOT, DEPENDENT, System
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.ltl import factor_ltl
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import rows_at
from lcp.kernels import kernel


@kernel
def responses(parents: IntArray, L: FloatArray, touched: FloatArray, Y: FloatArray) -> None:
    """Y := L^-T Y (n, m + 1) along the branches; only its last column is not zero where ``touched`` is 0.0."""
    m = Y.shape[1] - 1
    for i in range(L.shape[0] - 1, -1, -1):
        row = L[i]
        y = Y[i]
        inverse = 1.0 / row[i]
        j = parents[i]
        if touched[i] > 0.0:
            for k in range(m + 1):
                y[k] *= inverse
            if j >= 0:
                touched[j] = 1.0
            while j >= 0:
                other = Y[j]
                a = row[j]
                for k in range(m + 1):
                    other[k] -= a * y[k]
                j = parents[j]
        else:
            value = y[m] * inverse
            y[m] = value
            while j >= 0:
                Y[j, m] -= row[j] * value
                j = parents[j]


@kernel
def dense_responses(L: FloatArray, Y: FloatArray) -> None:
    """Y := L^-1 Y (n, m + 1) for the triangle of `cholesky.factor`."""
    w = Y.shape[1]
    for i in range(L.shape[0]):
        row = L[i]
        y = Y[i]
        j = 0
        while j + 2 <= i:
            a = row[j]
            b = row[j + 1]
            first = Y[j]
            second = Y[j + 1]
            for k in range(w):
                y[k] = (y[k] - a * first[k]) - b * second[k]
            j += 2
        if j < i:
            a = row[j]
            first = Y[j]
            for k in range(w):
                y[k] -= a * first[k]
        inverse = row[i]
        for k in range(w):
            y[k] *= inverse


@kernel
def gram(Y: FloatArray, touched: FloatArray, K: FloatArray) -> None:
    """Lower triangle of K := Y^T Y (m + 1, m + 1), its last entry apart."""
    m = K.shape[0] - 1
    for i in range(m + 1):
        row = K[i]
        for j in range(m + 1):
            row[j] = 0.0
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
def solve_range_space(
    parents: IntArray, dense: int, system: System, W: FloatArray, x: FloatArray, forces: FloatArray
) -> int:
    """Fill x (n,) and forces (m,); m, or `DEPENDENT` where H or the responses are not clearly definite.

    The lower triangle of H (n, n) holds its factor afterwards; `restore_matrix` undoes this.
    """
    H, G, c, gamma = system
    m, n = G.shape
    w = m + 1
    Y = rows_at(W, 0, n, w)
    b = n * w
    K = rows_at(W, b, w, w)
    b += w * w
    diagonal = W[b : b + n]
    touched = W[b + n : b + 2 * n]
    least = W[b + 2 * n : b + 3 * n + w]
    b += 3 * n + w
    columns = W[b : b + 4 * max(n, m)]
    for j in range(n):
        diagonal[j] = H[j, j]
        least[j] = CLEAR_LU_PIVOT * H[j, j]
    if dense:
        if factor(H, 0, n, least, columns) >= 0:
            return DEPENDENT
    else:
        if factor_ltl(parents, 0, least, H) != GOOD:
            return DEPENDENT
        for j in range(n):
            if not H[j, j] * H[j, j] > CLEAR_LU_PIVOT * diagonal[j]:
                return DEPENDENT
    for j in range(n):
        row = Y[j]
        any_ = 0.0
        for i in range(m):
            value = G[i, j]
            row[i] = value
            if value != 0.0:
                any_ = 1.0
        row[m] = c[j]
        touched[j] = 1.0 if dense else any_
    if dense:
        dense_responses(H, Y)
    else:
        responses(parents, H, touched, Y)
    gram(Y, touched, K)
    for i in range(m):
        forces[i] = gamma[i] - K[m, i]
        least[i] = CLEAR_PIVOT * K[i, i]
    if factor(K, 0, m, least, columns) >= 0:
        return DEPENDENT
    solve_lower(K, 0, m, forces)
    solve_upper(K, 0, m, forces)
    for j in range(n):
        y = Y[j]
        if touched[j] > 0.0:
            value = y[m]
            for i in range(m):
                value += y[i] * forces[i]
            x[j] = value
        else:
            x[j] = y[m]
    if dense:
        solve_upper(H, 0, n, x)
    else:
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
    """Both triangles of H as they were: the upper one still stands."""
    n = H.shape[0]
    for i in range(n):
        row = H[i]
        for j in range(i):
            row[j] = H[j, i]
        row[i] = diagonal[i]
