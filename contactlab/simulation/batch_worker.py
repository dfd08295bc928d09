"""The work of one thread for a batch: runs are stepped in its memory, one after the other."""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.notices import Notice
from contactlab.simulation.recording.run_reports import NoticeMonitor, simulation_error
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import BatchState, ChunkStart, JointWarmStart
from contactlab.simulation.stepping.packing import as_array
from contactlab.simulation.stepping.prepared import Prepared, StateArrays
from contactlab.simulation.stepping.record_schema import new_rows, row_lengths
from contactlab.simulation.world.world import StepperState
from lcp.interruptible import POLL_SECONDS, raise_if_cancelled

if TYPE_CHECKING:
    from lcp.compiler.bound_call import BoundCall

# Steps in the chunk of a run; and seconds of queued runs in one call, for which Ctrl-C waits.
CHUNK, SECONDS = 64, 0.05
# Number of polls of an idle thread before it sleeps, about 100 us, because waking it takes as long as a few runs. And
# the minimum duration [s] of a queue for which other threads are woken.
SPIN_LIMIT = 50_000
MIN_PARALLEL_SECONDS = 3e-5


class StateHistory(NamedTuple):
    """States of B runs, the start first; NaN after the last one."""

    q: FloatArray  # (B, steps + 1, nq)
    v: FloatArray  # (B, steps + 1, nv)
    time: FloatArray  # (B, steps + 1)


class SharedRuns:
    """The runs of a batch as its threads share them: their states, the steps to make, and the queue of runs.

    Attributes
    ----------
    slots
        The states.
    worlds, watches
        The world of each run, and the monitor of the runs of each world, still without notices.
    found, errors
        The monitors with notices, and the errors of stopped runs, by run.
    steps, look
        Number of steps of each run, and whether their contacts are inspected.
    inputs
        Tau and targets (B, steps, n) of each step; None: the values in the slots.
    kept
        The history of states after each step, if it is kept.
    notices
        The notices found in these steps.
    compiled
        Set when the first thread has made a step, which compiles kernels.
    """

    def __init__(
        self, slots: BatchState, worlds: Sequence[Prepared], watches: Mapping[Prepared, NoticeMonitor], threads: int
    ) -> None:
        self.slots, self.worlds, self.watches = slots, worlds, watches
        self.found: dict[int, NoticeMonitor] = {}
        self.errors: dict[int, Exception] = {}
        self.steps, self.look = 0, False
        self.inputs: tuple[FloatArray | None, FloatArray | None] = None, None
        self.kept: StateHistory | None = None
        self.notices: list[Notice] = []
        self.compiled = threading.Event()
        self.clear_queue(threads)

    def clear_queue(self, threads: int) -> None:
        """Begin with an empty queue, which no thread has seen."""
        self.words = np.zeros(layout.WORDS, dtype=np.int64)  # words that the threads share
        self.queue = np.zeros(len(self.worlds), dtype=np.int64)  # the runs, claimed from the end
        self.wanted = [0] * threads  # by thread, the capacity for contacts that slots lacked; -1 after an exception
        self.back: list[int] = []  # claimed runs that must start again with more capacity

    @property
    def input_shapes(self) -> list[tuple[int, ...] | None]:
        """Shapes (steps, n) of the inputs of one run; None for inputs that are not given."""
        return [None if given is None else given.shape[1:] for given in self.inputs]


