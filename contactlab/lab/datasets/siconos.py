"""Problems in Siconos' text format (``.dat``): LCP and MLCP, friction local and global, dense, in blocks, or sparse.

The format is read off Siconos' own writers and test data (`siconos/siconos`, `numerics/src`): numbers apart by white
space, every dense matrix and every block column by column.

* LCP: n, the matrix, q.
* MLCP: whether the matrix follows whole, whether it follows in parts, the number of equations n, of pairs m; whole: the
  ends of the blocks of rows (0 first, n + m last), for each block whether it is complementary, the matrix, q; in parts:
  A (n, n), B (m, m), C (n, m), D (m, n), a, b, for 0 = A u + C v + a and 0 <= v, D u + B v + b >= 0. Where both are
  there, the first counts.
* Matrix: its storage, 0 dense or 1 in blocks; rows, columns; dense: rows and columns once more, entries. In blocks:
  their number, those in a column and in a row; the ends of the rows of blocks, and of the columns; the lengths of two
  lists: where each row of blocks begins, and the column of each block; for each block its number and its entries.
* Friction, local: components per contact d (2 or 3), contacts nc, the matrix W, q, mu.
* Friction, global: d, nc, the matrix M (n, n), the matrix H (n, m), f, w, mu. Where the count of contacts is 0, as some
  writers leave it, that of H holds.
* Of friction also storage 2, CSparse's print: ``triplet: m-by-n, ...`` and lines ``i j : x``, or compressed columns,
  ``col j : locations a to b`` and lines ``i : x``. It has as few digits as were printed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray, IntArray
from problem_data.files import ARRAY_BYTES, read_bytes, size_text

MOST_ROWS = 20_000


def load_siconos(path: str | Path) -> lcp.LCP | lcp.MLCP | lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Read a problem.

    Raises
    ------
    DatasetError
        Unreadable, truncated, not of this format, of more equations than unknowns, or with sizes that do not fit one
        another.
    """
    path = Path(path)
    text, printed = _printed_matrices(path, read_bytes(path, DatasetError).decode("ascii", errors="replace"))
    numbers = NumberReader(path, text)
    head = numbers.peek(5)
    if head[0] >= 1 and head[0] == head[2] == head[3] and head[1] in (0, 1) and not (head[0] == 1 and head[4] == 0):
        n = numbers.count("n")
        M = matrix(numbers)
        return _made(path, M, numbers.floats("q", n), np.ones(n, dtype=bool))
    if head[0] in (0, 1) and head[1] in (0, 1) and head[0] + head[1] > 0:
        return _mixed(path, numbers)
    if head[0] in (2, 3) and head[2] in (0, 1, 2):
        return _friction(path, numbers, printed)
    raise DatasetError(path, "", f"not a problem of Siconos: it begins with {', '.join(f'{x:g}' for x in head)}")


