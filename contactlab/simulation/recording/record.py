"""The arrays of a run, read as states, contacts, events and solver statistics of its steps.

A large record can be read in portions of steps: computations from it then need no memory for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.constraint_solver.certificate import ForceChoice
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.contact_table import ContactContext, ContactTable
from contactlab.simulation.stepping.island_tables import CertificateTable, JointTable, UncertifiedTable
from contactlab.simulation.stepping.kernels.layout import OPEN, SLIDE
from contactlab.simulation.stepping.record_schema import FIELDS, Rows
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.motion import belt_twist
from contactlab.simulation.world.world import StepperState, World
from lcp.result import html_table
from problem_data.validation import FileError


class RecordError(FileError):
    """A record that cannot be read: missing, truncated, foreign, or inconsistent.

    Attributes
    ----------
    path
        The file or folder.
    field
        The array or entry at fault, empty if it is the file as a whole.
    """

    def __init__(self, path: Path, field: str, detail: str) -> None:
        super().__init__(path, field, detail)
        self.path, self.field, self.detail = path, field, detail

    def __str__(self) -> str:
        where = f"{self.path}: {self.field}" if self.field else str(self.path)
        return f"{where}: {self.detail}"


class RecordWriteError(OSError):
    """A record that cannot be written: the disk is full, or the folder is missing or read-only.

    Data written earlier remain readable: a file is replaced completely or not at all.

    Attributes
    ----------
    path
        The file.
    """

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror or str(cause))
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: cannot be written ({self.strerror}); earlier data can be opened"

    def __reduce__(self) -> tuple[object, ...]:
        return RecordWriteError, (self.path, OSError(self.errno, self.strerror))


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """The arrays of a run with its world and stepper; `Recording` adds computed quantities."""

    # The world and the stepper.
    world: World
    stepper: TimeStepping
    rows: Rows  # the arrays by name (`contactlab.simulation.stepping.record_schema`)
    # As in `Recording`.
    environment: Mapping[str, str] = field(default_factory=dict)
    solver_description: str = ""
    timings: Rows = field(default_factory=dict)

    def __post_init__(self) -> None:
        # With all numbers of the stepper in this world, which readers of a record need.
        object.__setattr__(self, "stepper", self.stepper.in_world(self.world))

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return self.time.size - 1

    @property
    def time(self) -> FloatArray:
        """Times (n_steps + 1,) [s]."""
        return self.rows["time"]

    @property
    def h(self) -> FloatArray:
        """Sizes of the steps (n_steps,) [s]: constant unless the stepper is adaptive."""
        return self.rows["h"]

    @property
    def q(self) -> FloatArray:
        """Configurations (n_steps + 1, nq)."""
        return self.rows["q"]

    @property
    def v(self) -> FloatArray:
        """Velocities (n_steps + 1, nv)."""
        return self.rows["v"]

    @property
    def kinetic(self) -> FloatArray:
        """Kinetic energies (n_steps + 1,) [J]."""
        return self.rows["kinetic"]

    @property
    def potential(self) -> FloatArray:
        """Potential energies (n_steps + 1,) [J], zero with the centres of mass at the world origin."""
        return self.rows["potential"]

    @cached_property
    def asleep(self) -> NDArray[np.bool_]:
        """Flags (n_steps, nb) of the bodies that slept through each step."""
        trees, asleep = self.world.body_trees, self.rows["asleep"] != 0
        out = np.zeros((self.n_steps, trees.size), dtype=bool)
        if asleep.shape[1]:
            out[:, trees >= 0] = asleep[:, trees[trees >= 0]]
        return out

    @cached_property
    def contacts(self) -> ContactTable:
        """All contacts of all steps."""
        return ContactTable.from_rows(self.rows, ContactContext.of(self.world, self.h))

    def contacts_at(self, i: int) -> ContactTable:
        """Return the contacts of step ``i``."""
        own = self.contacts.rows(self.rows_of_step("contact_step", i))
        return replace(own, scope=replace(own.scope, first=i, h=self.h[i : i + 1]))

    def force_on(self, body: str) -> FloatArray:
        """Return the sum of the contact forces on a body, mean over each step, world axes (n_steps, 3) [N].

        ``body`` may also be the name of a half-space, or "world" for all shapes fixed to the world.

        Raises
        ------
        SimulationConfigError
            A name is unknown; the error lists similar ones.
        """
        return self.contacts.between(body).force_on(body)

    @cached_property
    def joint_rows(self) -> JointTable:
        """All joint rows of all steps: stops, drives, friction, followers and loops."""
        return JointTable.from_rows(self.rows)

    @property
    def uncertified(self) -> UncertifiedTable:
        """The unsolved islands with which the run continued: see `TimeStepping.on_unsolved`."""
        return UncertifiedTable.of(CertificateTable.from_rows(self.rows), relaxed=self.stepper.law != "coulomb")

    @property
    def pivots(self) -> IntArray:
        """Solver iterations per step, summed over islands (n_steps,)."""
        return np.bincount(self.rows["island_step"], self.rows["island_pivots"], self.n_steps).astype(np.int64)

    @property
    def warm_start_solves(self) -> IntArray:
        """Islands per step solved from the warm start without a pivot (n_steps,)."""
        return np.bincount(self.rows["island_step"], self.rows["island_warm"], self.n_steps).astype(np.int64)

    def count_by_choice(self, choice: ForceChoice) -> IntArray:
        """Return the number of islands per step with this choice of forces (n_steps,)."""
        own = self.rows["island_choice"] == choice
        return np.bincount(self.rows["island_step"][own], minlength=self.n_steps)

    @property
    def islands(self) -> IntArray:
        """Islands per step (n_steps,)."""
        return np.bincount(self.rows["island_step"], minlength=self.n_steps)

    def state(self, i: int) -> StepperState:
        """Return state ``i`` (0 .. n_steps): a run restarted from it gives the same bits.

        Raise `RecordError` if the record has no such state, because its file is damaged.
        """
        if not 0 <= i <= self.n_steps:
            raise IndexError(f"state {i}: the record holds 0 .. {self.n_steps}")
        try:
            return state_after(self.rows, i, i - self.n_steps - 1)
        except SimulationConfigError as error:
            raise RecordError(Path("record"), f"state {i}, {error.field}", error.detail) from error

    def rows_of_step(self, name: str, i: int) -> slice:
        """Return the rows of step ``i`` in arrays whose step numbers are in the array ``name``."""
        if not 0 <= i < self.n_steps:
            raise IndexError(f"step {i}: the record holds 0 .. {self.n_steps - 1}")
        first, last = np.searchsorted(self.rows[name], (i, i + 1))
        return slice(int(first), int(last))


def state_after(rows: Rows, step: int, at: int = -1) -> StepperState:
    """Return the state after ``step`` steps, with its warm start.

    Rows may lack earlier states and steps: ``at`` is the place of the state, and of the step before it, from the end.
    """
    if step:
        contacts, joints = (
            slice(*np.searchsorted(rows[name], (step - 1, step))) for name in ("contact_step", "joint_step")
        )
        ids, z, h = rows["contact_id"][contacts], rows["contact_z"][contacts], rows["h"][at]
        # Records have the rows of joints island by island, states by number.
        row_ids = rows["joint_row"][joints]
        order = np.argsort(row_ids)
        row_ids, row_z = row_ids[order], rows["joint_z"][joints][order]
        # Stored only if bodies may sleep.
        width = rows["start_tau"].shape[1]
        tau = rows["tau"][at] if width and rows["tau"].shape[0] else np.zeros(width)
    else:
        ids, z, row_ids, row_z = (rows[f"start_{name}"] for name in ("contact_ids", "z", "row_ids", "row_z"))
        h, tau = rows["start_h"][0], rows["start_tau"][0]
    q, v, rest = (np.array(rows[name][at]) for name in ("q", "v", "rest"))
    return StepperState(
        q, v, float(rows["time"][at]), float(h), ids, z, row_ids=row_ids, row_z=row_z, rest=rest, tau=tau
    )


def asleep_dofs(recording: Record, steps: slice | IntArray = slice(None)) -> NDArray[np.bool_]:
    """Return flags (n, nv) of the velocities that were kept at 0 through each of n steps, by default of all."""
    asleep, world = recording.rows["asleep"][steps] != 0, recording.world
    if not asleep.shape[1]:
        return np.zeros((asleep.shape[0], world.nv), dtype=bool)
    return np.repeat(asleep, np.diff(world.tree_starts), axis=1)


def surface_velocities(recording: Record, contacts: Any) -> FloatArray:
    """Return velocity and angular velocity (n, 6) of body A's surface at contacts; 0 if A is not kinematic.

    ``contacts`` has the columns body_a, step, point and normal of a `ContactTable`.

    Along the normal it is the velocity of the body, because a belt moves only along its body.
    """
    out = np.zeros((contacts.step.size, 6))
    for row, (body, _) in enumerate(recording.world.motions):
        own = np.flatnonzero(contacts.body_a == body)
        step = contacts.step[own]
        twist, pose = recording.rows["motion_twist"][step, row], recording.rows["motion_pose"]
        belt = belt_twist(pose[step, row], pose[step + 1, row], twist, recording.h[step])
        arm, n = contacts.point[own] - pose[step, row, 9:], contacts.normal[own]
        out[own] = np.hstack((twist[:, 3:] + np.cross(twist[:, :3], arm), twist[:, :3]))
        out[own, :3] -= np.sum(n * (belt[:, 3:] + np.cross(belt[:, :3], arm)), axis=1, keepdims=True) * n
    return out


# Maximum number of steps in a portion, and its approximate number of contacts.
STEPS, CONTACTS = 1 << 14, 1 << 16

# Fields whose first axis is neither states nor steps nor rows of steps.
_WHOLE = ("origins", "start", "start_rows")


def slice_steps(recording: Record, first: int, last: int) -> Record:
    """Return the steps ``first`` .. ``last`` - 1 as a record whose step 0 is ``first``.

    Its values are the record's. The warm start (``start_...``) is not updated, so a run cannot continue from it.
    """
    ranges = {"states": slice(first, last + 1), "steps": slice(first, last), "taus": slice(first, last)}
    for axis in ("contacts", "joints", "islands"):
        ranges[axis] = slice(*(int(at) for at in np.searchsorted(recording.rows[f"{axis[:-1]}_step"], (first, last))))
    rows = {
        name: recording.rows[name] if field.axis in _WHOLE else recording.rows[name][ranges[field.axis]]
        for name, field in FIELDS.items()
    }
    for name in ("contact_step", "joint_step", "island_step") if first else ():
        rows[name] = rows[name] - first
    return replace(recording, rows=rows, timings={})


def iter_slices(recording: Record) -> Iterator[Record]:
    """Yield all steps in portions, in order; a record without steps gives one portion without steps."""
    n = recording.n_steps
    ends = np.unique([*range(0, n, STEPS), *map(int, recording.rows["contact_step"][::CONTACTS]), 0, n])
    for first, last in list(pairwise(map(int, ends))) or [(0, 0)]:
        yield slice_steps(recording, first, last)


@dataclass(frozen=True)
class ContactEvent:
    """A change between two bodies from one step to the next.

    Attributes
    ----------
    kind
        ``made``: an impulse acts between them, and none did in the previous step; ``broken``: none acts any more;
        ``slip``: one of their contacts slides, and all stuck before; ``stick``: all stick, and one slid before.
    step, time
        The first step after the change, and its start [s].
    a, b
        Names: body or half-space, and body. "world" if an external contact touches the world.
    """

    kind: str
    step: int
    time: float
    a: str
    b: str


@dataclass(frozen=True, eq=False)
class SolverStatistics:
    """The solver's work, step by step (n_steps,), and the time of the run.

    Attributes
    ----------
    pivots, warm_start_solves, islands, contacts
        Iterations of the solver, islands solved by the warm start, islands, and contacts.
    selected, not_selected
        Islands with selected forces, and islands without them in which forces should be selected
        (`contactlab.ForceChoice`).
    uncertified
        Unsolved islands with which the run continued (`Recording.uncertified`).
    portions, seconds
        (m,) The run by portions: the step before which each ended, and its time [s] without compilation. Empty if the
        record has no timings. Timings differ between runs that are otherwise equal.
    """

    pivots: np.ndarray
    warm_start_solves: np.ndarray
    islands: np.ndarray
    contacts: np.ndarray
    selected: np.ndarray
    not_selected: np.ndarray
    uncertified: np.ndarray
    portions: np.ndarray
    seconds: FloatArray

    def __str__(self) -> str:
        steps, total = self.pivots.size, float(self.seconds.sum())
        rate = f", {steps / total:.0f} steps/s" if total > 0.0 and steps else ""
        asked, missed = self.selected.sum() + self.not_selected.sum(), self.not_selected.sum()
        selection = f", {missed} of {asked} islands not selected" if asked else ""
        lost = self.uncertified.sum()
        selection += f", {lost} of {self.islands.sum()} islands not certified" if lost else ""
        return (
            f"{steps} steps, {self.islands.sum()} islands "
            f"({self.warm_start_solves.sum()} solved by the previous contacts), "
            f"{self.contacts.sum()} contacts, {self.pivots.sum()} pivots{selection}{rate}"
        )


def contact_events(recording: Record) -> tuple[ContactEvent, ...]:
    """Return the events of a record in the order of their steps; in its first step contacts are made."""
    table = recording.contacts
    names, grounds = recording.world.model.names, recording.world.half_space_names
    # One number for each pair, independent of which body is A.
    first = np.where(table.half_space >= 0, -2 - table.half_space, np.minimum(table.body_a, table.body_b))
    second = np.where(table.half_space >= 0, table.body_b, np.maximum(table.body_a, table.body_b))
    touching = table.mode != OPEN
    pairs, number = np.unique(np.stack((first, second), axis=1)[touching], axis=0, return_inverse=True)
    # One number for each pair and step; the next one is the same pair in the next step.
    n = recording.n_steps
    at, place = np.unique(number.reshape(-1) * n + table.step[touching], return_inverse=True)
    slides = np.bincount(place.reshape(-1), weights=table.mode[touching] == SLIDE) > 0.0
    pair, step = np.divmod(at, max(n, 1))
    follows = (np.diff(at, prepend=-2) == 1) & (step > 0)
    kinds = np.where(~follows, "made", np.where(slides, "slip", "stick"))
    begun = np.flatnonzero(~follows | (slides != np.roll(slides, 1)))
    gone = np.flatnonzero(~np.append(follows[1:], False)[: at.size] & (step + 1 < n))
    found = [
        *zip(step[begun], pair[begun], kinds[begun], strict=True),
        *((step[k] + 1, pair[k], "broken") for k in gone),
    ]

    def named(k: int) -> tuple[str, str]:
        one, other = pairs[k]
        return grounds[-2 - one] if one < -1 else ("world" if one < 0 else names[one]), names[other]

    return tuple(
        ContactEvent(str(kind), int(step), float(recording.time[step]), *named(k)) for step, k, kind in sorted(found)
    )


def solver_statistics(recording: Record) -> SolverStatistics:
    """Return the solver statistics of a record."""
    contacts = np.bincount(recording.rows["contact_step"], minlength=recording.n_steps)
    empty = np.zeros(0)
    return SolverStatistics(
        recording.pivots,
        recording.warm_start_solves,
        recording.islands,
        contacts,
        recording.count_by_choice(ForceChoice.EQUAL_COMPLIANCE),
        recording.count_by_choice(ForceChoice.OTHER_SOLUTION),
        recording.count_by_choice(ForceChoice.UNCERTIFIED),
        recording.timings.get("timing_step", empty.astype(np.int64)),
        recording.timings.get("timing_seconds", empty),
    )


WIDTH, HEIGHT = 360, 70  # pixels
MAX_POINTS = 240
MAX_NAMES = 8


def html_of(title: str, world: World, time: FloatArray, energy: FloatArray, rows: Sequence[tuple[str, object]]) -> str:
    """Return the HTML of a run for notebooks: its times, its bodies, further rows, its energy (n,) [J]."""
    names = world.model.names
    listed = ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
    first = [("time", f"{time[0]:g} .. {time[-1]:g} s")] if len(time) else []
    return html_table(title, [*first, ("bodies", listed), *rows]) + _energy(time, energy)


def _energy(time: FloatArray, energy: FloatArray) -> str:
    """Return an SVG curve of the energy over time; empty for less than two values."""
    finite = np.flatnonzero(np.isfinite(energy))
    shown = finite[np.unique(np.linspace(0, len(finite) - 1, MAX_POINTS).astype(np.int64))] if len(finite) else finite
    if len(shown) < 2 or time[shown[-1]] <= time[shown[0]]:
        return ""
    t, E = time[shown], energy[shown]
    low, high = float(E.min()), float(E.max())
    x = (t - t[0]) / (t[-1] - t[0]) * WIDTH
    y = (1.0 - (E - low) / (high - low)) * HEIGHT if high > low else np.full(len(E), 0.5 * HEIGHT)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    drawing = (
        f'<svg width="{WIDTH}" height="{HEIGHT + 4}" viewBox="0 -2 {WIDTH} {HEIGHT + 4}">'
        f'<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="1.5"/></svg>'
    )
    return f"<div>{drawing}<div>energy, {low:.6g} .. {high:.6g} J</div></div>"
