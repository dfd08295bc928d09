"""All principal blocks: the signs of their minors, the systems M_aa x = (1, ..., 1), and all complementary bases.

Minors are signed by Schur complements in interval arithmetic. M is a P-matrix if and only if its first diagonal entry
is positive, and two smaller matrices are P-matrices: M without its first row and column, and the Schur complement of
that entry. This needs 2^n pivots of a few operations each. M. J. Tsatsomeros, L. Li, A recursive test for P-matrices,
BIT 40 (2000).

Systems are verified against rounding. Let every proper principal block of A be semimonotone, but not A itself: some x >
0 has A x < 0. Then every y with A y <= 0 is nonnegative, because the first point of x + t y, t >= 0, with a zero entry
would violate a smaller block. So A is regular and A^-1 <= 0. One right-hand side b > 0 therefore decides each block:
A^-1 b <= 0 is a violation, and a positive entry in A^-1 b excludes one. With A x <= 0 instead of A x < 0, A can also be
singular: then the null vectors are multiples of x, and a positive entry in A^-1 b excludes that as well.
"""

from __future__ import annotations

import numpy as np

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.basis_solve import lu_factor, lu_solve, members
from lcp.kernels.reductions import EPS, TINY

ALL_POSITIVE, NOT_POSITIVE, UNDECIDED = range(3)


@kernel(inner=True)
def schur_complement(A: Floats, R: Floats, B: Floats, S: Floats, size: int) -> None:
    """Enclose the complement of entry (0, 0) of A +- R (size x size) in B +- S ((size - 1) x (size - 1)).

    The pivot interval must be positive. |x y / p - a b / c| <= (|a| s + r |b| + r s + |a b / c| t) / (c - t) for
    |x - a| <= r, |y - b| <= s, |p - c| <= t; rounding is added on top.
    """
    # An upper bound of one over the pivot.
    pivot = A[0, 0]
    pivot_radius = R[0, 0]
    inverse = (1.0 + 8.0 * EPS) / ((pivot - pivot_radius) * (1.0 - 4.0 * EPS))
    for i in range(1, size):
        # An entry of the pivot column.
        a = A[i, 0]
        r = R[i, 0]
        size_a = abs(a)
        for j in range(1, size):
            # The complement, and a bound of its error.
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
    """Traverse all principal minors of A[0] +- R[0]; A and R are (n + 1, n, n), ``phase`` has length n + 1.

    Returns `ALL_POSITIVE`; `NOT_POSITIVE`, with bits of ``index_set[0]`` for indices whose minor is certainly not
    positive; or `UNDECIDED`, if there was no such set and the pivot of set ``index_set[0]`` can have either sign.
    """
    # Depth first: index d is left out of the set, then included.
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
        # A negative pivot ends it; otherwise leave d out.
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
        # Include d, if its pivot is certainly positive.
        elif phase[d] == 1:
            phase[d] = 2
            # A quarter of the pivot is reserved; otherwise the next intervals would have only radius.
            if here[0, 0] > 1.25 * radius[0, 0]:
                code |= 1 << d
                schur_complement(here, radius, A[d + 1], R[d + 1], size)
                d += 1
                phase[d] = 0
            elif not undecided:
                undecided = True
                index_set[0] = code | (1 << d)
        else:
            # Both are done.
            code &= ~(1 << d)
            d -= 1
    return UNDECIDED if undecided else ALL_POSITIVE


@kernel
def scan_systems(
    M: Floats, start: int, stop: int, A: Floats, work: Floats, index: Ints, codes: Ints, vector: Floats
) -> int:
    """Check the blocks ``start <= code < stop``; bit i of a code includes i in the block.

    Entries of M can be off by one rounding. Returns -1 - code if x >= 0 with (M x)_a < 0 was verified, with x in
    ``vector``. Otherwise it returns the number of ``codes`` written: blocks whose system could not be verified. ``A``
    is n x n scratch, ``work`` and ``index`` have length 2 n.
    """
    # Views of the workspaces.
    n = M.shape[0]
    active = index[:n]
    perm = index[n:]
    b = work[:n]
    x = work[n:]
    kept = 0
    b[:n] = 1.0
    for code in range(start, stop):
        # The block.
        k = members(code, n, active)
        for i in range(k):
            for j in range(k):
                A[i, j] = M[active[i], active[j]]
        # Solve it, and verify the solution against rounding.
        verified = lu_factor(A, k, perm)
        if verified:
            lu_solve(A, k, perm, b, x)
            for i in range(k):
                total = 0.0
                size = 0.0
                for j in range(k):
                    term = M[active[i], active[j]] * x[j]
                    total += term
                    size += abs(term)
                # Not-a-numbers fail this comparison too.
                if not total > (k + 4) * (EPS * size + TINY):
                    verified = False
                    break
        # Blocks that are not verified are listed.
        if not verified:
            codes[kept] = code
            kept += 1
            continue
        # A positive entry excludes a violation.
        harmless = False
        for i in range(k):
            if x[i] > 0.0:
                harmless = True
                break
        if not harmless:
            vector[:n] = 0.0
            for i in range(k):
                vector[active[i]] = -x[i]
            return -1 - code
    return kept


