"""Arrays of an ``.npz`` that nobody vouches for, each checked as it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.errors import DatasetError
from problem_data.files import NpzFile

#: What somebody may well have, and what is not read here.
_OTHERS = (".csv", ".tsv", ".txt", ".json", ".mat")


class Arrays:
    """The arrays of a file, all of them read and met by their checksums.

    A `DatasetError` names the file, the array and its first offending entry: not an `.npz` or a truncated one; from the
    methods, a missing array, a wrong shape or dtype, NaN or infinity.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._arrays = _open(self.path).read_all()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def ndim(self, name: str) -> int:
        """Return the number of axes of an array, as it stands."""
        return self._arrays[name].ndim if name in self else 0

    def numbers(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Return an array of a shape (None: any length) as contiguous float64."""
        return self._required(name, shape, "fiu", "real numbers").astype(np.float64, copy=False)

    def integers(self, name: str, *shape: int | None) -> NDArray[np.int64]:
        """Return an array of a shape (None: any length) as contiguous int64."""
        return self._required(name, shape, "iu", "integers").astype(np.int64, copy=False)

    def floats(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Return `numbers` that are all finite."""
        value = self.numbers(name, *shape)
        require(self.path, name, np.isfinite(value), lambda at: f"{value[at]} is not a finite number")
        return value

    def positive(self, name: str) -> float:
        """Return one number > 0."""
        value = float(self.floats(name))
        if value <= 0.0:
            raise DatasetError(self.path, name, f"{value} is not positive")
        return value

    def _required(self, name: str, shape: tuple[int | None, ...], kinds: str, wanted: str) -> NDArray[np.generic]:
        if name not in self:
            raise DatasetError(self.path, name, "missing array")
        value = self._arrays[name]
        if value.dtype.kind not in kinds:
            raise DatasetError(self.path, name, f"dtype {value.dtype}, expected {wanted}")
        if value.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
            lengths = ", ".join("any" if n is None else str(n) for n in shape)
            expected = f"({lengths}{',' if len(shape) == 1 else ''})"
            raise DatasetError(self.path, name, f"shape {value.shape}, expected {expected}")
        return value


def array_names(path: Path) -> AbstractSet[str]:
    """Return the names of the arrays of a file; of another kind of file a `DatasetError`."""
    return _open(path).members.keys()


def files_with(path: Path, *names: str) -> list[Path]:
    """Return the file, or those of the ``.npz`` files in a folder, that hold arrays of all these names."""
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    return [file for file in files if array_names(file) >= set(names)]


def file_with(path: Path, what: str, *names: str) -> Path | None:
    """Return the only one of `files_with`, None if there is none; several, ``what`` in words, are an error."""
    files = files_with(path, *names)
    if len(files) > 1:
        raise DatasetError(path, "", f"expected one .npz {what}, found {', '.join(file.name for file in files)}")
    return files[0] if files else None


def require(path: Path, name: str, holds: NDArray[np.bool_], detail: Callable[[tuple[int, ...]], str]) -> None:
    """Raise a `DatasetError` with the first entry for which a condition does not hold, as ``name[i, j]``.

    ``detail`` says of an index what is wrong there.
    """
    bad = np.argwhere(~holds)
    if len(bad):  # not bad.size: the index of a scalar's only entry has no entries
        index = tuple(bad[0].tolist())
        raise DatasetError(path, f"{name}[{', '.join(map(str, index))}]" if index else name, detail(index))


def _open(path: Path) -> NpzFile:
    if not path.is_file():
        raise DatasetError(path, "", "no such file" if not path.exists() else "not a file")
    if path.suffix.lower() in _OTHERS:
        detail = "is not an .npz: write one by numpy.savez, with the arrays that the help of the command names"
        raise DatasetError(path, "", f"{detail} (docs/validation.md has an example)")
    return NpzFile(path, DatasetError)
