"""Many runs held in memory, stepped together on threads.

There is one driver for each thread. The states of the runs are in one `BatchState`, and a kernel exchanges the run in a
driver's memory. The runs of a call are in a queue (`process_queue`). Threads claim them in compiled code, and step them
there unless a step needs Python. A thread that finds the queue empty polls for 100 us before it sleeps, because waking
it takes as long as several runs.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.batch_runs import (
    BatchRuns,
    BatchWorlds,
    Rollout,
    last_h,
    last_step_rows,
    read_runs,
    states_of,
)
from contactlab.simulation.batch_worker import StateHistory, arrays_of_run, copy_of_states
from contactlab.simulation.recording.notices import Notice, new_kinds, warn_of
from contactlab.simulation.simulation_run import LOOK, MOST, checked_array
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.contact_table import ContactContext, ContactTable
from contactlab.simulation.stepping.island_tables import JointTable
from contactlab.simulation.stepping.wrenches import Wrenches, checked_wrenches
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.sensors import Sensor
from contactlab.simulation.world.world import StepperState, World
from lcp.interruptible import available_cpus

Mask = NDArray[np.bool_]

# Number of steps whose motion is inspected together; copies of more do not fit the cache.
LOOKED_AT = 4000


class Batch:
    """B runs held in memory and stepped together, on threads; each equals a separate `Simulation`, bit for bit.

    The warm start is kept between calls, so many short calls give the same bits as one long run. The overhead of a run
    is about two microseconds per step. A failed run stops without stopping others: `failed` marks it, `errors` has the
    reason, and `reset` restarts it. Only one thread at a time may use a batch; copies and pickles start at its state.

    Parameters
    ----------
    worlds
        One world for all runs; or B worlds of one layout, one for each run, which may differ in masses, friction,
        gravity, gains or sizes of shapes.
    stepper
        The stepper of all runs.
    states
        B states to start from; None: each world's initial state.
    threads
        Number of runs in progress at a time; None for the number of processors of the process.

    Raises
    ------
    SimulationConfigError
        An argument is invalid. For worlds the error names the world and its difference from the first.

    Examples
    --------
    >>> import contactlab.simulation as cs
    >>> from contactlab.collision import Box, HalfSpace, Material
    >>> from contactlab.multibody.spatial import RigidInertia
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
        begins = None if states is None else states_of(states)
        given = [worlds] if isinstance(worlds, World) else worlds
        self._worlds = BatchWorlds(given, stepper, None if begins is None else len(begins))
        self.stepper = stepper
        self.threads = available_cpus() if threads is None else whole_number("threads", threads, 1)
        if begins is None:
            begins = [prepared.world.initial_state() for prepared in self._worlds.of_run]
        self._runs = BatchRuns(self._worlds, begins, self.threads)
        self._begins = begins
        self._every = np.arange(len(begins))
        self._notices: tuple[Notice, ...] = ()
        self._contacts: ContactTable | None = None
        self._steps = self._next_inspection = 0
        self._q, self._v = self._runs.slots.q.view(), self._runs.slots.v.view()
        for values in (self._q, self._v):
            values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # The memory of the compiled step cannot be copied, because it contains addresses of its arrays.
        again = functools.partial(Batch, threads=self.threads)
        return again, (self._worlds.given, self.stepper, self.states), (self._begins, self._runs.errors)

    def __setstate__(self, held: tuple[list[StepperState], dict[int, Exception]]) -> None:
        # The states to which `reset` returns, and the errors of stopped runs.
        self._begins = list(held[0])
        self._runs.errors.update(held[1])

    def __len__(self) -> int:
        return self._runs.slots.time.size

    def __repr__(self) -> str:
        return f"Batch({len(self)} runs, {len(self._runs.errors)} failed, {self._worlds.first.world.model.nb} bodies)"

    @property
    def worlds(self) -> tuple[World, ...]:
        """The world of each run."""
        return tuple(prepared.world for prepared in self._worlds.of_run)

    @property
    def q(self) -> FloatArray:
        """Configurations (B, nq): a read-only view that always shows the present ones. Copy it to keep values."""
        return self._q

    @property
    def v(self) -> FloatArray:
        """Velocities (B, nv): a read-only view that always shows the present ones. Copy it to keep values."""
        return self._v

    @property
    def time(self) -> FloatArray:
        """Time of each run [s], (B,)."""
        return self._runs.slots.time.copy()

    @property
    def steps(self) -> IntArray:
        """Number of steps of each run since its start, or since `reset`, (B,)."""
        return self._runs.slots.steps.copy()

    @property
    def states(self) -> tuple[StepperState, ...]:
        """The present states, from which any other run can continue."""
        return tuple(arrays_of_run(self._runs.slots, i).read() for i in range(len(self)))

    @property
    def failed(self) -> Mask:
        """Flags (B,) of the runs that have stopped; each is at the start of its failed step."""
        return np.isin(np.arange(len(self)), list(self._runs.errors))

    @property
    def errors(self) -> tuple[Exception | None, ...]:
        """The error of each stopped run, None for the others. The record of a `SimulationError` has no steps."""
        return tuple(self._runs.errors.get(i) for i in range(len(self)))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Doubts that certificates do not cover (`Recording.notices`), the worst of each kind when it was first found.

        Contacts and motion are inspected in the first call, and then less and less often, down to every 1024th step; in
        `rollout` in all steps of the call. Impacts that gain energy and unsolved islands are found in every step.
        """
        return self._notices

    def step(
        self,
        taus: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        n: int = 1,
        *,
        mask: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
    ) -> None:
        """Make n steps of every run that has not failed, each with a constant applied force.

        Parameters
        ----------
        taus
            (B, nv) applied generalized forces, dual to v; None for none.
        targets
            (B, nd) targets of the drives, in the order of `World.joint_actions`; None for the targets of each world.
        n
            Number of steps.
        mask
            (B,) bool, True for the runs to step; None for all.
        f_ext
            Wrenches on bodies, by name: (B, 6) moments [N m] and forces [N] in world axes about the body's origin, or a
            `Wrench` for all runs or of (B, 3). They are added to ``taus`` at the start of every step.

        Raises
        ------
        SimulationConfigError
            An argument has a wrong shape or value. No step is made.

        Warns
        -----
        ImplausibleWarning
            Notices of all runs, one of each kind: see `notices`.
        """
        count, slots, chosen = whole_number("n", n, 0), self._runs.slots, self._select_runs(mask)
        applied = None if taus is None else checked_array("taus", taus, slots.tau.shape)
        aims = self._worlds.targets if targets is None else checked_array("targets", targets, slots.target.shape)
        wrenches = None if f_ext is None else checked_wrenches(self._worlds.first.world.model, f_ext, len(self))
        slots.tau[:], slots.target[:] = 0.0 if applied is None else applied, aims
        if not count or not chosen.size:
            return
        look = self._schedule_inspection(count)
        found = self._runs.step_runs(count, look, chosen, wrenches=wrenches)
        slots = self._runs.slots
        if look:
            after = slots.time, slots.q, slots.v
            before = slots.time_before, slots.q_before, slots.v_before
            runs = chosen[slots.steps[chosen] > 0]
            found += self._runs.long_step_notices(runs, slots.steps[runs] - 1, *(x[runs] for x in (*before, *after)))
        if found:
            warn_of(self._add_notices(_worst(found)))

    def _add_notices(self, found: tuple[Notice, ...]) -> tuple[Notice, ...]:
        """Store the first notice of each kind; return the new ones."""
        new = new_kinds(found, self._notices)
        self._notices += new
        return new

    def rollout(
        self,
        taus: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        steps: int | None = None,
        *,
        f_ext: Wrenches | None = None,
    ) -> Rollout:
        """Step all runs under controls given for each step, without Python in the steps; return the states.

        Parameters
        ----------
        taus
            (B, steps, nv) applied generalized forces of every step; None for none.
        targets
            (B, steps, nd) targets of the drives, in the order of `World.joint_actions`; None for the worlds' targets.
        steps
            Number of steps; not needed with ``taus`` or ``targets``.
        f_ext
            Wrenches on bodies, as in `step`, or for each step (B, steps, 6), and of a `Wrench` (B, steps, 3). Python
            then computes J^T f at the start of every step, which makes a step as slow as `step`.

        Returns
        -------
        Rollout
            The states of the runs. For a run that had already failed all states but the first are NaN.

        Warns
        -----
        ImplausibleWarning
            No step failed, but some run is doubtful, once for each kind: see `Rollout.notices`, which always has all
            kinds, and `notices` for the inspected steps.

        Raises
        ------
        SimulationConfigError
            An argument is invalid. No step is made.
        """
        found = self._rollout(taus, targets, steps, f_ext)
        warn_of(self._add_notices(found.notices))
        return found

    def _rollout(
        self, taus: ArrayLike | None, targets: ArrayLike | None, steps: int | None, f_ext: Wrenches | None
    ) -> Rollout:
        """Check the arguments, make the steps of `rollout`, and look for steps that are too long for the motion."""
        B, slots = len(self), self._runs.slots
        length = None if steps is None else whole_number("steps", steps, 0)
        forces = None if taus is None else checked_array("taus", taus, (B, length, slots.tau.shape[1]))
        length = length if forces is None else forces.shape[1]
        aims = None if targets is None else checked_array("targets", targets, (B, length, slots.target.shape[1]))
        wanted = length if aims is None else aims.shape[1]
        if wanted is None:
            raise SimulationConfigError("steps", "must be given if there are no taus or targets (B, steps, n)")
        model = self._worlds.first.world.model
        wrenches = None if f_ext is None else checked_wrenches(model, f_ext, B, steps=wanted)
        # Not filled: the first write to new memory is slow, and the threads do it in parallel.
        kept = StateHistory(*(np.empty((B, wanted + 1, *one.shape[1:])) for one in (slots.q, slots.v, slots.time)))
        kept.q[:, 0], kept.v[:, 0], kept.time[:, 0] = slots.q, slots.v, slots.time
        slots.tau[:], slots.target[:] = 0.0, self._worlds.targets
        look = self._schedule_inspection(wanted)
        made, found = slots.steps.copy(), []
        if wanted and B:
            found = self._runs.step_runs(wanted, look, np.arange(B), kept, forces, aims, wrenches)
        done = self._runs.slots.steps - made
        for i in np.flatnonzero(done < wanted):
            for one in kept:
                one[i, done[i] + 1 :] = np.nan
        portion = max(1, LOOKED_AT // max(wanted, 1))
        for first in range(0, B, portion) if look else ():
            part = [one[first : first + portion] for one in (kept.time, kept.q, kept.v)]
            both = [one[:, at : at + wanted] for at in (0, 1) for one in part]
            run, step = np.nonzero(np.arange(wanted) < done[first : first + portion, None])
            whole = run.size == both[0].size
            moves = [one.reshape(-1, *one.shape[2:]) if whole else one[run, step] for one in both]
            run += first
            found += self._runs.long_step_notices(run, made[run] + step, *moves)
        return Rollout(kept.q, kept.v, self.failed, self.errors, _worst(found), copy_of_states(self._runs.slots))

    def _schedule_inspection(self, steps: int) -> bool:
        """Count the next ``steps`` steps; return True if their contacts and motion must be inspected for notices.

        The interval to the next inspection is as long as the run, within LOOK and MOST steps. Cached contacts of the
        last step are dropped.
        """
        self._contacts = None
        self._steps += steps
        if self._steps <= self._next_inspection:
            return False
        self._next_inspection = self._steps + min(max(LOOK, self._steps), MOST)
        return True

    def reset(self, mask: ArrayLike | None = None, states: StepperState | Sequence[StepperState] | None = None) -> None:
        """Restart runs, also failed ones, as if they had made no step.

        Parameters
        ----------
        mask
            (B,) bool, True for the runs to restart; None for all.
        states
            One state for each of these runs, or one for all; None: the states from which the batch began.

        Raises
        ------
        SimulationConfigError
            An argument is invalid. Nothing changes.
        """
        runs = self._select_runs(mask)
        if states is None:
            begins = [self._begins[i] for i in runs]
        elif isinstance(states, StepperState):
            begins = [states] * runs.size
        else:
            begins = states_of(states)
        if len(begins) != runs.size:
            raise SimulationConfigError("states", f"must be one for each of {runs.size} runs, got {len(begins)}")
        self._runs.set_states(runs.tolist(), begins)
        self._contacts = None

    @property
    def contacts(self) -> ContactTable:
        """The contacts of every run's last step, with their impulses: its column ``step`` is the number of the run.

        So ``contacts.between("box", "floor").force_on("box")`` is (B, 3). Empty for runs that have made no step.
        """
        if self._contacts is None:
            rows = last_step_rows(self._runs.slots, "contact")
            for column in rows.values():
                column.flags.writeable = False
            self._contacts = ContactTable.from_rows(
                rows, ContactContext.of(self._worlds.first.world, last_h(self._runs.slots, self.stepper))
            )
        return self._contacts

    @property
    def joint_rows(self) -> JointTable:
        """The rows of joints of every run's last step, with their forces; ``step`` is the number of the run."""
        return JointTable.from_rows(last_step_rows(self._runs.slots, "joint"))

    def read(self, sensor: Sensor) -> FloatArray:
        """Return the readings (B, d) of a sensor (`contactlab.simulation.sensors`), of the present state or last step.

        If only some runs have made a step, a sensor of quantities of a step reads NaN for the others.

        Raises
        ------
        SimulationConfigError
            The sensor has an unknown name, needs a step but no run has made one, or needs contacts of sleeping bodies.
        """
        begun = self._runs.slots.steps > 0
        if begun.all() or not begun.any():
            return self._read(sensor, np.arange(len(self)))
        here = self._read(sensor, np.flatnonzero(begun))
        found = np.full((len(self), *here.shape[1:]), np.nan)
        found[begun] = here
        with contextlib.suppress(SimulationConfigError):
            found[~begun] = self._read(sensor, np.flatnonzero(~begun))
        return found

    def _read(self, sensor: Sensor, runs: IntArray) -> FloatArray:
        """Read some runs; either all of them or none have made steps."""
        return read_runs(self._worlds, self._runs.slots, self.stepper, sensor, runs, lambda: self.contacts)

    def _select_runs(self, mask: ArrayLike | None) -> IntArray:
        """Return the numbers of the runs that a mask (B,) of bool selects; None selects all.

        Any other mask raises `SimulationConfigError`.
        """
        if mask is None:
            return self._every
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            detail = f"must be of bool and shape ({len(self)},), got {chosen.dtype} of shape {chosen.shape}"
            raise SimulationConfigError("mask", detail)
        return np.flatnonzero(chosen)


def rollout(
    world: World | Sequence[World],
    stepper: TimeStepping,
    states: Sequence[StepperState],
    *,
    taus: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    steps: int | None = None,
    threads: int | None = None,
    f_ext: Wrenches | None = None,
) -> Rollout:
    """Run a world from many states under given controls: a new `Batch` and one call of `Batch.rollout` (see there).

    To continue, keep the batch or pass ``found.states`` to the next call: both give the same bits as one long run.
    """
    batch = Batch(world, stepper, states, threads=threads)
    batch._runs.take_workers()
    found = batch._rollout(taus, targets, steps, f_ext)
    batch._runs.leave_workers()
    warn_of(found.notices)
    return found


def _worst(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return, for each kind of notice in alphabetical order, the notice with the largest ``worst``."""
    found = list(notices)
    kinds = sorted({notice.kind for notice in found})
    return tuple(max((one for one in found if one.kind == kind), key=lambda one: one.worst) for kind in kinds)