# Kinds of a complementary basis of a small problem; impossible ones are not listed.
CANDIDATE, SINGULAR = range(2)


@kernel(inner=True)
def eliminate(A: Floats, p: int, columns: Ints, tolerance: float) -> int:
    """Eliminate the leading p x p block with complete pivoting, and column p with it; return the numerical rank."""
    # No permutation yet.
    for i in range(p):
        columns[i] = i
    # Eliminate column by column.
    first = 0.0
    for c in range(p):
        # The largest remaining entry.
        best = 0.0
        at_row = c
        at_column = c
        for i in range(c, p):
            for j in range(c, p):
                if abs(A[i, j]) > best:
                    best = abs(A[i, j])
                    at_row = i
                    at_column = j
        if c == 0:
            first = best
        if not best > tolerance * first:
            return c
        # Bring it to the diagonal.
        if at_row != c:
            for j in range(p + 1):
                A[c, j], A[at_row, j] = A[at_row, j], A[c, j]
        if at_column != c:
            for i in range(p):
                A[i, c], A[i, at_column] = A[i, at_column], A[i, c]
            columns[c], columns[at_column] = columns[at_column], columns[c]
        inverse = 1.0 / A[c, c]
        # Eliminate.
        for i in range(c + 1, p):
            factor = A[i, c] * inverse
            if factor != 0.0:
                for j in range(c + 1, p + 1):
                    A[i, j] -= factor * A[c, j]
    return p


@kernel
def scan_bases(
    K: Floats,
    k: Floats,
    m: int,
    start: int,
    stop: int,
    rank_tolerance: float,
    sign_tolerance: float,
    A: Floats,
    work: Floats,
    index: Ints,
    codes: Ints,
    kinds: Ints,
) -> int:
    """Classify the bases ``start <= code < stop``; bit i of a code makes pair i, row m + i of K, positive.

    The first m unknowns are free and in every basis. Returns the number of stored codes: `CANDIDATE` if the basis is
    regular and its z and w have the right signs to ``sign_tolerance`` of their terms; `SINGULAR` if it is singular and
    its equations have a solution. ``A`` is (size, size + 1) scratch, ``work`` and ``index`` have length 2 size.
    """
    # Views of the workspaces.
    size = k.shape[0]
    active = index[:size]
    columns = index[size:]
    x = work[:size]
    z = work[size:]
    kept = 0
    for code in range(start, stop):
        # The basis, and its block.
        p = m
        for i in range(m):
            active[i] = i
        for i in range(size - m):
            if (code >> i) & 1:
                active[p] = m + i
                p += 1
        grown = 0.0
        for i in range(p):
            for j in range(p):
                A[i, j] = K[active[i], active[j]]
            A[i, p] = -k[active[i]]
            grown = max(grown, abs(A[i, p]))
        rank = eliminate(A, p, columns, rank_tolerance)
        # The remainder below the rank must vanish if the equations have a solution.
        consistent = True
        for i in range(rank):
            grown = max(grown, abs(A[i, p]))
        for i in range(rank, p):
            if abs(A[i, p]) > 1e-8 * grown:
                consistent = False
        if not consistent:
            continue
        if rank < p:
            codes[kept] = code
            kinds[kept] = SINGULAR
            kept += 1
            continue
        # Back substitution.
        for i in range(p - 1, -1, -1):
            total = A[i, p]
            for j in range(i + 1, p):
                total -= A[i, j] * x[j]
            x[i] = total / A[i, i]
        # The unknowns of the basis.
        z[:size] = 0.0
        largest = 0.0
        for i in range(p):
            z[active[columns[i]]] = x[i]
            largest = max(largest, abs(x[i]))
        # Signs of y, then of w.
        good = np.isfinite(largest)
        for i in range(m, size):
            if z[i] < -sign_tolerance * largest:
                good = False
                break
        if good:
            for i in range(m, size):
                if not (code >> (i - m)) & 1:
                    total = k[i]
                    unit = abs(k[i])
                    for j in range(size):
                        total += K[i, j] * z[j]
                        unit += abs(K[i, j] * z[j])
                    if total < -sign_tolerance * unit:
                        good = False
                        break
        if good:
            codes[kept] = code
            kinds[kept] = CANDIDATE
            kept += 1
    return kept
