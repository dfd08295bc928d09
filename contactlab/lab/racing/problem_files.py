"""Problems of a race as files: every trial reads the same numbers, wherever it runs, and a race can be run again.

One `.npz` per problem, named by the hash of its contents: the name of its class and the arguments it is made of, a
sparse matrix as its three arrays. No pickle; the class is one of those that race.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.lab.errors import DatasetError
from contactlab.lab.racing.kinds import KINDS, kind_of
from problem_data.npz_files import NpzFile, Source, write_npz

_FORMAT = 1


def keep_problem(folder: Path, problem: Any) -> Path:
    """Write a problem into the folder, unless it stands there already, and return its file."""
    arrays: dict[str, Any] = {"format": np.int64(_FORMAT), "kind": np.str_(kind_of(problem).name)}
    _, arguments = problem.__reduce__()
    digest = hashlib.sha256(str(arrays["kind"]).encode())
    for i, argument in enumerate(arguments):
        for name, array in _parts(f"argument{i}", argument).items():
            arrays[name] = array
            digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    file = folder / f"{digest.hexdigest()[:32]}.npz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_npz(file, {name: Source.of(np.asarray(array)) for name, array in arrays.items()}, compress=True)
    return file


@functools.lru_cache(maxsize=8)
def read_problem(file: str) -> Any:
    """The problem of a file that `keep_problem` wrote; a `DatasetError` for another, or contents no problem has."""
    arrays = NpzFile(Path(file), DatasetError).read_all()
    form = arrays.get("format", np.zeros(0))
    if form.shape != () or form.dtype.kind not in "iu" or int(form) != _FORMAT:
        raise DatasetError(file, "format", f"must be {_FORMAT}; the file is of another version")
    kinds = {kind.name: kind.problem for kind in KINDS}
    name = str(arrays.get("kind", ""))[:80]
    if name not in kinds:
        raise DatasetError(file, "kind", f"{name!r} is none of {', '.join(kinds)}")
    arguments: list[Any] = []
    try:
        while (argument := _argument(arrays, f"argument{len(arguments)}")) is not None:
            arguments.append(argument)
        return kinds[name](*arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(file, "", f"{type(error).__name__}: {error}") from error


def _parts(name: str, value: Any) -> dict[str, Any]:
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        return {
            f"{name}_data": matrix.data,
            f"{name}_indices": matrix.indices.astype(np.int64),
            f"{name}_indptr": matrix.indptr.astype(np.int64),
            f"{name}_shape": np.array(matrix.shape, dtype=np.int64),
        }
    return {name: np.asarray(value)}


def _argument(arrays: dict[str, Any], name: str) -> Any:
    if name in arrays:
        return arrays[name]
    if f"{name}_data" not in arrays:
        return None
    from scipy.sparse import csr_array

    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    rows, columns = (int(k) for k in arrays[f"{name}_shape"])
    return csr_array((data, indices, indptr), shape=(rows, columns))
