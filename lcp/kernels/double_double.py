"""Numbers of about 32 digits as unevaluated sums hi + lo of two float64, |lo| <= ulp(hi) / 2, and equations in them.

T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971); error
bounds: M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error bounds for basic building blocks of double-word
arithmetic, ACM Transactions on Mathematical Software 44 (2017). Products are split after Veltkamp, because not every
processor has a fused multiply-add: operands must stay below 1e290 in size, and products above 1e-270 to be exact.

Equations are solved by LU with row pivoting and one refinement.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel

SPLITTER: Final = 134217729.0  # 2^27 + 1
ROUNDING: Final = 2.0**-102  # a bound on the relative error of one addition, product or quotient here


@kernel(inline=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b without rounding, as rounded sum and error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inline=True)
def halves(a: float) -> tuple[float, float]:
    """Return a as the sum of two numbers of 26 bits (Veltkamp)."""
    c = SPLITTER * a
    head = c - (c - a)
    return head, a - head


@kernel(inline=True)
def halved_product(a: float, a_head: float, a_tail: float, b: float) -> tuple[float, float]:
    """Return a b without rounding, with the halves of a given (Dekker, algorithm Mul12)."""
    b_head, b_tail = halves(b)
    p = a * b
    return p, ((a_head * b_head - p) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail


@kernel(inline=True)
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return a b without rounding, as rounded product and error."""
    a_head, a_tail = halves(a)
    return halved_product(a, a_head, a_tail, b)


@kernel(inline=True)
def dd_add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return (a + a_low) + (b + b_low), relative error below 3 * 2^-106 (AccurateDWPlusDW)."""
    s, s_low = two_sum(a, b)
    t, t_low = two_sum(a_low, b_low)
    c = s_low + t
    v = s + c
    c = t_low + (c - (v - s))
    h = v + c
    return h, c - (h - v)


@kernel(inline=True)
def dd_multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return (a + a_low) (b + b_low), relative error below 7 * 2^-106 (DWTimesDW1)."""
    p, p_low = two_product(a, b)
    p_low += a * b_low + a_low * b
    h = p + p_low
    return h, p_low - (h - p)


