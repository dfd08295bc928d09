"""All complementary bases of a small problem, classified as impossible, candidate or singular."""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel

CANDIDATE: Final = 1
SINGULAR: Final = 2


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
    regular and its z and w have the right signs to ``sign_tolerance`` of their terms, `SINGULAR` if it is singular and
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
