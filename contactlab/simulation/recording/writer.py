"""Writing the record of a run while it lasts, and continuing a stopped one; one process at a time, by a lock."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import shutil
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from contactlab.simulation.recording import Recording, environment, environment_changes
from contactlab.simulation.recording.record import RecordError, state_after
from contactlab.simulation.recording.storage import (
    META_FILE,
    check_files,
    chunk_files,
    chunk_folder,
    is_record,
    meta_text,
    pack,
    read_meta,
    record_files,
    writing,
)
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.record_schema import (
    FIELDS,
    SCHEMA,
    TIMINGS,
    Rows,
    join_rows,
    row_lengths,
    start_rows,
)
from contactlab.simulation.world.world import StepperState, World
from problem_data.files import Source, partial_files, write_atomic, write_npz

# A chunk file is written when the rows have this size, whatever the time.
FILE_BYTES = 1 << 24
LOCK_FILE = "lock"

# Parts of a world that do not affect the motion.
LOOKS = {"visuals", "shown"}


class RecordWriter:
    """Writes the pieces of one run; made by `begin` or `resume`. A context manager that excludes other writers.

    ``start`` is the initial state of the record, ``done`` the number of its steps, ``state`` its last state, from which
    the run continues.
    """

    def __init__(
        self,
        path: Path,
        world: World,
        stepper: TimeStepping,
        meta: str,
        flush_seconds: float,
        *,
        start: StepperState,
        state: StepperState,
        done: int = 0,
        files: int = 0,
        packed: bool = False,
    ) -> None:
        self.start, self.state, self.done = start, state, done
        self.folder = chunk_folder(path)
        self._path, self._world = path, world
        self._meta = meta
        self.stepper = stepper  # with its numbers for the world
        self._lengths = row_lengths(world, stepper)
        self._flush_seconds = flush_seconds
        # Whether the record is in the packed file, and whether its folder is already the record of this run.
        self._packed, self._described = packed, False
        self._right = contextlib.ExitStack()
        # One value, so that files and pieces stay consistent under Ctrl-C.
        self._held: tuple[int, list[Rows]] = (files, [])
        self._last = time.monotonic()

    @classmethod
    def begin(
        cls,
        path: Path,
        world: World,
        stepper: TimeStepping,
        start: StepperState,
        *,
        flush_seconds: float,
        stamp: Mapping[str, str],
        overwrite: bool = False,
    ) -> RecordWriter:
        """Begin a record. ``overwrite`` discards the chunks of an earlier run; its packed record stays until `pack`.

        Raise `RecordError` if ``path`` is a folder, or exists and must not be overwritten; `RecordWriteError` if
        nothing can be written there.
        """
        stepper = stepper.in_world(world)
        meta = meta_text(world, stepper, {**environment(), **stamp}, stepper.solver_text)
        with _write_lock(_file_path(path)) as right:
            writer = cls(path, world, stepper, meta, flush_seconds, start=start, state=start)
            if not overwrite and (path.exists() or is_record(writer.folder)):
                what = (
                    "is there already"
                    if path.exists()
                    else f"is the record of a run that was stopped ({writer.folder})"
                )
                raise RecordError(path, "", f"{what}: `resume` continues it, `overwrite` replaces it")
            with writing(writer.folder):
                _clear(writer.folder)
            # The description comes last, because it makes the folder a record.
            writer._described = True
            writer.add(start_rows(world, start, writer._lengths))
            writer.flush()
            writer._describe()
            writer._right = right.pop_all()
        return writer

    @classmethod
    def resume(
        cls, path: Path, world: World, stepper: TimeStepping, *, with_tau: bool, flush_seconds: float
    ) -> RecordWriter | None:
        """Continue the record at ``path``, packed or not; return None if there is none.

        Nothing is written before there are new rows. ``with_tau``: whether forces are applied, which are recorded for
        all steps or for none.

        Raise `RecordError` if the record cannot be read, or is being written by another process. It is also raised,
        with the first difference, if the record has another world or stepper. Raise `RecordWriteError` if nothing can
        be written there.
        """
        folder = chunk_folder(_file_path(path))
        if not (path.is_file() or is_record(folder)):
            return None
        with _write_lock(path) as right:
            packed = not is_record(folder)
            if packed and not path.is_file():
                return None
            meta = read_meta(path if packed else folder)
            if isinstance(meta.get("stepper"), dict):
                # An older record: all its islands are solved, so it fits either option.
                meta["stepper"].setdefault("on_unsolved", stepper.on_unsolved)
                stepper = _with_numbers_of(stepper, meta["stepper"])
            _same_run(path, meta, json.loads(meta_text(world, stepper, {}, "")))
            files = record_files(path if packed else folder)
            check_files(files, row_lengths(world, stepper), folder)
            done = sum(file.members["h"].shape[0] for file in files)
            if done and with_tau != any(file.members["tau"].shape[0] for file in files):
                detail = "none are to be applied" if not with_tau else "they are to be applied from here on"
                raise RecordError(path, "tau", f"applied forces: {detail}, other than in the steps on record")
            meta["environment"] = _resumed(meta["environment"], done)
            meta["schema"] = SCHEMA  # added rows have all fields
            text = json.dumps(meta, indent=1, allow_nan=False)
            # A file may have no step, if a complete run was resumed.
            ends = files[0], next((file for file in reversed(files) if file.members["h"].shape[0]), files[0])
            first, last = (file.memory_map([name for name in FIELDS if name in file.members]) for file in ends)
            begun = {"start": state_after(first, 0, 0), "state": state_after(last, done, -1 if done else 0)}
            writer = cls(path, world, stepper, text, flush_seconds, **begun, done=done, files=len(files), packed=packed)
            writer._right = right.pop_all()
        return writer

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._right.close()

    def add(self, rows: Rows) -> None:
        """Collect rows of steps; write a chunk file when they are large enough or ``flush_seconds`` have passed."""
        if not rows["time"].size:
            return
        self._held[1].append(rows)
        size = sum(array.nbytes for piece in self._held[1] for array in piece.values())
        if size >= FILE_BYTES or time.monotonic() - self._last >= self._flush_seconds:
            self.flush()

    def flush(self) -> None:
        """Write the pieces in memory as a new chunk file; do nothing if there are none."""
        files, pieces = self._held
        if not pieces:
            return
        joined = {name: Source.of(array) for name, array in join_rows(pieces, self._lengths, FIELDS | TIMINGS).items()}
        if not self._described:
            self._describe()
        chunk = self.folder / f"chunk_{files:06d}.npz"
        with writing(chunk):
            write_npz(chunk, joined, compress=False)
        self._held = (files + 1, [])
        self._last = time.monotonic()

    def _describe(self) -> None:
        """Write the description, which makes the folder the record of this run."""
        with writing(self.folder):
            if self._packed:
                _clear(self.folder)
                _link(self._path, self.folder / "chunk_000000.npz")
            write_atomic(self.folder / META_FILE, self._meta.encode())
        self._described = True

    def pack(self) -> Recording:
        """Join the chunks in one file at the record's path, remove them, and return the record.

        Its world has the visuals of the run, with their meshes; the file has only the names of meshes.
        """
        self.flush()
        if self._described or not self._packed:
            pack(self._path, self._meta, chunk_files(self.folder), self._lengths)
        with writing(self.folder):
            _clear(self.folder)
        opened = Recording.open(self._path)
        # The file has only names of meshes; the world of the run has the meshes.
        visuals, owners = self._world.visuals, self._world.visual_bodies
        return replace(opened, world=replace(opened.world, visuals=visuals, visual_bodies=owners))


@contextlib.contextmanager
def _write_lock(path: Path) -> Iterator[contextlib.ExitStack]:
    """Lock the record at ``path`` for writing, and remove unfinished files of a run that was killed.

    The yielded stack releases the lock, and removes the folder of chunks if it is empty. It is closed when the context
    ends, unless the caller moves its callbacks (``pop_all``). Raise `RecordError` if another process writes the record.
    """
    folder = chunk_folder(path)
    with contextlib.ExitStack() as right:
        with writing(folder):
            try:
                lock = Lock(folder / LOCK_FILE)
            except LockHeldError as owner:
                raise RecordError(path, "", f"is being written by {owner}") from None
            right.callback(_leave, folder)
            right.callback(lock.release)
            # Unfinished files of a killed run.
            for file in (*partial_files(path), *folder.glob(".*.partial")):
                file.unlink(missing_ok=True)
        yield right


def _file_path(path: Path) -> Path:
    if path.is_dir():
        # Checked now, not after hours of simulation.
        raise RecordError(path, "", "is a folder; the packed record is a file")
    return path


def _leave(folder: Path) -> None:
    # The folder stays if the run is resumed, because it has the written chunks.
    with contextlib.suppress(OSError):
        folder.rmdir()


def _clear(folder: Path) -> None:
    # Remove the description first: without it the folder is not a record, even if the removal is interrupted.
    (folder / META_FILE).unlink(missing_ok=True)
    for file in folder.glob("chunk_*.npz"):
        file.unlink()


def _link(source: Path, target: Path) -> None:
    """Link a packed record as the first chunk, because it has the same arrays."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _same_run(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise `RecordError` with the first difference if world or stepper of two descriptions differ."""
    for part in ("world", "stepper"):
        found = _difference(part, old.get(part), new[part])
        if found is not None:
            name, a, b = found
            raise RecordError(path, name, f"is {a!r} in the record and {b!r} in this run: it is the record of another")


