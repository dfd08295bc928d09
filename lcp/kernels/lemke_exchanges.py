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
# Columns updated together.
BATCH: Final = 8


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


@kernel(inline=True)
def capacity(n: int) -> int:
    """Return the number of vectors for which there is memory: of a predicted basis and some exchanges."""
    return max(pending_limit(n), (n + 7) // 8 * 8 + 32)


class Exchanges(NamedTuple):
    """The exchanges of a dictionary of n rows, the newest last."""

    U: Floats  # their vectors, in strips
    table: Floats  # `TABLE` for each
    places: Ints  # of each block of eight: their rows, and the earlier exchange of the block that has emptied these
    factors: Floats  # 8 BATCH scratch
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


@kernel(inner=True, long_loops=True)
def fuse_two(u: Floats, y: Floats, z: Floats, v: Floats, at: int) -> None:
    """Add multiples of the strips u to y and to z, as `fuse_one` to one column; the factors are v[at : at + 16]."""
    # The sixteen factors.
    a, b, c, d = v[at], v[at + 1], v[at + 2], v[at + 3]
    e, f, g, h = v[at + 4], v[at + 5], v[at + 6], v[at + 7]
    k, m, n, o = v[at + 8], v[at + 9], v[at + 10], v[at + 11]
    p, q, r, x = v[at + 12], v[at + 13], v[at + 14], v[at + 15]
    for j in range(y.shape[0]):
        # Eight vectors, loaded once.
        u0 = u[j]
        u1 = u[STRIP + j]
        u2 = u[2 * STRIP + j]
        u3 = u[3 * STRIP + j]
        u4 = u[4 * STRIP + j]
        u5 = u[5 * STRIP + j]
        u6 = u[6 * STRIP + j]
        u7 = u[7 * STRIP + j]
        # Add them to both columns.
        s = (((y[j] + a * u0) + b * u1) + c * u2) + d * u3
        t = (((z[j] + k * u0) + m * u1) + n * u2) + o * u3
        y[j] = (((s + e * u4) + f * u5) + g * u6) + h * u7
        z[j] = (((t + p * u4) + q * u5) + r * u6) + x * u7


@kernel(inline=True)
def factors(e: Exchanges, y: Floats, block: int, first: int, v: Floats) -> None:
    """Compute the factors of a block's vectors for the column y into v[:8]; y is then zero in their rows."""
    # Indices of the block.
    n, places = e.n, e.places
    base = 8 * block
    at = 16 * block
    t = e.table[TABLE * base : TABLE * (base + 8)]
    # An exchange before ``first`` counts as absent: it gets the row of zeros. A row that an earlier exchange of the
    # block has emptied (its number is places[at + 8 + m]) starts from zero.
    i0 = places[at] if base >= first else n
    i1 = places[at + 1] if base + 1 >= first else n
    i2 = places[at + 2] if base + 2 >= first else n
    i3 = places[at + 3] if base + 3 >= first else n
    i4 = places[at + 4] if base + 4 >= first else n
    i5 = places[at + 5] if base + 5 >= first else n
    i6 = places[at + 6] if base + 6 >= first else n
    i7 = places[at + 7] if base + 7 >= first else n
    # Entries of the column in the pivot rows, which become zero.
    y0 = y[i0]
    y1 = y[i1] if places[at + 9] < first else 0.0
    y2 = y[i2] if places[at + 10] < first else 0.0
    y3 = y[i3] if places[at + 11] < first else 0.0
    y4 = y[i4] if places[at + 12] < first else 0.0
    y5 = y[i5] if places[at + 13] < first else 0.0
    y6 = y[i6] if places[at + 14] < first else 0.0
    y7 = y[i7] if places[at + 15] < first else 0.0
    y[i0] = 0.0
    y[i1] = 0.0
    y[i2] = 0.0
    y[i3] = 0.0
    y[i4] = 0.0
    y[i5] = 0.0
    y[i6] = 0.0
    y[i7] = 0.0
    # The factors, by substitution in the triangle.
    v0 = -y0 * t[8]
    v1 = -(y1 + v0 * t[9]) * t[17]
    y2 += v0 * t[18]
    y3 += v0 * t[27]
    y4 += v0 * t[36]
    y5 += v0 * t[45]
    y6 += v0 * t[54]
    y7 += v0 * t[63]
    v2 = -(y2 + v1 * t[19]) * t[26]
    y3 += v1 * t[28]
    y4 += v1 * t[37]
    y5 += v1 * t[46]
    y6 += v1 * t[55]
    y7 += v1 * t[64]
    v3 = -(y3 + v2 * t[29]) * t[35]
    y4 += v2 * t[38]
    y5 += v2 * t[47]
    y6 += v2 * t[56]
    y7 += v2 * t[65]
    v4 = -(y4 + v3 * t[39]) * t[44]
    y5 += v3 * t[48]
    y6 += v3 * t[57]
    y7 += v3 * t[66]
    v5 = -(y5 + v4 * t[49]) * t[53]
    y6 += v4 * t[58]
    y7 += v4 * t[67]
    v6 = -(y6 + v5 * t[59]) * t[62]
    y7 += v5 * t[68]
    v7 = -(y7 + v6 * t[69]) * t[71]
    # Copy them to v.
    v[0] = v0
    v[1] = v1
    v[2] = v2
    v[3] = v3
    v[4] = v4
    v[5] = v5
    v[6] = v6
    v[7] = v7


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
def advance_many(e: Exchanges, T: Floats, slots: Ints, columns: int, stamp: Ints, last: int) -> None:
    """Apply all exchanges up to ``last`` to ``columns`` (even, up to `BATCH`) columns, the rows ``slots`` of T.

    ``stamp`` is the last exchange applied to each column, and is updated. The columns share the loads of the exchanges,
    which limit a single column if the exchanges exceed the nearest cache.
    """
    # The oldest stamp.
    v = e.factors
    width = T.shape[1]
    first = last
    for s in range(columns):
        first = min(first, stamp[slots[s]])
    # Block by block: factors of all columns, then their vectors.
    for block in range(first // 8, (last + 7) // 8):
        for s in range(columns):
            factors(e, T[slots[s]], block, stamp[slots[s]], v[8 * s :])
        for strip in range(strips(e.n)):
            u = strips_at(e, block, strip)
            left = strip * STRIP
            right = min(left + STRIP, width)
            for s in range(0, columns, 2):
                fuse_two(u, T[slots[s], left:right], T[slots[s + 1], left:right], v, 8 * s)
    # All columns are up to date.
    for s in range(columns):
        stamp[slots[s]] = last


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
    at = 16 * block
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
            places[at + j] = e.n
            places[at + 8 + j] = -1
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
        if places[at + j] == r:
            places[at + 8 + m] = base + j
    U[place + m * STRIP] = 1.0
    table[TABLE * k + 8] = 1.0 / entry[r]
    places[at + m] = r


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
        y[e.places[16 * block + later - base]] = e.table[TABLE * later + m] * inverse
