"""The file of an event-driven run: one ``.npz`` without pickle, written completely or not at all.

Every entry is checked when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.event_driven.trace import Event, EventKind
from contactlab.simulation.recording.environment import environment
from contactlab.simulation.recording.record import RecordError
from contactlab.simulation.recording.storage import writing
from contactlab.simulation.recording.world_io import world_from_json, world_to_json
from contactlab.simulation.world.world import World
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.files import NpzFile, Source, write_npz
from problem_data.io import inertia_members, velocity_members, velocity_problem

FORMAT, VERSION = "contactlab.EventRecording", 1

Arrays = dict[str, NDArray[Any]]


def write_run(path: Path, fields: Mapping[str, Any]) -> None:
    """Write a run, the fields of an `EventRecording` by name, to exactly this path."""
    world, names, events = fields["world"], fields["contact_names"], fields["events"]
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "environment": environment(),
        "world": world_to_json(world),
        "contact_names": names,
        "notices": fields["notices"],
        "evaluations": fields["evaluations"],
        "events": [
            {
                "time": event.time,
                "kind": event.kind.value,
                "contacts": event.contacts,
                "energies": [event.energy_before, event.energy_after],
                "problem": event.problem is not None,
            }
            for event in events
        ],
    }
    arrays: Arrays = {}
    for name, shape in _shapes(world, len(fields["time"]), len(events), len(names)).items():
        field = name.removeprefix("event_")
        values = fields[name] if field == name else [getattr(event, field) for event in events]
        arrays[name] = np.array(values, dtype=np.float64).reshape(shape)
    arrays |= _packed([event.problem for event in events if event.problem is not None])
    text = json.dumps(meta, indent=1, allow_nan=False)
    sources = {"meta": Source.of(np.array(text)), **{name: Source.of(array) for name, array in arrays.items()}}
    with writing(path):
        write_npz(path, sources, compress=True)


def read_run(path: Path) -> dict[str, Any]:
    """Read a file of `write_run`, and return the fields of the `EventRecording` by name."""
    if not path.is_file():
        raise RecordError(path, "", "there is no such record")
    arrays = NpzFile(path, RecordError).read_all()
    meta = _meta(path, arrays)
    try:
        world = world_from_json(meta["world"])
        names, notices = (tuple(map(str, meta[name])) for name in ("contact_names", "notices"))
        told, evaluations = list(meta["events"]), int(meta["evaluations"])
        shapes = _shapes(world, arrays["time"].size, len(told), len(names))
        _check(path, arrays, shapes)
        problems = iter(_unpacked(arrays, sum(bool(one["problem"]) for one in told)))
        events = tuple(
            Event(
                time=float(one["time"]),
                kind=EventKind(one["kind"]),
                contacts=tuple(map(str, one["contacts"])),
                v_minus=arrays["event_v_minus"][i],
                v_plus=arrays["event_v_plus"][i],
                energy_before=float(one["energies"][0]),
                energy_after=float(one["energies"][1]),
                impulses=arrays["event_impulses"][i],
                problem=next(problems) if one["problem"] else None,
            )
            for i, one in enumerate(told)
        )
    except RecordError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        field = error.field if isinstance(error, ProblemDataError) else "meta"
        raise RecordError(path, field, f"describes no event-driven run ({type(error).__name__}: {error})") from error
    states = {name: arrays[name] for name in shapes if not name.startswith("event_")}
    said = {"contact_names": names, "events": events, "notices": notices, "evaluations": evaluations}
    return {"world": world, **states, **said}


def _shapes(world: World, rows: int, events: int, contacts: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of a run, by name; those of its events have the prefix ``event_``."""
    nq, nv = world.model.nq, world.model.nv
    tails: dict[str, tuple[int, ...]] = {"time": (), "q": (nq,), "v": (nv,), "kinetic": (), "potential": ()}
    tails |= {"forces": (contacts, 3), "gaps": (contacts,)}
    of_events = {"v_minus": (nv,), "v_plus": (nv,), "impulses": (contacts, 3)}
    shapes = {name: (rows, *tail) for name, tail in tails.items()}
    return shapes | {f"event_{name}": (events, *tail) for name, tail in of_events.items()}


def _meta(path: Path, arrays: Arrays) -> dict[str, Any]:
    """Return the entry ``meta`` of a file, parsed as JSON; raise if its format or version is another one."""
    try:
        meta = json.loads(str(arrays["meta"]))
    except (KeyError, ValueError, RecursionError) as error:
        raise RecordError(path, "meta", f"is missing, or no JSON ({error})") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise RecordError(path, "meta", f"does not describe a {FORMAT}; `Recording.open` reads stepped runs")
    if meta.get("version") != VERSION:
        raise RecordError(path, "meta", f"has version {meta.get('version')!r}; this release reads {VERSION}")
    return meta


def _check(path: Path, arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise `RecordError` for the first array that is missing, has another shape, or is not finite float64."""
    for name, shape in shapes.items():
        array = arrays.get(name)
        if array is None or array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            found = "is missing" if array is None else f"has shape {array.shape} of {array.dtype}"
            raise RecordError(path, name, f"{found}; wanted finite float64 of shape {shape}")


def _packed(problems: list[ConstraintVelProblemData]) -> Arrays:
    """Return the members of all problems, concatenated by name, with their counts and shapes."""
    packed: dict[str, list[NDArray[Any]]] = {}
    shapes: dict[str, list[list[int]]] = {}
    for i, problem in enumerate(problems):
        members = velocity_members(problem) | inertia_members(problem.M, problem.solve_inertia, problem.nv)
        for name, member in members.items():
            array = np.asarray(member)
            packed.setdefault(name, []).append(array.ravel())
            shapes.setdefault(name, []).append([i, *(array.shape + (-1, -1))[:2]])
    numbers = {f"problem_{name}": np.concatenate(parts) for name, parts in packed.items()}
    return numbers | {f"shape_{name}": np.array(shape, dtype=np.int64) for name, shape in shapes.items()}


def _unpacked(arrays: Arrays, count: int) -> list[ConstraintVelProblemData]:
    """Return the ``count`` problems of the events from the arrays of a file: the inverse of `_packed`."""
    members: list[dict[str, NDArray[Any]]] = [{} for _ in range(count)]
    for key in [key for key in arrays if key.startswith("problem_")]:
        name, at = key.removeprefix("problem_"), 0
        for i, *shape in arrays[f"shape_{name}"].tolist():
            own = tuple(size for size in shape if size >= 0)
            size = int(np.prod(own, dtype=np.int64))
            if not 0 <= i < count:
                raise ValueError(f"shape_{name} tells of problem {i} of {count}")
            members[i][name] = arrays[key][at : at + size].reshape(own)
            at += size
    return [velocity_problem(one) for one in members]
