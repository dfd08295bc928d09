"""Hulls of mesh files, kept on disk among the compiled kernels, by what the files contain.

An entry is a checksum and numbers, nothing that could run; the folder of the kernels is this user's alone to write.
Whatever is wrong with an entry, it is computed again; where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np

from contactlab.contact.shapes.coarse_hull import CORNERS
from contactlab.spatial.arrays import FloatArray

# To be raised with every change of what is computed of a file.
VERSION = 1
_DIGEST = 32
_MOST = _DIGEST + 24 * CORNERS


def key_of(data: bytes, kind: str, scale: FloatArray) -> str:
    """Return the name of the entry for a file's bytes, its kind and the factors (3,)."""
    digest = hashlib.sha256(f"{VERSION} {CORNERS} {kind} {[x.hex() for x in scale.tolist()]} ".encode())
    digest.update(data)
    return digest.hexdigest()


def cached(key: str) -> FloatArray | None:
    """Return the points (n, 3) under a key; None where there are none, or they are damaged."""
    folder = _folder()
    try:
        if folder is None or (folder / key).stat().st_size > _MOST:
            return None
        entry = (folder / key).read_bytes()
    except OSError:
        return None
    digest, numbers = entry[:_DIGEST], entry[_DIGEST:]
    if not numbers or len(numbers) % 24 or hashlib.sha256(numbers).digest() != digest:
        return None
    points = np.frombuffer(numbers, dtype="<f8").astype(np.float64).reshape(-1, 3)
    return points if np.all(np.isfinite(points)) else None


def keep(key: str, points: FloatArray) -> None:
    """Keep points (n, 3) under a key, if the disk lets us."""
    folder = _folder()
    if folder is None:
        return
    numbers = points.astype("<f8").tobytes()
    try:
        folder.mkdir(0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(numbers).digest() + numbers)
            os.replace(name, folder / key)
        except OSError:
            os.unlink(name)
    except OSError:
        return


def _folder() -> Path | None:
    from lcp.compiler.cache import cache_folder

    kernels = cache_folder()
    return None if kernels is None else Path(kernels) / "hulls"
