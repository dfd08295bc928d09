"""Kinds of problem with their solvers and warm-up problems; problems as files; and the rows of a race.

Every trial reads the same numbers, in any process, and a race can be repeated: there is one `.npz` per problem, named
by the hash of its contents. It contains the name of the class and the constructor arguments, a sparse matrix as its
three arrays. Pickle is not used, and only the classes of races are allowed.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lcp
from contactlab.lab.datasets.files import DatasetError
from problem_data.files import NpzFile, Source, write_npz


class RaceError(ValueError):
    """A race cannot begin because of a solver's name or setting, a problem, or a limit. The text names valid values."""


#: League of the kinds that `lcp.solve` converts into one another: a solver of LCPs also solves the others.
COMPLEMENTARITY = "complementarity"
#: League of Coulomb friction with the exact cone.
FRICTION = "friction"
#: Descriptions of the friction of the problems in each problem class.
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


def _to_storage(M: Any, sparse: bool) -> Any:
    """Return M as it is, or as a CSR array if ``sparse``."""
    if not sparse:
        return M
    from scipy.sparse import csr_array

    return csr_array(M)


#: Diagonally dominant and not symmetric, so that few methods finish immediately.
_M = np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.5, 5.0]])

_Q = (-1.0, 2.0, -3.0)


#: Problems with and without a solution: a contact that slides, and a contact that no force can support.
_SIGNS = (1.0, -1.0)
_CONTACTS = ((np.diag([1.0, 2.0, 2.0]), [-1.0, 3.0, 1.0]), (np.zeros((3, 3)), [-1.0, 0.0, 0.0]))
KINDS = (
    Kind(
        "LCP",
        COMPLEMENTARITY,
        lcp.LCP,
        lcp.ALL_SOLVERS,
        1e-9,
        lambda sparse: tuple(lcp.LCP(s * _to_storage(_M, sparse), _Q) for s in _SIGNS),
    ),
    Kind(
        "MLCP",
        COMPLEMENTARITY,
        lcp.MLCP,
        lcp.ALL_SOLVERS,
        1e-9,
        lambda _: tuple(lcp.MLCP(_M[:1, :1], _M[:1, 1:], _M[1:, :1], s * _M[1:, 1:], _Q[:1], _Q[1:]) for s in _SIGNS),
    ),
    Kind(
        "BoxLCP",
        COMPLEMENTARITY,
        lcp.BoxLCP,
        lcp.ALL_SOLVERS,
        1e-9,
        lambda sparse: (lcp.BoxLCP(_to_storage(_M, sparse), _Q, [-np.inf, -1.0, 0.0], [np.inf, 1.0, 0.1]),),
    ),
    Kind(
        "FrictionProblem",
        FRICTION,
        lcp.FrictionProblem,
        lcp.ALL_FRICTION_SOLVERS,
        1e-8,
        lambda sparse: tuple(lcp.FrictionProblem(_to_storage(W, sparse), q, [0.5]) for W, q in _CONTACTS),
    ),
    Kind(
        "GlobalFrictionProblem",
        FRICTION,
        lcp.GlobalFrictionProblem,
        lcp.ALL_FRICTION_SOLVERS,
        1e-8,
        lambda _: (lcp.GlobalFrictionProblem(np.eye(3), np.eye(3), [-1.0, 3.0, 1.0], np.zeros(3), [0.5]),),
    ),
)


def kind_of(problem: object) -> Kind:
    """Return the kind of a problem; raise `RaceError` for another object."""
    for kind in KINDS:
        if type(problem) is kind.problem:
            return kind
    names = ", ".join(f"lcp.{kind.name}" for kind in KINDS)
    raise RaceError(f"a race is over problems of {names}; got {type(problem).__name__}")


def problem_class_of(solver: Any) -> str:
    """Return the league of a solver: friction if its traits contain `lcp.Traits.CONE`."""
    return FRICTION if getattr(solver, "traits", lcp.Traits(0)) & lcp.Traits.CONE else COMPLEMENTARITY


def size_of(problem: Any) -> int:
    """Return the size n of a problem: complementary pairs, unknowns between bounds, or contacts."""
    return int(problem.nc if kind_of(problem).problem_class == FRICTION else problem.n)


