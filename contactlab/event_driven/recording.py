"""Result of an event-driven run: states, events, forces, contacts as a table, and its file on disk.

The file is one ``.npz`` without pickle, written completely or not at all. Every entry is checked when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import RestitutionLaw
from contactlab.event_driven.candidates import BallBallPair, Candidate, find_candidates
from contactlab.multibody import difference, integrate, kinematics
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.environment import environment
from contactlab.simulation.recording.record import RecordError
from contactlab.simulation.recording.recording import html_of
from contactlab.simulation.recording.storage import writing
from contactlab.simulation.recording.world_io import world_from_json, world_to_json
from contactlab.simulation.stepping.contact_table import OPEN, SLIDE, STICK, ContactContext, ContactTable
from contactlab.simulation.world.state import StepperState
from contactlab.simulation.world.world import World
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.files import NpzFile, Source, write_npz
from problem_data.io import inertia_members, velocity_members, velocity_problem

if TYPE_CHECKING:
    from contactlab.event_driven.phase import RunTrace


class EventKind(Enum):
    """The kind of an event."""

    IMPACT = "impact"
    #: an impact so soon after the last one of the same contact that it closed all touching contacts, without rebound
    ZENO = "zeno"
    #: contact made without approach, or kept after an impact
    CLOSE = "close"
    OPEN = "open"
    SLIDE = "slide"
    STICK = "stick"
    #: rigid friction had no acceleration; an impulse without collision stopped the slip
    JAM = "jam"


@dataclass(frozen=True, eq=False)
class Event:
    """One event.

    Parameters
    ----------
    time : float
        [s].
    kind : EventKind
        What happened.
    contacts : tuple of str
        Names of the contacts concerned.
    v_minus, v_plus : ndarray, shape (nv,)
        Velocity before and after; equal except for impacts.
    energy_before, energy_after : float
        Kinetic energy [J].
    impulses : ndarray, shape (nk, 3)
        Impulse of each of the run's contacts on its body B, world axes [N s]; 0 except for impacts.
    problem : ConstraintVelProblemData or None
        Problem of an impact, for `impact.compare` and `impact.outcome_set`.
    """

    time: float
    kind: EventKind
    contacts: tuple[str, ...]
    v_minus: FloatArray
    v_plus: FloatArray
    energy_before: float
    energy_after: float
    impulses: FloatArray
    problem: ConstraintVelProblemData | None = None

    def __repr__(self) -> str:
        return f"Event({self.time:.9g} s, {self.kind.value}, {', '.join(self.contacts)})"


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
    course : Course or None
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
        return cls(**open_run(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to exactly this path, as one ``.npz`` without pickle; completely or not at all.

        Raises
        ------
        RecordWriteError
            The disk cannot be written.
        """
        save_run(Path(path), self)

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

        The cubics in q have the slopes v at their ends: exact in free fall, otherwise with an error of fourth order in
        the distance of rows, which ``EventDriven.output_step`` bounds. v is linear between rows. Times outside the run
        give its first or last state.
        """
        model = self.world.model
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        last = len(self.time) - 1
        q, v = np.empty((len(wanted), model.nq)), np.empty((len(wanted), model.nv))
        for k, t in enumerate(wanted.tolist()):
            i = min(max(int(np.searchsorted(self.time, t, side="right")) - 1, 0), last)
            j = min(i + 1, last)
            span = float(self.time[j] - self.time[i])
            s = min(max((t - float(self.time[i])) / span, 0.0), 1.0) if span > 0.0 else 0.0
            way = s * s * (3.0 - 2.0 * s) * difference(model, self.q[i], self.q[j])
            way = way + span * (s * (1.0 - s) ** 2 * self.v[i] - s * s * (1.0 - s) * self.v[j])
            q[k] = integrate(model, self.q[i], way, 1.0)
            v[k] = (1.0 - s) * self.v[i] + s * self.v[j]
        return q, v

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
    table = np.zeros(len(rows), dtype=_ROW)
    for place, (i, k) in enumerate(rows):
        pair, impulse = run.candidates[k], impulses[i, k]
        local = pair.local(model, instants[i])
        normal, tangential = float(local.normal @ impulse), local.tangents @ impulse
        slip, e = float(np.hypot(*local.u[1:])), pair.restitution
        one = {
            "step": i,
            "body_a": bodies.index(pair.body_a) if isinstance(pair, BallBallPair) else -1,
            "body_b": bodies.index(pair.body),
            "shape_a": -1,
            "shape_b": -1,
            "half_space": -1 if isinstance(pair, BallBallPair) else half_spaces.index(pair.half_space),
            "id": k,
            "mode": OPEN if normal <= 0.0 else SLIDE if slip > _STICK_SPEED else STICK,
            "point": local.point + (0.5 * local.gap * local.normal if isinstance(pair, BallBallPair) else 0.0),
            "normal": local.normal,
            "gap": local.gap,
            "mu": pair.mu,
            "restitution": e.at(abs(float(local.u[0]))) if isinstance(e, RestitutionLaw) else float(e),
            "impulse": impulse,
            "impulse_normal": normal,
            "impulse_tangential": tangential,
            "slip": slip,
        }
        for name, value in one.items():
            table[name][place] = value
    scope = ContactContext.of(run.world, np.diff(run.time))
    return ContactTable(**{name: table[name].copy() for name in _ROW.names or ()}, scope=scope)


_INT_COLUMNS = ("step", "island", "body_a", "body_b", "shape_a", "shape_b", "half_space", "id", "mode")

_ROW = np.dtype(
    [(name, np.int64) for name in _INT_COLUMNS]
    + [
        (name, np.float64)
        for name in ["gap", "mu", "restitution", "impulse_normal", "slip", "projection_multiplier", "gap_correction"]
    ]
    + [(name, np.float64, 3) for name in ["point", "normal", "impulse", "moment"]]
    + [(name, np.float64, 2) for name in ["impulse_tangential", "projection_multiplier_tangential"]]
)


def _impulses(run: EventRecording) -> FloatArray:
    """Return the impulses (n - 1, nk, 3) between the states, world axes [N s]."""
    h = np.diff(run.time)
    between = 0.5 * h[:, None, None] * (run.forces[:-1] + run.forces[1:])
    for i in np.flatnonzero((h == 0.0) & (run.v[:-1] != run.v[1:]).any(axis=1)):
        between[i] = sum(event.impulses for event in run.events if event.time == run.time[i])
    return between


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
    """Read a file of `save_run`, and return the fields of the `EventRecording` by name."""
    if not path.is_file():
        raise RecordError(path, "", "there is no such record")
    arrays = NpzFile(path, RecordError).read_all()
    meta = _meta(path, arrays)
    try:
        world = world_from_json(meta["world"])
        names = tuple(map(str, meta["contact_names"]))
        notices, evaluations, event_data = (
            tuple(map(str, meta["notices"])),
            int(meta["evaluations"]),
            list(meta["events"]),
        )
        n, nk, nq, nv = arrays["time"].size, len(names), world.model.nq, world.model.nv
        tails = {"q": (nq,), "v": (nv,), "forces": (nk, 3), "gaps": (nk,)}
        _check(path, arrays, {name: (n, *tails.get(name, ())) for name in _STATES})
        ends = {"v_minus": (nv,), "v_plus": (nv,), "impulses": (nk, 3)}
        _check(path, arrays, {f"event_{name}": (len(event_data), *ends[name]) for name in _OF_EVENTS})
        problems = iter(_unpacked(arrays, sum(bool(one["problem"]) for one in event_data)))
        rows = zip(event_data, *(arrays[f"event_{name}"] for name in _OF_EVENTS), strict=True)
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


def _stacked(run: EventRecording, name: str) -> NDArray[Any]:
    tail = (len(run.contact_names), 3) if name == "impulses" else (run.world.model.nv,)
    return np.array([getattr(event, name) for event in run.events], dtype=np.float64).reshape(len(run.events), *tail)


def _event(description: Mapping[str, Any], *rest: Any) -> Event:
    """Return an event from its description and its arrays v_minus, v_plus, impulses and problem."""
    v_minus, v_plus, impulses, problem = rest
    before, after = map(float, description["energies"])
    contacts = tuple(map(str, description["contacts"]))
    kind = EventKind(description["kind"])
    return Event(float(description["time"]), kind, contacts, v_minus, v_plus, before, after, impulses, problem)


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
