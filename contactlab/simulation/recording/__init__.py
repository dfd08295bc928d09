"""The recording of a run: states, contacts, certificates, and every problem that was solved."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import body_poses
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.recording.energy_ledger import EnergyLedger, energy_ledger
from contactlab.simulation.recording.notices import Notice, find_notices
from contactlab.simulation.recording.record import (
    ContactEvent,
    Record,
    SolverStatistics,
    contact_events,
    html_of,
    slice_steps,
    solver_statistics,
)
from contactlab.simulation.recording.storage import read_recording, save_recording
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import FLOAT_COLUMNS, INT_COLUMNS, Motions, Supply
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.island_tables import CertificateTable, WorstCertificate
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.packing import touching_materials
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.stepping.record_schema import (
    TIMINGS,
    Rows,
    RunRows,
    join_rows,
    row_lengths,
    start_rows,
)
from contactlab.simulation.world.sensors import Sensor, StepView
from contactlab.simulation.world.surface import resolve_mesh_files
from contactlab.simulation.world.world import StepperState, World
from lcp.compiler.releases import target_cpu
from problem_data import ConstraintForces, ConstraintVelProblemData


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
        `contactlab.simulation.recording.environment`.
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
        return find_notices(self, lambda: self.ledger)

    def events(self) -> tuple[ContactEvent, ...]:
        """Return contacts made and broken, and sliding begun and ended, in order."""
        return contact_events(self)

    @property
    def statistics(self) -> SolverStatistics:
        """Solver statistics step by step, and the time of the run."""
        return solver_statistics(self)

    @cached_property
    def certificates(self) -> CertificateTable:
        """The certificate of each island of each step."""
        return CertificateTable.from_rows(self.rows, self.selection)

    @property
    def coulomb_misfit(self) -> FloatArray:
        """Violation of Coulomb's law (n_steps,) in each step: its worst condition, violation over scale.

        It is rounding if this law was solved. A friction backend may have another law, such as
        `contactlab.ConvexRelaxation`; ``certificates.scaled`` is then the residual of the backend's law.
        """
        worst = np.zeros(self.n_steps)
        np.maximum.at(worst, self.rows["island_step"], self.certificates.coulomb_misfit)
        return worst

    def selection(self, i: int, island: int = 0) -> float:
        """Return the distance of an island's contact forces in step ``i`` from the selected ones, by the largest force.

        It is 0 if no other forces give the same velocities, and infinite if no forces are selected.
        """
        from contactlab.constraint_solver.strategy_solver import distance_from_selected

        data, z0 = _formed(self, i, island)
        forces, h = self.forces(i, island), float(self.h[i])
        return distance_from_selected(data, h, forces, z0=z0, tolerance=self.stepper.tolerance)

    def worst_certificate(self) -> WorstCertificate:
        """Return the largest residuals and mechanical violations of the run."""
        return self.certificates.worst()

    def problem(self, i: int, island: int = 0) -> ConstraintVelProblemData:
        """Return the problem data of an island of step ``i``, formed again by the same kernels from the recorded state.

        ``stepper.constraint_solver`` with ``h[i]``, started at `warm_start`, gives the recorded forces and velocities
        to the last bit, with the processor and versions of ``environment``.
        """
        return _formed(self, i, island)[0]

    def warm_start(self, i: int, island: int = 0) -> FloatArray | None:
        """Return the warm start z0 of an island of step ``i``, None for a cold start."""
        return _formed(self, i, island)[1]

    def z(self, i: int, island: int = 0) -> FloatArray:
        """Return the solution of an island of step ``i`` in the order of its LCP.

        [fN | fF+ | fF- | lambda | fL], then x and y of boxed rows (`lcp.contacts.kernels.boxed_rows`).
        """
        fN, plus, minus, slack = _of_contacts(self, i, island)
        numbers, z = _island_rows(self, "joint_row", i, island), _island_rows(self, "joint_z", i, island)
        classes = _row_classes(self, numbers)
        rows = [self.world.joint_rows[int(row)] for row in numbers]
        # A boxed row with a prescribed force has no LCP variable.
        moving = (classes == "B") & np.array([row.low != row.bound for row in rows], dtype=bool)
        return np.concatenate([fN, plus, minus, slack, z[classes == "L", 0], z[moving, 0], z[moving, 1]])

    def forces(self, i: int, island: int = 0) -> ConstraintForces:
        """Return the forces of contacts [N] and of joint rows [N, N m] of an island of step ``i``."""
        fN, plus, minus, _ = _of_contacts(self, i, island)
        force = _island_rows(self, "joint_force", i, island)
        classes = _row_classes(self, _island_rows(self, "joint_row", i, island))
        return ConstraintForces(fN, plus - minus, *(force[classes == one] for one in "LGB"))

    def v_plus(self, i: int, island: int = 0) -> FloatArray:
        """Return the velocities of the island's trees after step ``i``, in the order of its problem."""
        v_plus: FloatArray = self.v[i + 1][self.dofs(i, island)]
        return v_plus

    def bodies(self, i: int, island: int = 0) -> IntArray:
        """Return the body numbers of an island of step ``i``: bodies in contact and bodies connected to them."""
        return np.flatnonzero(np.isin(self.world.body_trees, _trees_of(self, i, island)))

    def dofs(self, i: int, island: int = 0) -> IntArray:
        """Return the indices in v of the velocities of an island of step ``i``, in the order of its problem."""
        starts = self.world.tree_starts
        return np.concatenate([np.arange(starts[tree], starts[tree + 1]) for tree in _trees_of(self, i, island)])

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
        loaded = int(np.count_nonzero(self.contacts.mode != layout.OPEN))
        rows = [
            ("steps", f"{self.n_steps} of {self.stepper.h:g} s" + (" at most" if self.stepper.adaptive else "")),
            ("solver", self.solver_description),
            ("contacts", f"{len(self.contacts)} rows, {loaded} under load"),
            ("islands", f"{len(solved)}, worst certificate {worst:.1e}{unsolved}"),
        ]
        if relaxed:
            rows.append(("Coulomb's law", f"off by {self.coulomb_misfit.max(initial=0.0):.1e} of its scale at most"))
        return html_of(repr(self), self.world, self.time, self.kinetic + self.potential, rows)