def keep_problem(folder: Path, problem: Any) -> Path:
    """Write a problem to the folder, unless its file exists, and return its file."""
    kind = kind_of(problem).name
    arrays: dict[str, Any] = {"kind": np.str_(kind)}
    _, arguments = problem.__reduce__()
    digest = hashlib.sha256(kind.encode())
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


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return the arrays of a dense or sparse argument, by names that begin with ``name``."""
    if not hasattr(value, "tocsr"):
        return {name: np.asarray(value)}
    matrix = value.tocsr()
    indices = {f"{name}_{part}": np.asarray(getattr(matrix, part), dtype=np.int64) for part in _SPARSE[1:]}
    return {f"{name}_data": matrix.data, **indices}


#: Attributes of a CSR matrix that determine it.
_SPARSE = ("data", "indices", "indptr", "shape")


@functools.lru_cache(maxsize=8)
def read_problem(file: str) -> Any:
    """Return the problem of a file written by `keep_problem`.

    Another file, or invalid contents, raise a `DatasetError`.
    """
    arrays = NpzFile(Path(file), DatasetError).read_all()
    arguments: list[Any] = []
    try:
        (kind,) = (kind for kind in KINDS if kind.name == str(arrays["kind"]))
        for name in dict.fromkeys(name.partition("_")[0] for name in arrays if name.startswith("argument")):
            if name in arrays:
                arguments.append(arrays[name])
            else:
                from scipy.sparse import csr_array

                *entries, shape = (arrays[f"{name}_{part}"] for part in _SPARSE)
                arguments.append(csr_array(tuple(entries), shape=tuple(shape.tolist())))
        return kind.problem(*arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(file, "", f"{type(error).__name__}: {error}") from error


#: Statuses in addition to `lcp.Status`: exceeded time limit; an exception, or a process that died.
TIMEOUT, CRASHED = "TIMEOUT", "CRASHED"
#: Statuses that state that no solution exists, with a proof or after all bases were tried.
PROVED = ("INFEASIBLE", "UNSOLVABLE", "INCONSISTENT")


@dataclass(frozen=True)
class RaceRow:
    """Result of one solver on one problem.

    Attributes
    ----------
    problem, solver
        Names of problem and solver.
    status
        A name of `lcp.Status`, ``TIMEOUT`` or ``CRASHED``. SOLVED is determined by the residuals on the original data.
    residual
        Scaled residual, including equations, on the original data; for friction the larger of FCLIB's residual and the
        scaled one. inf without a finite result.
    iterations
        Number of iterations reported by the solver, or 0.
    time
        Seconds: the minimum over ``runs`` solves, including set-up of the solver but not compilation. For a trial that
        was ended, the time limit.
    n
        Complementary pairs, unknowns between bounds, or contacts.
    settings
        Settings of the solver that differ from its defaults.
    kind, family
        Class of the problem, and the family from its name.
    natural_map
        max |min(z, w)| or its counterpart; for friction FCLIB's residual.
    cpu
        Processor time [s] of the process, also the minimum. It estimates ``time`` on an idle machine. 0 if unknown.
    runs
        Number of timed solves.
    claim
        Status claimed by the solver.
    origin
        "contactlab", "peer" or "own".
    tolerance
        Bound on the residual.
    detail
        Short text from the solver, or the raised exception.
    deciding_error
        The error that determines whether the problem is solved, at ``tolerance`` and below. It is the backward error;
        for friction it is the largest measure, each relative to its rounding. inf without a finite result, or in rows
        of older races that lack it.
    """

    problem: str
    solver: str
    status: str
    residual: float
    iterations: int
    time: float
    n: int
    settings: str
    kind: str
    family: str
    natural_map: float
    cpu: float
    runs: int
    claim: str
    origin: str
    tolerance: float
    detail: str
    deciding_error: float = math.inf

    @property
    def label(self) -> str:
        """Solver and settings, by which entrants are distinguished."""
        return f"{self.solver}({self.settings})" if self.settings else self.solver

    @property
    def solved(self) -> bool:
        """Whether the result is a solution at the race's tolerance."""
        return self.status == "SOLVED"

    @property
    def wrong(self) -> bool:
        """Whether the solver claimed a wrong solution."""
        return self.claim == "SOLVED" and self.status not in ("SOLVED", TIMEOUT)


_FAMILY = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]{2,}(?![A-Za-z0-9]))*")
_OF_A_RUN = re.compile(r"step\d+-island\d+(#\d+)?")


def family_of(name: str) -> str:
    """Return the family, the beginning of a problem's name: ``contact_random`` for ``contact_random_k2_d8_s502``.

    In a folder it is the family of the file: ``bricks`` for ``runs/bricks/step000042-island0``.
    """
    parts = name.split("/")
    known = [part for part in parts if not _OF_A_RUN.fullmatch(part)] or parts
    parts = [match.group() for part in known if (match := _FAMILY.match(part))]
    return parts[-1] if parts else name
