"""Signs of all principal minors, by Schur complements in interval arithmetic.

M is a P-matrix if and only if its first diagonal entry is positive and both the matrix without its first row and column
and the Schur complement of that entry are P-matrices: 2^n pivots, a few operations each. M. J. Tsatsomeros, L. Li, A
recursive test for P-matrices, BIT 40 (2000).
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.accurate_residual import EPS, TINY

ALL_POSITIVE: Final = 0
NOT_POSITIVE: Final = 1
UNDECIDED: Final = 2


@kernel(inner=True)
def schur_complement(A: Floats, R: Floats, B: Floats, S: Floats, size: int) -> None:
    """Enclose the complement of entry (0, 0) of A +- R (size x size) in B +- S ((size - 1) x (size - 1)).

    The pivot interval must be positive. |x y / p - a b / c| <= (|a| s + r |b| + r s + |a b / c| t) / (c - t) for
    |x - a| <= r, |y - b| <= s, |p - c| <= t; rounding is added on top.
    """
    pivot = A[0, 0]
    pivot_radius = R[0, 0]
    inverse = (1.0 + 8.0 * EPS) / ((pivot - pivot_radius) * (1.0 - 4.0 * EPS))
    for i in range(1, size):
        a = A[i, 0]
        r = R[i, 0]
        size_a = abs(a)
        for j in range(1, size):
            b = A[0, j]
            s = R[0, j]
            quotient = a * b / pivot
            value = A[i, j] - quotient
            spread = (size_a * s + r * abs(b) + r * s + abs(quotient) * pivot_radius) * inverse
            rounding = EPS * (2.0 * abs(quotient) + abs(value))
            B[i - 1, j - 1] = value
            S[i - 1, j - 1] = (R[i, j] + spread + rounding) * (1.0 + 16.0 * EPS) + 8.0 * TINY * (1.0 + inverse)


@kernel
def scan_minors(A: Floats, R: Floats, phase: Ints, index_set: Ints) -> int:
    """Walk through all principal minors of A[0] +- R[0]; A and R are (n + 1, n, n), ``phase`` has length n + 1.

    Returns `ALL_POSITIVE`; or `NOT_POSITIVE`, the bits of ``index_set[0]`` being indices whose minor is certainly not
    positive; or `UNDECIDED`, where no such set was met and the pivot of set ``index_set[0]`` may have either sign.
    """
    n = A.shape[1]
    undecided = False
    code = 0
    d = 0
    phase[0] = 0
    while d >= 0:
        if d == n:
            d -= 1
            continue
        size = n - d
        here = A[d]
        radius = R[d]
        if phase[d] == 0:
            if here[0, 0] + radius[0, 0] < 0.0:
                index_set[0] = code | (1 << d)
                return NOT_POSITIVE
            phase[d] = 1
            for i in range(1, size):
                for j in range(1, size):
                    A[d + 1, i - 1, j - 1] = here[i, j]
                    R[d + 1, i - 1, j - 1] = radius[i, j]
            d += 1
            phase[d] = 0
        elif phase[d] == 1:
            phase[d] = 2
            # A quarter of the pivot is kept as reserve: what follows would be all radius otherwise.
            if here[0, 0] > 1.25 * radius[0, 0]:
                code |= 1 << d
                schur_complement(here, radius, A[d + 1], R[d + 1], size)
                d += 1
                phase[d] = 0
            elif not undecided:
                undecided = True
                index_set[0] = code | (1 << d)
        else:
            code &= ~(1 << d)
            d -= 1
    return UNDECIDED if undecided else ALL_POSITIVE
