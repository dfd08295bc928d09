"""Event-driven runs on disk: one ``.npz`` without pickle, written whole or not at all, every entry checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.recording.environment import environment
from contactlab.recording.record import RecordError
from contactlab.recording.storage import writing
from contactlab.recording.world_io import world_from_json, world_to_json
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.files import NpzFile, Source, write_npz
from problem_data.io import inertia_members, velocity_members, velocity_problem

if TYPE_CHECKING:
    from contactlab.event_driven.recording import Event, EventRecording

FORMAT, VERSION = "contactlab.EventRecording", 1
_STATES = ("time", "q", "v", "kinetic", "potential", "forces", "gaps")
_OF_EVENTS = ("v_minus", "v_plus", "impulses")

Arrays = dict[str, NDArray[Any]]


def save_run(path: Path, run: EventRecording) -> None:
    """Write a run to exactly this path."""
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "environment": environment(),
        "world": world_to_json(run.world),
        "contact_names": run.contact_names,
        "notices": run.notices,
        "evaluations": run.evaluations,
        "events": [
            {
                "time": event.time,
                "kind": event.kind.value,
                "contacts": event.contacts,
                "energies": [event.energy_before, event.energy_after],
                "problem": event.problem is not None,
            }
            for event in run.events
        ],
    }
    arrays: Arrays = {name: getattr(run, name) for name in _STATES}
    arrays |= {f"event_{name}": _stacked(run, name) for name in _OF_EVENTS}
    arrays |= _packed([event.problem for event in run.events if event.problem is not None])
    text = json.dumps(meta, indent=1, allow_nan=False)
    sources = {"meta": Source.of(np.array(text)), **{name: Source.of(array) for name, array in arrays.items()}}
    with writing(path):
        write_npz(path, sources, compress=True)


def open_run(path: Path) -> dict[str, Any]:
    """Return what an `EventRecording` is made of."""
    if not path.is_file():
        raise RecordError(path, "", "there is no such record")
    arrays = NpzFile(path, RecordError).read_all()
    meta = _meta(path, arrays)
    try:
        world = world_from_json(meta["world"])
        names = tuple(map(str, meta["contact_names"]))
        notices, evaluations, told = tuple(map(str, meta["notices"])), int(meta["evaluations"]), list(meta["events"])
        n, nk, nq, nv = arrays["time"].size, len(names), world.model.nq, world.model.nv
        tails = {"q": (nq,), "v": (nv,), "forces": (nk, 3), "gaps": (nk,)}
        _check(path, arrays, {name: (n, *tails.get(name, ())) for name in _STATES})
        ends = {"v_minus": (nv,), "v_plus": (nv,), "impulses": (nk, 3)}
        _check(path, arrays, {f"event_{name}": (len(told), *ends[name]) for name in _OF_EVENTS})
        problems = iter(_unpacked(arrays, sum(bool(one["problem"]) for one in told)))
        rows = zip(told, *(arrays[f"event_{name}"] for name in _OF_EVENTS), strict=True)
        events = tuple(_event(one, *row, next(problems) if one["problem"] else None) for one, *row in rows)
    except RecordError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        field = error.field if isinstance(error, ProblemDataError) else "meta"
        raise RecordError(path, field, f"describes no event-driven run ({type(error).__name__}: {error})") from error
    states = {name: arrays[name] for name in _STATES}
    told_of = {"contact_names": names, "events": events, "notices": notices, "evaluations": evaluations}
    return {"world": world, **states, **told_of}


def _meta(path: Path, arrays: Arrays) -> dict[str, Any]:
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
    for name, shape in shapes.items():
        array = arrays.get(name)
        if array is None or array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            found = "is missing" if array is None else f"has shape {array.shape} of {array.dtype}"
            raise RecordError(path, name, f"{found}; wanted finite float64 of shape {shape}")


def _stacked(run: EventRecording, name: str) -> NDArray[Any]:
    tail = (len(run.contact_names), 3) if name == "impulses" else (run.world.model.nv,)
    return np.array([getattr(event, name) for event in run.events], dtype=np.float64).reshape(len(run.events), *tail)


def _event(told: Mapping[str, Any], *rest: Any) -> Event:
    from contactlab.event_driven.recording import Event, EventKind

    v_minus, v_plus, impulses, problem = rest
    before, after = map(float, told["energies"])
    contacts = tuple(map(str, told["contacts"]))
    kind = EventKind(told["kind"])
    return Event(float(told["time"]), kind, contacts, v_minus, v_plus, before, after, impulses, problem)


def _packed(problems: list[ConstraintVelProblemData]) -> Arrays:
    """Return the members of all problems, by name one after the other, beside their numbers and their shapes."""
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
