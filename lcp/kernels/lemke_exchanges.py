"""Exchanges of a dictionary that are stored in a list and applied to a column only when that column is needed.

An exchange of row r and column c with entering column e turns any other column y into y + v u, where v = -y_r / e_r,
y_r is set to zero first and u is e with u_r = 1: the product form of the inverse (Dantzig and Orchard-Hays 1954). Every
entry has the same operations in the same order as if the whole tableau were updated at each pivot; only columns that
are not needed are missing. A pivot of a path of p costs p n instead of n^2.

Storage: the vectors u are rows of a matrix, and eight exchanges form a block. Inside a block, u has zeros in the pivot
rows of later exchanges; these entries are stored in a small triangle. So the v of a whole block are computed before its
vectors are read, and the column is loaded and stored once for eight exchanges.

Vectors are padded with zeros to a multiple of eight beyond n (`padded`); entry n serves absent exchanges.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel

# For each exchange: eight entries of the triangle, then 1 / e_r.
TABLE: Final = 9


@kernel(inline=True)
def padded(n: int) -> int:
    """Return the length of a vector of n entries with its padding of at least one."""
    return (n // 8 + 1) * 8


@kernel(inline=True)
def in_eights(n: int) -> int:
    """Return n entries in whole vectors of eight: the part of a padded vector that can be nonzero."""
    return (n + 7) // 8 * 8


@kernel(inline=True)
def pending_limit(n: int) -> int:
    """Return how many exchanges are stored before they are applied to all columns, a multiple of eight.

    They are as many as fit in 8 MiB, at most 2 n, but at least about 3 n / 4, and 32.
    """
    return max(32, max(3 * n // 4, min(2 * n, (1 << 20) // (n + 1))) // 8 * 8)


class Exchanges(NamedTuple):
    """The exchanges of a dictionary of n rows, the newest last."""

    U: Floats  # (capacity, padded): their vectors
    table: Floats  # `TABLE` for each
    places: Ints  # their rows; of an absent exchange of a block n
    factors: Floats  # 8 scratch
    n: int


@kernel(inline=True)
def factors(e: Exchanges, y: Floats, block: int, first: int, v: Floats) -> None:
    """Compute the factors of a block's vectors for the column y into v[:8]; y is then zero in their rows."""
    base = 8 * block
    for m in range(8):
        # An exchange before ``first`` counts as absent: it gets the row of zeros.
        i = e.places[base + m] if base + m >= first else e.n
        total = y[i]
        y[i] = 0.0
        # Substitution in the triangle.
        at = TABLE * (base + m)
        for j in range(m):
            total += v[j] * e.table[at + j]
        v[m] = -total * e.table[at + 8]


@kernel(inner=True, long_loops=True)
def add_block(e: Exchanges, block: int, v: Floats, y: Floats) -> None:
    """Add a block's vectors times v[:8] to the column y, in order."""
    # The eight vectors and their factors.
    k = 8 * block
    u0, u1, u2, u3 = e.U[k], e.U[k + 1], e.U[k + 2], e.U[k + 3]
    u4, u5, u6, u7 = e.U[k + 4], e.U[k + 5], e.U[k + 6], e.U[k + 7]
    a, b, c, d = v[0], v[1], v[2], v[3]
    f, g, h, m = v[4], v[5], v[6], v[7]
    for j in range(y.shape[0]):
        s = (((y[j] + a * u0[j]) + b * u1[j]) + c * u2[j]) + d * u3[j]
        y[j] = (((s + f * u4[j]) + g * u5[j]) + h * u6[j]) + m * u7[j]


@kernel(inner=True, long_loops=True)
def advance(e: Exchanges, y: Floats, first: int, last: int) -> None:
    """Apply the exchanges ``first <= k < last``, of which ``last`` is the newest, to the column y (padded)."""
    for block in range(first // 8, (last + 7) // 8):
        factors(e, y, block, first, e.factors)
        add_block(e, block, e.factors, y)


@kernel(inner=True, long_loops=True)
def append(e: Exchanges, entry: Floats, r: int, k: int) -> None:
    """Store exchange k, of row r and the up-to-date entering column ``entry``, as the newest in the list."""
    U, table, places = e.U, e.table, e.places
    base = k // 8 * 8
    # Clear a new block.
    if k == base:
        for row in range(base, base + 8):
            target = U[row]
            places[row] = e.n
            for j in range(target.shape[0]):
                target[j] = 0.0
        for j in range(TABLE * base, TABLE * (base + 8)):
            table[j] = 0.0
    # Store the column.
    target = U[k]
    for j in range(entry.shape[0]):
        target[j] = entry[j]
    target[r] = 1.0
    # Entries of earlier vectors in row r move to the triangle.
    for j in range(base, k):
        table[TABLE * k + j - base] = U[j, r]
        U[j, r] = 0.0
    table[TABLE * k + 8] = 1.0 / entry[r]
    places[k] = r


@kernel(inner=True, long_loops=True)
def column_left_behind(e: Exchanges, k: int, last: int, y: Floats) -> None:
    """Fill y with the column that replaces the entering column of exchange k: u / e_r."""
    # The vector of exchange k over its pivot.
    base = k // 8 * 8
    inverse = e.table[TABLE * k + 8]
    source = e.U[k]
    for j in range(y.shape[0]):
        y[j] = source[j] * inverse
    # Entries moved to the triangle by later exchanges of the block; of two on one row, the earlier one has the value.
    for later in range(min(last, base + 8) - 1, k, -1):
        y[e.places[later]] = e.table[TABLE * later + k - base] * inverse
