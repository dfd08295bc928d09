"""H = L^T L for a matrix with the sparsity of a tree, and the solves with L (Featherstone 2008, section 6.5).

Entry (i, j) of H, j < i, is nonzero only if degree of freedom j lies between i and the root. L, lower triangular, has
the same entries and no others: the elimination from the last to the first causes no fill-in.
"""

from __future__ import annotations

import numpy as np

from contactlab.multibody.kernels.codes import GOOD, PIVOT, SINGULAR
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.kernels.vectors import are_finite, copy, fill
from lcp.kernels import kernel


@kernel
def factor_ltl(dof_parent: IntArray, diagonal: FloatArray, L: FloatArray) -> int:
    """Overwrite L with its factor; return `GOOD`, or `SINGULAR` - j if the pivot of (j, j) is rounding.

    Only entries on branches of the lower triangle are read and written. ``diagonal`` (n,) is scratch. A pivot that is
    not positive, or NaN, is also singular.
    """
    for k in range(L.shape[0]):
        diagonal[k] = L[k, k]
    for k in range(L.shape[0] - 1, -1, -1):
        # every subtraction so far was positive, so the original diagonal bounds the loss
        if not L[k, k] > 0.0:
            return SINGULAR - k
        # row of the factor
        pivot = np.sqrt(L[k, k])
        inverse = 1.0 / pivot
        row = L[k]
        row[k] = pivot
        # update of the rows below
        i = dof_parent[k]
        while i >= 0:
            row[i] *= inverse
            i = dof_parent[i]
        i = dof_parent[k]
        while i >= 0:
            factor = row[i]
            other = L[i]
            # about its centre of mass, translation and rotation of a body are decoupled
            j = i if factor != 0.0 else -1
            while j >= 0:
                other[j] -= factor * row[j]
                j = dof_parent[j]
            i = dof_parent[i]
    for k in range(L.shape[0] - 1, -1, -1):
        if not L[k, k] * L[k, k] > PIVOT * diagonal[k]:
            return SINGULAR - k
    return GOOD


