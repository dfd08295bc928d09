"""Files of compiled kernels on disk: what is damaged, of another version or not this user's is compiled again, in silence.

numba's own index is one pickle of all signatures and numbers its files, so that a cut file ends in ``EOFError``, overwritten
code in SIGILL, a signature with a class of somebody's test in ``ModuleNotFoundError`` for everybody else, and two processes
that compile at once may give one the other's code.  Here a file of code bears the digest of what it holds in its name, the
index begins with the digest of the rest, and each signature is read for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import time
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

__all__ = ["KernelFile"]

_ORPHAN_AGE = 3600.0
"""Seconds after which code that no index names is removed; a younger file may be another process's, about to be named."""


def _own(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class KernelFile(IndexDataCacheFile):
    """Index and code of one kernel: ``load`` returns None for whatever is not what ``save`` wrote."""

    def _read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read() if _own(os.fstat(file.fileno())) else None
        except OSError:
            return None

    def _entries(self) -> list[tuple[bytes, str]]:
        """Signatures, each pickled for itself, and the names of their code."""
        data = self._read(self._index_path) or b""
        head, _, body = data.partition(b"\n")
        if head != _digest(body).encode():
            return []
        index = json.loads(body)
        if index["numba"] != self._version or index["stamp"] != self._source_stamp:
            return []
        return [(b64decode(key), name) for key, name in index["entries"]]

    @staticmethod
    def _unpickled(data: bytes) -> Any:
        # A signature may hold classes of modules that this process does not have; reading one raises anything at all.
        try:
            return pickle.loads(data)
        except Exception:
            return None

    def load(self, key: Any) -> Any:
        """Return the code stored for ``key``, or None."""
        for pickled, name in self._entries():
            if self._unpickled(pickled) == key:
                data = self._read(self._data_path(name))
                sound = data is not None and name == self._name_of(data)
                return self._unpickled(data) if sound and data is not None else None
        return None

    def save(self, key: Any, data: Any) -> None:
        """Store ``data`` under ``key``; code first, so that no index names what is not there."""
        dumped = self._dump(data)
        name = self._name_of(dumped)
        self._write(self._data_path(name), dumped)
        kept = [(pickled, other) for pickled, other in self._entries() if self._unpickled(pickled) != key]
        self._save_entries([*kept, (self._dump(key), name)])

    def flush(self) -> None:
        """Forget all that is stored."""
        self._save_entries([])

    def _save_entries(self, entries: list[tuple[bytes, str]]) -> None:
        rows = [[b64encode(key).decode(), name] for key, name in entries]
        body = json.dumps({"numba": self._version, "stamp": self._source_stamp, "entries": rows}).encode()
        self._write(self._index_path, _digest(body).encode() + b"\n" + body)
        self._remove_orphans({name for _, name in entries})

    def _remove_orphans(self, named: set[str]) -> None:
        """Remove code of earlier sources, and halves that a killed process left."""
        base = self._index_name.removesuffix(".nbi")
        for path in Path(self._cache_path).glob(f"{base.replace('[', '[[]')}.*"):
            with contextlib.suppress(OSError):
                if path.name not in (*named, self._index_name) and path.stat().st_mtime < time.time() - _ORPHAN_AGE:
                    path.unlink()

    def _write(self, path: str, data: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(data)

    def _name_of(self, data: bytes) -> str:
        return f"{self._index_name.removesuffix('.nbi')}.{_digest(data)}.nbc"
