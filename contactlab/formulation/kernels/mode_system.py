"""Newton's step on the velocities of an island whose contacts and rows of joints answer with given slopes.

With forces p(v), of slope -B in the rates of their rows, v = v_free + h sum Y p(v) has the derivative::

    1 + h sum Y' B J

This matrix is as sparse as the trees' contacts, unsymmetric where contacts slide, and regular whatever rows depend on
one another.
"""

from __future__ import annotations

from contactlab.formulation.kernels.contact_response import THREE, Contacts, Polygon
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.spans import add_within, columns
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inner=True)
def form_system(
    rows: Rows, polygon: Polygon, contacts: Contacts, slopes: FloatArray, reach: IntArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K = 1 + h sum Y' B J, of which row p has nothing right of ``reach[p]``; W (nv,) is scratch.

    ``slopes`` are those of the rows behind the friction rows.
    """
    nv = K.shape[0]
    left = 0
    for p in range(nv):
        while reach[left] <= p:
            left += 1
        for j in range(left, reach[p]):
            K[p, j] = 0.0
        K[p, p] = 1.0
    for c in range(rows.nc):
        a, b, d, e = columns(rows.spans, c, nv)
        B = contacts.B[c]
        for i in range(THREE):
            response = rows.Y[three(rows, polygon, c, i)]
            if B[i, (i + 1) % THREE] == 0.0 and B[i, (i + 2) % THREE] == 0.0:
                # Sticking, or open: each row by itself.
                slope = rows.h * B[i, i]
                if slope != 0.0:
                    row = rows.J[three(rows, polygon, c, i)]
                    for p in range(a, b):
                        add_within(a, b, d, e, slope * response[p], row, K[p])
                    for p in range(d, e):
                        add_within(a, b, d, e, slope * response[p], row, K[p])
                continue
            used = False
            for j in range(THREE):
                slope = rows.h * B[i, j]
                if slope != 0.0:
                    if not used:
                        for p in range(a, b):
                            W[p] = 0.0
                        for p in range(d, e):
                            W[p] = 0.0
                        used = True
                    add_within(a, b, d, e, slope, rows.J[three(rows, polygon, c, j)], W)
            if used:
                for p in range(a, b):
                    add_within(a, b, d, e, response[p], W, K[p])
                for p in range(d, e):
                    add_within(a, b, d, e, response[p], W, K[p])
    first = rows.nc + rows.nr
    for i in range(slopes.shape[0]):
        slope = rows.h * slopes[i]
        if slope != 0.0:
            for p in range(nv):
                factor = slope * rows.Y[first + i, p]
                if factor != 0.0:
                    add_within(0, nv, nv, nv, factor, rows.J[first + i], K[p])


@kernel(inline=True)
def three(rows: Rows, polygon: Polygon, c: int, i: int) -> int:
    """The i-th of the three rows of a contact; the normal where there is none."""
    if i == 0 or i > polygon.r:
        return c
    first = rows.nc + c * polygon.r
    return first if i == 1 else first + polygon.across


@kernel(inner=True)
def factor_system(K: FloatArray, reach: IntArray) -> bool:
    """LU of K in place, within its envelope; False where a pivot vanishes."""
    nv = K.shape[0]
    for p in range(nv):
        pivot_row = K[p]
        if not abs(pivot_row[p]) > 1e-12:
            return False
        inverse = 1.0 / pivot_row[p]
        last = reach[p]
        source = pivot_row[p + 1 : last]
        for i in range(p + 1, last):
            factor = K[i, p] * inverse
            if factor != 0.0:
                target = K[i, p + 1 : last]
                for j in range(source.shape[0]):
                    target[j] -= factor * source[j]
            K[i, p] = factor
    return True


@kernel(inner=True)
def solve_system(K: FloatArray, reach: IntArray, x: FloatArray) -> None:
    """Put K^-1 x in place of x (nv,)."""
    nv = K.shape[0]
    for p in range(nv):
        value = x[p]
        if value != 0.0:
            for i in range(p + 1, reach[p]):
                x[i] -= K[i, p] * value
    for p in range(nv - 1, -1, -1):
        total = x[p]
        row = K[p]
        for j in range(p + 1, reach[p]):
            total -= row[j] * x[j]
        x[p] = total / row[p]


@kernel(inner=True)
def push(rows: Rows, polygon: Polygon, c: int, p: FloatArray, v: FloatArray) -> None:
    """Add h Y' p of a contact's force p (3,), along normal and axes, to the velocities v."""
    a, b, d, e = columns(rows.spans, c, v.shape[0])
    impulse = rows.h
    if p[0] != 0.0:
        add_within(a, b, d, e, impulse * p[0], rows.Y[c], v)
    if polygon.r > 0:
        first = rows.nc + c * polygon.r
        along = p[1] + polygon.skew * p[2] if polygon.r > 1 else p[1]
        if along != 0.0:
            add_within(a, b, d, e, impulse * along, rows.Y[first], v)
        if polygon.r > 1 and p[2] != 0.0:
            add_within(a, b, d, e, impulse * polygon.stretch * p[2], rows.Y[first + polygon.across], v)
