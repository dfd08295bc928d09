"""Files of compiled kernels on disk: damaged or foreign ones are compiled again without a message.

numba's index is one pickle of all signatures, and numbers its files. So a truncated file ends in ``EOFError``,
overwritten code in SIGILL, and a signature with a class of a user's script in ``ModuleNotFoundError`` for other
programs. Of two processes that compile at the same time one can get the other's code. Here the name of a code file has
the digest of its content, the index begins with the digest of the rest, and each signature is read separately.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import json
import os
import pickle
import re
import sys
import time
import uuid
import warnings
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lcp.compiler.releases import machine

__all__ = [
    "KernelFile",
    "VARIABLE",
    "build_tag",
    "cache_folder",
    "export_kernels",
    "known",
    "read_code",
    "remove_unused",
    "seed_file",
]


_ORPHAN_AGE = 2592000.0
"""Seconds after which code that no index names is removed: other kernels, and other processes, can still name it."""


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class KernelFile:
    """Index and code of one kernel, in place of numba's ``IndexDataCacheFile``.

    Parameters
    ----------
    folder, base
        Folder of the files, and the beginning of their names.
    stamp
        Stamp of sources and compiler: code with another stamp is not used.
    dumps
        Function that pickles signatures and code.
    owners
        Users whose files are read, in addition to this user's.
    """

    def __init__(
        self,
        folder: str,
        base: str,
        stamp: tuple[str, ...],
        dumps: Callable[[Any], bytes],
        owners: tuple[int, ...] = (),
    ) -> None:
        self._folder, self._base, self._stamp, self._dumps = Path(folder), base, list(stamp), dumps
        self._index, self._owners = f"{base}.nbi", owners

    def _read(self, name: str) -> bytes | None:
        """Return the contents of a file of the folder, or None if it is missing or can be written by other users."""
        try:
            with (self._folder / name).open("rb") as file:
                return file.read() if is_private(os.fstat(file.fileno()), *self._owners) else None
        except OSError:
            return None

    def _entries(self) -> list[tuple[bytes, str]]:
        """Return signatures, each pickled separately, and the names of their code."""
        data = self._read(self._index) or b""
        head, _, body = data.partition(b"\n")
        if head != _digest(body).encode():
            return []
        index = json.loads(body)
        if index["stamp"] != self._stamp:
            return []
        return [(b64decode(key), name) for key, name in index["entries"]]

    @staticmethod
    def _unpickled(data: bytes) -> Any:
        # A signature can contain classes of modules that this process lacks; reading one can raise any error.
        try:
            return pickle.loads(data)
        except Exception:  # noqa: BLE001
            return None

    def load(self, key: Any) -> tuple[str, Any]:
        """Return the file's name and the code stored for ``key``; ("", None) if there is none, or if it is damaged."""
        for pickled, name in self._entries():
            if self._unpickled(pickled) == key:
                touch(self._folder)
                return name, self.read_code(name)
        return "", None

    def read_code(self, name: str) -> Any:
        """Return the code in a file of this kernel, or None if it is missing or damaged."""
        data = self._read(name)
        return None if data is None or name != self._name_of(data) else self._unpickled(data)

    def copy_to(self, part: Path) -> bool:
        """Copy the stored code to the folder of the same name in another one; return True if there was any."""
        found = {key: (name, self._read(name)) for key, name in self._entries()}
        sound = {key: (name, code) for key, (name, code) in found.items() if code and name == self._name_of(code)}
        if not sound:
            return False
        folder = part / self._folder.name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        other = KernelFile(str(folder), self._base, tuple(self._stamp), self._dumps)
        for name, code in sound.values():
            other._write(name, code)
        other._save_entries(list({**dict(other._entries()), **{key: name for key, (name, _) in sound.items()}}.items()))
        return True

    def save(self, key: Any, data: Any) -> str:
        """Save ``data`` under ``key``, and return its file's name; code first, so that no index names missing code."""
        dumped = self._dumps(data)
        name = self._name_of(dumped)
        self._write(name, dumped)
        kept = [(pickled, other) for pickled, other in self._entries() if self._unpickled(pickled) != key]
        self._save_entries([*kept, (self._dumps(key), name)])
        return name

    def _save_entries(self, entries: list[tuple[bytes, str]]) -> None:
        """Write the index of (key, file name) with its stamp and digest, and remove files that are not in it."""
        rows = [[b64encode(key).decode(), name] for key, name in entries]
        body = json.dumps({"stamp": self._stamp, "entries": rows}).encode()
        self._write(self._index, _digest(body).encode() + b"\n" + body)
        self._remove_orphans({name for _, name in entries})

    def _remove_orphans(self, named: set[str]) -> None:
        """Remove code of earlier sources, and partial files of killed processes."""
        for path in self._folder.glob(f"{glob.escape(self._base)}.*"):
            with contextlib.suppress(OSError):
                if path.name not in (*named, self._index) and path.stat().st_mtime < time.time() - _ORPHAN_AGE:
                    path.unlink()

    def _write(self, name: str, data: bytes) -> None:
        """Write a file completely or not at all."""
        part = self._folder / f"{name}.{uuid.uuid4().hex}"
        try:
            part.write_bytes(data)
            # Independent of the default permissions: files that others can write to are not read.
            part.chmod(0o644)
            part.replace(self._folder / name)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def _name_of(self, data: bytes) -> str:
        return f"{self._base}.{_digest(data)}.nbc"


VARIABLE = "CONTACTLAB_KERNELS"
_ROOT = 0

#: The files of all kernels of this process.
known: list[KernelFile] = []


