"""Friction problems in Siconos' text format (``.dat``): local and global, dense, in blocks, or sparse.

The format is read off Siconos' test data (`siconos/siconos`, `numerics/src/FrictionContact/test/data`).

* Local: components per contact d (2 or 3), contacts nc, the matrix W, q, mu.
* Global: d, nc, the matrix M (n, n), the matrix H (n, m), f, w, mu. Where the count of contacts is 0, as some
  writers leave it, that of H holds.
* Matrices as in `siconos`; storage 2 is CSparse's print: ``triplet: m-by-n, ...`` and lines ``i j : x``, or compressed
  columns, ``col j : locations a to b`` and lines ``i : x``. It has as few digits as were printed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

import lcp
from contactlab.lab.datasets.siconos import MOST_ROWS, Numbers, file_text, matrix
from contactlab.lab.errors import DatasetError

_SIZE = re.compile(r"(\d+)-by-(\d+)")
_COLUMN = re.compile(r"^\s*col\s+(\d+)\s*:\s*locations")
_TRIPLET = re.compile(r"^\s*(\d+)\s+(\d+)\s*:\s*(\S+)\s*$")
_ENTRY = re.compile(r"^\s*(\d+)\s*:\s*(\S+)\s*$")


def load_siconos_friction(path: str | Path) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Read a problem.

    Raises
    ------
    DatasetError
        Unreadable, truncated, not of this format, or with sizes that do not fit one another.
    """
    path = Path(path)
    return friction_problem(path, file_text(path))


def friction_problem(path: Path, text: str) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """The problem of a file that has been read."""
    plain, printed = _printed_matrices(path, text)
    numbers = Numbers(path, plain)
    dim = numbers.count("dimension")
    if dim not in (2, 3):
        numbers.fail("dimension", f"{dim}, wanted 2 or 3")
    nc = numbers.count("contacts")
    first = _matrix(numbers, printed)
    # What is left of a local problem: q and mu, nothing else.
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


def _matrix(numbers: Numbers, printed: list[Any]) -> Any:
    if numbers.look(1)[0] != 2.0:
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
    """The text without CSparse's prints, and the matrices they show."""
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
