"""The work of one thread for a batch: runs are stepped in its memory, one after the other."""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.notice_monitor import NoticeMonitor
from contactlab.simulation.recording.failure import simulation_error
from contactlab.simulation.recording.notices import Notice
from contactlab.simulation.recording.recording import Recording
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import BatchState, ChunkStart, JointWarmStart
from contactlab.simulation.stepping.packing import as_array
from contactlab.simulation.stepping.prepared import Prepared, StateArrays
from contactlab.simulation.stepping.record_schema import new_rows, row_lengths
from contactlab.simulation.world.world import StepperState
from lcp.interruptible import raise_if_cancelled

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


@dataclass
class Task:
    """Steps to be made by runs of a batch."""

    slots: BatchState  # the states
    worlds: Sequence[Prepared]  # of each run
    watches: Mapping[Prepared, NoticeMonitor]  # the monitor of runs of a world, still without notices
    found: dict[int, NoticeMonitor]  # the monitors with notices, by run
    steps: int  # number of steps of each run
    pending_runs: Iterator[int]  # numbers of the runs to begin, claimed by free threads
    look: bool  # whether contacts are inspected
    taus: FloatArray | None  # (B, steps, n) for each step; None: the values in the batch state
    targets: FloatArray | None  # the same for targets
    kept: StateHistory | None  # the history of states after each step, if it is kept
    errors: dict[int, Exception]  # the errors of stopped runs, by number
    notices: list[Notice]  # the notices found
    compiled: threading.Event | None = None  # set when the first thread has made a step; None: already compiled


