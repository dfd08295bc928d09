"""Problems in the formats of other projects: Siconos' text files and FCLIB's HDF5 layout.

Problems in Siconos' text format (``.dat``): LCP and MLCP, friction local and global, dense or in blocks.

The format follows Siconos' own writers and test data (`siconos/siconos`, `numerics/src`): numbers separated by white
space, with every dense matrix and every block column by column.

* LCP: n, the matrix, q.
* MLCP: whether the whole matrix follows; whether the matrix follows in parts; the number of equations n and of pairs m.
  Whole: the ends of the blocks of rows (0 first, n + m last), for each block whether it is complementary, the matrix,
  q. In parts: A (n, n), B (m, m), C (n, m), D (m, n), a, b, for 0 = A u + C v + a and 0 <= v, D u + B v + b >= 0. If
  both are present, the first is used.
* Matrix: its storage, 0 dense or 1 in blocks; rows, columns. Dense: rows and columns again, then entries. In blocks:
  the number of blocks, the numbers in a column and in a row; the ends of the rows of blocks, and of the columns; the
  lengths of two lists; the start of each row of blocks, and the column of each block; for each block its number and
  entries.
* Friction, local: components per contact d (2 or 3), contacts nc, the matrix W, q, mu.
* Friction, global: d, nc, the matrix M (n, n), the matrix H (n, m), f, w, mu. Some writers set the number of contacts
  to 0; the number in H is then used.

The second format is FCLIB's HDF5 layout of friction problems, local (W, q) and global (M, H, f, w), in 2D and 3D.

V. Acary, M. Bremond, T. Koziara, F. Perignon, "FCLIB: a collection of discrete 3D frictional contact problems", INRIA
RT-444 (2014). Needs h5py (extra ``lab``). Matrices are CSparse's: ``nz >= 0`` triplets, ``-1`` compressed
columns, ``-2`` compressed rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.lab.datasets.files import DatasetError, require
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from problem_data import ProblemDataError
from problem_data.files import ARRAY_BYTES, read_bytes, size_text
from problem_data.validation import FileError

MOST_ROWS = 20_000


@contextlib.contextmanager
def blaming(path: Path, field: str = "") -> Iterator[None]:
    """Convert errors about problems and records to a `DatasetError` about a file and its field."""
    try:
        yield
    except DatasetError:
        raise
    except (FileError, ProblemDataError, lcp.ProblemError, OSError, IndexError) as error:
        raise DatasetError(path, field or getattr(error, "field", ""), str(error)) from error


def load_siconos(path: str | Path) -> lcp.LCP | lcp.MLCP | lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Read a problem in Siconos' text format.

    Raises
    ------
    DatasetError
        The file is unreadable, truncated or not of this format, has more equations than unknowns, or its sizes do not
        match.
    """
    path = Path(path)
    numbers = NumberReader(path, read_bytes(path, DatasetError).decode("ascii", errors="replace"))
    head = numbers.peek(5)
    if head[0] >= 1 and head[0] == head[2] == head[3] and head[1] in (0, 1) and not (head[0] == 1 and head[4] == 0):
        n = numbers.count("n")
        return _stacked_problem(path, matrix(numbers), numbers.floats("q", n), np.ones(n, dtype=bool))
    if head[0] in (0, 1) and head[1] in (0, 1) and head[0] + head[1] > 0:
        return _read_mixed_text(path, numbers)
    if head[0] in (2, 3) and head[2] in (0, 1, 2):
        return _read_friction_text(path, numbers)
    raise DatasetError(path, "", f"not a problem of Siconos: it begins with {', '.join(f'{x:g}' for x in head)}")


