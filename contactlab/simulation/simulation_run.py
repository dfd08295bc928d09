"""A run that keeps its memory between single steps, for a controller in Python."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import body_poses, point_velocity_6d
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, is_finite_array
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.long_steps import StepMotions
from contactlab.simulation.recording.notices import GAIN, Notice, long_step_notices, warn_of
from contactlab.simulation.recording.run_reports import NoticeMonitor, simulation_error
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import motion_poses
from contactlab.simulation.stepping.contact_table import ContactContext, ContactTable
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.island_tables import CertificateTable, JointTable
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.prepared import check_run, layout_difference, prepare
from contactlab.simulation.stepping.record_schema import Rows, columns_of, rows_of_chunks
from contactlab.simulation.stepping.wrenches import Wrenches, applied_by, checked_wrenches
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.sensors import Sensor, StepView
from contactlab.simulation.world.world import StepperState, World

# Steps between two inspections of contacts and motion: at first, and at most.
LOOK, MOST = 64, 1024
# Recorded steps that are joined: a step alone takes the memory of a whole chunk.
JOINED = 256


def checked_array(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
    """Return values as a finite float64 array of this shape (None: any length), if possible without a copy."""
    if is_finite_array(values, shape):
        return values
    return finite_array(values, name, shape, SimulationConfigError)


class Simulation:
    """A run of a world, stepped from Python; the same bits as `simulate` and `step`.

    It keeps the memory of the compiled step, so a step costs little more than its arithmetic. A loop of
    ``step(world, stepper, state)`` allocates arrays, tables and a state every time. Only one thread at a time may use
    it. A copy (`copy`, `pickle`) has separate memory, and starts at the present state.

    Parameters
    ----------
    world, stepper
        The world, and its stepper.
    state
        State at the start; by default `World.initial_state`.
    record
        Whether steps are kept, for `recording`. Each step then takes about 60 us more, and the memory of its record.

    Raises
    ------
    SimulationConfigError
        An argument is invalid.

    Examples
    --------
    >>> import contactlab.simulation as cs
    >>> from contactlab.collision import Box, HalfSpace, Material
    >>> from contactlab.multibody.spatial import RigidInertia
    >>> builder, half = cs.WorldBuilder(), (0.1, 0.1, 0.1)
    >>> _ = builder.add_half_space("floor", HalfSpace(), Material(0.5))
    >>> inertia = RigidInertia.solid_box(1.0, half)
    >>> _ = builder.add_free_body("box", inertia, Box(half), Material(0.5), q=(0, 0, 0.1, 1, 0, 0, 0))
    >>> run = cs.Simulation(builder.build(), cs.TimeStepping(h=1e-3))
    >>> run.step(n=100)
    >>> run.q, run.v, run.contacts, run.read(cs.sensors.Accelerometer("box"))  # doctest: +SKIP
    """

    def __init__(
        self, world: World, stepper: TimeStepping, state: StepperState | None = None, *, record: bool = False
    ) -> None:
        check_run(world, stepper, state)
        self.world = world
        self.stepper = stepper
        self._none = np.zeros(world.nv)
        begin = world.initial_state() if state is None else state
        self._driver = Driver(world, stepper, begin, tau=self._none)
        # The rows of the steps from a state: portions of JOINED steps, and single steps; None unless they are recorded.
        self._portions: list[Rows] = []
        self._kept: list[Rows] | None = [] if record else None
        self._start = begin
        self._recording: Recording | None = None  # made when it is first read
        self._q, self._v = self._driver.work.q.view(), self._driver.work.v.view()
        self._driver.looks[layout.ALONE] = 1
        self._contacts: ContactTable | None = None  # made when it is first read
        self._watch = NoticeMonitor(world, stepper)
        # Number of starts, and steps before the last one.
        self._begun = self._past = 0
        self._begin_inspection()
        for values in (self._q, self._v):
            values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # The memory of the compiled step cannot be copied, because it contains addresses of its arrays.
        again = functools.partial(Simulation, record=self._kept is not None)
        return again, (self.world, self.stepper, self.state)

    def __repr__(self) -> str:
        return f"Simulation({self.time:.6g} s, {self._driver.step} steps, {self.world.model.nb} bodies)"

    @property
    def time(self) -> float:
        """Time [s]."""
        return self._driver.time

    @property
    def steps(self) -> int:
        """Number of steps since the start, `reset` or `switch_world`."""
        return self._driver.step

    @property
    def q(self) -> FloatArray:
        """Configuration (nq,): a read-only view that always shows the present one. Copy it to keep values."""
        return self._q

    @property
    def v(self) -> FloatArray:
        """Velocity (nv,): a read-only view that always shows the present one. Copy it to keep values."""
        return self._v

    @property
    def state(self) -> StepperState:
        """The present state, from which any other run can continue."""
        return self._driver.state()

    def step(
        self,
        tau: ArrayLike | None = None,
        *,
        targets: Mapping[str, float] | ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        n: int = 1,
    ) -> None:
        """Make n steps with a constant applied force.

        Parameters
        ----------
        tau
            Applied generalized force (nv,), dual to v; None for none.
        targets
            Targets of the drives for these steps: an array of all, in the order of `World.joint_actions`, or numbers by
            name; the default, also of drives that are not named, is the world's target.
        f_ext
            Wrenches on bodies, by name: (6,) moment [N m] and force [N] in world axes about the body's origin, or a
            `Wrench`. They are added to ``tau`` at the start of every step, as J^T f.
        n
            Number of steps.

        Raises
        ------
        SimulationConfigError
            An argument has a wrong shape, name or value. No step is made.
        SimulationError
            A step failed. The run is at the start of that step, and can continue with other arguments.

        Warns
        -----
        ImplausibleWarning
            Notices of the run, one of each kind: see `notices`.
        """
        driver = self._driver
        applied = self._none if tau is None else checked_array("tau", tau, self._none.shape)
        driver.set_inputs(applied, targets)
        wrenches = None if f_ext is None else checked_wrenches(self.world.model, f_ext)
        end = driver.step + (n if type(n) is int and n >= 0 else whole_number("n", n, 0))
        if wrenches is None and self._kept is None:
            self._step_to(end)
            return
        while driver.step < end:
            if wrenches is not None:
                driver.work.tau[:] = applied + applied_by(self.world.model, self._q, wrenches)
            self._step_to(driver.step + 1)

    def _step_to(self, end: int) -> None:
        """Make steps up to number ``end``, inspect those that are due, and warn; raise if a step fails.

        If steps are recorded, ``end`` must be the next one, because the chunk is copied once.
        """
        driver = self._driver
        self._contacts = self._recording = None
        found = True
        while found:
            found = driver.advance_alone(end)
            if found and driver.failed:
                self._fail()
            if self._kept is not None:
                self._kept.append(driver.copied())
                if len(self._kept) == JOINED:
                    self._portions, self._kept = [*self._portions, rows_of_chunks(self._kept)], []
            if found:
                warn_of(self._inspect_step())
                found = driver.step < end

    @property
    def recording(self) -> Recording:
        """The record of all steps since the start, `reset` or `switch_world`; it equals the record of `simulate`.

        It contains forces and targets of each step. It can be used as any record, for example by `verify`, also before
        the run has ended. Copies of the run begin new records.

        Raises
        ------
        SimulationConfigError
            The run was not made with ``record=True``.
        """
        if self._kept is None:
            raise SimulationConfigError("record", "is False, so no step was kept: use Simulation(..., record=True)")
        if self._recording is None:
            last = [rows_of_chunks(self._kept)] if self._kept else []
            self._recording = Recording.of_run(self.world, self.stepper, self._start, [*self._portions, *last])
        return self._recording

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Doubts that no certificate covers (`Recording.notices`), the first of each kind, each with a warning.

        Contacts and motion are inspected in the first step, the 65th, and less and less often, down to every 1024th,
        also over resets. Contacts and stops are also inspected in the first step after each `reset`, and motion there
        after the 1st, 2nd, 4th and so on to every 1024th reset. Impacts that gain energy and unsolved islands are found
        in every step.
        """
        return self._watch.notices

    def _begin_inspection(self) -> None:
        """Begin to inspect the run for notices at the present state: store its energy, and set the next steps."""
        if not self._begun & (self._begun - 1) or not self._begun % MOST:
            self._next_inspection = 0
        self._begun += 1
        self._begins = self._driver.time == 0.0
        self._energy = self._watch.energy_of(self.state)
        self._uncertified = self._driver.uncertified
        self._set_inspected_steps()

    def _set_inspected_steps(self) -> None:
        """Set the conditions by which the driver stops after a step for its inspection."""
        looks = self._driver.looks
        looks[layout.NEXT] = -1 if self._watch.bounces else self._next_inspection
        looks[layout.MORE_UNSOLVED] = self._uncertified

    def _inspect_step(self) -> tuple[Notice, ...]:
        """Inspect the last step as far as it is due; return the new notices, and set when to inspect the next one."""
        driver, chunk, q, v = self._driver, self._driver.chunk, self._driver.q_before, self._driver.v_before
        found: tuple[Notice, ...] = ()
        first, before = driver.step == 1, self._energy
        look = first or driver.step > self._next_inspection
        if self._watch.bounces:
            self._energy = float(chunk.kinetic[0]), float(chunk.potential[0])
        gained = sum(self._energy) > sum(before) + GAIN * before[0]
        due = (look or gained) and self._watch.is_due(driver, q, before, look=look, begins=first and self._begins)
        if due or driver.uncertified > self._uncertified:
            found += self._watch.inspect(driver, q, v)
        self._uncertified = driver.uncertified
        if driver.step > self._next_inspection:
            self._next_inspection = driver.step + min(max(LOOK, self._past + driver.step), MOST)
            work, last = driver.work, driver.step - 1
            states = q[None], v[None], self._q[None], self._v[None]
            poses = work.motion_pose[None], work.motion_next[None]
            moves = StepMotions(self.world, *states, chunk.h[:1], *poses, name=lambda i: f"step {last}")
            found += self._watch.add_new(long_step_notices(moves))
        self._set_inspected_steps()
        return found

    def compile(self) -> None:
        """Compile every kernel that the run can need, or load it from disk, so that no step waits for the compiler.

        Otherwise each part is compiled when it is first needed. For rare strategies this may happen within a control
        loop. It takes half a minute, once per machine and version.
        """
        self._driver.compile()
        # Kernels that inspect suspicious motion.
        body_poses(self.world.model, self._q[None])
        for name in self.world.model.names[:1]:
            point_velocity_6d(self.world.model, self._q[None], self._v[None], name, (0.0, 0.0, 0.0))

    def _fail(self) -> NoReturn:
        """Raise the error of the failed step, with the record up to it; return the driver to the start of this step."""
        driver = self._driver
        driver.clear_chunk()
        if self._kept is None:
            recording = Recording.of_run(self.world, self.stepper, driver.state(), [])
        else:
            recording = self.recording
        try:
            raise simulation_error(driver, recording)
        finally:
            driver.restart_step()

    def reset(self, state: StepperState | None = None) -> None:
        """Set a state, by default the world's initial one; `recording` begins again, because no step leads there."""
        self._begin(self.world.initial_state() if state is None else state)

    def switch_world(self, world: World) -> None:
        """Continue in another world of the same layout: with other friction, masses, gravity, gains or sizes of shapes.

        State, time and warm start stay. Sleeping islands wake, and the count of steps restarts. From here on the run
        equals ``Simulation(world, stepper, state)``, started from its state with nothing at rest, bit for bit.
        `recording` begins again, as in `reset`, because a record has one world.

        Parameters
        ----------
        world
            Made with `dataclasses.replace`, or by the same calls of a `WorldBuilder` with other values. Default
            targets, and `reset`, are this world's from here on.

        Raises
        ------
        SimulationConfigError
            The argument is not a world, or has another layout; the error names the difference. Nothing changes.
        """
        check_run(world, self.stepper)
        prepared = prepare(world, self.stepper)
        differs = layout_difference(self._driver.prepared, prepared)
        if differs:
            detail = f"has other {differs} than the one of the run: begin a Simulation in it, from `transfer_state`"
            raise SimulationConfigError("world", detail)
        state, notices = replace(self.state, rest=np.zeros(0)), self._watch.notices
        self._driver.switch_world(prepared, keep=False)
        self._begun = 0
        self.world, self._watch = world, NoticeMonitor(world, self.stepper)
        self._watch.notices = notices
        self._begin(state)

    def _begin(self, begin: StepperState) -> None:
        """Restart the run at a state: the driver, an empty record if one is kept, and the inspection for notices."""
        made = self._driver.step
        self._driver.restart(begin)
        self._past, self._next_inspection = self._past + made, self._next_inspection - made
        self._start, self._portions, self._kept = begin, [], None if self._kept is None else []
        self._contacts = self._recording = None
        self._begin_inspection()

    def _rows(self, table: str) -> Rows:
        """Copy the rows of one table of the chunk ("contact", "joint", "island") into named arrays."""
        used = int(getattr(self._driver.control, f"chunk_{table}s"))
        return columns_of(table, getattr(self._driver.chunk, table)[:used])

    @property
    def contacts(self) -> ContactTable:
        """The contacts of the last step, with their impulses; empty before the first."""
        if self._contacts is None:
            h = np.array(self._driver.chunk.h[: int(self._driver.control.chunk_steps)])
            scope = ContactContext.of(self.world, h, max(self._driver.step - 1, 0))
            rows = self._rows("contact")
            for column in rows.values():
                column.flags.writeable = False
            self._contacts = ContactTable.from_rows(rows, scope)
        return self._contacts

    def read(self, sensor: Sensor) -> FloatArray:
        """Return the reading (d,) of a sensor (`contactlab.simulation.sensors`): of the present state or the last step.

        Raises
        ------
        SimulationConfigError
            Nothing can be read: an unknown name, no step made, or contacts of sleeping bodies.
        """
        driver, world = self._driver, self.world
        work, asleep = driver.work, None
        poses = (work.motion_pose, work.motion_next) if driver.step else (motion_poses(world, self.time),) * 2
        if self.stepper.sleep is not None:
            trees = world.body_trees
            asleep = (trees >= 0) & (work.asleep[trees] == layout.ASLEEP)
        # Copies, because readings may be views of them.
        present, before = (
            (self._q.copy(), self._v.copy()),
            (self._driver.q_before, self._driver.v_before) if driver.step else None,
        )
        h = float(driver.chunk.h[0])
        return StepView(world, *present, before, h, lambda: self.contacts, poses, asleep, self.time).read(sensor)

    @property
    def joint_rows(self) -> JointTable:
        """The joint rows of the last step, with their forces."""
        return JointTable.from_rows(self._rows("joint"))

    @property
    def certificate(self) -> CertificateTable:
        """The certificate of each island of the last step."""
        return CertificateTable.from_rows(self._rows("island"))
