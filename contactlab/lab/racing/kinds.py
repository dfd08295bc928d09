"""Kinds of problem: who races whom, the small problem of each on which a worker warms up, and problems as files.

Every trial reads the same numbers, wherever it runs, and a race can be run again: one `.npz` per problem, named by the
hash of its contents: the name of its class and the arguments it is made of, a sparse matrix as its three arrays. No
pickle; the class is one of those that race.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lcp
from contactlab.lab.errors import DatasetError, RaceError
from problem_data.files import NpzFile, Source, write_npz

#: League of the kinds that one `lcp.solve` serves: a solver of plain problems meets the others converted.
COMPLEMENTARITY = "complementarity"
#: League of Coulomb friction with the exact cone.
FRICTION = "friction"
#: How the problems of a problem class have friction, where they have any.
LAWS = {COMPLEMENTARITY: "friction, if any, by pyramids", FRICTION: "exact cones"}


@dataclass(frozen=True)
class Kind:
    """One kind of problem."""

    name: str  # of the class
    problem_class: str  # kinds of one class are met by the same solvers
    problem: type[Any]
    solvers: tuple[type[Any], ...]  # our solver classes for it, which ``all`` stands for
    tolerance: float  # bound on the residual where the race names none
    warm_up: Callable[[bool], tuple[Any, ...]]  # small problems, from whether the data are sparse


def _stored(M: Any, sparse: bool) -> Any:
    if not sparse:
        return M
    from scipy.sparse import csr_array

    return csr_array(M)


def _matrix(sparse: bool) -> Any:
    """Diagonally dominant, not symmetric: few methods stop at once."""
    return _stored(np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.5, 5.0]]), sparse)


_Q = (-1.0, 2.0, -3.0)


def _plain(sparse: bool) -> tuple[Any, ...]:
    """One with a solution, and one without."""
    M = _matrix(sparse)
    return lcp.LCP(M, _Q), lcp.LCP(-M, _Q)


def _mixed(_: bool) -> tuple[Any, ...]:
    M = _matrix(False)
    return tuple(lcp.MLCP(M[:1, :1], M[:1, 1:], M[1:, :1], s * M[1:, 1:], _Q[:1], _Q[1:]) for s in (1.0, -1.0))


def _boxed(sparse: bool) -> tuple[Any, ...]:
    return (lcp.BoxLCP(_matrix(sparse), _Q, [-np.inf, -1.0, 0.0], [np.inf, 1.0, 0.1]),)


def _friction(sparse: bool) -> tuple[Any, ...]:
    """Return a contact that slides, and one that nothing can hold."""
    W = np.diag([1.0, 2.0, 2.0])
    loads = ([-1.0, 3.0, 1.0], [-1.0, 0.0, 0.0])
    return tuple(
        lcp.FrictionProblem(_stored(s * W, sparse), load, [0.5]) for s, load in zip((1.0, 0.0), loads, strict=True)
    )


def _global(_: bool) -> tuple[Any, ...]:
    return (lcp.GlobalFrictionProblem(np.eye(3), np.eye(3), [-1.0, 3.0, 1.0], np.zeros(3), [0.5]),)


KINDS = (
    Kind("LCP", COMPLEMENTARITY, lcp.LCP, lcp.ALL_SOLVERS, 1e-9, _plain),
    Kind("MLCP", COMPLEMENTARITY, lcp.MLCP, lcp.ALL_SOLVERS, 1e-9, _mixed),
    Kind("BoxLCP", COMPLEMENTARITY, lcp.BoxLCP, lcp.ALL_SOLVERS, 1e-9, _boxed),
    Kind("FrictionProblem", FRICTION, lcp.FrictionProblem, lcp.ALL_FRICTION_SOLVERS, 1e-8, _friction),
    Kind("GlobalFrictionProblem", FRICTION, lcp.GlobalFrictionProblem, lcp.ALL_FRICTION_SOLVERS, 1e-8, _global),
)


def kind_of(problem: object) -> Kind:
    """Kind of a problem; a `RaceError` for anything else."""
    for kind in KINDS:
        if type(problem) is kind.problem:
            return kind
    names = ", ".join(f"lcp.{kind.name}" for kind in KINDS)
    raise RaceError(f"a race is over problems of {names}; got {type(problem).__name__}")


def problem_class_of(solver: Any) -> str:
    """League a solver races in: that of friction where its traits say `lcp.Traits.CONE`."""
    return FRICTION if getattr(solver, "traits", lcp.Traits(0)) & lcp.Traits.CONE else COMPLEMENTARITY


def size_of(problem: Any) -> int:
    """Return the n of a problem: complementary pairs, unknowns between bounds, or contacts."""
    return int(problem.nc if kind_of(problem).problem_class == FRICTION else problem.n)


_FORMAT = 1


def keep_problem(folder: Path, problem: Any) -> Path:
    """Write a problem into the folder, unless it stands there already, and return its file."""
    arrays: dict[str, Any] = {"format": np.int64(_FORMAT), "kind": np.str_(kind_of(problem).name)}
    _, arguments = problem.__reduce__()
    digest = hashlib.sha256(str(arrays["kind"]).encode())
    for i, argument in enumerate(arguments):
        for name, array in _parts(f"argument{i}", argument).items():
            arrays[name] = array
            digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    file = folder / f"{digest.hexdigest()[:32]}.npz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_npz(file, {name: Source.of(np.asarray(array)) for name, array in arrays.items()}, compress=True)
    return file


@functools.lru_cache(maxsize=8)
def read_problem(file: str) -> Any:
    """Return the problem of a file that `keep_problem` wrote.

    A `DatasetError` for another, or contents no problem has.
    """
    arrays = NpzFile(Path(file), DatasetError).read_all()
    form = arrays.get("format", np.zeros(0))
    if form.shape != () or form.dtype.kind not in "iu" or int(form) != _FORMAT:
        raise DatasetError(file, "format", f"must be {_FORMAT}; the file is of another version")
    kinds = {kind.name: kind.problem for kind in KINDS}
    name = str(arrays.get("kind", ""))[:80]
    if name not in kinds:
        raise DatasetError(file, "kind", f"{name!r} is none of {', '.join(kinds)}")
    arguments: list[Any] = []
    try:
        while (argument := _argument(arrays, f"argument{len(arguments)}")) is not None:
            arguments.append(argument)
        return kinds[name](*arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(file, "", f"{type(error).__name__}: {error}") from error


def _parts(name: str, value: Any) -> dict[str, Any]:
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        return {
            f"{name}_data": matrix.data,
            f"{name}_indices": matrix.indices.astype(np.int64),
            f"{name}_indptr": matrix.indptr.astype(np.int64),
            f"{name}_shape": np.array(matrix.shape, dtype=np.int64),
        }
    return {name: np.asarray(value)}


def _argument(arrays: dict[str, Any], name: str) -> Any:
    if name in arrays:
        return arrays[name]
    if f"{name}_data" not in arrays:
        return None
    from scipy.sparse import csr_array

    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    rows, columns = (int(k) for k in arrays[f"{name}_shape"])
    return csr_array((data, indices, indptr), shape=(rows, columns))