class NumberReader:
    """Reader of the numbers of a file in order; errors name the quantity that was being read."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._words = text.split()
        self._at = 0

    @property
    def left(self) -> int:
        """Number of words that are not read yet."""
        return len(self._words) - self._at

    def peek(self, n: int) -> list[float]:
        """Return the next n numbers without consuming them."""
        at, values = self._at, self.floats("head", n).tolist()
        self._at = at
        return [float(x) for x in values]

    def floats(self, name: str, n: int) -> FloatArray:
        """Read n finite numbers."""
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
        """Read n integers from 0 to ``most``."""
        values = self.floats(name, n)
        bad = (values != np.floor(values)) | (values < 0) | (values > most)
        if bad.any():
            self.fail(name, f"{values[int(np.argmax(bad))]:g}, wanted a whole number from 0 to {most}")
        return values.astype(np.int64)

    def count(self, name: str) -> int:
        """Read one integer that is a valid length of a list or matrix."""
        return int(self.whole(name, 1, MOST_ROWS)[0])

    def fail(self, name: str, message: str) -> NoReturn:
        """Raise an error about the quantity that is being read."""
        raise DatasetError(self.path, name, message)


def _read_mixed_text(path: Path, numbers: NumberReader) -> lcp.LCP | lcp.MLCP:
    """Return the LCP or mixed LCP of a Siconos text file, dense in blocks A, B, C, D or in blocks of rows."""
    whole, _ = numbers.whole("storage", 2, 1)
    n, m = numbers.count("n"), numbers.count("m")
    if not whole:
        A, B = _dense(numbers, "A", n, n), _dense(numbers, "B", m, m)
        C, D = _dense(numbers, "C", n, m), _dense(numbers, "D", m, n)
        K = np.block([[A, C], [D, B]])
        return _stacked_problem(path, K, numbers.floats("a and b", n + m), np.arange(n + m) >= n)
    ends = [numbers.count("blocks of rows")]
    while ends[-1] < n + m:
        ends.append(numbers.count("blocks of rows"))
        if ends[-1] <= ends[-2]:
            numbers.fail("blocks of rows", f"{ends[-1]} after {ends[-2]}")
    if ends[0] != 0 or ends[-1] != n + m:
        numbers.fail("blocks of rows", f"from {ends[0]} to {ends[-1]}, wanted 0 to {n + m}")
    kinds = numbers.whole("kinds of blocks", len(ends) - 1, 1)
    return _stacked_problem(path, matrix(numbers), numbers.floats("q", n + m), np.repeat(kinds == 1, np.diff(ends)))


def _dense(numbers: NumberReader, name: str, rows: int, columns: int) -> FloatArray:
    """Read a matrix of the parts of an MLCP, the only matrices written row by row."""
    return numbers.floats(name, rows * columns).reshape(rows, columns)


def matrix(numbers: NumberReader) -> FloatArray:
    """Read a matrix, dense or in blocks."""
    storage = numbers.count("storage of M")
    rows, columns = numbers.count("rows of M"), numbers.count("columns of M")
    if storage == 0:
        rows, columns = numbers.count("rows of M"), numbers.count("columns of M")
        return numbers.floats("M", rows * columns).reshape(columns, rows).T.copy()
    if storage != 1:
        detail = (
            f"{storage}, wanted 0 (dense) or 1 (blocks); sparse prints have too few digits: keep such problems as FCLIB"
        )
        numbers.fail("storage of M", detail)
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


def _stacked_problem(path: Path, M: FloatArray, q: FloatArray, complementary: NDArray[np.bool_]) -> lcp.LCP | lcp.MLCP:
    """Return the problem with its equations first."""
    if M.shape != (q.size, q.size):
        raise DatasetError(path, "M", f"shape {M.shape}, wanted ({q.size}, {q.size})")
    order = np.argsort(complementary, kind="stable")
    k = int((~complementary).sum())
    with blaming(path, "M"):
        K, q = M[np.ix_(order, order)], q[order]
        return lcp.LCP(K, q) if k == 0 else mixed_problem(K, q, k)


def mixed_problem(K: FloatArray, k: FloatArray, n_free: int) -> lcp.MLCP:
    """Return the MLCP of a stacked matrix and vector, equations and free unknowns first."""
    e, c = slice(None, n_free), slice(n_free, None)
    return lcp.MLCP(K[e, e], K[e, c], K[c, e], K[c, c], k[e], k[c])


def _read_friction_text(path: Path, numbers: NumberReader) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Return the local or global friction problem of a Siconos text file; the sizes distinguish them."""
    dim, nc = numbers.count("dimension"), numbers.count("contacts")
    first = matrix(numbers)
    # A local problem also has q and mu.
    rows = int(first.shape[0])
    with blaming(path):
        if first.shape == (dim * nc, dim * nc) and numbers.left in (rows + nc, rows + nc + 1):
            return lcp.FrictionProblem(first, numbers.floats("q", rows), numbers.floats("mu", nc), dim)
        H = matrix(numbers)
        m = int(H.shape[1])
        if first.shape != (rows, rows) or H.shape[0] != rows or m % dim or nc not in (0, m // dim):
            numbers.fail("H", f"shape {H.shape} with M {first.shape}, {nc} contacts of {dim} components")
        f, w = numbers.floats("f", rows), numbers.floats("w", m)
        return lcp.GlobalFrictionProblem(first, H, f, w, numbers.floats("mu", m // dim), dim)


LOCAL, GLOBAL = "fclib_local", "fclib_global"
# Maximum number of entries of one array, a fraction of the memory that all arrays may use.
MOST_NUMBERS = ARRAY_BYTES // 16


def load_fclib(path: str | Path) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Read a friction problem from an FCLIB file. Initial guesses and solutions in the file are ignored.

    Raises
    ------
    DatasetError
        The text names the file, the entry and the error: not HDF5, neither a local nor a global problem, a missing
        entry, sizes that do not match, an index out of range, a value that is not finite.
    ImportError
        h5py is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(path, "", "no such file" if not path.exists() else "not a file")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            kinds = [name for name in (LOCAL, GLOBAL) if isinstance(file.get(name), h5py.Group)]
            if len(kinds) != 1:
                groups = ", ".join(kinds) or ", ".join(sorted(file)[:5]) or "nothing"
                raise DatasetError(path, "", f"wanted one group {LOCAL} or {GLOBAL}, found {groups}")
            return _read_friction_group(_Group(path, file[kinds[0]], kinds[0]), kinds[0] == LOCAL)
    except (OSError, RuntimeError, KeyError) as error:
        raise DatasetError(path, "", f"not a readable HDF5 file ({error})") from error


class _Group:
    """An HDF5 group whose arrays are checked when they are read."""

    def __init__(self, path: Path, group: Any, name: str) -> None:
        self.path, self.group, self.name = path, group, name

    def has(self, name: str) -> bool:
        return name in self.group

    def array(self, name: str, *, integer: bool = False, length: int | None = None) -> Any:
        """Return a vector of the group after a check of its type and size; a link or data in another file raise."""
        import h5py

        where = f"{self.name}/{name}"
        # External and soft links are not followed, because they may lead out of the file.
        parts = name.split("/")
        for k in range(len(parts)):
            link = self.group.get("/".join(parts[: k + 1]), getlink=True)
            if link is not None and not isinstance(link, h5py.HardLink):
                raise DatasetError(self.path, where, "is a link, not data")
        item = self.group.get(name)
        if not isinstance(item, h5py.Dataset):
            raise DatasetError(self.path, where, "missing")
        if item.external:
            raise DatasetError(self.path, where, "lies in another file")
        try:
            dtype = item.dtype
        except (TypeError, ValueError) as error:
            raise DatasetError(self.path, where, f"numbers of a type that numpy does not have ({error})") from error
        if dtype.kind not in ("iu" if integer else "fiu"):
            raise DatasetError(self.path, where, f"dtype {dtype}, wanted {'integers' if integer else 'numbers'}")
        if item.ndim != 1 or item.size > MOST_NUMBERS:
            raise DatasetError(self.path, where, f"shape {item.shape}, wanted a vector of at most {MOST_NUMBERS}")
        if length is not None and item.size != length:
            raise DatasetError(self.path, where, f"length {item.size}, wanted {length}")
        value = np.asarray(item[:], dtype=np.int64 if integer else np.float64)
        require(self.path, where, np.isfinite(value), lambda at: f"{value[at]} is not a finite number")
        return value

    def whole(self, name: str) -> int:
        """Return the first entry of an integer vector."""
        value = self.array(name, integer=True)
        if value.size < 1:
            raise DatasetError(self.path, f"{self.name}/{name}", "empty, wanted one number")
        return int(value[0])

    def matrix(self, name: str, rows: int, columns: int) -> Any:
        """Return a sparse matrix (rows, columns) in CSR, stored as triplets or compressed by columns or rows."""
        from scipy import sparse

        where = f"{self.name}/{name}"
        m, n, nz = (self.whole(f"{name}/{key}") for key in ("m", "n", "nz"))
        if (m, n) != (rows, columns):
            raise DatasetError(self.path, where, f"{m} rows and {n} columns, wanted {rows} and {columns}")
        p, i, x = (self.array(f"{name}/{key}", integer=key != "x") for key in "pix")
        try:
            if min(p.size, i.size, x.size) < nz or p.min(initial=0) < 0:
                raise ValueError("fewer entries than announced, or a negative place")
            if nz >= 0:
                return sparse.coo_matrix((x[:nz], (i[:nz], p[:nz])), shape=(m, n)).tocsr()
            form, outer = {-1: (sparse.csc_matrix, n), -2: (sparse.csr_matrix, m)}[nz]
            made = form((x[: p[outer]], i[: p[outer]], p[: outer + 1]), shape=(m, n))
            made.check_format(full_check=True)
        except (ValueError, LookupError) as error:
            raise DatasetError(self.path, where, f"no matrix of CSparse with nz = {nz} ({error})") from error
        return made.tocsr()


def _read_friction_group(group: _Group, local: bool) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Return the friction problem of an FCLIB group: local (W, q), dense if small or full, or global (M, H)."""
    dim = group.whole("spacedim")
    if dim not in (2, 3):
        raise DatasetError(group.path, f"{group.name}/spacedim", f"{dim}, wanted 2 or 3")
    mu = group.array("vectors/mu")
    m = dim * mu.size
    with blaming(group.path, group.name):
        if local:
            q, W = group.array("vectors/q", length=m), group.matrix("W", m, m)
            return lcp.FrictionProblem(W.toarray() if m <= 30 or W.nnz > m * m // 2 else W, q, mu, dim)
        f, w = group.array("vectors/f"), group.array("vectors/w", length=m)
        n = int(f.size)
        M, H = group.matrix("M", n, n), group.matrix("H", n, m)
        G = b = None
        if group.has("G"):
            b = group.array("vectors/b")
            G = group.matrix("G", n, int(b.size))
        return lcp.GlobalFrictionProblem(M, H, f, w, mu, dim, G, b)


def save_fclib(
    path: str | Path,
    problem: lcp.FrictionProblem | lcp.GlobalFrictionProblem,
    *,
    title: str = "",
    description: str = "",
) -> Path:
    """Write a problem that `load_fclib` and FCLIB can read; the suffix ``.hdf5`` is added if missing.

    Raises
    ------
    lcp.ProblemError
        Contacts have different dimensions, or one component, which the layout does not support.
    """
    import h5py

    path = Path(path)
    path = path if path.suffix in (".hdf5", ".h5") else path.with_name(path.name + ".hdf5")
    dims = np.unique(problem.dims)
    if dims.size != 1 or dims[0] not in (2, 3):
        raise lcp.ProblemError(f"FCLIB holds problems of 2 or of 3 components alone, got dims {dims.tolist()}")
    local = isinstance(problem, lcp.FrictionProblem)
    with h5py.File(path, "w") as file:
        group = file.create_group(LOCAL if local else GLOBAL)
        group["spacedim"] = np.array([dims[0]], dtype=np.int32)
        info = group.create_group("info")
        for name, text in (("title", title), ("description", description), ("math_info", "")):
            info[name] = np.bytes_((text or " ").encode("ascii", "replace"))
        vectors = group.create_group("vectors")
        vectors["mu"] = problem.mu
        if isinstance(problem, lcp.FrictionProblem):
            _write_matrix(group, "W", problem.W)
            vectors["q"] = problem.q
            return path
        _write_matrix(group, "M", problem.M)
        _write_matrix(group, "H", problem.H)
        vectors["f"], vectors["w"] = problem.f, problem.w
        if problem.b.size:
            _write_matrix(group, "G", problem.G)
            vectors["b"] = problem.b
    return path


def _write_matrix(group: Any, name: str, matrix: Any) -> None:
    """Write a matrix to a new subgroup, compressed by columns."""
    from scipy import sparse

    columns = sparse.csc_matrix(matrix)
    part = group.create_group(name)
    entries = (("m", [columns.shape[0]]), ("n", [columns.shape[1]]), ("nz", [-1]), ("nzmax", [columns.nnz]))
    for key, value in (*entries, ("p", columns.indptr), ("i", columns.indices)):
        part[key] = np.array(value, dtype=np.int32)
    part["x"] = np.asarray(columns.data, dtype=np.float64)
