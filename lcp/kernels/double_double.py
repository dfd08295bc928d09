"""Numbers of about 32 digits as unevaluated sums hi + lo of two float64, |lo| <= ulp(hi) / 2.

T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971); error
bounds: M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error bounds for basic building blocks of double-word
arithmetic, ACM Transactions on Mathematical Software 44 (2017). Products are split after Veltkamp, because not every
processor has a fused multiply-add: operands must stay below 1e290 in size, and products above 1e-270 to be exact.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, kernel

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
def dd_dot(a: Floats, x: Floats, x_low: Floats, k: int, start: float) -> tuple[float, float]:
    """Return start + sum of a_j (x_j + x_low_j) over j < k, for plain numbers a."""
    h, low = start, 0.0
    for j in range(k):
        if a[j] != 0.0 and x[j] != 0.0:
            p, p_low = two_product(a[j], x[j])
            p_low += a[j] * x_low[j]
            h, low = dd_add(h, low, p, p_low)
    return h, low


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
