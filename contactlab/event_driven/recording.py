"""Result of an event-driven run: states, events, forces, contacts as a table; and the errors of runs that stop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import RestitutionLaw
from contactlab.event_driven.candidates import BallBallPair, Candidate, find_candidates
from contactlab.event_driven.run_file import read_run, write_run
from contactlab.event_driven.trace import Event, EventKind, RunTrace
from contactlab.multibody import difference, integrate, kinematics
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.recording import html_of
from contactlab.simulation.stepping.contact_table import OPEN, SLIDE, STICK, ContactContext, ContactTable
from contactlab.simulation.stepping.record_schema import columns_of, new_rows
from contactlab.simulation.world.state import StepperState
from contactlab.simulation.world.world import World
from problem_data import ConstraintAccelProblemData


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