def _difference(name: str, a: Any, b: Any) -> tuple[str, Any, Any] | None:
    """Return the path and values of the first entry in which two JSON values differ, except in keys `LOOKS`, or None.

    ``name`` is the path of the values themselves.
    """
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() - LOOKS == b.keys() - LOOKS:
        pairs = [(f"{name}.{key}", a[key], b[key]) for key in a if key not in LOOKS]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(f"{name}[{i}]", *pair) for i, pair in enumerate(zip(a, b, strict=True))]
    else:
        return None if a == b else (name, a, b)
    return next((found for pair in pairs if (found := _difference(*pair)) is not None), None)


def _resumed(old: dict[str, str], done: int) -> dict[str, str]:
    """Add to a record's stamp the step at which it was resumed, and the changes since."""
    now = environment()
    changed = environment_changes(old, now)
    line = f"{now['date']} at step {done}" + (f" ({', '.join(changed)})" if changed else "")
    before = old.get("resumed")
    return {**old, "resumed": line if before is None else f"{before}; {line}"}


def _with_numbers_of(stepper: TimeStepping, recorded: dict[str, Any]) -> TimeStepping:
    """Return a stepper with the record's thresholds if it has none, so that the run continues unchanged.

    Older records have the same thresholds for angles as for lengths.
    """
    found: dict[str, Any] = {}
    for name, of_angles in (("margin", "angle_margin"), ("restitution_threshold", "angle_restitution_threshold")):
        recorded.setdefault(of_angles, None)
        if getattr(stepper, name) is None:
            found |= {key: recorded[key] for key in (name, of_angles) if isinstance(recorded.get(key), float)}
    return replace(stepper, **found) if found else stepper


