"""Problem data in one ``.npz`` file, without pickle: written atomically, read with every entry checked.

The file holds the blocks, so that a problem read back gives the very bits that were saved, and the mass
matrix where it is known, its inverse where not. A tag in it tells which kind of problem it is.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np

from problem_data.acceleration import ConstraintAccelProblemData
from problem_data.errors import ProblemDataError, ProblemFileError
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
from problem_data.npz_files import NpzFile, Source, write_npz
from problem_data.velocity import ConstraintVelProblemData

ACCELERATION_FORMAT = "problem_data.ConstraintAccelProblemData"
VELOCITY_FORMAT = "problem_data.ConstraintVelProblemData"
VERSION = 1


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
    write_npz(Path(path), {name: Source.of(np.asarray(array)) for name, array in arrays.items()}, compress=False)


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
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    arrays = NpzFile(Path(path), _unreadable).read_all()
    try:
        return _problem(arrays)
    except ProblemDataError as error:
        raise ProblemFileError(error.field, f"{error.message} (in {os.fspath(path)})") from error


def _unreadable(path: Path, field: str, detail: str) -> ProblemFileError:
    return ProblemFileError(field or "path", f"{path} {detail}")


def _problem(arrays: Members) -> ConstraintVelProblemData | ConstraintAccelProblemData:
    form = member(arrays, "format")
    kind = str(form) if form.shape == () else ""
    if kind not in (ACCELERATION_FORMAT, VELOCITY_FORMAT):
        raise ProblemDataError("format", f"{short(form)}, wanted '{VELOCITY_FORMAT}' or '{ACCELERATION_FORMAT}'")
    version = member(arrays, "version")
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise ProblemDataError("version", f"{short(version)}, this release reads {VERSION}")
    return acceleration_problem(arrays) if kind == ACCELERATION_FORMAT else velocity_problem(arrays)