@kernel(long_loops=True)
def solve_lt(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite every column of x (n, m) with L^-T x."""
    for i in range(L.shape[0] - 1, -1, -1):
        # own entry
        row = L[i]
        own = x[i]
        inverse = 1.0 / row[i]
        for c in range(own.shape[0]):
            own[c] *= inverse
        # its effect on the branch
        j = dof_parent[i]
        while j >= 0:
            factor = row[j]
            other = x[j]
            for c in range(own.shape[0]):
                other[c] -= factor * own[c]
            j = dof_parent[j]


@kernel(long_loops=True)
def solve_l(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite every column of x (n, m) with L^-1 x, for three degrees of freedom of the branch at a time."""
    for i in range(L.shape[0]):
        row = L[i]
        own = x[i]
        # effect of the branch
        j = dof_parent[i]
        while j >= 0:
            k = dof_parent[j]
            l = dof_parent[k] if k >= 0 else -1
            first = row[j]
            one = x[j]
            if l >= 0:
                second = row[k]
                third = row[l]
                two = x[k]
                three = x[l]
                for c in range(own.shape[0]):
                    own[c] = own[c] - first * one[c] - second * two[c] - third * three[c]
                j = dof_parent[l]
            else:
                for c in range(own.shape[0]):
                    own[c] -= first * one[c]
                j = k
        # own entry
        inverse = 1.0 / row[i]
        for c in range(own.shape[0]):
            own[c] *= inverse


@kernel
def solve_vector_lt(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite one vector x (n,) with L^-T x."""
    for i in range(L.shape[0] - 1, -1, -1):
        # own entry
        row = L[i]
        own = x[i] / row[i]
        x[i] = own
        # its effect on the branch
        j = dof_parent[i]
        while j >= 0:
            x[j] -= row[j] * own
            j = dof_parent[j]


@kernel
def solve_vector_l(dof_parent: IntArray, L: FloatArray, x: FloatArray) -> None:
    """Overwrite one vector x (n,) with L^-1 x."""
    for i in range(L.shape[0]):
        row = L[i]
        rest = x[i]
        # along the branch
        j = dof_parent[i]
        while j >= 0:
            rest -= row[j] * x[j]
            j = dof_parent[j]
        x[i] = rest / row[i]


@kernel(inline=True)
def is_free_body(dof_parent: IntArray) -> bool:
    """Return True if a tree has six degrees of freedom in one chain, as a free body has."""
    if dof_parent.shape[0] != 6:
        return False
    return (
        dof_parent[5] == 4 and dof_parent[4] == 3 and dof_parent[3] == 2 and dof_parent[2] == 1 and dof_parent[1] == 0
    )


@kernel(inner=True)
def solve_three_of_six(L: FloatArray, P: FloatArray, X: FloatArray, first: int) -> None:
    """Fill X with M^-1 P as `solve_three`, entry by entry, for six degrees of freedom that satisfy `is_free_body`.

    About the centre of mass of a body the first three are decoupled from one another and from the others.
    """
    # entries of the factor
    r1, r2, r3, r4, r5 = L[1], L[2], L[3], L[4], L[5]
    i0, i1, i2 = 1.0 / L[0, 0], 1.0 / r1[1], 1.0 / r2[2]
    i3, i4, i5 = 1.0 / r3[3], 1.0 / r4[4], 1.0 / r5[5]
    # whether the first three are decoupled
    apart = r1[0] == 0.0 and r2[0] == 0.0 and r2[1] == 0.0 and r3[0] == 0.0 and r3[1] == 0.0 and r3[2] == 0.0
    apart = apart and r4[0] == 0.0 and r4[1] == 0.0 and r4[2] == 0.0
    apart = apart and r5[0] == 0.0 and r5[1] == 0.0 and r5[2] == 0.0
    for k in range(3):
        p = P[k, first : first + 6]
        x = X[k, first : first + 6]
        # decoupled
        if apart:
            x[0], x[1], x[2] = p[0] * i0 * i0, p[1] * i1 * i1, p[2] * i2 * i2
            f = p[5] * i5
            e = (p[4] - r5[4] * f) * i4
            d = (p[3] - r5[3] * f - r4[3] * e) * i3 * i3
            e = (e - r4[3] * d) * i4
            x[3], x[4], x[5] = d, e, (f - r5[4] * e - r5[3] * d) * i5
            continue
        # general: L^-T, then L^-1
        copy(p, x)
        for i in range(5, -1, -1):
            x[i] *= 1.0 / L[i, i]
            for j in range(i):
                x[j] -= L[i, j] * x[i]
        for i in range(6):
            for j in range(i - 1, -1, -1):
                x[i] -= L[i, j] * x[j]
            x[i] *= 1.0 / L[i, i]


@kernel(inner=True, vectors=True)
def solve_three(dof_parent: IntArray, L: FloatArray, P: FloatArray, X: FloatArray, first: int, x: FloatArray) -> None:
    """Fill X with M^-1 P for M = L^T L, in the columns of three rows from ``first`` on; L with branch sparsity.

    The rows are side by side in ``x`` (>= 4 n,), scratch: vectors of four, whose last number is idle.
    """
    # rows side by side
    n = L.shape[0]
    for i in range(n):
        k = 4 * i
        x[k], x[k + 1], x[k + 2], x[k + 3] = P[0, first + i], P[1, first + i], P[2, first + i], 0.0
    # L^-T
    for i in range(n - 1, -1, -1):
        k = 4 * i
        # no effect off the branch of a point
        if x[k] == 0.0 and x[k + 1] == 0.0 and x[k + 2] == 0.0:
            continue
        row = L[i]
        inverse = 1.0 / row[i]
        a, b, c, d = x[k] * inverse, x[k + 1] * inverse, x[k + 2] * inverse, x[k + 3] * inverse
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, d
        j = dof_parent[i]
        while j >= 0:
            entry = row[j]
            m = 4 * j
            e, f, g, h = x[m] - entry * a, x[m + 1] - entry * b, x[m + 2] - entry * c, x[m + 3] - entry * d
            x[m], x[m + 1], x[m + 2], x[m + 3] = e, f, g, h
            j = dof_parent[j]
    # L^-1
    for i in range(n):
        k = 4 * i
        row = L[i]
        a, b, c, d = x[k], x[k + 1], x[k + 2], x[k + 3]
        j = dof_parent[i]
        while j >= 0:
            entry = row[j]
            m = 4 * j
            a -= entry * x[m]
            b -= entry * x[m + 1]
            c -= entry * x[m + 2]
            d -= entry * x[m + 3]
            j = dof_parent[j]
        inverse = 1.0 / row[i]
        a, b, c, d = a * inverse, b * inverse, c * inverse, d * inverse
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, d
        X[0, first + i], X[1, first + i], X[2, first + i] = a, b, c


@kernel
def copy_lower(H: FloatArray, L: FloatArray) -> bool:
    """Fill L with the lower triangle of H and zeros above it; return True if all copied entries are finite."""
    finite = True
    for i in range(H.shape[0]):
        fill(0.0, L[i])
        copy(H[i], L[i, : i + 1])
        finite = finite and are_finite(L[i])
    return finite


@kernel
def branch_times(dof_parent: IntArray, H: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with H x, from only the entries on branches of the lower triangle of H; out is not x."""
    for i in range(H.shape[0]):
        row = H[i]
        own = row[i] * x[i]
        j = dof_parent[i]
        while j >= 0:
            own += row[j] * x[j]
            out[j] += row[j] * x[i]
            j = dof_parent[j]
        out[i] = own


@kernel
def off_branch(dof_parent: IntArray, L: FloatArray) -> int:
    """Return i n + j for the first nonzero entry (i, j) of the lower triangle that is off the branches, or -1."""
    # the first degrees of freedom form one chain, which has only such entries
    n = L.shape[0]
    first = 0
    while first < n and dof_parent[first] == first - 1:
        first += 1
    # entries between the degrees of freedom of the branch
    for i in range(first, n):
        j = i
        while j >= 0:
            below = dof_parent[j]
            for k in range(below + 1, j):
                if L[i, k] != 0.0:
                    return i * n + k
            j = below
    return -1
