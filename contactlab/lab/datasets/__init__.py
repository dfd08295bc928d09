"""Readers of published data sets and of problems; every entry is checked before use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TypeAlias

import numpy as np

import lcp
import problem_data
from contactlab.constraint_solver.acceleration import form_acceleration_lcp
from contactlab.constraint_solver.discretized import form_cone_problem, form_discretized_lcp
from contactlab.lab.datasets.files import SOURCES, Arrays, DatasetError, Source, array_names, data_path, fetch
from contactlab.lab.datasets.formats import blaming, load_fclib, load_siconos, mixed_problem, save_fclib
from contactlab.lab.datasets.recordings import CubeTosses, Toss, load_cube_tosses, save_cube_tosses
from contactlab.simulation import Recording

__all__ = [
    "SOURCES", "CubeTosses", "DatasetError", "Problem", "Source", "Toss", "fetch", "lcp_from_problem_data",
    "load_cube_tosses", "load_fclib", "load_problem", "load_problems", "load_siconos",
    "save_cube_tosses", "save_fclib",
]  # fmt: skip

Problem: TypeAlias = lcp.LCP | lcp.MLCP | lcp.BoxLCP | lcp.FrictionProblem | lcp.GlobalFrictionProblem
Named: TypeAlias = Iterator[tuple[str, Problem]]

SUFFIXES = (".npz", ".dat", ".hdf5", ".h5")
CHUNKS = ".npz.chunks"  # the folder of a run that was stopped
MOST_STEPS = 20
DEFAULT_H = 1e-3  # s, as in `contactlab explain`


def load_problem(
    path: str | os.PathLike[str], *, step: int | None = None, island: int = 0, h: float = DEFAULT_H
) -> Problem:
    """Read the only problem of a file, or a selected one.

    Parameters
    ----------
    path
        A file of a kind supported by `load_problems`.
    step, island
        For a record of a run: step and island of the problem; ``step`` is required. For a sequence: ``step`` is the
        number.
    h
        Step [s] of velocity-level problem data.

    Raises
    ------
    DatasetError
        The file is unreadable or of another kind, or has several problems and ``step`` is missing.
    """
    file = Path(path)
    if step is not None and _is_record(file):
        with blaming(file):
            recording = Recording.open(file)
        return recorded_problem(file, recording, step, island)
    named = _of_file(file, h, MOST_STEPS)
    found = [problem for name, problem in named if step is None or name == f"{step:06d}"]
    if not found:
        raise DatasetError(file, "", "holds no problem" if step is None else f"holds no sequence with a problem {step}")
    if len(found) > 1:
        raise DatasetError(file, "", "holds several problems: select one by step, or use load_problems")
    return found[0]


def load_problems(
    path: str | os.PathLike[str], *, h: float = DEFAULT_H, most_steps: int = MOST_STEPS
) -> Iterator[tuple[str, Problem | DatasetError]]:
    """Read the problems of a file, or of all files in a folder and the folders in it.

    The kind is recognised by the contents:

    - ``.npz`` with ``M`` (n, n) and ``q`` (n,): `lcp.LCP`; with ``n_free``, the number of equations, which come first:
      `lcp.MLCP`; with ``lo`` and ``hi``: `lcp.BoxLCP`; with ``n`` (k,) and the concatenated entries of ``M`` and ``q``:
      a sequence of `lcp.LCP`;
    - problem data saved by `problem_data.save`, and the record of a run (`contactlab run`), finished or not: `lcp.LCP`,
      or `lcp.FrictionProblem` if their friction has the exact cone;
    - ``.dat``: LCP, MLCP and friction problems of Siconos;
    - ``.hdf5``, ``.h5``: friction problems of FCLIB.

    Parameters
    ----------
    path
        File or folder, or the name of a data set (`fetch`). In a folder, files with other suffixes are ignored.
    h
        Step [s] of velocity-level problem data; records contain their steps.
    most_steps
        Maximum number of steps of a record, evenly spread over the steps with contacts or limits.

    Yields
    ------
    tuple
        The first entry is a name: the file's path in the folder without its suffix (for a single file its name),
        followed by ``/`` and a number if the file can contain several problems. The second is the problem, or a
        `DatasetError` with the reason if the file cannot be used; the iteration can continue.

    Raises
    ------
    DatasetError
        ``path`` does not exist, or its folder has no file of these kinds.
    """
    root = data_path(path)
    if not root.exists():
        raise DatasetError(root, "", "no such file or folder")
    files = _files(root) if root.is_dir() and not _is_record(root) else [(_bare(root.name), root)]
    if not files:
        raise DatasetError(root, "", f"no files of problems in this folder ({', '.join(SUFFIXES)})")
    for name, file in files:
        problems = _of_file(file, h, most_steps)
        try:
            for inner, problem in problems:
                yield (f"{name}/{inner}" if inner else name), problem
        except DatasetError as error:
            yield name, error


def _files(root: Path) -> list[tuple[str, Path]]:
    """Return names and files of a folder in the order of their names, each name once."""
    files = []
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        files += [here / name for name in folders if name.endswith(CHUNKS)]
        folders[:] = [name for name in folders if not name.endswith(CHUNKS) and not name.startswith(".")]
        files += [here / name for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    relative = sorted((file.relative_to(root).as_posix(), file) for file in files)
    bare = [_bare(name) for name, _ in relative]
    return [
        (short if bare.count(short) == 1 else name, file) for short, (name, file) in zip(bare, relative, strict=True)
    ]


def _bare(name: str) -> str:
    return name.removesuffix(next((suffix for suffix in (CHUNKS, *SUFFIXES) if name.endswith(suffix)), ""))


def _of_file(path: Path, h: float, most_steps: int) -> Named:
    """Yield number (empty if a file has only one problem) and problem of one file."""
    if _is_record(path):
        yield from recorded_problems(path, most_steps)
    elif path.suffix == ".dat":
        yield "", load_siconos(path)
    elif path.suffix in (".hdf5", ".h5"):
        yield "", load_fclib(path)
    elif path.suffix == ".npz":
        yield from _problems_in_npz(path, h)
    else:
        raise DatasetError(path, "", f"'{path.suffix}' is not a supported kind of problem file")


def _is_record(path: Path) -> bool:
    return (path.is_dir() and path.name.endswith(CHUNKS)) or "meta" in _members(path)


def _members(path: Path) -> AbstractSet[str]:
    """Return the names of the arrays of an ``.npz``; empty for another file."""
    with contextlib.suppress(DatasetError):
        return array_names(path) if path.suffix == ".npz" else frozenset()
    return frozenset()


def _problems_in_npz(path: Path, h: float) -> Named:
    """Yield the named problems of an .npz: problem data, a sequence of LCPs, or one problem."""
    if "format" in _members(path):
        with blaming(path):
            formed = lcp_from_problem_data(problem_data.load(path), h)
        yield "", formed
        return
    arrays = Arrays(path)
    if "n" in arrays and arrays.ndim("M") == 1:
        yield from _problems_in_sequence(arrays)
    else:
        with blaming(path):
            problem = _problem(arrays)
        yield "", problem


def _problem(arrays: Arrays) -> Problem:
    """Return the problem of M and q: a box LCP if it has bounds, a mixed one with ``n_free``, otherwise an LCP."""
    M = arrays.numbers("M", None, None)
    q = arrays.numbers("q", M.shape[0])
    if "lo" in arrays or "hi" in arrays:
        return lcp.BoxLCP(M, q, arrays.numbers("lo", q.size), arrays.numbers("hi", q.size))
    n_free = int(arrays.integers("n_free")) if "n_free" in arrays else 0
    if not 0 <= n_free <= q.size:
        raise DatasetError(arrays.path, "n_free", f"{n_free} of {q.size} rows")
    return mixed_problem(M, q, n_free) if n_free else lcp.LCP(M, q)


def _problems_in_sequence(arrays: Arrays) -> Named:
    """Yield the LCPs stored one after another in flat M and q, with their numbers as names."""
    sizes = arrays.integers("n", None)
    if (sizes < 0).any():
        raise DatasetError(arrays.path, "n", f"{sizes.min()} is negative")
    M, q = arrays.numbers("M", int((sizes**2).sum())), arrays.numbers("q", int(sizes.sum()))
    at = row = 0
    for i, n in enumerate(map(int, sizes)):
        block, vector = M[at : at + n * n].reshape(n, n), q[row : row + n]
        at, row = at + n * n, row + n
        with blaming(arrays.path):
            problem = lcp.LCP(block, vector)
        yield f"{i:06d}", problem


def lcp_from_problem_data(
    data: problem_data.ConstraintVelProblemData | problem_data.ConstraintAccelProblemData, h: float = DEFAULT_H
) -> lcp.LCP | lcp.FrictionProblem:
    """Return the problem of problem data, with bilateral rows eliminated and their law of friction.

    It is an LCP for pyramids, or a friction problem for exact cones (``friction="cone"``). Without contacts it is an
    LCP.

    Parameters
    ----------
    data
        Problem data from `contactlab.simulation.Recording.problem` or `problem_data.load`. Velocity-level data give the
        problem of a step, acceleration-level data the problem of the forces at an instant.
    h
        Step size [s]; unused for acceleration-level data.

    Raises
    ------
    problem_data.ProblemDataError
        h is not positive, the bilateral rows cannot be eliminated, or rows of F are not tangents of a cone.
    """
    if isinstance(data, problem_data.ConstraintAccelProblemData):
        return form_acceleration_lcp(data).problem
    formed = form_discretized_lcp(data, h)
    return form_cone_problem(formed).problem if data.friction == "cone" and data.nc > 0 else formed.problem


def recorded_problems(path: Path, most_steps: int) -> Iterator[tuple[str, lcp.LCP | lcp.FrictionProblem]]:
    """Yield problems of a record, named ``step000012-island0``: all islands of ``most_steps`` steps, evenly spread.

    Steps without contacts or limits do not count. An unreadable record raises a `DatasetError`.
    """
    with blaming(path):
        recording = Recording.open(path)
    solving = np.flatnonzero(recording.islands)
    chosen = solving[np.unique(np.linspace(0, max(solving.size - 1, 0), most_steps).round().astype(int))]
    for i in map(int, chosen if solving.size else ()):
        for island in range(int(recording.islands[i])):
            yield f"step{i:06d}-island{island}", recorded_problem(path, recording, i, island)


def recorded_problem(path: Path, recording: Recording, step: int, island: int) -> lcp.LCP | lcp.FrictionProblem:
    """Return the problem of one island of one step."""
    with blaming(path, f"step {step}, island {island}"):
        return lcp_from_problem_data(recording.problem(step, island), float(recording.h[step]))