class StepWorker:
    """The memory of one thread, for the first world and any state; it is discarded after an exception."""

    def __init__(self, prepared: Prepared, state: StepperState) -> None:
        world, stepper = prepared.world, prepared.stepper
        self._driver = driver = Driver(world, stepper, state, tau=np.zeros(world.nv), chunk_steps=CHUNK)
        self._order = np.full(layout.COMMAND_SIZE, -1, dtype=np.int64)
        # The same memory, read and written from Python in a third of the time.
        self._numbers = memoryview(self._order)  # type: ignore[arg-type]  # numpy declares no buffer before 3.12
        # An adaptive stepper tries smaller steps before it accepts uncertified forces.
        self._order[layout.ALLOW_UNCERTIFIED] = stepper.accepts_uncertified and not stepper.adaptive
        joints = driver.joints
        self._start = ChunkStart(np.zeros(world.nq), np.zeros(world.nv), np.zeros(1))
        self._joints = None if joints is None else JointWarmStart(joints.was_active, joints.previous_z, joints.target)
        self._rest = as_array(driver.control), as_array(driver.parameters), np.array([stepper.smallest_h])
        # The call of queued runs, with the buffers in it that may be replaced, and the calls of worlds inside it.
        self._held: tuple[BoundCall, tuple[Any, ...]] | None = None
        self._calls: list[BoundCall] = []
        self._order[[layout.RUNS_DONE, layout.AT_WORK]] = 0
        self._order[[layout.RUN_LIMIT, layout.SPIN_LIMIT]] = 1, SPIN_LIMIT
        #: time of the last step of a queued run [s]
        self.pace = np.inf
        self._shapes: list[tuple[int, ...] | None] = [None, None]

    def drop_runs(self) -> bool:
        """Drop the arrays of runs; return True if the memory is small enough to be kept for others."""
        self._held, self._calls = None, []
        self._take_tables([None, None])
        return self._driver.is_small

    def process_queue(self, runs: SharedRuns, number: int, puts: int = 0) -> None:
        """Step queued runs: the first thread until all have ended, others while there are runs, and a short time after.

        ``puts``: number of runs in the queue's array that are published now. If the slots are too small for a run's
        contacts, store their number in ``runs.wanted`` and return. The run stays in this thread's memory, and the next
        call stores it.
        """
        driver, order = self._driver, self._numbers
        # Kernels of the first step are compiled by one thread only.
        while number and not runs.compiled.wait(POLL_SECONDS):
            raise_if_cancelled()
        order[layout.WAIT_FOR_ALL], order[layout.PUBLISH_COUNT] = int(number == 0), puts
        try:
            self._take_tables(runs.input_shapes)
            while True:
                raise_if_cancelled()
                clock = time.perf_counter()
                said = int(self._bound_queue_kernel(runs)())
                if said in (layout.DONE, layout.PAUSED):
                    self._update_run_limit(time.perf_counter() - clock, runs.steps)
                    if said == layout.DONE and (number or not runs.words[layout.ACTIVE_THREADS]):
                        return
                    if said == layout.DONE:
                        # Another thread may wait for this processor.
                        time.sleep(0.0)
                elif said == layout.STATE_CAPACITY_EXCEEDED:
                    runs.wanted[number] = int(driver.control.n_previous)
                    return
                elif said == layout.BUFFER_CAPACITY_EXCEEDED:
                    driver.reserve_contacts(int(runs.slots.contacts[order[layout.CLAIMED_RUN]]))
                else:
                    self._step_run(runs, order[layout.STORE])
        except BaseException:
            runs.wanted[number] = -1
            raise
        finally:
            runs.compiled.set()
            if order[layout.CLAIMED_RUN] >= 0:
                runs.back.append(order[layout.CLAIMED_RUN])
                order[layout.CLAIMED_RUN] = -1
            if order[layout.AT_WORK]:
                from contactlab.simulation.stepping.kernels.batch_swap import mark_idle

                order[layout.AT_WORK] = 0
                mark_idle(runs.words)

    def _update_run_limit(self, seconds: float, steps: int) -> None:
        """Measure the time of a step, and limit the runs of a call to the time that Ctrl-C may wait."""
        made = self._numbers[layout.RUNS_DONE]
        if made:
            self.pace = seconds / (made * max(1, steps))
            self._numbers[layout.RUN_LIMIT] = max(1, int(SECONDS * made / max(seconds, 1e-9)))

    def _bound_queue_kernel(self, runs: SharedRuns) -> BoundCall:
        """Return the bound call of `process_queue`, made again if one of its buffers was replaced."""
        driver = self._driver
        buffers = runs.words, runs.slots, driver.work, driver.chunk, driver.island, driver.growth
        if self._held is None or not all(map(operator.is_, self._held[1], buffers)):
            from contactlab.simulation.stepping.kernels.batch_swap import process_queue
            from lcp.compiler.bound_call import BoundCall, supports_bound_calls

            number = {prepared: i for i, prepared in enumerate(dict.fromkeys(runs.worlds))}
            calls = []
            for prepared in number:
                driver.switch_world(prepared)
                calls.append(driver.bound_loop())
            queue = runs.words, runs.queue, np.array([number[prepared] for prepared in runs.worlds], np.int64)
            of_worlds = (
                np.array([call.addresses for call in calls]),
                np.array([one.stepper.thresholds for one in number]),
            )
            given = runs.slots, self._start, self._order, driver.work, self._joints, driver.chunk, *self._rest
            # They must exist as long as the call.
            self._calls = calls
            # Without the compiler, Python calls the loops.
            entry = process_queue if supports_bound_calls() else getattr(process_queue, "py_func", process_queue)
            self._held = BoundCall(entry, (*queue, *of_worlds, *given)), buffers
        return self._held[0]

    def _take_tables(self, shapes: list[tuple[int, ...] | None]) -> None:
        """Give the driver zero tables of tau and targets of these shapes (steps, n), None: constant inputs.

        New tables are made only if a shape has changed. `_step_run` copies each run's values into them.
        """
        if shapes != self._shapes:
            self._shapes = shapes
            self._driver.set_input_tables(*(None if shape is None else np.zeros(shape) for shape in shapes))

    def _step_run(self, runs: SharedRuns, i: int) -> None:
        """Make the steps of run i, which is in memory, in portions of a chunk; store its states and new notices.

        They may have begun in the queue's kernel. An error of user code or a failed step ends the run, and is stored in
        ``runs.errors``.
        """
        driver, steps, (taus, targets) = self._driver, runs.steps, runs.inputs
        driver.switch_world(runs.worlds[i])
        driver.clear_solver_cache()
        if taus is not None:
            driver.work.tau_table[:] = taus[i]
        if targets is not None and driver.joints is not None:
            driver.joints.target_table[:] = targets[i]
        energy, bounces = runs.slots.energy[i], runs.watches[runs.worlds[i]].bounces
        done, look = 0, runs.look or runs.slots.steps[i] == 0
        said, unsolved = self._numbers[layout.REASON], self._numbers[layout.UNSOLVED_BEFORE]
        reason = None if said == layout.LOADED else said
        try:
            while True:
                raise_if_cancelled()
                driver.advance(steps - driver.step, reason)
                runs.compiled.set()
                now, chunk = driver.step, driver.chunk
                reason, ended = None, now >= steps or driver.failed
                count = now - done
                if count:
                    self._keep(runs, i, done)
                    if look or bounces or driver.uncertified > unsolved:
                        self._inspect_step(runs, i, count, energy, unsolved)
                        unsolved = driver.uncertified
                        if bounces:
                            energy = np.array((chunk.kinetic[count - 1], chunk.potential[count - 1]))
                done = now
                if ended:
                    break
                self._begin_chunk()
        except Exception as error:  # noqa: BLE001  of the user's code; the batch reports it
            runs.errors[i] = error
            self._keep(runs, i, done)
        if driver.failed:
            # Steps are counted from the start of the run.
            driver.control.step += runs.slots.steps[i]
            recording = Recording.of_run(runs.worlds[i].world, runs.worlds[i].stepper, driver.state(), [])
            runs.errors[i] = simulation_error(driver, recording)
            driver.control.step -= runs.slots.steps[i]

    def _keep(self, runs: SharedRuns, i: int, done: int) -> None:
        """Store the states in the chunk of run i after step ``done``, if runs keep states."""
        kept, chunk, now = runs.kept, self._driver.chunk, self._driver.step
        if kept is not None:
            after, rows = slice(done + 1, now + 1), slice(now - done)
            kept.q[i, after], kept.v[i, after], kept.time[i, after] = chunk.q[rows], chunk.v[rows], chunk.time[rows]

    def _begin_chunk(self) -> None:
        """Clear the driver's chunk, and copy the present q, v and time to ``_start``, the state before its steps."""
        driver, start = self._driver, self._start
        start.q[:], start.v[:], start.time[0] = driver.work.q, driver.work.v, driver.time
        driver.clear_chunk()

    def _inspect_step(self, runs: SharedRuns, i: int, count: int, energy: FloatArray, unsolved: int) -> None:
        """Add new notices of the ``count`` steps of run i in the chunk to the runs.

        ``energy`` (2,) [J] is from before these steps. ``unsolved`` is the number of uncertified
        islands before them.
        """
        driver, start, template = self._driver, self._start, runs.watches[runs.worlds[i]]
        before = int(runs.slots.steps[i])
        begins = before == 0 and driver.step == count and float(start.time[0]) == 0.0
        look = runs.look or before == 0
        if driver.uncertified > unsolved or template.is_due(driver, start.q, energy, look=look, begins=begins):
            watch = runs.found.get(i) or template.copy_empty(lambda step: f"step {before + step} of run {i}")
            if new := watch.inspect(driver, start.q, start.v):
                runs.found[i] = watch
                runs.notices.extend(new)


