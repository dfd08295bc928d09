"""Records on disk: chunk files during a run, one packed ``.npz`` at its end.

A run recorded at ``run.npz`` keeps its chunks in ``run.npz.chunks/``: ``meta.json`` (world, stepper, versions) and
``chunk_000000.npz``, ``chunk_000001.npz``, ... Every file appears completely or not at all (it is written under another
name, then renamed). The first chunk is written before ``meta.json``, which makes the folder a record. At the end the
chunks are packed into ``run.npz`` and the folder is removed. A stopped run leaves the folder, which opens like the
file. During a run, ``lock`` in the folder names the process.

Chunks are not compressed, because that would take longer than many a step. A packed record is compressed up to
`LOAD_BYTES`. A larger one is not, so that opening it takes no memory: its arrays are mapped, and read on access. The
consistency of the files (names, types, shapes, order) is checked in parts, for any size.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.constraint_solver.discretized import DiscretizedLCP
from contactlab.constraint_solver.friction_backend import (
    VERIFIED,
    FrictionAnswer,
    FrictionBackend,
    law_of,
    qp_code_objection,
)
from contactlab.constraint_solver.quadratic_programs import ConvexRelaxation, StaggeredProjections
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.record import Record, RecordError, RecordWriteError
from contactlab.simulation.recording.world_io import Json, by_name, world_from_json, world_to_json
from contactlab.simulation.stepping import FORMER_OPTIONS, Sleep, TimeStepping
from contactlab.simulation.stepping.record_schema import (
    FIELDS,
    LATER,
    READABLE,
    RENAMED,
    SCHEMA,
    TIMINGS,
    Rows,
    field_tail,
    row_lengths,
)
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import World
from lcp.contacts.strategies import strategies_of
from problem_data.files import ARRAY_BYTES, NpzFile, Source, read_text, size_text, write_npz

R = TypeVar("R", bound=Record)

FORMAT = "contactlab.Recording"
META = "meta"
META_FILE = "meta.json"

# A record up to this size is compressed when it is packed, and read completely when it is opened.
LOAD_BYTES = 1 << 26


class LazyRows(Mapping[str, NDArray[Any]]):
    """Arrays by name, each made on first access."""

    def __init__(self, names: Iterable[str], make: Callable[[str], NDArray[Any]]) -> None:
        self._names, self._make = tuple(names), functools.cache(make)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        array = self._make(name)
        array.flags.writeable = False
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy has the arrays in memory, because the files can be replaced.
        return dict, (dict(self),)


def chunk_folder(path: Path) -> Path:
    """Return the folder of chunks of the record at ``path``."""
    return path.with_name(path.name + ".chunks")


def chunk_files(folder: Path) -> list[Path]:
    """Return the chunk files in a folder, in order; raise `RecordError` if one is missing."""
    files = sorted(folder.glob("chunk_*.npz"))
    for i, file in enumerate(files):
        if file.name != f"chunk_{i:06d}.npz":
            raise RecordError(folder, f"chunk_{i:06d}.npz", "is missing")
    return files


def record_file(path: Path) -> NpzFile:
    """Open one file of a record; arrays of older schemas get their present names."""
    return NpzFile(path, RecordError, RENAMED)


def record_files(path: Path) -> list[NpzFile]:
    """Open the files of a record: its chunks in order, or the packed file."""
    return [record_file(file) for file in (chunk_files(path) if path.is_dir() else [path])]


def is_record(folder: Path) -> bool:
    """Return True if a folder of chunks is a record; early releases began with a folder without a state."""
    return (folder / META_FILE).is_file() and bool(chunk_files(folder))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert errors of the disk to `RecordWriteError`."""
    try:
        yield
    except OSError as error:
        raise RecordWriteError(path, error) from error


def save_recording(path: Path, recording: Record, *, compress: bool | None = None) -> None:
    """Write a record to exactly this path, as one ``.npz``; completely or not at all."""
    meta = meta_text(recording.world, recording.stepper, dict(recording.environment), recording.solver_description)
    arrays = {**recording.rows, **recording.timings}
    size = sum(array.nbytes for array in arrays.values())
    if compress and size > ARRAY_BYTES:
        most = size_text(ARRAY_BYTES)
        raise RecordError(
            path, "", f"compressed, a record of {size_text(size)} cannot be opened: at most {most} unpack"
        )
    small = size <= LOAD_BYTES
    sources = {META: Source.of(np.array(meta)), **{name: Source.of(array) for name, array in arrays.items()}}
    with writing(path):
        write_npz(path, sources, compress=small if compress is None else compress)