@functools.cache
def _seed() -> Path | None:
    """Return the seed's folder for this build of kernels, or None without a seed.

    Refuse, with a message, a seed for another build, and one that other users own or may write to.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    part = folder / build_tag()
    try:
        parts = sorted(other.name for other in folder.iterdir())
        if part.name not in parts:
            return _refused(folder, f"it is for {', '.join(parts) or 'nothing'}, and this is {part.name}")
        if not (is_private(folder.stat(), _ROOT) and is_private(part.stat(), _ROOT)):
            fix = f"`chmod -R go-w {folder}`"
            return _refused(folder, f"another user owns it or may write to it, and what stands there is run; {fix}")
    except OSError as error:
        return _refused(folder, str(error))
    return part


@functools.cache
def _refused(folder: Path, why: str) -> None:
    """Warn once that a seed, or a part of it, is not used, with the reason."""
    warnings.warn(
        f"kernels are not taken from {folder}, which {VARIABLE} names: {why}. `contactlab warmup --export {folder}` "
        "writes them anew",
        RuntimeWarning,
        stacklevel=3,
    )


def seed_file(place: str, base: str, stamp: tuple[str, ...], dumps: Callable[[Any], bytes]) -> KernelFile | None:
    """Return the seed's file of one kernel, from the folder ``place`` in it, or None without a seed.

    Refuse, with a message, a folder that other users own or may write to, and a seed of other sources.
    """
    part = _seed()
    if part is None:
        return None
    folder = part / place
    try:
        status = folder.stat()
    except OSError:
        if any(part.glob(f"{place.rpartition('-')[0]}-*")):
            _refused(part.parent, "it was written by another version of the sources")
        return None
    if not is_private(status, _ROOT):
        _refused(part.parent, "another user owns a part of it or may write to it, and what stands there is run")
        return None
    return KernelFile(str(folder), base, stamp, dumps, owners=(_ROOT,))


def read_code(place: str, name: str) -> Any:
    """Return the code in the file ``name`` of the folder ``place``, from the seed or the cache; None without it."""
    base = name.rsplit(".", 2)[0]
    file = seed_file(place, base, (), pickle.dumps)
    code = None if file is None else file.read_code(name)
    if code is None and (root := cache_folder()) is not None:
        code = KernelFile(os.path.join(root, build_tag(), place), base, (), pickle.dumps).read_code(name)
    return code


def export_kernels(into: Path) -> int:
    """Copy the stored code of all kernels of this process; return the number of kernels.

    Code there for other versions or processors remains; code for this one is extended.
    """
    part = into / build_tag()
    part.mkdir(parents=True, exist_ok=True)
    for folder in (into, part):
        folder.chmod(0o755)
    return sum(file.copy_to(part) for file in known)


#: Maximum bytes of compiled code. One version of all sources takes a tenth of it.
MOST = 1 << 30
# Seconds within which a folder counts as in use, and after which its use is recorded again.
_IN_USE, _NOTED = 3600.0, 86400.0


def is_private(status: os.stat_result, *owners: int) -> bool:
    """Return True if only this user, or one of the named ones, can write to a folder or file: its code is executed."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), *owners) and not status.st_mode & 0o022


def _places() -> list[str]:
    """Return folders for data that can be made again, in order of preference."""
    named = [os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")]
    if sys.platform == "win32":
        named.append(os.environ.get("LOCALAPPDATA"))
    of_system = os.path.join("Library", "Caches") if sys.platform == "darwin" else ".cache"
    named.append(os.path.join(os.path.expanduser("~"), of_system))
    return [place for place in named if place and os.path.isabs(place)]


@functools.cache
def cache_folder() -> str | None:
    """Return the first folder to which only this user can write, or None (kernels then compile in memory)."""
    import tempfile

    for place in _places():
        folder = os.path.join(place, "contactlab-kernels")
        try:
            os.makedirs(place, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not is_private(os.stat(folder)):
                warnings.warn(
                    f"compiled kernels are neither taken from {folder} nor kept there: another user owns it or may "
                    f"write to it, and what stands there is run; `chmod go-w {folder}`, or remove it",
                    RuntimeWarning,
                    stacklevel=2,
                )
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@functools.cache
def build_tag() -> str:
    """Return the versions and the machine of compiled code, as the name of a folder."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config

    python = f"{sys.implementation.name}{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    numbers = "numpy" + ".".join(np.__version__.split(".")[:2])
    names = [python, f"numba{numba.__version__}", f"llvmlite{llvmlite.__version__}", numbers]
    triple, *processor = machine()
    # Other options of numba for all code.
    told = (int(config.OPT), config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.DEBUGINFO_DEFAULT)
    if len(processor) > 1 or told != (3, None, 1, 0, 0):
        processor = [processor[0], hashlib.sha256(repr((processor, told)).encode()).hexdigest()[:8]]
    return "_".join(re.sub(r"[^\w.-]", "-", name) for name in (*names, triple, *processor))


def touch(folder: Path) -> None:
    """Record the use of a folder: the longest unused ones are removed first."""
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > _NOTED:
            os.utime(folder)


@functools.cache
def remove_unused(root: str, most: int = MOST) -> None:
    """Remove the longest unused folders below ``root`` until at most ``most`` bytes remain; once per process."""
    import shutil

    sizes: dict[str, int] = {}
    used: dict[str, float] = {}
    for folder, _, files in os.walk(root):
        with contextlib.suppress(OSError):
            if files:
                sizes[folder] = sum(os.stat(os.path.join(folder, name)).st_size for name in files)
                used[folder] = os.stat(folder).st_mtime
    excess = sum(sizes.values()) - most
    for folder in sorted(used, key=used.__getitem__):
        if excess <= 0 or used[folder] > time.time() - _IN_USE:
            return
        shutil.rmtree(folder, ignore_errors=True)
        excess -= sizes[folder]
