"""Exchanges of a dictionary that are stored in a list and applied to a column only when that column is needed.

An exchange of row r and column c with entering column e turns any other column y into y + v u, where v = -y_r / e_r,
y_r is set to zero first and u is e with u_r = 1: the product form of the inverse (Dantzig and Orchard-Hays 1954). Every
entry has the same operations in the same order as if the whole tableau were updated at each pivot; only columns that
are not needed are missing. A pivot of a path of p costs p n instead of n^2.

Storage: eight exchanges form a block, in which their vectors u are in strips of `STRIP` entries, one below the other.
With constant distances the compiler recognises that a column and the strips do not overlap. Inside a block, u has zeros
in the pivot rows of later exchanges; these entries are stored in a small triangle. So the v of a whole block are
computed before its vectors are read, and the column is loaded and stored once for eight exchanges.

Vectors are padded with zeros to a multiple of eight beyond n (`padded`); entry n serves absent exchanges.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel

STRIP: Final = 128
BLOCK_FLOATS: Final = 8 * STRIP
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
def strips(n: int) -> int:
    """Return the number of strips of a padded vector."""
    return (padded(n) + STRIP - 1) // STRIP


@kernel(inline=True)
def pending_limit(n: int) -> int:
    """Return how many exchanges are stored before they are applied to all columns, a multiple of eight.

    They are as many as fit in 8 MiB, at most 2 n, but at least about 3 n / 4, and 32.
    """
    return max(32, max(3 * n // 4, min(2 * n, (1 << 20) // (n + 1))) // 8 * 8)


class Exchanges(NamedTuple):
    """The exchanges of a dictionary of n rows, the newest last."""

    U: Floats  # their vectors, in strips
    table: Floats  # `TABLE` for each
    places: Ints  # their rows; of an absent exchange of a block n
    factors: Floats  # 8 scratch
    n: int


@kernel(inline=True)
def strips_at(t: Exchanges, block: int, strip: int) -> Floats:
    """Return the strips of a block's vectors, one below the other."""
    at = (block * strips(t.n) + strip) * BLOCK_FLOATS
    return t.U[at : at + BLOCK_FLOATS]


@kernel(inline=True)
def fuse_one(
    u: Floats, y: Floats, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float
) -> None:
    """Add eight multiples of the strips u to y, in order."""
    for j in range(y.shape[0]):
        s = y[j] + a * u[j]
        s = s + b * u[STRIP + j]
        s = s + c * u[2 * STRIP + j]
        s = s + d * u[3 * STRIP + j]
        s = s + e * u[4 * STRIP + j]
        s = s + f * u[5 * STRIP + j]
        s = s + g * u[6 * STRIP + j]
        y[j] = s + h * u[7 * STRIP + j]


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
    """Add a block's vectors times v[:8] to the column y."""
    for strip in range(strips(e.n)):
        part = y[strip * STRIP : min((strip + 1) * STRIP, y.shape[0])]
        fuse_one(strips_at(e, block, strip), part, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])


@kernel(inner=True, long_loops=True)
def advance(e: Exchanges, y: Floats, first: int, last: int) -> None:
    """Apply the exchanges ``first <= k < last``, of which ``last`` is the newest, to the column y (padded)."""
    for block in range(first // 8, (last + 7) // 8):
        factors(e, y, block, first, e.factors)
        add_block(e, block, e.factors, y)


@kernel(inner=True, long_loops=True)
def append(e: Exchanges, entry: Floats, r: int, k: int) -> None:
    """Store exchange k, of row r and the up-to-date entering column ``entry``, as the newest in the list."""
    # The position of the exchange.
    U, table, places = e.U, e.table, e.places
    width = entry.shape[0]
    count = strips(e.n)
    block = k // 8
    base = 8 * block
    m = k - base
    start = block * count * BLOCK_FLOATS
    # Clear a new block.
    if m == 0:
        for strip in range(count):
            left = strip * STRIP
            for row in range(8):
                place = start + strip * BLOCK_FLOATS + row * STRIP
                for j in range(min(STRIP, width - left)):
                    U[place + j] = 0.0
        for j in range(8):
            places[base + j] = e.n
        for j in range(8 * TABLE):
            table[TABLE * base + j] = 0.0
    # Store the column in strips.
    for strip in range(count):
        target = strips_at(e, block, strip)[m * STRIP : (m + 1) * STRIP]
        source = entry[strip * STRIP : min((strip + 1) * STRIP, width)]
        for j in range(source.shape[0]):
            target[j] = source[j]
    # Entries of earlier vectors in row r move to the triangle.
    place = start + (r // STRIP) * BLOCK_FLOATS + r % STRIP
    for j in range(m):
        table[TABLE * k + j] = U[place + j * STRIP]
        U[place + j * STRIP] = 0.0
    U[place + m * STRIP] = 1.0
    table[TABLE * k + 8] = 1.0 / entry[r]
    places[k] = r


@kernel(inner=True, long_loops=True)
def column_left_behind(e: Exchanges, k: int, last: int, y: Floats) -> None:
    """Fill y with the column that replaces the entering column of exchange k: u / e_r."""
    # The vector of exchange k over its pivot.
    block = k // 8
    base = 8 * block
    m = k - base
    inverse = e.table[TABLE * k + 8]
    for strip in range(strips(e.n)):
        source = strips_at(e, block, strip)[m * STRIP : (m + 1) * STRIP]
        target = y[strip * STRIP : min((strip + 1) * STRIP, y.shape[0])]
        for j in range(target.shape[0]):
            target[j] = source[j] * inverse
    # Entries moved to the triangle by later exchanges of the block; of two on one row, the earlier one has the value.
    for later in range(min(last, base + 8) - 1, k, -1):
        y[e.places[later]] = e.table[TABLE * later + m] * inverse
