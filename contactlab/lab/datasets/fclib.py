"""Friction problems in FCLIB's HDF5 layout, local (W, q) and global (M, H, f, w), in the plane and in space.

V. Acary, M. Bremond, T. Koziara, F. Perignon, "FCLIB: a collection of discrete 3D frictional contact problems", INRIA
RT-444 (2014). Needs h5py (extra ``lab``). Matrices are those of CSparse: ``nz >= 0`` triplets, ``-1`` compressed
columns, ``-2`` compressed rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lcp
from contactlab.lab.datasets.npz import require
from contactlab.lab.errors import DatasetError
from problem_data.files import ARRAY_BYTES

LOCAL, GLOBAL = "fclib_local", "fclib_global"
# Numbers in one array above which a file is refused: a part of what all may take.
MOST_NUMBERS = ARRAY_BYTES // 16


def load_fclib(path: str | Path) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    """Read a problem. Guesses and solutions in the file are passed over.

    Raises
    ------
    DatasetError
        Naming the file, the entry and what is wrong: not HDF5, neither a local nor a global problem, a missing entry,
        sizes that do not fit one another, an index out of range, a value that is not finite.
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
            return _problem(_Group(path, file[kinds[0]], kinds[0]), kinds[0] == LOCAL)
    except (OSError, RuntimeError, KeyError) as error:
        raise DatasetError(path, "", f"not a readable HDF5 file ({error})") from error


class _Group:
    """A group whose arrays are checked as they are read."""

    def __init__(self, path: Path, group: Any, name: str) -> None:
        self.path, self.group, self.name = path, group, name

    def has(self, name: str) -> bool:
        return name in self.group

    def array(self, name: str, *, integer: bool = False, length: int | None = None) -> Any:
        import h5py

        where = f"{self.name}/{name}"
        # An external or soft link is not followed: it may lead out of the file.
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
        value = self.array(name, integer=True)
        if value.size < 1:
            raise DatasetError(self.path, f"{self.name}/{name}", "empty, wanted one number")
        return int(value[0])

    def matrix(self, name: str, rows: int, columns: int) -> Any:
        from scipy import sparse

        where = f"{self.name}/{name}"
        m, n, nz = (self.whole(f"{name}/{key}") for key in ("m", "n", "nz"))
        for wanted, size, what in ((rows, m, "rows"), (columns, n, "columns")):
            if size != wanted:
                raise DatasetError(self.path, where, f"{size} {what}, wanted {wanted}")
        p, i, x = (self.array(f"{name}/{key}", integer=key != "x") for key in "pix")
        if nz >= 0:
            if min(p.size, i.size, x.size) < nz:
                raise DatasetError(self.path, where, f"{nz} entries announced, {min(p.size, i.size, x.size)} there")
            p, i, x = p[:nz], i[:nz], x[:nz]
            self._within(where, "p", p, n)
            self._within(where, "i", i, m)
            return sparse.coo_matrix((x, (i, p)), shape=(m, n)).tocsr()
        if nz not in (-1, -2):
            raise DatasetError(self.path, f"{where}/nz", f"{nz}, wanted >= 0 (triplets), -1 (columns) or -2 (rows)")
        outer, inner = (n, m) if nz == -1 else (m, n)
        if p.size < outer + 1:
            raise DatasetError(self.path, f"{where}/p", f"length {p.size}, wanted {outer + 1}")
        p = p[: outer + 1]
        if p[0] != 0 or (np.diff(p) < 0).any() or p[-1] > min(i.size, x.size):
            raise DatasetError(self.path, f"{where}/p", f"must rise from 0 to at most {min(i.size, x.size)}")
        i, x = i[: p[-1]], x[: p[-1]]
        self._within(where, "i", i, inner)
        place = np.repeat(np.arange(outer), np.diff(p))
        at = (i, place) if nz == -1 else (place, i)
        return sparse.coo_matrix((x, at), shape=(m, n)).tocsr()

    def _within(self, where: str, key: str, index: Any, size: int) -> None:
        inside = (index >= 0) & (index < size)
        require(self.path, f"{where}/{key}", inside, lambda at: f"{index[at]}, wanted 0 to {size - 1}")


def _problem(group: _Group, local: bool) -> lcp.FrictionProblem | lcp.GlobalFrictionProblem:
    dim = group.whole("spacedim")
    if dim not in (2, 3):
        raise DatasetError(group.path, f"{group.name}/spacedim", f"{dim}, wanted 2 or 3")
    mu = group.array("vectors/mu")
    m = dim * mu.size
    try:
        if local:
            q, W = group.array("vectors/q", length=m), group.matrix("W", m, m)
            dense = m <= 30 or W.nnz > m * m // 2
            return lcp.FrictionProblem(W.toarray() if dense else W, q, mu, dim)
        f, w = group.array("vectors/f"), group.array("vectors/w", length=m)
        n = int(f.size)
        M, H = group.matrix("M", n, n), group.matrix("H", n, m)
        G = b = None
        if group.has("G"):
            b = group.array("vectors/b")
            G = group.matrix("G", n, int(b.size))
        return lcp.GlobalFrictionProblem(M, H, f, w, mu, dim, G, b)
    except lcp.ProblemError as error:
        raise DatasetError(group.path, group.name, str(error)) from error


def save_fclib(
    path: str | Path,
    problem: lcp.FrictionProblem | lcp.GlobalFrictionProblem,
    *,
    title: str = "",
    description: str = "",
) -> Path:
    """Write a problem that `load_fclib` and FCLIB read; the ending ``.hdf5`` is added if there is none.

    Raises
    ------
    lcp.ProblemError
        Contacts of different dimensions, or of one component: the layout has no place for them.
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
            _write(group, "W", problem.W)
            vectors["q"] = problem.q
            return path
        _write(group, "M", problem.M)
        _write(group, "H", problem.H)
        vectors["f"], vectors["w"] = problem.f, problem.w
        if problem.b.size:
            _write(group, "G", problem.G)
            vectors["b"] = problem.b
    return path


def _write(group: Any, name: str, matrix: Any) -> None:
    from scipy import sparse

    columns = sparse.csc_matrix(matrix)
    part = group.create_group(name)
    entries = (("m", [columns.shape[0]]), ("n", [columns.shape[1]]), ("nz", [-1]), ("nzmax", [columns.nnz]))
    for key, value in (*entries, ("p", columns.indptr), ("i", columns.indices)):
        part[key] = np.array(value, dtype=np.int32)
    part["x"] = np.asarray(columns.data, dtype=np.float64)
