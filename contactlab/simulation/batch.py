"""Many runs held in memory, stepped together on threads."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.recording.long_steps import Moves
from contactlab.recording.plausibility import ImplausibleWarning, Notice, too_long
from contactlab.simulation.batch_worker import Kept, Task, Worker
from contactlab.simulation.rollouts import Rollout
from contactlab.simulation.running import LOOK, MOST
from contactlab.simulation.watching import Watch
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.stepping.contact_table import ContactScope, ContactTable
from contactlab.stepping.joint_table import JointTable
from contactlab.stepping.kinematic import poses_at
from contactlab.stepping.prepared import checked_state, differing_layout, prepare
from contactlab.stepping.record_schema import Rows, columns_of
from contactlab.stepping.slots import grow_slots, new_slots, read_slot, write_slot
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.sensors import Sensor, StepView
from contactlab.world.state import StepperState
from contactlab.world.world import World
from lcp.hearing import Crew

Mask = NDArray[np.bool_]

# Steps whose motion is looked at together, afterwards.
LOOKED_AT = 50_000


class Batch:
    """B runs held in memory and stepped together, on threads; each has the bits that `Simulation` gives it alone.

    The forces of one step are where the next one starts from, so that many short calls have the bits of one long run.
    One run takes a few microseconds of each step beside its arithmetic. What fails stops alone: `failed` says which,
    `errors` why, and `reset` revives it. A batch is one thread's at a time; copies and pickles stand where it stands.

    Parameters
    ----------
    worlds
        What is stepped: one world; or B of one layout, one for each run, whose masses, friction, gravity, gains or
        sizes of shapes differ.
    stepper
        How.
    states
        B states to start from; None: each world's own.
    threads
        Runs under way at a time; None for as many as the process has processors.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used; of worlds which one, and in what it differs from the first.

    Examples
    --------
    >>> import contactlab.simulation as cs
    >>> from contactlab.contact import Box, HalfSpace, Material
    >>> from contactlab.spatial import RigidInertia
    >>> builder, half = cs.WorldBuilder(), (0.1, 0.1, 0.1)
    >>> _ = builder.add_half_space("floor", HalfSpace(), Material(0.5))
    >>> inertia = RigidInertia.solid_box(1.0, half)
    >>> _ = builder.add_free_body("box", inertia, Box(half), Material(0.5), q=(0, 0, 0.1, 1, 0, 0, 0))
    >>> world = builder.build()
    >>> batch = cs.Batch(world, cs.TimeStepping(h=1e-3), [world.initial_state()] * 64)
    >>> batch.step(taus=np.zeros((64, 6)), n=10)
    >>> batch.q.shape, batch.read(cs.sensors.ContactForce("box")).shape
    ((64, 7), (64, 3))
    """

    def __init__(
        self,
        worlds: World | Sequence[World],
        stepper: TimeStepping,
        states: Sequence[StepperState] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        given = [worlds] if isinstance(worlds, World) else _sequence(worlds, "worlds", "worlds")
        if not given:
            raise SimulationConfigError("worlds", "must be a world, or one for each run, got none")
        for world in dict.fromkeys(given):
            check_run(world, stepper)
        begins = [w.initial_state() for w in given] if states is None else _sequence(states, "states", "states")
        if isinstance(worlds, World):
            given = [worlds] * len(begins)
        if len(given) != len(begins):
            raise SimulationConfigError(
                "worlds", f"must be one, or one for each of {len(begins)} states, got {len(given)}"
            )
        self.stepper = stepper
        self.threads = all_cores() if threads is None else whole_number("threads", threads, 1)
        first = worlds if isinstance(worlds, World) else given[0]
        known = {world: prepare(world, stepper) for world in dict.fromkeys([first, *given])}
        self._first = known[first]
        for i, world in enumerate(given):
            differs = "" if world is first else differing_layout(self._first, known[world])
            if differs:
                raise SimulationConfigError(f"worlds[{i}]", f"has other {differs} than worlds[0]: no batch holds both")
        #: the world of each run
        self.worlds: tuple[World, ...] = tuple(given)
        self._prepared = [known[world] for world in given]
        self._watches = {prepared: Watch(prepared.world, stepper) for prepared in known.values()}
        self._numbers = np.array([list(known).index(world) for world in given], dtype=np.int64)
        self._number_of = {prepared: i for i, prepared in enumerate(known.values())}
        self._slots = new_slots(self._first, len(given))
        self._targets = np.zeros_like(self._slots.target)
        for i, world in enumerate(given):
            self._targets[i] = [drive.target for drive in world.joint_actions.drives]
        self._begins = list(begins)
        self._workers: list[Worker] = []
        self._crew = Crew(self.threads)
        self._errors: dict[int, Exception] = {}
        self._found: dict[int, Watch] = {}
        self._notices: tuple[Notice, ...] = ()
        self._contacts: ContactTable | None = None
        self._steps = self._next_look = 0
        self._write(range(len(given)), self._begins)
        self._q, self._v = self._slots.q.view(), self._slots.v.view()
        for values in (self._q, self._v):
            values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory of the compiled step cannot be copied: it holds where its arrays lie.
        worlds = self._first.world if len(self._watches) == 1 else self.worlds
        arguments = worlds, self.stepper, self.states, self.threads
        return _batch, arguments, {"_errors": self._errors, "_begins": self._begins}

    def __len__(self) -> int:
        return len(self.worlds)

    def __repr__(self) -> str:
        return f"Batch({len(self)} runs, {len(self._errors)} failed, {self._first.world.model.nb} bodies)"

    @property
    def q(self) -> FloatArray:
        """Configurations (B, nq): a read-only view that always shows the present ones. Copy what is to be kept."""
        return self._q

    @property
    def v(self) -> FloatArray:
        """Velocities (B, nv): a read-only view that always shows the present ones. Copy what is to be kept."""
        return self._v

    @property
    def time(self) -> FloatArray:
        """Time of each run [s], (B,)."""
        return self._slots.time.copy()

    @property
    def steps(self) -> IntArray:
        """Steps that each run has made since it began, or since `reset`, (B,)."""
        return self._slots.steps.copy()

    @property
    def states(self) -> tuple[StepperState, ...]:
        """The present states, from which any other run can go on."""
        return tuple(read_slot(self._slots, i) for i in range(len(self)))

    @property
    def failed(self) -> Mask:
        """Which runs have stopped, (B,); each stands where the step that failed began."""
        return np.isin(np.arange(len(self)), list(self._errors))

    @property
    def errors(self) -> tuple[Exception | None, ...]:
        """Why each run stopped, None for those that go on. The record of a `SimulationError` is of no step."""
        return tuple(self._errors.get(i) for i in range(len(self)))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What no certificate says (`Recording.notices`), the worst of each kind when it was first found.

        Contacts and motion are looked at in the first step, and ever more rarely to every 1024th; impacts that gain
        energy and islands that nothing solved in all.
        """
        return self._notices

    def step(self, taus: ArrayLike | None = None, targets: ArrayLike | None = None, n: int = 1) -> None:
        """Make n steps of every run that has not failed, each with a constant applied force.

        Parameters
        ----------
        taus
            (B, nv) applied generalized forces, dual to v; None for none.
        targets
            (B, nd) of the drives, in the order of `World.joint_actions`; None for those of each world.
        n
            How many.

        Raises
        ------
        SimulationConfigError
            An argument of the wrong shape or value. Nothing is stepped.

        Warns
        -----
        ImplausibleWarning
            What some run should be doubted for, once for each kind: see `notices`.
        """
        count, slots = whole_number("n", n, 0), self._slots
        slots.tau[:] = 0.0 if taus is None else self._array("taus", taus, slots.tau.shape)
        slots.target[:] = self._targets if targets is None else self._array("targets", targets, slots.target.shape)
        if not count or not len(self):
            return
        self._steps += count
        look = self._steps > self._next_look
        if look:
            self._next_look = self._steps + min(max(LOOK, self._steps), MOST)
        found = self._run(count, look, self._found)
        if look:
            after = slots.time, slots.q, slots.v
            before = slots.time_before, slots.q_before, slots.v_before
            runs = np.flatnonzero(slots.steps > 0)
            found += self._long(runs, slots.steps[runs] - 1, *(x[runs] for x in (*before, *after)))
        new = _worst(notice for notice in found if notice.kind not in {old.kind for old in self._notices})
        self._notices += new
        for notice in new:
            warnings.warn(notice.text, ImplausibleWarning, stacklevel=2)

    def rollout(
        self, taus: ArrayLike | None = None, targets: ArrayLike | None = None, steps: int | None = None
    ) -> Rollout:
        """Make steps under controls given for each of them, and keep the states; without Python in the steps.

        Parameters
        ----------
        taus
            (B, steps, nv) applied generalized forces of every step; None for none.
        targets
            (B, steps, nd) targets of the drives, in the order of `World.joint_actions`; None for those of each world.
        steps
            How many; not needed where ``taus`` or ``targets`` say so.

        Returns
        -------
        Rollout
            Of a run that had failed before NaN but for where it stands.

        Warns
        -----
        ImplausibleWarning
            No step failed, and some run should be doubted all the same: see `Rollout.notices`.

        Raises
        ------
        SimulationConfigError
            An argument that cannot be used. Nothing is stepped.
        """
        B, slots = len(self), self._slots
        length = None if steps is None else whole_number("steps", steps, 0)
        forces = None if taus is None else self._array("taus", taus, (B, length, slots.tau.shape[1]))
        length = length if forces is None else forces.shape[1]
        aims = None if targets is None else self._array("targets", targets, (B, length, slots.target.shape[1]))
        wanted = length if aims is None else aims.shape[1]
        if wanted is None:
            raise SimulationConfigError("steps", "say how many, or give taus or targets (B, steps, n)")
        kept = Kept(*(np.full((B, wanted + 1, *one.shape[1:]), np.nan) for one in (slots.q, slots.v, slots.time)))
        kept.q[:, 0], kept.v[:, 0], kept.time[:, 0] = slots.q, slots.v, slots.time
        slots.tau[:], slots.target[:] = 0.0, self._targets
        made, found = slots.steps.copy(), []
        if wanted and B:
            found = self._run(wanted, True, {}, kept, forces, aims)
        portion = max(1, LOOKED_AT // max(wanted, 1))
        for first in range(0, B, portion):
            run, step = np.argwhere(np.isfinite(kept.time[first : first + portion, 1:])).T
            run += first
            before, after = ((kept.time[at], kept.q[at], kept.v[at]) for at in ((run, step), (run, step + 1)))
            found += self._long(run, made[run] + step, *before, *after)
        notices = _worst(found)
        for notice in notices:
            warnings.warn(notice.text, ImplausibleWarning, stacklevel=2)
        return Rollout(kept.q, kept.v, self.failed, self.errors, notices, self.states)

    def _run(
        self,
        steps: int,
        look: bool,
        watching: dict[int, Watch],
        kept: Kept | None = None,
        taus: FloatArray | None = None,
        targets: FloatArray | None = None,
    ) -> list[Notice]:
        """Make steps of all runs that have not failed; return what was found."""
        self._contacts = None
        runs = [i for i in range(len(self)) if i not in self._errors]
        # The first run alone: the compiler is not entered from two threads at once.
        parts = [runs] if self._workers else [runs[:1], runs[1:]]
        found: list[Notice] = []
        task = Task(
            slots=self._slots,
            worlds=self._prepared,
            watches=self._watches,
            found=watching,
            steps=steps,
            left=iter(()),
            look=look,
            taus=taus,
            targets=targets,
            kept=kept,
            errors=self._errors,
            notices=found,
        )
        try:
            for part in parts:
                task.left = iter(part)
                self._share(task, min(self.threads, len(part)))
        except BaseException:
            for worker in self._workers:
                worker.drop()
            raise
        return found

    def _share(self, task: Task, threads: int) -> None:
        """Have what is left of a task done by so many threads."""
        while len(self._workers) < threads:
            self._workers.append(Worker(self._first, self._begins[0]))
        wanted = [0] * threads

        def one(number: int) -> None:
            wanted[number] = self._workers[number].work(task)

        while threads:
            self._crew.work(one, threads)
            if not any(wanted):
                return
            self._slots = task.slots = grow_slots(self._slots, max(wanted))

    def _long(
        self,
        runs: IntArray,
        steps: IntArray,
        time: FloatArray,
        q: FloatArray,
        v: FloatArray,
        time_next: FloatArray,
        q_next: FloatArray,
        v_next: FloatArray,
    ) -> Iterator[Notice]:
        """Yield what some steps are too long for, each of a run and with its number there."""
        for world, own in self._by_world(runs):

            def name(i: int, own: IntArray = own) -> str:
                return f"step {steps[own[i]]} of run {runs[own[i]]}"

            pose, pose_next = poses_at(world, time[own]), poses_at(world, time_next[own])
            h = time_next[own] - time[own]
            yield from too_long(Moves(world, q[own], v[own], q_next[own], v_next[own], h, pose, pose_next, name))

    def _by_world(self, runs: IntArray) -> Iterator[tuple[World, IntArray]]:
        """Yield each world and the places in ``runs`` of its own."""
        for prepared in self._watches:
            own = np.flatnonzero(self._numbers[runs] == self._number_of[prepared])
            if own.size:
                yield prepared.world, own

    def reset(self, mask: ArrayLike | None = None, states: StepperState | Sequence[StepperState] | None = None) -> None:
        """Begin runs anew, those that failed too, as if nothing had run before.

        Parameters
        ----------
        mask
            (B,) of bool: which; None for all.
        states
            Where they begin: one state for each of them, or one for all; None: where they began at first.

        Raises
        ------
        SimulationConfigError
            An argument that does not fit. Nothing changes.
        """
        runs = np.arange(len(self))
        if mask is not None:
            chosen = np.asarray(mask)
            if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
                detail = f"must be of bool and shape ({len(self)},), got {chosen.dtype} of shape {chosen.shape}"
                raise SimulationConfigError("mask", detail)
            runs = np.flatnonzero(chosen)
        if states is None:
            begins = [self._begins[i] for i in runs]
        elif isinstance(states, StepperState):
            begins = [states] * runs.size
        else:
            begins = _sequence(states, "states", "states")
        if len(begins) != runs.size:
            raise SimulationConfigError("states", f"must be one for each of {runs.size} runs, got {len(begins)}")
        self._write(runs.tolist(), begins)

    def _write(self, runs: Sequence[int], states: Sequence[StepperState]) -> None:
        """Put runs at states, of which one that does not fit is refused before anything changes."""
        checked = [
            checked_state(self._prepared[i], state, f"states[{k}]")
            for k, (i, state) in enumerate(zip(runs, states, strict=True))
        ]
        for i, state, (q, v) in zip(runs, states, checked, strict=True):
            self._slots = write_slot(self._slots, i, state, q, v)
            self._slots.energy[i] = self._watches[self._prepared[i]].energy_of(state)
            self._errors.pop(i, None)
            self._found.pop(i, None)
        self._contacts = None

    @property
    def contacts(self) -> ContactTable:
        """The contacts of every run's last step, with their impulses: its column ``step`` is the number of the run.

        So ``contacts.between("box", "floor").force_on("box")`` is (B, 3). Empty for runs that have made no step.
        """
        if self._contacts is None:
            rows = self._rows("contact")
            for column in rows.values():
                column.flags.writeable = False
            self._contacts = ContactTable.from_rows(rows, ContactScope.of(self._first.world, self._h))
        return self._contacts

    @property
    def joint_rows(self) -> JointTable:
        """The rows of joints of every run's last step, with their forces; ``step`` is the number of the run."""
        return JointTable.from_rows(self._rows("joint"))

    def _rows(self, table: str) -> Rows:
        held, counts = getattr(self._slots, table), getattr(self._slots, f"{table}_rows")
        rows = columns_of(table, held[np.arange(held.shape[1]) < counts[:, None]])
        rows[f"{table}_step"] = np.repeat(np.arange(len(self)), counts)
        return rows

    @property
    def _h(self) -> FloatArray:
        """Size of every run's last step [s]; of one that has made none what it would be."""
        return np.where(self._slots.steps > 0, self._slots.time - self._slots.time_before, self.stepper.h)

    def read(self, sensor: Sensor) -> FloatArray:
        """Return the readings (B, d) of a sensor (`contactlab.simulation.sensors`), of the present state or last step.

        Runs that have made no step read NaN where the sensor reads what happens in one, as long as others have.

        Raises
        ------
        SimulationConfigError
            Nothing that could be read: a name that there is not, no step made, contacts of what sleeps.
        """
        begun = self._slots.steps > 0
        if begun.all() or not begun.any():
            return self._read(sensor, np.arange(len(self)))
        here = self._read(sensor, np.flatnonzero(begun))
        found = np.full((len(self), *here.shape[1:]), np.nan)
        found[begun] = here
        with contextlib.suppress(SimulationConfigError):
            found[~begun] = self._read(sensor, np.flatnonzero(~begun))
        return found

    def _read(self, sensor: Sensor, runs: IntArray) -> FloatArray:
        """Read some runs, of which all or none have made steps."""
        slots, parts = self._slots, []
        for world, places in self._by_world(runs):
            own = runs[places]

            def contacts(own: IntArray = own) -> ContactTable:
                table, number = self.contacts, np.full(len(self), -1)
                number[own] = np.arange(own.size)
                held = table.rows(number[table.step] >= 0)
                return replace(held, step=number[held.step], scope=replace(table.scope, h=self._h[own]))

            asleep = None
            if self.stepper.sleep is not None:
                trees = world.body_trees
                asleep = (trees >= 0) & (slots.asleep[own][:, trees] != 0)
            told = poses_at(world, slots.time_before[own]), poses_at(world, slots.time[own])
            before = (slots.q_before[own], slots.v_before[own]) if slots.steps[own].all() else None
            view = StepView(world, slots.q[own], slots.v[own], before, self._h[own], contacts, told, asleep)
            parts.append((places, view.read(sensor)))
        found = np.empty((runs.size, *parts[0][1].shape[1:]))
        for places, reading in parts:
            found[places] = reading
        return found

    def _array(self, name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
        # Without the copy and the messages of `finite_array`, which take as long as some steps.
        if type(values) is np.ndarray and values.dtype == np.float64 and values.shape == shape:
            given: FloatArray = values
            if np.isfinite(given).all():
                return given
        return finite_array(values, name, shape, SimulationConfigError)


def rollout(
    world: World | Sequence[World],
    stepper: TimeStepping,
    states: Sequence[StepperState],
    *,
    taus: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    steps: int | None = None,
    threads: int | None = None,
) -> Rollout:
    """Run a world from many states under given controls: a `Batch` made for one `Batch.rollout`, which see.

    Who goes on from its end keeps the batch, or gives ``found.states`` to the next: both have the bits of one long run.
    """
    return Batch(world, stepper, states, threads=threads).rollout(taus, targets, steps)


def all_cores() -> int:
    """Number of processors this process may use; not every system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batch(worlds: World | Sequence[World], stepper: TimeStepping, states: Sequence[StepperState], n: int) -> Batch:
    return Batch(worlds, stepper, states, threads=n)


def _sequence(given: Any, field: str, what: str) -> list[Any]:
    """A list of what was given; what is no sequence is refused."""
    if isinstance(given, Sequence):
        return list(given)
    hint = ": `[world.initial_state()] * B` makes one" if field == "states" else ""
    raise SimulationConfigError(field, f"must be a sequence of B {what}, got {type(given).__name__}{hint}")


def _worst(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The worst of each kind."""
    told = list(notices)
    kinds = sorted({notice.kind for notice in told})
    return tuple(max((one for one in told if one.kind == kind), key=lambda one: one.worst) for kind in kinds)