@kernel(inline=True)
def dd_divide(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return (a + a_low) / (b + b_low), relative error below 15 * 2^-106 (DWDivDW2)."""
    q = a / b
    r, r_low = two_product(q, b)
    r_low += q * b_low
    rest = (a - r) - r_low + a_low
    more = rest / b
    h = q + more
    return h, more - (h - q)


@kernel
def dd_axpy(f: float, f_low: float, x: Floats, x_low: Floats, y: Floats, y_low: Floats) -> None:
    """Add f x to y, with an error below 2^-102 (|y| + |f x|) (sums after SloppyDWPlusDW: absolute, not relative)."""
    f_head, f_tail = halves(f)
    for j in range(x.shape[0]):
        p, p_low = halved_product(f, f_head, f_tail, x[j])
        p_low += f * x_low[j] + f_low * x[j]
        s, e = two_sum(y[j], p)
        e += y_low[j] + p_low
        h = s + e
        y[j] = h
        y_low[j] = e - (h - s)


@kernel
def dd_dot(a: Floats, x: Floats, x_low: Floats, k: int, start: float) -> tuple[float, float]:
    """Return start + sum of a_j (x_j + x_low_j) over j < k, for plain numbers a."""
    h, low = start, 0.0
    for j in range(k):
        if a[j] != 0.0 and x[j] != 0.0:
            p, p_low = two_product(a[j], x[j])
            p_low += a[j] * x_low[j]
            h, low = dd_add(h, low, p, p_low)
    return h, low


# Pivots below this fraction of the largest entry of their scaled block are the rounding of this arithmetic.
SINGULAR: Final = 1e-29


@kernel(inner=True)
def dd_lu_factor(A: Floats, A_low: Floats, k: int, perm: Ints) -> bool:
    """Factor the leading k x k block by LU in place; return False if a pivot vanishes."""
    # The largest entry bounds the pivots.
    largest = 0.0
    for i in range(k):
        perm[i] = i
        for j in range(k):
            largest = max(largest, abs(A[i, j]))
    # Eliminate column by column.
    for c in range(k):
        # Find the largest pivot, and exchange its row.
        p = c
        for i in range(c + 1, k):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        if not abs(A[p, c]) > SINGULAR * largest:
            return False
        if p != c:
            for j in range(k):
                A[c, j], A[p, j] = A[p, j], A[c, j]
                A_low[c, j], A_low[p, j] = A_low[p, j], A_low[c, j]
            perm[c], perm[p] = perm[p], perm[c]
        # Subtract the multiples of the pivot row.
        for i in range(c + 1, k):
            if A[i, c] != 0.0:
                f, f_low = dd_divide(A[i, c], A_low[i, c], A[c, c], A_low[c, c])
                A[i, c], A_low[i, c] = f, f_low
                dd_axpy(-f, -f_low, A[c, c + 1 : k], A_low[c, c + 1 : k], A[i, c + 1 : k], A_low[i, c + 1 : k])
    return True


@kernel(inner=True)
def dd_lu_solve(
    A: Floats, A_low: Floats, k: int, perm: Ints, b: Floats, b_low: Floats, x: Floats, x_low: Floats
) -> None:
    """Compute x = A^-1 b from `dd_lu_factor`."""
    # Forward substitution.
    for i in range(k):
        h, low = b[perm[i]], b_low[perm[i]]
        for j in range(i):
            p, p_low = dd_multiply(A[i, j], A_low[i, j], x[j], x_low[j])
            h, low = dd_add(h, low, -p, -p_low)
        x[i], x_low[i] = h, low
    # Back substitution.
    for i in range(k - 1, -1, -1):
        h, low = x[i], x_low[i]
        for j in range(i + 1, k):
            p, p_low = dd_multiply(A[i, j], A_low[i, j], x[j], x_low[j])
            h, low = dd_add(h, low, -p, -p_low)
        x[i], x_low[i] = dd_divide(h, low, A[i, i], A_low[i, i])


@kernel
def dd_residual(block: Floats, load: Floats, k: int, x: Floats, x_low: Floats, b: Floats, b_low: Floats) -> float:
    """Fill b = -(load + block x), from plain numbers; return the largest |b| relative to the terms of its row."""
    worst = 0.0
    for i in range(k):
        # The residual of a row.
        h, low = dd_dot(block[i], x, x_low, k, load[i])
        b[i], b_low[i] = -h, -low
        # Its size relative to the terms.
        size = abs(load[i])
        for j in range(k):
            size = max(size, abs(block[i, j] * x[j]))
        if size > 0.0:
            worst = max(worst, abs(h) / size)
    return worst


@kernel
def dd_block_solve(
    block: Floats, load: Floats, k: int, A: Floats, A_low: Floats, perm: Ints, x: Floats, x_low: Floats, work: Floats
) -> bool:
    """Compute x = -block^-1 load in double-double numbers, refined once; ``work`` has length 4 k. False if singular.

    ``A`` is a copy of the block; ``A_low``, ``x`` and ``x_low`` are initially zero.
    """
    if not dd_lu_factor(A, A_low, k, perm):
        return False
    # Views of the workspace.
    b = work[:k]
    b_low = work[k : 2 * k]
    y = work[2 * k : 3 * k]
    y_low = work[3 * k : 4 * k]
    # The solution, and one step of refinement.
    for _ in range(2):
        dd_residual(block, load, k, x, x_low, b, b_low)
        dd_lu_solve(A, A_low, k, perm, b, b_low, y, y_low)
        for i in range(k):
            x[i], x_low[i] = dd_add(x[i], x_low[i], y[i], y_low[i])
    # Infinite entries mean a singular block.
    finite = True
    for i in range(k):
        finite = finite and np.isfinite(x[i])
    return finite
