"""Reading arrays out of an `.npz` nobody vouches for."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.errors import DatasetError

__all__ = ["entry", "read_arrays", "require_array", "require_finite"]


def read_arrays(path: str | Path) -> dict[str, NDArray[np.generic]]:
    """Return every array of an `.npz`, or raise a `DatasetError` that names the file and the member at fault.

    Nothing is unpickled: a file that holds Python objects is refused.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(path, "", "no such file" if not path.exists() else "not a file")
    arrays: dict[str, NDArray[np.generic]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                arrays[member.removesuffix(".npy")] = _read_member(path, archive, member)
    # NotImplementedError: zipfile on a version number it does not know.
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise DatasetError(path, "", f"not an .npz file, or a truncated one ({error})") from error
    return arrays


def _read_member(path: Path, archive: zipfile.ZipFile, member: str) -> NDArray[np.generic]:
    """Return one array; its checksum is tested before its header is believed."""
    if not member.endswith(".npy"):
        raise DatasetError(path, member, "foreign member: an .npz holds .npy arrays only")
    name = member.removesuffix(".npy")
    try:
        stream = io.BytesIO(archive.read(member))
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise DatasetError(path, name, f"damaged ({error})") from error
    try:
        array: NDArray[np.generic] = np.lib.format.read_array(stream, allow_pickle=False)
    # What numpy's header parser raises on a foreign one; MemoryError: a shape no memory holds.
    except (ValueError, EOFError, MemoryError, OverflowError, tokenize.TokenError) as error:
        raise DatasetError(path, name, f"not a readable array ({error})") from error
    return array


def require_array(
    path: Path,
    arrays: Mapping[str, NDArray[np.generic]],
    name: str,
    shape: tuple[int | None, ...],
    *,
    integer: bool = False,
) -> NDArray[np.generic]:
    """Return the array ``name`` as contiguous float64 (or int64), of the given shape (None: any length)."""
    if name not in arrays:
        raise DatasetError(path, name, "missing array")
    value = arrays[name]
    kinds, wanted = ("iu", "integers") if integer else ("fiu", "real numbers")
    if value.dtype.kind not in kinds:
        raise DatasetError(path, name, f"dtype {value.dtype}, expected {wanted}")
    if value.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
        expected = (
            "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
        )
        raise DatasetError(path, name, f"shape {value.shape}, expected {expected}")
    return np.ascontiguousarray(value, dtype=np.int64 if integer else np.float64).reshape(value.shape)


def require_finite(path: Path, name: str, value: NDArray[np.generic]) -> None:
    """Raise on the first entry that is NaN or infinite."""
    bad = np.argwhere(~np.isfinite(np.asarray(value, dtype=np.float64)))
    if len(bad):  # not bad.size: the index of a scalar's only entry has no entries
        index = tuple(int(i) for i in bad[0])
        raise DatasetError(path, entry(name, index), f"{value[index]} is not a finite number")


def entry(name: str, index: tuple[int, ...]) -> str:
    """Return ``name[i, j]``, or ``name`` for a scalar."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name