def _formed(recording: Recording, i: int, island: int) -> tuple[ConstraintVelProblemData, FloatArray | None]:
    """Form the problem data of an island in step i again, and its start z0, or None, as the step had them."""
    supply = _supply(recording, i)  # first, because it checks the step number
    tau = recording.rows["tau"][i] if recording.rows["tau"].shape[0] else None
    h, poses, twists = float(recording.h[i]), recording.rows["motion_pose"], recording.rows["motion_twist"]
    motions: Motions | None = (lambda _, __: (poses[i], twists[i], poses[i + 1])) if recording.world.motions else None
    run, targets = (recording.world, recording.stepper, recording.state(i)), recording.rows["drive_target"][i]
    given = {"tau": tau, "supply": supply, "targets": targets, "motions": motions}
    driver = Driver(*run, steps=1, h=h, **given, external=True)
    if recording.stepper.projection:
        _list_rows(recording, i, driver)
    view = driver.form(island)
    return view.problem(), view.warm_start()


def _list_rows(recording: Recording, i: int, driver: Driver) -> None:
    """Restrict the driver's next search to the contacts and joint rows that took part in step ``i``.

    Their ids go to ``work.listed``, rows to ``joints.missed``, and the margin is enlarged. A new search alone may find
    others, because a repeated search depends on data that are not recorded.
    """
    own, rows = recording.rows_of_step("contact_step", i), recording.rows
    ids, gaps = np.sort(rows["contact_id"][own]), rows["contact_gap"][own]
    driver.work.v_seen[0] = recording.v[i + 1]
    driver.work = driver.work._replace(listed=ids.astype(np.int64))
    driver.parameters.more = max(0.0, float(np.max(gaps, initial=0.0)) - recording.stepper.thresholds.margin)
    if driver.joints is not None:
        driver.joints.missed[rows["joint_row"][recording.rows_of_step("joint_step", i)]] = 1


def _supply(recording: Recording, i: int) -> Supply | None:
    """Return a function that gives step ``i`` its external contacts again, None if it has none."""
    own = recording.rows_of_step("contact_step", i)
    chosen = own.start + np.flatnonzero(recording.rows["contact_id"][own] >= layout.EXTERNAL_ID)
    if not chosen.size:
        return None
    ints = np.full((chosen.size, layout.CONTACT_INTS), -1, dtype=np.int64)
    floats = np.zeros((chosen.size, layout.CONTACT_FLOATS))
    for columns, values in ((INT_COLUMNS, ints), (FLOAT_COLUMNS, floats)):
        for name, column in columns.items():
            values[:, column] = recording.rows[f"contact_{name}"][chosen]
    return lambda _time, _q, _v: (ints, floats)


