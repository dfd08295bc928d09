"""One path of Lemke's method in double-double numbers on a condensed, balanced tableau, every entry with its error.

Lemke (1965); Cottle, Pang and Stone (1992), algorithm 4.4.5. The path is the one of `lcp.kernels.lemke`. Here every
entry has an error estimate, which decides on zeros and ties. If the pivot is uncertain, or no row blocks (a ray), the
dictionary is formed again from the data before a conclusion.

Two ratios tie if they can be equal within their errors (section 4.9). The artificial variable leaves first, then the
lexicographically smallest of (x, B^-1)_i / |T_ic|. The columns of B^-1 of basic slacks are unit vectors; the others
are, with the opposite sign, the columns of the nonbasic slacks.

Uncertainties are propagated by their largest term, not by their sum: after hundreds of exchanges a rigorous bound would
be useless, while the size of the error is not. The arithmetic is the one of `lcp.kernels.double_double`, on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.status import Status

# 2^27 + 1, and a bound on the error of one operation, as in `lcp.kernels.double_double`.
SPLITTER, ROUNDING = 134217729.0, 2.0**-102
# Uncertainties that a nonzero entry must exceed.
CERTAIN = 32.0
# If the error of a pivot exceeds this fraction of it, the dictionary is formed again.
UNCERTAIN = 1e-6


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b without rounding, as rounded sum and error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def halves(a: Any) -> tuple[Any, Any]:
    """Return a as the sum of two numbers of 26 bits (Veltkamp)."""
    c = SPLITTER * a
    head = c - (c - a)
    return head, a - head


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a b without rounding, as rounded product and error (Dekker)."""
    (a_head, a_tail), (b_head, b_tail) = halves(a), halves(b)
    p = a * b
    return p, ((a_head * b_head - p) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail


def divided(a: Any, a_low: Any, b: Any, b_low: Any) -> tuple[Any, Any]:
    """Return (a + a_low) / (b + b_low)."""
    q = a / b
    r, r_low = two_product(q, b)
    more = ((a - r) - (r_low + q * b_low) + a_low) / b
    h = q + more
    return h, more - (h - q)


def is_short(x: Vector) -> NDArray[np.bool_]:
    """Return where x has at most 26 significant bits: a whole number or simple fraction, not a rounded number."""
    return np.asarray(halves(x)[0] == x)


class ExtendedPath:
    """A dictionary x_B = x + sum_j T[:, j] y_j of the problem in scaled units; x is the last column of ``T``.

    w_i is variable i, z_i is n + i, the artificial variable is 2 n. Low parts are in ``low``, uncertainties in
    ``error``. ``trust`` is the relative uncertainty of data with long digits, 0 if every digit is exact.
    """

    def __init__(self, M: Vector, q: Vector, row: Vector, column: Vector, cover: Vector, trust: float) -> None:
        n = self.n = q.shape[0]
        T = np.column_stack([M * row[:, None] * column, cover, q * row])
        exact = np.column_stack([is_short(M), np.ones(n, dtype=np.bool_), is_short(q)])
        self.first, self.first_error = T, np.where(exact, 0.0, trust * np.abs(T))
        self.pivots, self.since, self.direction = 0, 0, np.zeros(2 * n + 1)
        self._begin()

    def _begin(self) -> None:
        """Form w = q + M z + cover t."""
        self.T, self.error, self.low = self.first.copy(), self.first_error.copy(), np.zeros_like(self.first)
        self.basis, self.nonbasis = np.arange(self.n), np.arange(self.n, 2 * self.n + 1)

    def follow(self, limit: int, record: Callable[[ExtendedPath], bool]) -> Status | None:
        """Pivot until the artificial variable leaves (SOLVED), a ray or a limit; None if ``record`` returns False."""
        n = self.n
        # Lexicographically smallest (q, I)_i / d_i: of equal ratios the last row.
        ratios = self.T[:, n + 1] / self.T[:, n]
        if not np.isfinite(ratios).all():
            return Status.NOT_FINITE
        entering = self._step(int(np.flatnonzero(ratios == ratios.min())[-1]), n)
        while entering >= 0:
            if not record(self):
                return None
            if self.pivots >= limit:
                return Status.ITERATION_LIMIT
            c = int(np.flatnonzero(self.nonbasis == entering)[0])
            r = leaving_row(self, c)
            # Form the dictionary again if the pivot is uncertain, or if no row blocks.
            if self.since > 0 and (r < 0 or not self.error[r, c] <= -UNCERTAIN * self.T[r, c]):
                if not self._rebuild():
                    return Status.SINGULAR_BASIS
                continue
            if r < 0:
                self.direction[entering], self.direction[self.basis] = 1.0, self.T[:, c]
                return Status.RAY_TERMINATION
            if not np.isfinite(self.T[r, c]):
                return Status.NOT_FINITE
            entering = self._step(r, c)
        record(self)
        return Status.SOLVED

    def artificial(self) -> float:
        """Return the value of the artificial variable."""
        return float(self.T[self.basis == 2 * self.n, -1].sum())

    def _step(self, r: int, c: int) -> int:
        """Exchange row r and column c; return the complement of the leaving variable, -1 at the end of the path."""
        n = self.n
        self._exchange(r, c)
        self.pivots, self.since = self.pivots + 1, self.since + 1
        leaving = int(self.nonbasis[c])
        return -1 if leaving == 2 * n else (leaving + n) % (2 * n)

    def _exchange(self, r: int, c: int) -> None:
        """Exchange the basic variable of row r and the nonbasic one of column c; entries that cancel become zero."""
        T, low, error = self.T, self.low, self.error
        # The new pivot row.
        inverse, inverse_low = divided(1.0, 0.0, T[r, c], low[r, c])
        size = abs(inverse)
        loss = max(error[r, c] * size, ROUNDING)
        p, rest = two_product(-T[r], inverse)
        rest += -T[r] * inverse_low - low[r] * inverse
        row = p + rest
        row_low, row_error = rest - (row - p), np.maximum(error[r] * size, np.abs(row) * loss)
        row[c], row_low[c], row_error[c] = inverse, inverse_low, size * loss
        # The other rows that have this column.
        f, f_low, f_error = T[:, c].copy(), low[:, c].copy(), error[:, c].copy()
        T[:, c] = low[:, c] = error[:, c] = 0.0
        rows = np.flatnonzero((f != 0.0) | (f_error != 0.0))
        rows = rows[rows != r]
        f, f_low, f_error, a = f[rows, None], f_low[rows, None], f_error[rows, None], T[rows]
        m, m_low = two_product(f, row)
        m_low += f * row_low + f_low * row
        s, e = two_sum(a, m)
        e += low[rows] + m_low
        h = s + e
        # The largest term of the error; an entry within it is zero.
        noise = np.maximum(error[rows], np.abs(f) * row_error)
        noise = np.maximum(noise, np.maximum(np.abs(row) * f_error, ROUNDING * np.maximum(np.abs(a), np.abs(m))))
        known = np.abs(h) > CERTAIN * noise
        T[rows], low[rows], error[rows] = np.where(known, h, 0.0), np.where(known, e - (h - s), 0.0), noise
        T[r], low[r], error[r] = row, row_low, row_error
        self.basis[r], self.nonbasis[c] = self.nonbasis[c], self.basis[r]

    def _rebuild(self) -> bool:
        """Form the dictionary of the basis again from the data, with complete pivoting; return False if singular."""
        wanted, self.since = self.basis, 0
        self._begin()
        for _ in range(int((wanted >= self.n).sum())):
            open_rows = np.flatnonzero(~np.isin(self.basis, wanted))
            open_columns = np.flatnonzero(np.isin(self.nonbasis, wanted))
            sizes = np.abs(self.T[np.ix_(open_rows, open_columns)])
            i, j = divmod(int(sizes.argmax()), open_columns.shape[0])
            if sizes[i, j] == 0.0:
                return False
            self._exchange(int(open_rows[i]), int(open_columns[j]))
        return True


def leaving_row(path: ExtendedPath, c: int) -> int:
    """Return the row whose variable blocks the nonbasic variable of column ``c``, or -1 (a ray)."""
    T, low, error, n = path.T, path.low, path.error, path.n
    # Rows whose entry is certainly negative.
    rows = np.flatnonzero(T[:, c] < -CERTAIN * error[:, c])
    if rows.size == 0:
        return -1
    # Right-hand sides are not negative except for rounding; quotients by T_ic < 0 have the opposite sign.
    h, h_low, h_error = _quotients(path, rows, c, T[rows, -1], low[rows, -1], error[rows, -1])
    h = np.maximum(-h, 0.0)
    rows = rows[_least(h, np.where(h > 0.0, -h_low, 0.0), h_error)]
    artificial = rows[path.basis[rows] == 2 * n]
    if artificial.size:
        return int(artificial[0])
    # The lexicographic rule: the unit column of a basic slack, or the column of a nonbasic one with opposite sign.
    for k in range(n):
        if rows.size == 1:
            break
        place = np.flatnonzero(path.nonbasis == k)
        if place.size:
            entry = T[rows, place[0]], low[rows, place[0]], error[rows, place[0]]
        else:
            entry = np.where(path.basis[rows] == k, -1.0, 0.0), np.zeros(rows.size), np.zeros(rows.size)
        rows = rows[_least(*_quotients(path, rows, c, *entry))]
    # Rows that remain after all columns are ties by rounding: take the most certain pivot.
    return int(rows[np.argmax(-T[rows, c] / np.maximum(error[rows, c], np.finfo(np.float64).tiny))])


def _quotients(
    path: ExtendedPath, rows: NDArray[np.intp], c: int, a: Vector, a_low: Vector, a_error: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return a / T[rows, c], high and low parts and errors."""
    pivot = path.T[rows, c]
    h, h_low = divided(a, a_low, pivot, path.low[rows, c])
    loss = np.maximum(path.error[rows, c] / np.abs(pivot), ROUNDING)
    return h, h_low, np.maximum(a_error / np.abs(pivot), np.abs(h) * loss)


def _least(h: Vector, h_low: Vector, h_error: Vector) -> NDArray[np.bool_]:
    """Return the entries that equal the least one within their errors."""
    best = np.lexsort((h_low, h))[0]
    s, s_low = two_sum(h, -h[best])
    t, _ = two_sum(h_low, -h_low[best])
    difference = s + (s_low + t)
    kept = np.asarray(difference <= CERTAIN * np.maximum(h_error[best], h_error))
    # Also if its numbers are not finite.
    kept[best] = True
    return kept
