"""Problem data in one ``.npz`` file, without pickle: written atomically, read with every entry checked.

The file holds the blocks, so that a problem read back gives the very bits that were saved, and the mass
matrix where it is known, its inverse where not. A tag in it tells which kind of problem it is.
"""

from __future__ import annotations

import os
import tokenize
import uuid
import zipfile
import zlib
from pathlib import Path

import numpy as np

from problem_data.acceleration import ConstraintAccelProblemData
from problem_data.errors import ProblemDataError
from problem_data.members import (
    Members,
    acceleration_members,
    acceleration_problem,
    inertia_members,
    member,
    short,
    velocity_members,
    velocity_problem,
)
from problem_data.velocity import ConstraintVelProblemData

ACCELERATION_FORMAT = "problem_data.ConstraintAccelProblemData"
VELOCITY_FORMAT = "problem_data.ConstraintVelProblemData"
VERSION = 1

# What numpy and zipfile raise for a file that is cut short, is not a zip, is encrypted, holds pickles or has a
# garbled array header (which numpy parses as Python text). Found by changing every byte of a good file.
_UNREADABLE = (
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    RuntimeError,
    MemoryError,
    OverflowError,
    SyntaxError,
    OSError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# The two that numpy writes; decoders of other methods have errors of their own.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def save(path: str | os.PathLike[str], data: ConstraintVelProblemData | ConstraintAccelProblemData) -> None:
    """Write problem data to exactly this path, as one ``.npz``.

    The file appears whole or not at all: it is written beside its final place and then renamed over it.

    Parameters
    ----------
    path : path-like
        An existing file is replaced.
    data : ConstraintVelProblemData or ConstraintAccelProblemData
    """
    if isinstance(data, ConstraintAccelProblemData):
        kind, members = ACCELERATION_FORMAT, acceleration_members(data)
    else:
        kind, members = VELOCITY_FORMAT, velocity_members(data)
    arrays = {
        "format": np.array(kind),
        "version": np.array(VERSION),
        **members,
        **inertia_members(data.M, data.solve_inertia, data.nv),
    }
    final = Path(path)
    partial = final.with_name(f".{final.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> ConstraintVelProblemData | ConstraintAccelProblemData:
    """Read problem data that `save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ConstraintVelProblemData or ConstraintAccelProblemData
        Of the kind that was saved; its blocks equal the saved ones bit for bit.

    Raises
    ------
    ProblemDataError
        The file is truncated or foreign, or an entry is missing or not acceptable; file and field are named.
    FileNotFoundError
        There is no such file.
    """
    arrays = _read(Path(path))
    try:
        return _problem(arrays)
    except ProblemDataError as error:
        raise ProblemDataError(error.field, f"{error.message} (in {os.fspath(path)})") from error


def _read(path: Path) -> Members:
    with path.open("rb") as file:
        try:
            # Looked into as a zip first: numpy tells what is not one from its first bytes alone.
            with zipfile.ZipFile(file) as archive:
                odd = [info.filename for info in archive.infolist() if info.compress_type not in _COMPRESSIONS]
            if odd:
                raise ProblemDataError("path", f"{path} is not an .npz file: {odd[0]!r} is packed by another method")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                members = {name: arrays[name] for name in arrays.files}
        except ProblemDataError:
            raise
        except _UNREADABLE as error:
            raise ProblemDataError(
                "path", f"{path} cannot be read as an .npz file ({type(error).__name__}: {error})"
            ) from error
    # numpy hands out a member that is not an array as bytes.
    return {name: member for name, member in members.items() if isinstance(member, np.ndarray)}


def _problem(arrays: Members) -> ConstraintVelProblemData | ConstraintAccelProblemData:
    form = member(arrays, "format")
    kind = str(form) if form.shape == () else ""
    if kind not in (ACCELERATION_FORMAT, VELOCITY_FORMAT):
        raise ProblemDataError("format", f"{short(form)}, wanted '{VELOCITY_FORMAT}' or '{ACCELERATION_FORMAT}'")
    version = member(arrays, "version")
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise ProblemDataError("version", f"{short(version)}, this release reads {VERSION}")
    return acceleration_problem(arrays) if kind == ACCELERATION_FORMAT else velocity_problem(arrays)
