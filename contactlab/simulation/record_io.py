"""Records on disk: chunk files while a run lasts, one packed ``.npz`` when it is done.

A run recorded at ``run.npz`` keeps its chunks in ``run.npz.chunks/``: ``meta.json`` (world, stepper, versions) and
``chunk_000000.npz``, ``chunk_000001.npz``, ... Every file appears whole or not at all (written beside its place, then
renamed). At the end they are packed into ``run.npz`` and the folder is removed; a run that was stopped leaves the
folder, and it opens like the file.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import time
import zipfile
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab import __version__
from contactlab.simulation.errors import RecordError
from contactlab.simulation.record import Recording, row_lengths
from contactlab.simulation.record_schema import SCHEMA, Rows, check_rows, join_rows
from contactlab.simulation.world_io import stepper_from_json, stepper_to_json, world_from_json, world_to_json

if TYPE_CHECKING:
    from contactlab.simulation.time_stepping import TimeStepping
    from contactlab.simulation.world import World

__all__ = ["RecordWriter", "environment", "open_recording", "save_recording"]

FORMAT = "contactlab.Recording"
META = "meta"
META_FILE = "meta.json"

# A chunk file is written when this much has gathered, or this long has passed.
FILE_BYTES = 4_000_000
FILE_SECONDS = 1.0

# What numpy and zipfile raise for a file that is cut short, is no zip, holds pickles or lies about its sizes.
_UNREADABLE = (ValueError, EOFError, KeyError, OSError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)


def environment() -> dict[str, str]:
    """Return what the bits of a record depend on besides its input."""
    return dict(_environment())


@functools.cache
def _environment() -> dict[str, str]:
    versions = {"contactlab": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in ("numpy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    versions["jit"] = "off" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "on"
    return versions


class RecordWriter:
    """Writes the pieces of one run.

    Parameters
    ----------
    path
        Place of the packed record. Chunks of an earlier unfinished run there are discarded.
    world, stepper
        Of the run.
    """

    def __init__(self, path: Path, world: World, stepper: TimeStepping) -> None:
        if path.is_dir():
            # Found now rather than when hours of simulation are to be packed.
            raise RecordError(path, "", "is a folder; the packed record is a file")
        self.path = path
        self.folder = chunk_folder(path)
        self._pending: list[Rows] = []
        self._lengths = row_lengths(world, stepper)
        self._files = 0
        self._last = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clear()
        text = _meta_text(world, stepper, environment(), repr(stepper.lcp_solver))
        _write_whole(self.folder / META_FILE, text.encode())

    def add(self, rows: Rows) -> None:
        """Keep a piece, and write a file when enough has gathered."""
        self._pending.append(rows)
        size = sum(array.nbytes for piece in self._pending for array in piece.values())
        if size >= FILE_BYTES or time.monotonic() - self._last >= FILE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        if not self._pending:
            return
        _write_arrays(self.folder / f"chunk_{self._files:06d}.npz", join_rows(self._pending, self._lengths))
        self._files += 1
        self._pending.clear()
        self._last = time.monotonic()

    def pack(self) -> Recording:
        """Write the packed record, remove the chunks, and return the record."""
        self.flush()
        recording = open_recording(self.folder)
        save_recording(self.path, recording)
        self._clear()
        self.folder.rmdir()
        return recording

    def _clear(self) -> None:
        # The description first: without it the folder is no record, however far the removal gets.
        (self.folder / META_FILE).unlink(missing_ok=True)
        for file in self.folder.glob("chunk_*.npz"):
            file.unlink()


def chunk_folder(path: Path) -> Path:
    """Return the folder of chunks of the record at ``path``."""
    return path.with_name(path.name + ".chunks")


def save_recording(path: Path, recording: Recording) -> None:
    """Write a record to exactly this path, as one ``.npz``; whole or not at all."""
    meta = _meta_text(recording.world, recording.stepper, dict(recording.environment), recording.solver_description)
    _write_arrays(path, {META: np.array(meta), **recording.rows})


def open_recording(path: Path) -> Recording:
    """Open a record in either form; see `Recording.open`."""
    if path.is_dir():
        return _open_folder(path)
    folder = chunk_folder(path)
    if (folder / META_FILE).is_file():
        return _open_folder(folder)
    if not path.is_file():
        raise RecordError(path, "", "there is no such record")
    arrays = _read_arrays(path)
    if META not in arrays:
        raise RecordError(path, META, "is missing: the file is not a record")
    meta = _meta(path, str(arrays.pop(META)))
    return _recording(path, meta, arrays)


def _open_folder(folder: Path) -> Recording:
    try:
        text = (folder / META_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(folder, META_FILE, f"cannot be read ({error})") from error
    meta = _meta(folder / META_FILE, text)
    files = sorted(folder.glob("chunk_*.npz"))
    for i, file in enumerate(files):
        if file.name != f"chunk_{i:06d}.npz":
            raise RecordError(folder, f"chunk_{i:06d}.npz", "is missing")
    pieces = [_read_arrays(file) for file in files]
    world, stepper = _world_and_stepper(folder / META_FILE, meta)
    # Each piece by itself first: an error then names the file.
    for file, piece in zip(files, pieces, strict=True):
        for name, array in join_rows([], row_lengths(world, stepper)).items():
            if name not in piece or piece[name].shape[1:] != array.shape[1:] or piece[name].dtype != array.dtype:
                raise RecordError(file, name, "is missing, or of another type or shape than the record's")
    rows = join_rows(pieces, row_lengths(world, stepper))
    return _recording(folder, meta, rows)


def _recording(path: Path, meta: dict[str, Any], arrays: Rows) -> Recording:
    world, stepper = _world_and_stepper(path, meta)
    check_rows(arrays, row_lengths(world, stepper), path)
    for array in arrays.values():
        array.flags.writeable = False
    return Recording(world, stepper, arrays, meta["environment"], meta["solver"])


def _world_and_stepper(path: Path, meta: dict[str, Any]) -> tuple[World, TimeStepping]:
    try:
        return world_from_json(meta["world"]), stepper_from_json(meta["stepper"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(path, META, f"describes no world and stepper ({type(error).__name__}: {error})") from error


def _meta_text(world: World, stepper: TimeStepping, stamp: dict[str, str], solver: str) -> str:
    meta = {
        "format": FORMAT,
        "schema": SCHEMA,
        "environment": stamp,
        "solver": solver,
        "world": world_to_json(world),
        "stepper": stepper_to_json(stepper),
    }
    return json.dumps(meta, indent=1, allow_nan=False)


def _meta(path: Path, text: str) -> dict[str, Any]:
    try:
        meta = json.loads(text)
    except ValueError as error:
        raise RecordError(path, META, f"is not JSON ({error})") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise RecordError(path, META, f"does not describe a {FORMAT}")
    if meta.get("schema") != SCHEMA:
        raise RecordError(path, META, f"has schema {meta.get('schema')!r}; this release reads {SCHEMA}")
    if not isinstance(meta.get("environment"), dict) or not isinstance(meta.get("solver"), str):
        raise RecordError(path, META, "lacks the environment or the solver")
    return meta


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        if not zipfile.is_zipfile(path):
            raise RecordError(path, "", "is not an .npz file, or is cut short")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except RecordError:
        raise
    except _UNREADABLE as error:
        raise RecordError(path, "", f"cannot be read as an .npz file ({type(error).__name__}: {error})") from error


def _write_arrays(path: Path, arrays: dict[str, NDArray[Any]] | Rows) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_whole(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