# Initial capacity for contacts.
FIRST_CONTACTS = 8


def allocate_batch_state(prepared: Prepared, runs: int) -> BatchState:
    """Allocate slots for ``runs`` runs of a world, or of other worlds of its layout."""
    rows = 0 if prepared.arrays.joints is None else len(prepared.world.joint_rows)
    lengths = row_lengths(prepared.world, prepared.stepper) | {"B": runs, "contacts": FIRST_CONTACTS, "n": rows}
    slots = BatchState(
        **BatchState.zeros(lengths),
        contact=new_rows("contact", runs, FIRST_CONTACTS),
        joint=new_rows("joint", runs, rows),
    )
    slots.energy[:] = np.inf
    return slots


def grow_batch_state(slots: BatchState, contacts: int) -> BatchState:
    """Return a copy with capacity for ``contacts`` contacts of every run, at least half more than before."""
    return slots.enlarged("contacts", max(contacts, slots.contact_id.shape[1] * 3 // 2))


def write_run(slots: BatchState, i: int, state: StepperState, q: FloatArray, v: FloatArray) -> BatchState:
    """Start run i at a state, as if it had made no step; q and v come from `checked_state`.

    Return the slots, which may have grown.
    """
    count = state.contact_ids.size
    if count > slots.contact_id.shape[1]:
        slots = grow_batch_state(slots, count)
    arrays_of_run(slots, i).write(state, q, v)
    slots.energy[i], slots.asleep[i] = np.inf, 0
    slots.steps[i] = slots.contact_rows[i] = slots.joint_rows[i] = 0
    return slots


def copy_of_states(slots: BatchState) -> BatchState:
    """Return slots with copies of the states, for `arrays_of_run`; the other arrays are shared."""
    return slots._replace(**{name: getattr(slots, name).copy() for name in StateArrays._fields})


def arrays_of_run(slots: BatchState, i: int) -> StateArrays:
    """Return the arrays with the state of run i."""
    numbers = (getattr(slots, name)[i : i + 1] for name in StateArrays._fields[:3])
    return StateArrays(*numbers, *(getattr(slots, name)[i] for name in StateArrays._fields[3:]))
