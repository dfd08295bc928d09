"""Result of an event-driven run: states, events, forces, contacts as a table, and its file; errors of runs that stop.

The file is one ``.npz`` without pickle, written completely or not at all. Every entry is checked when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import RestitutionLaw
from contactlab.event_driven.candidates import BallBallPair, Candidate, find_candidates
from contactlab.event_driven.trace import Event, EventKind, RunTrace
from contactlab.multibody import difference, integrate, kinematics
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording import environment
from contactlab.simulation.recording.record import RecordError, html_of
from contactlab.simulation.recording.storage import writing
from contactlab.simulation.recording.world_io import world_from_json, world_to_json
from contactlab.simulation.stepping.contact_table import OPEN, SLIDE, STICK, ContactContext, ContactTable
from contactlab.simulation.stepping.record_schema import columns_of, new_rows
from contactlab.simulation.world.world import StepperState, World
from problem_data import (
    ConstraintAccelProblemData,
    ConstraintVelProblemData,
    ProblemDataError,
    inertia_members,
    velocity_members,
    velocity_problem,
)
from problem_data.files import NpzFile, Source, write_npz


@dataclass(frozen=True, eq=False, repr=False)
class EventRecording:
    """A run between events; several rows may share a time, before and after an impact.

    Parameters
    ----------
    world : World
        The moving world.
    time : ndarray, shape (n,)
        [s].
    q, v : ndarray, shapes (n, nq), (n, nv)
        States.
    kinetic, potential : ndarray, shape (n,)
        Energies [J].
    events : tuple of Event
        In their order.
    contact_names : tuple of str
        All pairs that could touch.
    forces : ndarray, shape (n, nk, 3)
        Force of each on its body B, world axes [N].
    gaps : ndarray, shape (n, nk)
        Distances [m], including the drift of closed contacts.
    evaluations : int
        Evaluations of the acceleration.
    notices : tuple of str
        Decisions of an impact law that do not follow from the data, and energy that it added, for each impact; pairs
        that start inside one another or penetrate, and balls missed within a step of the integrator.
    course : RunTrace or None
        The trace of the run, for `transition`.
    """

    world: World
    time: FloatArray
    q: FloatArray
    v: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    events: tuple[Event, ...]
    contact_names: tuple[str, ...]
    forces: FloatArray
    gaps: FloatArray
    evaluations: int
    notices: tuple[str, ...] = ()
    course: RunTrace | None = None
    _index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("time", "q", "v", "kinetic", "potential", "forces", "gaps"):
            getattr(self, name).flags.writeable = False
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.contact_names)})

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy (n,) [J]."""
        return self.kinetic + self.potential

    def of_kind(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return the events of the given kinds."""
        return tuple(event for event in self.events if event.kind in kinds)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> EventRecording:
        """Open a run that `save` wrote; its ``course`` is not stored, so `transition` cannot be used.

        Raises
        ------
        RecordError
            The file is missing, truncated, foreign or inconsistent; the error names file and field.
        """
        return cls(**read_run(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to exactly this path, as one ``.npz`` without pickle; completely or not at all.

        Raises
        ------
        RecordWriteError
            The disk cannot be written.
        """
        write_run(Path(path), vars(self))

    @cached_property
    def contacts(self) -> ContactTable:
        """The contacts with a force between two states, as a table like `Recording.contacts`.

        Step ``i`` leads from state ``i`` to ``i + 1``. If both have the same time, at an impact, the table has the
        impulses; otherwise the mean of the forces at both ends times the time between. An impact before the first state
        has no step. The numbers ``id`` are indices in `contact_names`.
        """
        return contact_table(self)

    def force(self, contact: str) -> FloatArray:
        """Return the force of one contact on its body B, world axes (n, 3) [N]."""
        return self.forces[:, self._index[contact]]

    def state(self, i: int = -1) -> StepperState:
        """Return state ``i``, the last by default, from which a run can continue."""
        return StepperState(q=self.q[i], v=self.v[i], time=float(self.time[i]))

    def at(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return q and v of the last row at or before a time [s]."""
        i = max(0, int(np.searchsorted(self.time, time, side="right")) - 1)
        return self.q[i], self.v[i]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The pairs that could touch, in the order of `contact_names`."""
        return find_candidates(self.world)

    def sample(self, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return q (m, nq) and v (m, nv) at times (m,) [s], by cubics between the rows; after an impact at its time.

        The cubics in q have the slopes v at their ends. They are exact in free fall; otherwise the error is of fourth
        order in the distance of rows, which ``EventDriven.output_step`` bounds. v is linear between rows. Times outside
        the run give its first or last state.
        """
        model, last = self.world.model, len(self.time) - 1
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        i = np.clip(np.searchsorted(self.time, wanted, side="right") - 1, 0, last)
        j = np.minimum(i + 1, last)
        span = (self.time[j] - self.time[i])[:, None]
        s = np.clip((wanted - self.time[i])[:, None] / np.where(span > 0.0, span, np.inf), 0.0, 1.0)
        way = s * s * (3.0 - 2.0 * s) * difference(model, self.q[i], self.q[j])
        way += span * (s * (1.0 - s) ** 2 * self.v[i] - s * s * (1.0 - s) * self.v[j])
        return integrate(model, self.q[i], way, 1.0), (1.0 - s) * self.v[i] + s * self.v[j]

    def __iter__(self) -> Iterator[tuple[float, FloatArray, FloatArray]]:
        return zip(self.time.tolist(), self.q, self.v, strict=True)

    def __repr__(self) -> str:
        end = f"{self.time[-1]:.6g} s" if self.time.size else "nothing"
        return f"EventRecording({end}, {self.time.size} states, {len(self.events)} events)"

    def _repr_html_(self) -> str:
        """Return the record as a table in HTML, which notebooks display."""
        counts = {kind: len(self.of_kind(kind)) for kind in EventKind}
        said = ", ".join(f"{count} {kind.value}" for kind, count in counts.items() if count)
        rows = [("states", self.time.size), ("events", said or "none"), ("contacts", len(self.contact_names))]
        return html_of(repr(self), self.world, self.time, self.energy, rows)


# Maximum slip of a sticking contact [m/s]: the error of the integrator.
_STICK_SPEED = 1e-6


def contact_table(run: EventRecording) -> ContactTable:
    """Return the table of contacts with an impulse between two states of a run; see `EventRecording.contacts`."""
    impulses, model = _impulses(run), run.world.model
    bodies, half_spaces = model.names, list(run.world.half_spaces)
    rows = [(int(i), int(k)) for i, k in np.argwhere(impulses.any(axis=2))]
    instants = {i: kinematics(model, run.q[i], run.v[i + 1]) for i in {i for i, _ in rows}}
    table = new_rows("contact", len(rows))
    for row, (i, k) in zip(table, rows, strict=True):
        pair, impulse = run.candidates[k], impulses[i, k]
        local = pair.local(model, instants[i])
        on_ball, e = isinstance(pair, BallBallPair), pair.restitution
        normal, slip = float(local.normal @ impulse), float(np.hypot(*local.u[1:]))
        row["step"], row["id"], row["shape_a"], row["shape_b"] = i, k, -1, -1
        row["body_a"] = bodies.index(pair.body_a) if isinstance(pair, BallBallPair) else -1
        row["body_b"] = bodies.index(pair.body)
        row["half_space"] = -1 if isinstance(pair, BallBallPair) else half_spaces.index(pair.half_space)
        row["mode"] = OPEN if normal <= 0.0 else SLIDE if slip > _STICK_SPEED else STICK
        row["point"] = local.point + (0.5 * local.gap * local.normal if on_ball else 0.0)
        row["normal"], row["gap"], row["slip"], row["mu"] = local.normal, local.gap, slip, pair.mu
        row["restitution"] = e.at(abs(float(local.u[0]))) if isinstance(e, RestitutionLaw) else float(e)
        row["impulse"], row["impulse_normal"] = impulse, normal
        row["impulse_tangential"] = local.tangents @ impulse
    return ContactTable.from_rows(columns_of("contact", table), ContactContext.of(run.world, np.diff(run.time)))


def _impulses(run: EventRecording) -> FloatArray:
    """Return the impulses (n - 1, nk, 3) between the states, world axes [N s]."""
    h = np.diff(run.time)
    between = 0.5 * h[:, None, None] * (run.forces[:-1] + run.forces[1:])
    for i in np.flatnonzero((h == 0.0) & (run.v[:-1] != run.v[1:]).any(axis=1)):
        between[i] = sum(event.impulses for event in run.events if event.time == run.time[i])
    return between


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
    """Return the shapes of the arrays of a run, by name; arrays of its events have the prefix ``event_``."""
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


class EventError(RuntimeError):
    """A run that had to stop; ``recording`` has everything before.

    Attributes
    ----------
    time
        Time [s].
    recording
        The run so far.
    """

    def __init__(self, message: str, *, time: float, recording: EventRecording | None = None) -> None:
        super().__init__(message)
        self.time, self.recording = time, recording


class InconsistentContact(EventError):
    """Rigid friction has no acceleration, or several, at this state: Painleve's paradox.

    Attributes
    ----------
    contacts
        Names of the sliding contacts whose normal response is not positive.
    solutions
        Number of solutions of the acceleration-level LCP, by enumeration; -1 if it is too large to enumerate.
    problem
        The problem, for `problem_data.save`.
    """

    def __init__(
        self,
        message: str,
        *,
        time: float,
        contacts: tuple[str, ...],
        solutions: int,
        problem: ConstraintAccelProblemData,
        recording: EventRecording | None = None,
    ) -> None:
        super().__init__(message, time=time, recording=recording)
        self.contacts, self.solutions, self.problem = contacts, solutions, problem