_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_FAR = 1 << 30  # after the text, because Windows forbids reading the locked bytes


class LockHeldError(Exception):
    """Error for a locked folder; the text names the owner."""


class Lock:
    """Exclusive right to write in a folder, which is created if needed; held until `release`, or `LockHeldError`.

    It is a lock of the operating system on a file, released at the end of the process in any case. The file names the
    owner: process, host, start time. A file system without locks excludes nobody.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:
                continue  # the previous owner has just removed the folder
            self._close = weakref.finalize(self, os.close, handle)
            try:
                _acquire(handle)
                # The previous owner may have removed the file between the two lines above: then the lock is void.
                if os.path.samestat(os.fstat(handle), path.stat()):
                    break
            except FileNotFoundError:
                pass
            except BaseException:
                self._close()
                raise
            self._close()

    def release(self) -> None:
        """Release the lock, and remove the file."""
        if self._close.alive:
            try:
                with contextlib.suppress(OSError):
                    self._path.unlink()
            finally:
                self._close()


def _acquire(handle: int) -> None:
    """Lock an open file without waiting, and write process, host and time into it; raise `LockHeldError`."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            os.lseek(handle, 0, os.SEEK_SET)
            owner = os.read(handle, 1000).decode(errors="replace").split()
            text = "process {} on {} since {}".format(*owner) if len(owner) == 3 else "another process"
            raise LockHeldError(text) from None
        if error.errno not in _NO_LOCKS:
            raise
    # A full disk does not prevent the lock.
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        os.write(handle, f"{os.getpid()} {platform.node()} {since}\n".encode())