def pack(path: Path, meta: str, chunks: Sequence[Path], lengths: Mapping[str, int]) -> None:
    """Write the packed record of a run from its chunks, with a part of one array in memory at a time."""
    files = [record_file(chunk) for chunk in chunks]
    sources = {META: Source.of(np.array(meta))}
    for name, field in (FIELDS | TIMINGS).items():
        rows = sum(_row_count(file, name) for file in files)
        shape = (rows, *field_tail(field, lengths))
        sources[name] = Source(np.dtype(field.dtype), shape, _parts(files, name, lengths))
    size = sum(member.nbytes for file in files for member in file.members.values())
    with writing(path):
        write_npz(path, sources, compress=size <= LOAD_BYTES)


def read_recording(path: Path, kind: type[R]) -> R:
    """Return a record of this class from a packed file or a folder of chunks; see `Recording.open`.

    Small records are read at once; arrays of large ones are read when needed. Arrays are read-only. Raise `RecordError`
    if there is no record, or it is damaged.
    """
    if not path.is_dir():
        path = chunk_folder(path) if is_record(chunk_folder(path)) else path
        if not path.exists():
            raise RecordError(path, "", "there is no such record")
    meta = read_meta(path)
    try:
        world, stepper = world_from_json(meta["world"]), stepper_from_json(meta["stepper"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(path, META, f"describes no world and stepper ({type(error).__name__}: {error})") from error
    files, lengths = record_files(path), row_lengths(world, stepper)
    check_files(files, lengths, path)
    small = sum(member.nbytes for file in files for member in file.members.values()) <= LOAD_BYTES
    # Mapped now, because another file may replace this one.
    stored = [name for name in (FIELDS | TIMINGS) if name in files[0].members]
    mapped = files[0].memory_map(stored) if path.is_file() and not small else {}

    def make(name: str) -> NDArray[Any]:
        return mapped[name] if name in mapped else _join(files, name, lengths)

    rows: tuple[Rows, Rows] = LazyRows(FIELDS, make), LazyRows(TIMINGS, make)
    if small:
        # Read now, because chunks may be packed when the run continues.
        rows = dict(rows[0]), dict(rows[1])
    return kind(world, stepper, rows[0], meta["environment"], meta["solver"], rows[1])


def _join(files: Sequence[NpzFile], name: str, lengths: Mapping[str, int]) -> NDArray[Any]:
    """Return a field of all files in one array, empty if no file has it."""
    field = (FIELDS | TIMINGS)[name]
    none: NDArray[Any] = np.zeros((0, *field_tail(field, lengths)), dtype=field.dtype)
    return np.concatenate([none, *_parts(files, name, lengths)])


def _row_count(file: NpzFile, name: str) -> int:
    own = f"{FIELDS[name].axis[:-1]}_step" if name in LATER and name not in file.members else name
    return file.members[own].shape[0] if own in file.members else 0


def _parts(files: Sequence[NpzFile], name: str, lengths: Mapping[str, int]) -> Iterator[NDArray[Any]]:
    """Yield a field of all files; zeros if a file is older than the field."""
    for file in files:
        if name in file.members:
            yield from file.iter_chunks(name)
        elif name in LATER:
            field = FIELDS[name]
            yield np.zeros((_row_count(file, name), *field_tail(field, lengths)), dtype=field.dtype)


def meta_text(world: World, stepper: TimeStepping, stamp: dict[str, str], solver: str) -> str:
    """Return the description that is stored with a record's arrays."""
    meta = {
        "format": FORMAT,
        "schema": SCHEMA,
        "environment": stamp,
        "solver": solver,
        "world": world_to_json(world),
        "stepper": stepper_to_json(stepper),
    }
    return json.dumps(meta, indent=1, allow_nan=False)


def read_meta(path: Path) -> dict[str, Any]:
    """Return the description of a packed record, or of a folder of chunks."""
    if path.is_dir():
        path = path / META_FILE
        text = read_text(path, lambda _, field, detail: RecordError(path.parent, META_FILE, detail))
    else:
        file = record_file(path)
        if META not in file.members:
            raise RecordError(path, META, "is missing: the file is not a record")
        text = str(file.read(META))
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(path, META, f"is not JSON ({error})") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise RecordError(path, META, f"does not describe a {FORMAT}")
    if meta.get("schema") not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise RecordError(path, META, f"has schema {meta.get('schema')!r}; this release reads {readable}")
    stamp = meta.get("environment")
    if not isinstance(stamp, dict) or not isinstance(meta.get("solver"), str):
        raise RecordError(path, META, "lacks the environment or the solver")
    if isinstance(meta.get("stepper"), dict):
        meta["stepper"] = {FORMER_OPTIONS.get(name, name): value for name, value in meta["stepper"].items()}
    return meta


def check_files(files: Sequence[NpzFile], lengths: Mapping[str, int], path: Path) -> None:
    """Check names, shapes and order of the arrays in a record's files: its chunks in order, or the packed file.

    A `RecordError` names the file and the field. ``lengths`` are the `row_lengths`; ``path`` is the whole record's.
    """
    totals: dict[str, int] = {}
    for file in files:
        counts = _counts(file, lengths)
        for axis, count in counts.items():
            totals[axis] = totals.get(axis, 0) + count
        if counts["taus"] not in (0, counts["steps"]):
            raise RecordError(file.path, "tau", f"has {counts['taus']} rows, not {counts['steps']} or none")
    steps = totals.get("states", 0) - 1
    if steps < 0:
        raise RecordError(path, "time", "holds no state")
    for name, axis, allowed in (("h", "steps", (steps,)), ("start_h", "origins", (1,)), ("tau", "taus", (0, steps))):
        if totals[axis] not in allowed:
            raise RecordError(path, name, f"has {totals[axis]} rows, not {' or '.join(map(str, allowed))}")

    def ascends(part: NDArray[Any], last: Any) -> Any:
        return (np.diff(part, prepend=last) >= 0) & (part < steps)

    conditions: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
        **dict.fromkeys(("contact_step", "joint_step", "island_step"), (ascends, f"ascending within 0 .. {steps - 1}")),
        **dict.fromkeys(
            ("time", "q", "v", "motion_pose", "motion_twist"), (lambda part, _: np.isfinite(part), "finite")
        ),
        "h": (lambda part, _: np.isfinite(part) & (part > 0.0), "a positive number"),
        "start_h": (lambda part, _: np.isfinite(part) & (part >= 0.0), "a number of 0 or more"),
    }
    for name, (good, detail) in conditions.items():
        _check_entries(files, name, good, detail)


def _counts(file: NpzFile, lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the number of rows of one file for each axis of the schema; raise for wrong arrays.

    Types, shapes and equal row numbers of the arrays of an axis are checked.
    """
    counts: dict[str, int] = {}
    for name, field in (FIELDS | TIMINGS).items():
        if name not in file.members:
            if name in TIMINGS or name in LATER:
                continue
            raise RecordError(file.path, name, "is missing")
        member, tail = file.members[name], field_tail(field, lengths)
        rows = member.shape[0] if member.shape else 0
        if (member.dtype, member.shape) != (np.dtype(field.dtype), (rows, *tail)):
            wanted = f"{np.dtype(field.dtype)} of shape ({', '.join(['n', *map(str, tail)])})"
            raise RecordError(file.path, name, f"is {member.dtype} of shape {member.shape}, not {wanted}")
        # A piece has a step for each of its states except the start.
        if name == "h" and not counts["states"] - 1 <= rows <= counts["states"]:
            raise RecordError(file.path, name, f"has {rows} rows for {counts['states']} states")
        if counts.setdefault(field.axis, rows) != rows:
            raise RecordError(file.path, name, f"has {rows} rows where {counts[field.axis]} are expected")
    return counts


def _check_entries(files: Sequence[NpzFile], name: str, good: Callable[[Any, Any], Any], detail: str) -> None:
    """Raise `RecordError`, with ``detail``, for the first entry of an array over all files that is not ``good``.

    ``good(part, last)`` returns a mask of a part of the array; ``last`` is the last entry before it.
    """
    last: Any = 0
    for file in files:
        first = 0
        for part in file.iter_chunks(name):
            mask = good(part, last)
            if not mask.all():
                at = np.argwhere(~mask)[0]
                where = [first + int(at[0]), *map(int, at[1:])]
                raise RecordError(file.path, name, f"entry {where} is {part[tuple(at)]}, not {detail}")
            first, last = first + part.shape[0], part[-1] if part.size else last


# Steppers as JSON values. A solver of a user's class is stored by its name only.


def stepper_to_json(stepper: TimeStepping) -> Json:
    """Return the stepper's options as JSON values; a solver that is not one of `lcp`'s by its name."""
    values = {field.name: getattr(stepper, field.name) for field in fields(stepper)}
    if stepper.max_depenetration_velocity == math.inf:
        values["max_depenetration_velocity"] = "inf"
    values["sleep"] = None if stepper.sleep is None else asdict(stepper.sleep)
    values["solver"] = None if stepper.solver is None else _solver_to_json(stepper.solver)
    return values


@dataclass(frozen=True)
class ForgottenBackend:
    """A user's friction backend, or one with a user's code, as stored in a record: only these fields."""

    name: str
    law: str
    tolerance: float

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Raise an error: the record does not contain the code."""
        detail = f"{self.name} is code that the record does not hold; give the stepper one: dataclasses.replace"
        raise SimulationConfigError("solver", detail)


def stepper_from_json(data: Json) -> TimeStepping:
    """Return the stepper; with the default solver if the record's was not one of `lcp`'s.

    The default also replaces quadratic programming solvers, which steppers once accepted for worlds without friction.
    """
    solver = None if data["solver"] is None else _solver_from_json(data["solver"])
    solver = None if qp_code_objection(solver) else solver
    sleep = None if data.get("sleep") is None else Sleep(**data["sleep"])
    # Before schema 8 a run stopped at unsolved islands, and before schema 9 impacts ignored the gap. Records without
    # the integrator used Euler's rule.
    early = {"on_unsolved": "raise", "integrator": "euler", "max_depenetration_velocity": "inf"}
    given = {**early, **data, "solver": solver, "sleep": sleep}
    if given["max_depenetration_velocity"] == "inf":
        given["max_depenetration_velocity"] = math.inf
    # Older records have ``attempts``; each is now a part of one strategy.
    if "attempts" in given:
        given["strategies"] = strategies_of(given.pop("attempts"))
    return TimeStepping(**given)


# Solvers of `lcp`, combinators included, and friction backends.
_SOLVERS = by_name(
    *lcp.ALL_SOLVERS,
    *lcp.OPTIONAL_SOLVERS,
    *lcp.ALL_FRICTION_SOLVERS,
    *(lcp.Cascade, lcp.Fallback, lcp.Feasibility, lcp.Refined, lcp.Regularized),
    *(ConvexRelaxation, StaggeredProjections),
)
# Friction solvers of old records, and their present replacements.
_RENAMED = {
    "FrictionCascade": "ContactStrategies",
    "ContactAttempts": "ContactStrategies",
    "ProximalPoint": "SemismoothNewton",
}


def _solver_to_json(solver: Any) -> Json:
    """Return the solver's class name and options, options None for one of a user's class.

    Of a friction backend also the law and the tolerance.
    """
    data: Json = {"name": type(solver).__name__, "options": None}
    if _SOLVERS.get(data["name"]) is type(solver):
        data["options"] = {field.name: _option_to_json(getattr(solver, field.name)) for field in fields(solver)}
    if isinstance(solver, FrictionBackend):
        # Stored for backends, and solvers within them, that a record cannot contain: a step is checked by these values.
        data |= {"law": law_of(solver), "tolerance": getattr(solver, "tolerance", VERIFIED)}
    return data


def _option_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_option_to_json(item) for item in value]
    return _solver_to_json(value) if hasattr(value, "solve") else value


def _solver_from_json(data: Json) -> Any:
    """Return the solver, or None for one that is not of `lcp`, or contains one.

    For a backend, law and tolerance are always known.
    """
    forgotten = ForgottenBackend(data["name"], data["law"], data["tolerance"]) if "law" in data else None
    if data["options"] is None:
        return forgotten
    options = {name: _option_from_json(value) for name, value in data["options"].items()}
    name: str = data["name"]
    cls = _SOLVERS[_RENAMED.get(name, name)]
    if cls is lcp.ContactStrategies and "attempts" in options:
        options["strategies"] = strategies_of(options.pop("attempts"))
    if cls is lcp.Fallback:
        solvers = options.pop("solvers")
        return None if None in solvers else lcp.Fallback(*solvers, **options)
    return forgotten if None in (options.get("inner", True), options.get("qp", True)) else cls(**options)


def _option_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_option_from_json(item) for item in value)
    return _solver_from_json(value) if isinstance(value, dict) else value