class RunQueue:
    """Queue of at most ``runs`` runs that stay in compiled code; no step of them is inspected or kept."""

    def __init__(self, runs: int, threads: int) -> None:
        self.words = np.zeros(layout.WORDS, dtype=np.int64)  # words that the threads share
        self.queue = np.zeros(runs, dtype=np.int64)  # the runs, claimed from the end
        self.task: Task | None = None  # the steps to make
        self.wanted = [0] * threads  # by thread, the capacity for contacts that slots lacked; -1 after an exception
        self.back: list[int] = []  # claimed runs that must start again with more capacity


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
        # The calls of the exchange and of queued runs, with the buffers in them that may be replaced.
        self._held: dict[str, tuple[BoundCall, tuple[Any, ...]]] = {}
        # The run in memory, and the next one; -1 for none.
        self._made = self._next = -1
        self._calls: dict[Prepared, BoundCall] = {}
        self._order[[layout.RUNS_DONE, layout.AT_WORK]] = 0
        self._order[layout.RUN_LIMIT] = 1
        #: time of the last step of a queued run [s]
        self.pace = np.inf
        self._tables: list[tuple[int, ...] | None] = [None, None]

    def run_task(self, task: Task) -> int:
        """Step the pending runs of a task, and return 0 when all are stored in the slots.

        If a run has more contacts than its slot can store, return their number. The run stays in this thread's memory
        and is stored by the next call, with larger slots.
        """
        self._take_tables(task)
        driver, order = self._driver, self._order
        while True:
            if self._next < 0:
                self._next = next(task.pending_runs, -1)
            if self._next < 0 and self._made < 0:
                return 0
            if self._next >= 0:
                driver.switch_world(task.worlds[self._next])
            order[layout.STORE], order[layout.LOAD] = self._made, self._next
            said = int(self._exchange(task.slots)())
            if said == layout.STATE_CAPACITY_EXCEEDED:
                return int(driver.control.n_previous)
            self._made = -1
            if said == layout.BUFFER_CAPACITY_EXCEEDED:
                driver.reserve_contacts(int(task.slots.contacts[self._next]))
                continue
            if self._next < 0:
                continue
            self._step_run(task, self._next)
            self._made, self._next = self._next, -1

    def drop_task(self) -> bool:
        """Drop the arrays of a finished task; return True if the memory is small enough to be kept for another one."""
        self._held.clear()
        self._calls.clear()
        if self._tables != [None, None]:
            self._tables = [None, None]
            self._driver.set_input_tables(None, None)
        return self._driver.is_small

    def process_queue(self, line: RunQueue, number: int, puts: int = 0) -> None:
        """Step queued runs: the first thread until all have ended, others while there are runs, and a short time after.

        ``puts``: number of runs in the queue's array that are published now. If the slots are too small for a run's
        contacts, store their number in ``line.wanted`` and return.
        """
        driver, order = self._driver, self._numbers
        order[layout.WAIT_FOR_ALL], order[layout.SPIN_LIMIT], order[layout.PUBLISH_COUNT] = (
            int(number == 0),
            SPIN_LIMIT,
            puts,
        )
        try:
            while True:
                raise_if_cancelled()
                clock = time.perf_counter()
                said = int(self._bound_queue_kernel(line)())
                task = line.task
                assert task is not None
                if said in (layout.DONE, layout.PAUSED):
                    self._update_run_limit(time.perf_counter() - clock, task.steps)
                    if said == layout.DONE and (number or not line.words[layout.ACTIVE_THREADS]):
                        return
                    if said == layout.DONE:
                        # Another thread may wait for this processor.
                        time.sleep(0.0)
                elif said == layout.STATE_CAPACITY_EXCEEDED:
                    self._made = order[layout.STORE]
                    line.wanted[number] = int(driver.control.n_previous)
                    return
                elif said == layout.BUFFER_CAPACITY_EXCEEDED:
                    driver.reserve_contacts(int(task.slots.contacts[order[layout.CLAIMED_RUN]]))
                elif said == layout.NEEDS_PYTHON:
                    i = order[layout.STORE]
                    driver.switch_world(task.worlds[i])
                    self._step_run(task, i, order[layout.REASON], order[layout.UNSOLVED_BEFORE])
        except BaseException:
            line.wanted[number] = -1
            raise
        finally:
            if order[layout.CLAIMED_RUN] >= 0:
                line.back.append(order[layout.CLAIMED_RUN])
                order[layout.CLAIMED_RUN] = -1
            if order[layout.AT_WORK]:
                from contactlab.simulation.stepping.kernels.batch_swap import mark_idle

                order[layout.AT_WORK] = 0
                mark_idle(line.words)

    def _update_run_limit(self, seconds: float, steps: int) -> None:
        """Measure the time of a step, and limit the runs of a call to the time that Ctrl-C may wait."""
        made = self._numbers[layout.RUNS_DONE]
        if made:
            self.pace = seconds / (made * max(1, steps))
            self._numbers[layout.RUN_LIMIT] = max(1, int(SECONDS * made / max(seconds, 1e-9)))

    def _bound_queue_kernel(self, line: RunQueue) -> BoundCall:
        """Return the bound call of `process_queue`, made again if buffers were replaced."""
        driver, task = self._driver, line.task
        assert task is not None

        def make() -> BoundCall:
            from contactlab.simulation.stepping.kernels.batch_swap import process_queue
            from lcp.compiler.bound_call import BoundCall

            calls = {}
            for prepared in dict.fromkeys(task.worlds):
                driver.switch_world(prepared)
                calls[prepared] = driver.bound_loop()
            codes = np.array([calls[prepared].addresses for prepared in task.worlds])
            limits = np.array([prepared.stepper.thresholds for prepared in task.worlds])
            given = self._start, self._order, driver.work, self._joints, driver.chunk, *self._rest
            # They must exist as long as the call.
            self._calls = calls
            return BoundCall(process_queue, (line.words, line.queue, codes, limits, task.slots, *given))

        return self._bound("queue", make, line, task.slots, driver.work, driver.chunk, driver.island, driver.growth)

    def _exchange(self, slots: BatchState) -> BoundCall:
        """Return the bound call that exchanges runs, made again if buffers have grown."""
        work, chunk = self._driver.work, self._driver.chunk

        def make() -> BoundCall:
            from contactlab.simulation.stepping.kernels.batch_swap import enter_exchange
            from lcp.compiler.bound_call import BoundCall

            given = slots, self._start, self._order, work, self._joints, chunk, *self._rest
            return BoundCall(enter_exchange, given)

        return self._bound("exchange", make, slots, work, chunk)

    def _bound(self, name: str, make: Callable[[], BoundCall], *buffers: Any) -> BoundCall:
        """Return a bound call, made again if one of its buffers was replaced."""
        held = self._held.get(name)
        if held is None or not all(map(operator.is_, held[1], buffers)):
            held = self._held[name] = make(), buffers
        return held[0]

    def _take_tables(self, task: Task) -> None:
        """Give the driver zero tables of tau and targets with the task's shapes (steps, n), or none without inputs.

        New tables are made only if a shape has changed. `_step_run` copies each run's values into them.
        """
        wanted = [None if given is None else given.shape[1:] for given in (task.taus, task.targets)]
        if wanted != self._tables:
            self._tables = wanted
            self._driver.set_input_tables(*(None if shape is None else np.zeros(shape) for shape in wanted))

    def _step_run(self, task: Task, i: int, reason: int | None = None, unsolved: int | None = None) -> None:
        """Make the steps of run i, which was loaded, in portions of a chunk; store its states and new notices.

        An error of user code or a failed step ends the run, and is stored in ``task.errors``.

        ``reason`` and ``unsolved``: of a step in progress, the loop's request and the number of unsolved islands before
        it.
        """
        driver, steps = self._driver, task.steps
        driver.clear_solver_cache()
        if task.taus is not None:
            driver.work.tau_table[:] = task.taus[i]
        if task.targets is not None and driver.joints is not None:
            driver.joints.target_table[:] = task.targets[i]
        energy, bounces = task.slots.energy[i], task.watches[task.worlds[i]].bounces
        done, look = 0, task.look or task.slots.steps[i] == 0
        unsolved = driver.uncertified if unsolved is None else unsolved
        try:
            while True:
                raise_if_cancelled()
                driver.advance(steps - driver.step, reason)
                if task.compiled is not None:
                    task.compiled.set()
                now, chunk = driver.step, driver.chunk
                reason, ended = None, now >= steps or driver.failed
                count = now - done
                if count:
                    self._keep(task, i, done)
                    if look or bounces or driver.uncertified > unsolved:
                        self._inspect_step(task, i, count, energy, unsolved)
                        unsolved = driver.uncertified
                        if bounces:
                            energy = np.array((chunk.kinetic[count - 1], chunk.potential[count - 1]))
                done = now
                if ended:
                    break
                self._begin_chunk()
        except Exception as error:  # noqa: BLE001  of the user's code; the batch reports it
            task.errors[i] = error
            self._keep(task, i, done)
        if driver.failed:
            # Steps are counted from the start of the run.
            driver.control.step += task.slots.steps[i]
            recording = Recording.of_run(task.worlds[i].world, task.worlds[i].stepper, driver.state(), [])
            task.errors[i] = simulation_error(driver, recording)
            driver.control.step -= task.slots.steps[i]

    def _keep(self, task: Task, i: int, done: int) -> None:
        """Store the states in the chunk of run i after step ``done``, if the task keeps states."""
        kept, chunk, now = task.kept, self._driver.chunk, self._driver.step
        if kept is not None:
            after, rows = slice(done + 1, now + 1), slice(now - done)
            kept.q[i, after], kept.v[i, after], kept.time[i, after] = chunk.q[rows], chunk.v[rows], chunk.time[rows]

    def _begin_chunk(self) -> None:
        """Clear the driver's chunk, and copy the present q, v and time to ``_start``, the state before its steps."""
        driver, start = self._driver, self._start
        start.q[:], start.v[:], start.time[0] = driver.work.q, driver.work.v, driver.time
        driver.clear_chunk()

    def _inspect_step(self, task: Task, i: int, count: int, energy: FloatArray, unsolved: int) -> None:
        """Add new notices of the ``count`` steps of run i in the chunk to the task.

        ``energy`` (2,) [J] is from before these steps. ``unsolved`` is the number of uncertified
        islands before them.
        """
        driver, start, template = self._driver, self._start, task.watches[task.worlds[i]]
        before = int(task.slots.steps[i])
        begins = before == 0 and driver.step == count and float(start.time[0]) == 0.0
        look = task.look or before == 0
        if driver.uncertified > unsolved or template.is_due(driver, start.q, energy, look=look, begins=begins):
            watch = task.found.get(i) or template.copy_empty(lambda step: f"step {before + step} of run {i}")
            if new := watch.inspect(driver, start.q, start.v):
                task.found[i] = watch
                task.notices.extend(new)


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
