"""The recording of a run: states, contacts, certificates, and every problem that was solved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contactlab.multibody import body_poses
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.energy_ledger import EnergyLedger, energy_ledger
from contactlab.simulation.recording.environment import environment
from contactlab.simulation.recording.events import ContactEvent, SolverStatistics, contact_events, solver_statistics
from contactlab.simulation.recording.island import forces_of, formed, solution_of, trees_of
from contactlab.simulation.recording.record import Record, slice_steps
from contactlab.simulation.recording.storage import read_recording, save_recording
from contactlab.simulation.stepping.contact_table import OPEN, IntArray
from contactlab.simulation.stepping.record_schema import (
    TIMINGS,
    Rows,
    RunRows,
    join_rows,
    row_lengths,
    start_rows,
)
from contactlab.simulation.world.sensors import Sensor, StepView
from contactlab.simulation.world.state import StepperState
from contactlab.simulation.world.surface import resolve_mesh_files
from contactlab.simulation.world.world import World
from lcp.result import html_table
from problem_data import ConstraintForces, ConstraintVelProblemData

if TYPE_CHECKING:
    from contactlab.simulation.recording.notices import Notice
    from contactlab.simulation.stepping.time_stepping import TimeStepping


@dataclass(frozen=True, eq=False, repr=False)
class Recording(Record):
    """A run of n_steps steps: state i, step i, state i + 1.

    Attributes
    ----------
    world, stepper
        The world and the stepper. If the solver is not one of `lcp`'s, a record opened from a file has a stepper with
        the default solver; ``solver_description`` names the solver used.
    rows
        The arrays by name (`contactlab.simulation.stepping.record_schema`).
    environment
        Versions and processor, on which the bits depend besides the input:
        `contactlab.simulation.recording.environment.environment`.
    solver_description
        The solver used.
    timings
        Timings of the run by portion: last steps (exclusive) and seconds. See `statistics`.
    """

    @classmethod
    def of_run(
        cls,
        world: World,
        stepper: TimeStepping,
        start: StepperState,
        pieces: list[Rows],
        stamp: Mapping[str, str] | None = None,
    ) -> Recording:
        """Return a record from the pieces of a run in memory (`RunRows`); ``stamp`` is added to its environment."""
        stepper = stepper.in_world(world)
        lengths = row_lengths(world, stepper)
        rows = RunRows([start_rows(world, start, lengths), *pieces], lengths)
        timings = join_rows(pieces, lengths, TIMINGS)
        for array in timings.values():
            array.flags.writeable = False
        stamped = {**environment(), **(stamp or {})}
        return cls(world, stepper, rows, stamped, stepper.solver_text, timings)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mesh_roots: Iterable[str | os.PathLike[str]] = ()) -> Recording:
        """Open a record: the packed ``.npz`` file, or the folder of chunks of an unfinished run.

        Parameters
        ----------
        path
            The path given to `simulate`. If both forms exist, the folder belongs to the later run.
        mesh_roots
            Folders in which the mesh files of visuals are searched. A record has only their names. Missing meshes are
            drawn as the shapes used for contact.

        Raises
        ------
        RecordError
            The record is missing, truncated, foreign or inconsistent; the error names file and field.
        """
        opened = read_recording(Path(path), cls)
        folders = [Path(root).resolve() for root in mesh_roots]
        if not folders:
            return opened
        return replace(opened, world=replace(opened.world, visuals=resolve_mesh_files(opened.world.visuals, folders)))

    def save(self, path: str | os.PathLike[str], *, compress: bool | None = None) -> None:
        """Write the record to exactly this path, as one ``.npz`` without pickle; completely or not at all.

        ``compress``: None compresses up to 64 MB. A larger record is not compressed, so that opening it takes no
        memory.

        Raises
        ------
        RecordError
            A record of more than 1 GiB is to be compressed; it could not be opened.
        RecordWriteError
            The disk cannot be written.
        """
        save_recording(Path(path), self, compress=compress)

    def first(self, n: int) -> Recording:
        """Return the record of the first ``n`` steps (0 .. n_steps), as if the run had ended there."""
        if not 0 <= n <= self.n_steps:
            raise IndexError(f"{n} steps: the record holds 0 .. {self.n_steps}")
        portions = np.searchsorted(self.timings["timing_step"], n, "right") if self.timings else 0
        timings = {name: array[:portions] for name, array in self.timings.items()}
        return replace(self, rows=slice_steps(self, 0, n).rows, timings=timings)

    @cached_property
    def ledger(self) -> EnergyLedger:
        """The energy ledger, step by step; computed on first use."""
        return energy_ledger(self)

    @cached_property
    def notices(self) -> tuple[Notice, ...]:
        """Doubts that no certificate covers: overlaps, steps too long, impacts that gained energy; mostly empty.

        Unsolved islands have no certificate: see `uncertified`.

        `simulate` issues a warning for each (`ImplausibleWarning`).
        """
        from contactlab.simulation.recording.notices import find_notices

        return find_notices(self)

    def events(self) -> tuple[ContactEvent, ...]:
        """Return contacts made and broken, and sliding begun and ended, in order."""
        return contact_events(self)

    @property
    def statistics(self) -> SolverStatistics:
        """Solver statistics step by step, and the time of the run."""
        return solver_statistics(self)

    def problem(self, i: int, island: int = 0) -> ConstraintVelProblemData:
        """Return the problem data of an island of step ``i``, formed again by the same kernels from the recorded state.

        ``stepper.constraint_solver`` with ``h[i]``, started at `warm_start`, gives the recorded forces and velocities
        to the last bit, with the processor and versions of ``environment``.
        """
        return formed(self, i, island)[0]

    def warm_start(self, i: int, island: int = 0) -> FloatArray | None:
        """Return the warm start z0 of an island of step ``i``, None for a cold start."""
        return formed(self, i, island)[1]

    def z(self, i: int, island: int = 0) -> FloatArray:
        """Return the solution of an island of step ``i`` in the order of its LCP.

        [fN | fF+ | fF- | lambda | fL], then x and y of boxed rows (`lcp.contacts.kernels.boxed_rows`).
        """
        return solution_of(self, i, island)

    def forces(self, i: int, island: int = 0) -> ConstraintForces:
        """Return the forces of contacts [N] and of joint rows [N, N m] of an island of step ``i``."""
        return forces_of(self, i, island)

    def v_plus(self, i: int, island: int = 0) -> FloatArray:
        """Return the velocities of the island's trees after step ``i``, in the order of its problem."""
        v_plus: FloatArray = self.v[i + 1][self.dofs(i, island)]
        return v_plus

    def bodies(self, i: int, island: int = 0) -> IntArray:
        """Return the body numbers of an island of step ``i``: bodies in contact and bodies connected to them."""
        return np.flatnonzero(np.isin(self.world.body_trees, trees_of(self, i, island)))

    def dofs(self, i: int, island: int = 0) -> IntArray:
        """Return the indices in v of the velocities of an island of step ``i``, in the order of its problem."""
        starts = self.world.tree_starts
        return np.concatenate([np.arange(starts[tree], starts[tree + 1]) for tree in trees_of(self, i, island)])

    def poses(self) -> tuple[FloatArray, FloatArray]:
        """Return rotations (n_steps + 1, nb, 3, 3), body axes to world axes, and origins (n_steps + 1, nb, 3) [m]."""
        R, p = body_poses(self.world.model, self.q)
        for row, (body, _) in enumerate(self.world.motions):
            pose_values = self.rows["motion_pose"][:, row]
            R[:, body], p[:, body] = pose_values[:, :9].reshape(-1, 3, 3), pose_values[:, 9:]
        return R, p

    def read(self, sensor: Sensor) -> FloatArray:
        """Return the readings (n_steps, d) of a sensor (`contactlab.simulation.sensors`) at the end of each step.

        Raises
        ------
        SimulationConfigError
            Nothing can be read: an unknown name, or contacts of sleeping bodies.
        """
        poses = self.rows["motion_pose"]
        asleep = None if self.stepper.sleep is None else self.asleep
        start, motion = (self.q[:-1], self.v[:-1]), (poses[:-1], poses[1:])
        after = self.q[1:], self.v[1:]
        view = StepView(self.world, *after, start, self.h, lambda: self.contacts, motion, asleep, self.time[1:])
        return view.read(sensor)

    def __repr__(self) -> str:
        return (
            f"Recording({self.n_steps} steps, {self.time[0]:g} .. {self.time[-1]:g} s, "
            f"{self.world.model.nb} bodies, {len(self.contacts)} contact rows)"
        )

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks."""
        solved = self.certificates
        relaxed = self.stepper.law != "coulomb"
        measured = [solved.scaled] if relaxed else [solved.scaled, solved.mechanical]
        worst = max(float(one.max(initial=0.0)) for one in measured)
        unsolved = f", {len(self.uncertified)} not certified" if len(self.uncertified) else ""
        rows = [
            ("steps", f"{self.n_steps} of {self.stepper.h:g} s" + (" at most" if self.stepper.adaptive else "")),
            ("solver", self.solver_description),
            ("contacts", f"{len(self.contacts)} rows, {int(np.count_nonzero(self.contacts.mode != OPEN))} under load"),
            ("islands", f"{len(solved)}, worst certificate {worst:.1e}{unsolved}"),
        ]
        if relaxed:
            rows.append(("Coulomb's law", f"off by {self.coulomb_misfit.max(initial=0.0):.1e} of its scale at most"))
        return html_of(repr(self), self.world, self.time, self.kinetic + self.potential, rows)


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