def _of_contacts(recording: Recording, i: int, island: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return fN, fF+, fF- and lambda of an island of step ``i``, one array each.

    In the last three, all contacts' sliding friction comes first, then moments, contact by contact.
    """
    z = _island_rows(recording, "contact_z", i, island)
    r = recording.stepper.edges_in(recording.world) // 2
    fN, *sliding = np.split(z[:, : 2 + 2 * r], [1, 1 + r, 1 + 2 * r], axis=1)
    parts = [[part.ravel()] for part in sliding]
    packed, _, _, moments = world_arrays(recording.world)
    if moments is not None:
        names = ("contact_half_space", "contact_shape_a", "contact_shape_b")
        known, a, b = touching_materials(packed, *(_island_rows(recording, name, i, island) for name in names))
        for n, c in enumerate(np.flatnonzero(known)):
            at = 2 + 2 * r
            for length, directions in ((moments.torsional, 1), (moments.rolling, r)):
                values = z[c, at : at + 2 * directions + 1]
                if length[a[n], b[n]] > 0.0:
                    for part, share in zip(parts, np.split(values, [directions, 2 * directions]), strict=True):
                        part.append(share)
                at += 2 * directions + 1
    plus, minus, slack = (np.concatenate(part) for part in parts)
    return fN.ravel(), plus, minus, slack


def _row_classes(recording: Recording, numbers: IntArray) -> NDArray[np.str_]:
    """Return the block of each joint row in its problem: L, G or B."""
    soft = recording.stepper.cfm > 0.0
    return np.array([recording.world.joint_rows[int(row)].kind.class_of(soft) for row in numbers], dtype="U1")


def _trees_of(recording: Recording, i: int, island: int) -> IntArray:
    """Return the numbers of the trees of an island of step ``i`` (n,), ascending."""
    names = ("contact_body_a", "contact_body_b")
    touching = np.concatenate([_island_rows(recording, name, i, island) for name in names])
    rows = _island_rows(recording, "joint_row", i, island)
    joined = [tree for row in rows for tree in recording.world.joint_rows[int(row)].trees]
    trees: IntArray = np.unique([*recording.world.body_trees[touching[touching >= 0]], *joined]).astype(np.int64)
    return trees[trees >= 0]


def _island_rows(recording: Recording, name: str, i: int, island: int) -> NDArray[Any]:
    """Return the rows of an array of contacts or joints that belong to an island."""
    axis = name.split("_", maxsplit=1)[0]
    chosen = recording.rows_of_step(f"{axis}_step", i)
    mask = recording.rows[f"{axis}_island"][chosen] == island
    if not 0 <= island < recording.islands[i]:
        raise IndexError(f"island {island}: step {i} has {int(recording.islands[i])}")
    selected: NDArray[Any] = recording.rows[name][chosen][mask]
    return selected


# Versions and processor, on which the bits of a record depend besides its input; without names of machines.

PACKAGES = ("numpy", "numba", "llvmlite", "scipy")

# Entries that can differ between two runs with the same bits.
_FREE = ("date", "platform", "cores", "resumed")

# Instruction sets that decide which sums a compiler vectorizes.
_FEATURES = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "asimd", "sve", "sve2")


def environment() -> dict[str, str]:
    """Return the stamp of a new record; all entries are text.

    ``contactlab``, ``python``, ``numpy``, ``numba``, ``llvmlite``, ``scipy``: versions; ``machine``, ``cpu``,
    ``cpu_features``: the processor; ``tier``: of processors that kernels are compiled for, ``at hand`` where it is the
    very processor, ``none`` without a compiler; ``cores`` of the machine, and ``threads`` of a run: one; ``platform``;
    ``jit``: on or off; ``date``: its beginning, UTC.
    """
    return {**_fixed(), "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def environment_changes(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return the differences of two stamps that may change bits, as ``numpy 2.0.0 -> 2.1.0``."""
    names = sorted((old.keys() & new.keys()) - set(_FREE))
    return [f"{name} {old[name]} -> {new[name]}" for name in names if old[name] != new[name]]


@functools.cache
def _fixed() -> dict[str, str]:
    """Return the entries of `environment` other than the date, which stay the same in this process; cached."""
    cpu, features = _processor()
    stamp = {"contactlab": sys.modules["contactlab"].__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            stamp[name] = version(name)
        except PackageNotFoundError:
            stamp[name] = "unknown"
    stamp |= {"machine": platform.machine(), "cpu": cpu, "cpu_features": features, "cores": str(os.cpu_count() or 1)}
    jit = "off" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "on"
    compiled_for = "none" if jit == "off" else target_cpu() or "at hand"
    return stamp | {"tier": compiled_for, "threads": "1", "platform": platform.platform(), "jit": jit}


def _processor() -> tuple[str, str]:
    """Return the processor's name and its relevant instruction sets, as the system reports them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "unknown", "unknown"
    lines: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        lines.setdefault(key.strip(), value.strip())
    found = lines.get("flags", lines.get("Features", "")).split()
    return lines.get("model name", platform.processor() or "unknown"), " ".join(f for f in _FEATURES if f in found)