class NumberReader:
    """The numbers of a file, taken one after the other; each error names what they were to be."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._words = text.split()
        self._at = 0

    @property
    def left(self) -> int:
        """Count of the words that are not taken."""
        return len(self._words) - self._at

    def peek(self, n: int) -> list[float]:
        """Return the next n without taking them."""
        at, values = self._at, self.floats("head", n).tolist()
        self._at = at
        return [float(x) for x in values]

    def floats(self, name: str, n: int) -> FloatArray:
        """Take n finite numbers."""
        words = self._words[self._at : self._at + n]
        if len(words) < n:
            self.fail(name, f"the file ends after {len(words)} of {n} numbers")
        try:
            values = np.array([float(word) for word in words], dtype=np.float64)
        except ValueError as error:
            self.fail(name, str(error))
        if not np.isfinite(values).all():
            self.fail(name, f"{words[int(np.flatnonzero(~np.isfinite(values))[0])]} is not a finite number")
        self._at += n
        return values

    def whole(self, name: str, n: int, most: int) -> IntArray:
        """Take n whole numbers from 0 to ``most``."""
        values = self.floats(name, n)
        bad = (values != np.floor(values)) | (values < 0) | (values > most)
        if bad.any():
            self.fail(name, f"{values[int(np.argmax(bad))]:g}, wanted a whole number from 0 to {most}")
        return values.astype(np.int64)

    def count(self, name: str) -> int:
        """Take one whole number that no list or matrix exceeds."""
        return int(self.whole(name, 1, MOST_ROWS)[0])

    def fail(self, name: str, message: str) -> NoReturn:
        """Raise the error of what is being read."""
        raise DatasetError(self.path, name, message)


def _mixed(path: Path, numbers: NumberReader) -> lcp.LCP | lcp.MLCP:
    whole, _ = numbers.whole("storage", 2, 1)
    n, m = numbers.count("n"), numbers.count("m")
    if not whole:
        A, B = _dense(numbers, "A", n, n), _dense(numbers, "B", m, m)
        C, D = _dense(numbers, "C", n, m), _dense(numbers, "D", m, n)
        K = np.block([[A, C], [D, B]])
        return _made(path, K, numbers.floats("a and b", n + m), np.arange(n + m) >= n)
    ends = [numbers.count("blocks of rows")]
    while ends[-1] < n + m:
        ends.append(numbers.count("blocks of rows"))
        if ends[-1] <= ends[-2]:
            numbers.fail("blocks of rows", f"{ends[-1]} after {ends[-2]}")
    if ends[0] != 0 or ends[-1] != n + m:
        numbers.fail("blocks of rows", f"from {ends[0]} to {ends[-1]}, wanted 0 to {n + m}")
    kinds = numbers.whole("kinds of blocks", len(ends) - 1, 1)
    M = matrix(numbers)
    return _made(path, M, numbers.floats("q", n + m), np.repeat(kinds == 1, np.diff(ends)))


def _dense(numbers: NumberReader, name: str, rows: int, columns: int) -> FloatArray:
    """Take a matrix of the parts of an MLCP, which alone are written row by row."""
    return numbers.floats(name, rows * columns).reshape(rows, columns)


def matrix(numbers: NumberReader) -> FloatArray:
    """Take a matrix, dense or in blocks."""
    storage = numbers.count("storage of M")
    rows, columns = numbers.count("rows of M"), numbers.count("columns of M")
    if storage == 0:
        rows, columns = numbers.count("rows of M"), numbers.count("columns of M")
        return numbers.floats("M", rows * columns).reshape(columns, rows).T.copy()
    if storage != 1:
        numbers.fail("storage of M", f"{storage}, wanted 0 (dense) or 1 (blocks)")
    if 8 * rows * columns > ARRAY_BYTES:
        numbers.fail("M", f"{rows} by {columns} takes more than {size_text(ARRAY_BYTES)}")
    M = np.zeros((rows, columns))
    blocks, down, along = (numbers.count("blocks of M") for _ in range(3))
    edges = [np.append(0, numbers.whole("blocks of M", n, MOST_ROWS)) for n in (down, along)]
    for ends, wanted in zip(edges, (rows, columns), strict=True):
        if (np.diff(ends) <= 0).any() or ends[-1] != wanted:
            numbers.fail("blocks of M", f"ends {ends[1:].tolist()}, wanted them rising to {wanted}")
    starts_length, columns_length = numbers.count("blocks of M"), numbers.count("blocks of M")
    starts = numbers.whole("blocks of M", starts_length, blocks)
    places = numbers.whole("blocks of M", columns_length, max(along - 1, 0))
    if (np.diff(starts) < 0).any() or starts.size > down + 1 or starts.size == 0 or starts[-1] > places.size:
        numbers.fail("blocks of M", f"rows of blocks begin at {starts.tolist()}")
    for row in range(starts.size - 1):
        for at in range(int(starts[row]), int(starts[row + 1])):
            numbers.count("block of M")
            (top, bottom), (left, right) = edges[0][row : row + 2], edges[1][places[at] : places[at] + 2]
            entries = numbers.floats("block of M", int((bottom - top) * (right - left)))
            M[top:bottom, left:right] = entries.reshape(right - left, bottom - top).T
    return M


def _made(path: Path, M: FloatArray, q: FloatArray, complementary: NDArray[np.bool_]) -> lcp.LCP | lcp.MLCP:
    """Return the problem with its equations first."""
    if M.shape != (q.size, q.size):
        raise DatasetError(path, "M", f"shape {M.shape}, wanted ({q.size}, {q.size})")
    order = np.argsort(complementary, kind="stable")
    k = int((~complementary).sum())
    try:
        K, q = M[np.ix_(order, order)], q[order]
        return lcp.LCP(K, q) if k == 0 else mixed_problem(K, q, k)
    except lcp.ProblemError as error:
        raise DatasetError(path, "M", str(error)) from error


def mixed_problem(K: FloatArray, k: FloatArray, n_free: int) -> lcp.MLCP:
    """Return the MLCP of a stacked matrix and vector, equations and free unknowns first."""
    e, c = slice(None, n_free), slice(n_free, None)
    return lcp.MLCP(K[e, e], K[e, c], K[c, e], K[c, c], k[e], k[c])


_SIZE = re.compile(r"(\d+)-by-(\d+)")
_COLUMN = re.compile(r"^\s*col\s+(\d+)\s*:\s*locations")
_TRIPLET = re.compile(r"^\s*(\d+)\s+(\d+)\s*:\s*(\S+)\s*$")
_ENTRY = re.compile(r"^\s*(\d+)\s*:\s*(\S+)\s*$")


def _friction(path: Path, numbers: NumberReader, printed: list[Any]) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    dim, nc = numbers.count("dimension"), numbers.count("contacts")
    first = _matrix(numbers, printed)
    # A local problem is reduced to q and mu.
    rows = int(first.shape[0])
    try:
        if first.shape == (dim * nc, dim * nc) and numbers.left in (rows + nc, rows + nc + 1):
            return lcp.FrictionProblem(first, numbers.floats("q", rows), numbers.floats("mu", nc), dim)
        H = _matrix(numbers, printed)
        m = int(H.shape[1])
        if first.shape != (rows, rows) or H.shape[0] != rows or m % dim or nc not in (0, m // dim):
            numbers.fail("H", f"shape {H.shape} with M {first.shape}, {nc} contacts of {dim} components")
        f, w = numbers.floats("f", rows), numbers.floats("w", m)
        return lcp.GlobalFrictionProblem(first, H, f, w, numbers.floats("mu", m // dim), dim)
    except lcp.ProblemError as error:
        raise DatasetError(path, "", str(error)) from error


def _matrix(numbers: NumberReader, printed: list[Any]) -> Any:
    if numbers.peek(1)[0] != 2.0:
        return matrix(numbers)
    numbers.count("storage")
    shape = numbers.count("rows"), numbers.count("columns")
    numbers.count("origin")
    if not printed:
        numbers.fail("matrix", "storage 2 (sparse), but no printed matrix follows")
    sparse_matrix = printed.pop(0)
    if sparse_matrix.shape != shape:
        numbers.fail("matrix", f"shape {sparse_matrix.shape} printed, {shape} announced")
    return sparse_matrix


def _printed_matrices(path: Path, text: str) -> tuple[str, list[Any]]:
    """Return the text without CSparse's prints, and the matrices they show."""
    if "CSparse" not in text:
        return text, []
    from scipy import sparse

    kept: list[str] = []
    matrices: list[Any] = []
    entries: list[tuple[int, int, float]] = []
    shape: tuple[int, int] | None = None
    column: int | None = None

    def close() -> None:
        nonlocal shape, entries
        if shape is None:
            return
        at = np.array([entry[:2] for entry in entries], dtype=np.int64).reshape(-1, 2)
        x = np.array([entry[2] for entry in entries], dtype=np.float64)
        if max(shape) > 50 * MOST_ROWS or (at >= np.array(shape)).any():
            raise DatasetError(path, "matrix", f"entries outside a matrix of shape {shape}, or one too large")
        matrices.append(sparse.coo_matrix((x, (at[:, 0], at[:, 1])), shape=shape).tocsr())
        shape, entries = None, []

    for line in text.splitlines():
        size, start = _SIZE.search(line), _COLUMN.match(line)
        triplet, entry = _TRIPLET.match(line), _ENTRY.match(line)
        if "CSparse" in line:
            close()
        elif size:
            shape, column = (int(size[1]), int(size[2])), None
        elif start:
            column = int(start[1])
        elif shape is not None and triplet:
            entries.append((int(triplet[1]), int(triplet[2]), _number(path, triplet[3])))
        elif shape is not None and column is not None and entry:
            entries.append((int(entry[1]), column, _number(path, entry[2])))
        else:
            close()
            kept.append(line)
    close()
    return "\n".join(kept), matrices


def _number(path: Path, word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise DatasetError(path, "matrix", str(error)) from error
