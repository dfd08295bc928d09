"""What one thread does for a batch: runs pass through its memory, one after the other."""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactlab.recording.failure import simulation_error
from contactlab.recording.plausibility import GAIN, Notice
from contactlab.recording.recording import Recording
from contactlab.simulation.watching import Watch
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.driver import Driver
from contactlab.stepping.kernels import slot_layout
from contactlab.stepping.kernels.slot_layout import OfJoints, Slots, Start
from contactlab.stepping.prepared import Prepared
from contactlab.stepping.records import array_of
from contactlab.world.state import StepperState
from lcp.hearing import processor_seconds

if TYPE_CHECKING:
    from lcp.compiler.held import HeldCall

# Steps of one run after which the compiled loop returns: at most, and in about so many seconds, that Ctrl-C waits.
CHUNK, SECONDS = 64, 0.05
# Runs that pass at most before it returns, and the seconds that a portion of them should take: each costs some 10 us.
PASSING, BRIEF = 64, 1e-4
_taking = threading.Lock()


class Kept(NamedTuple):
    """States of B runs, those at the start first; NaN where there are none."""

    q: FloatArray  # (B, steps + 1, nq)
    v: FloatArray  # (B, steps + 1, nv)
    time: FloatArray  # (B, steps + 1)


@dataclass
class Task:
    """Steps that runs of a batch are to make.

    Attributes
    ----------
    slots, worlds
        The states, and of each run its world.
    watches, found
        What watches runs of a world, before it has found anything; and those that found something, by run.
    steps
        How many each makes.
    left
        Numbers of the runs to begin, taken by whoever is free.
    queue
        Those to begin after them, of which nothing is looked at or kept: they pass through compiled code alone.
    look
        Whether contacts are looked at.
    taus, targets
        (B, steps, n) for each step; None: what the slots say.
    kept
        What the states after each step are kept in, if they are.
    errors
        Why runs stopped, by number.
    notices
        What was found.
    threads
        How many work.
    """

    slots: Slots
    worlds: Sequence[Prepared]
    watches: Mapping[Prepared, Watch]
    found: dict[int, Watch]
    steps: int
    left: Iterator[int]
    queue: IntArray
    look: bool
    taus: FloatArray | None
    targets: FloatArray | None
    kept: Kept | None
    errors: dict[int, Exception]
    notices: list[Notice]
    threads: int = 1

    def portion(self, least: int, most: int) -> IntArray:
        """Take some of the queue: less and less, so that all threads end together."""
        with _taking:
            share = -(-self.queue.size // (2 * self.threads - 1))
            count = min(most, max(least, share))
            taken, self.queue = self.queue[:count], self.queue[count:]
        return taken


class Worker:
    """The memory of one thread; after an exception there is no use for it.

    Parameters
    ----------
    prepared
        Of the first world.
    state
        Any that the world can have.
    """

    def __init__(self, prepared: Prepared, state: StepperState) -> None:
        world, stepper = prepared.world, prepared.stepper
        self._driver = driver = Driver(world, stepper, state, tau=np.zeros(world.nv), chunk_steps=CHUNK)
        self._order = np.full(slot_layout.ORDER, -1, dtype=np.int64)
        # An adaptive stepper tries smaller steps first.
        self._order[slot_layout.GO_ON] = stepper.goes_on and not stepper.adaptive
        joints = driver.joints
        self._start = Start(np.zeros(world.nq), np.zeros(world.nv), np.zeros(1))
        self._joints = None if joints is None else OfJoints(joints.was, joints.previous_z, joints.target)
        self._rest = array_of(driver.control), array_of(driver.parameters), np.array([stepper.smallest_h])
        # The call of the exchange, and the buffers it holds that may be others.
        self._held: HeldCall | None = None
        self._of_held: tuple[Any, ...] = ()
        # The run that the memory holds, whose steps are made, and the one to come; -1 for none.
        self._made = self._next = -1
        self._portion = 1
        # Of runs that pass: a portion of the queue, how many it should and may have; the call, and what it holds.
        self._queue = np.zeros(PASSING, dtype=np.int64)
        self._passing: HeldCall | None = None
        self._of_passing: tuple[Any, ...] = ()
        self._calls: dict[Prepared, HeldCall] = {}
        self._least = self._most = 1
        #: what a step of a run that passes took last [s]
        self.pace = np.inf
        self._tables: list[tuple[int, ...] | None] = [None, None]

    def work(self, task: Task) -> int:
        """Make runs' steps until none is left: 0; or until the slots have not the room for so many contacts."""
        self._take_tables(task)
        driver, order = self._driver, self._order
        while True:
            if self._next < 0:
                self._next = next(task.left, -1)
            if self._next < 0 and self._made < 0:
                return self._pass(task)
            if self._next >= 0:
                driver.turn_to(task.worlds[self._next])
            order[slot_layout.STORE], order[slot_layout.LOAD] = self._made, self._next
            said = int(self._exchange(task.slots)())
            if said == slot_layout.SLOTS_ARE_SMALL:
                return int(driver.control.n_previous)
            self._made = -1
            if said == slot_layout.MEMORY_IS_SMALL:
                driver.make_room(int(task.slots.contacts[self._next]))
                continue
            if self._next < 0:
                continue
            self._make(task, self._next)
            self._made, self._next = self._next, -1

    def _pass(self, task: Task) -> int:
        """Make the steps of runs in the queue until none is left, as `work` does."""
        driver, order = self._driver, self._order
        while True:
            if order[slot_layout.AT] == order[slot_layout.END]:
                portion = task.portion(self._least, self._most)
                if not portion.size and order[slot_layout.STORE] < 0:
                    return 0
                order[slot_layout.AT], order[slot_layout.END], order[slot_layout.STEPS] = 0, portion.size, task.steps
                self._queue[: portion.size] = portion
            processor_seconds()  # nobody may be waiting any more
            first, clock = int(order[slot_layout.AT]), time.perf_counter()
            said = int(self._hold(task)())
            at = int(order[slot_layout.AT])
            if at > first:
                seconds = max(time.perf_counter() - clock, 1e-9) / (at - first)
                self._least, self._most = (max(1, int(min(PASSING, t / seconds))) for t in (BRIEF, SECONDS))
                self.pace = seconds / task.steps
            if said == slot_layout.SLOTS_ARE_SMALL:
                self._made = int(order[slot_layout.STORE])
                return int(driver.control.n_previous)
            if said == slot_layout.MEMORY_IS_SMALL:
                driver.make_room(int(task.slots.contacts[self._queue[at]]))
            elif said == slot_layout.UNUSUAL:
                i = int(self._queue[at - 1])
                driver.turn_to(task.worlds[i])
                self._make(task, i, int(order[slot_layout.REASON]), int(order[slot_layout.UNSOLVED]))

    def _hold(self, task: Task) -> HeldCall:
        """Return the call that lets runs pass, made anew where buffers are others."""
        driver = self._driver
        now = self._queue, task.slots, driver.work, driver.chunk, driver.island, driver.growth
        if self._passing is None or not all(map(operator.is_, self._of_passing, now)):
            from contactlab.stepping.kernels.passing import pass_runs
            from lcp.compiler.held import HeldCall

            self._of_passing, calls = now, {}
            for prepared in dict.fromkeys(task.worlds):
                driver.turn_to(prepared)
                calls[prepared] = driver.entered()
            codes = np.array([calls[prepared].addresses for prepared in task.worlds])
            given = self._start, self._order, driver.work, self._joints, driver.chunk, *self._rest
            self._passing = HeldCall(pass_runs, pass_runs, (self._queue, codes, task.slots, *given))
            # They live as long as what calls them.
            self._calls = calls
        return self._passing

    def _exchange(self, slots: Slots) -> HeldCall:
        """Return the call that exchanges runs, made anew where buffers have grown."""
        now = slots, self._driver.work, self._driver.chunk
        if self._held is None or not all(map(operator.is_, self._of_held, now)):
            from contactlab.stepping.kernels.slots import enter_exchange, exchange_held
            from lcp.compiler.held import HeldCall

            slots, work, chunk = self._of_held = now
            given = slots, self._start, self._order, work, self._joints, chunk, *self._rest
            self._held = HeldCall(exchange_held, enter_exchange, given)
        return self._held

    def _take_tables(self, task: Task) -> None:
        """Have tables for the forces and targets of a run, or none."""
        wanted = [None if given is None else given.shape[1:] for given in (task.taus, task.targets)]
        if wanted != self._tables:
            self._tables = wanted
            self._driver.schedule(*(None if shape is None else np.zeros(shape) for shape in wanted))

    def _make(self, task: Task, i: int, reason: int | None = None, unsolved: int | None = None) -> None:
        """Make the steps of a run that was loaded.

        Of one that was begun: what the loop asks for, and the islands that nothing had solved before.
        """
        driver, steps = self._driver, task.steps
        driver.forget()
        if task.taus is not None:
            driver.work.tau_table[:] = task.taus[i]
        if task.targets is not None and driver.joints is not None:
            driver.joints.target_table[:] = task.targets[i]
        energy = task.slots.energy[i] if task.watches[task.worlds[i]].bounces else None
        done, look = 0, task.look or task.slots.steps[i] == 0
        unsolved = driver.uncertified if unsolved is None else unsolved
        try:
            while True:
                processor_seconds()  # nobody may be waiting any more
                before, clock = driver.step, time.perf_counter() if steps > 1 else 0.0
                wanted = min(steps - before, self._portion)
                driver.advance(wanted, reason)
                now, chunk = driver.step, driver.chunk
                if steps > 1 and reason is None and now > before:
                    self._measure((time.perf_counter() - clock) / (now - before))
                reason, ended = None, now >= steps or driver.failed
                # What is found does not depend on portions: a chunk is looked at when it is full.
                if not ended and now - before == wanted and int(driver.control.chunk_steps) < CHUNK:
                    continue
                count = now - done
                if count:
                    self._keep(task, i, done)
                    if look or energy is not None or driver.uncertified > unsolved:
                        self._look(task, i, count, energy, unsolved)
                        unsolved = driver.uncertified
                        if energy is not None:
                            energy = np.array((chunk.kinetic[count - 1], chunk.potential[count - 1]))
                done = now
                if ended:
                    break
                self._begin_chunk()
        except Exception as error:  # noqa: BLE001  of a user's code, told by the batch
            task.errors[i] = error
            self._keep(task, i, done)
        if driver.failed:
            # Steps are counted from where the run began.
            driver.control.step += task.slots.steps[i]
            recording = Recording.of_run(task.worlds[i].world, task.worlds[i].stepper, driver.state(), [])
            task.errors[i] = simulation_error(driver, recording)
            driver.control.step -= task.slots.steps[i]

    def _keep(self, task: Task, i: int, done: int) -> None:
        """Keep the states in the chunk of run i, those after step ``done``, if any are kept."""
        kept, chunk, now = task.kept, self._driver.chunk, self._driver.step
        if kept is not None:
            after, rows = slice(done + 1, now + 1), slice(now - done)
            kept.q[i, after], kept.v[i, after], kept.time[i, after] = chunk.q[rows], chunk.v[rows], chunk.time[rows]

    def _begin_chunk(self) -> None:
        """Empty the chunk, which begins with the present state."""
        driver, start = self._driver, self._start
        start.q[:], start.v[:], start.time[0] = driver.work.q, driver.work.v, driver.time
        driver.empty()

    def _measure(self, seconds: float) -> None:
        """Take as many steps at once as Ctrl-C may wait for, where one takes these seconds."""
        self._portion = max(1, min(CHUNK, 2 * self._portion, int(SECONDS / max(seconds, 1e-9))))

    def _look(self, task: Task, i: int, count: int, energy: FloatArray | None, unsolved: int) -> None:
        """Look at the steps in the chunk of run i, so many."""
        driver, chunk, template = self._driver, self._driver.chunk, task.watches[task.worlds[i]]
        before = int(task.slots.steps[i])
        deep, uncertified = (task.look or before == 0) and template.deep(driver), driver.uncertified > unsolved
        gained = False
        if energy is not None:
            sums = chunk.kinetic[:count] + chunk.potential[:count]
            gained = count > 1 or bool(sums[0] > energy.sum() + GAIN * energy[0])
        first = before == 0 and driver.step == count and float(self._start.time[0]) == 0.0
        beyond = first and template.starts_beyond(self._start.q)
        if not (deep or gained or uncertified or beyond):
            return
        watch = task.found.get(i)
        if watch is None:
            watch = template.anew(lambda step: f"step {before + step} of run {i}")
        new: tuple[Notice, ...] = ()
        if beyond:
            new += watch.start(self._start.q)
        if uncertified:
            new += watch.islands(driver)
        if deep:
            new += watch.contacts(driver, begins=first)
        if gained and energy is not None:
            new += watch.impacts(driver, self._start.q, self._start.v, (float(energy[0]), float(energy[1])))
        if new:
            task.found[i] = watch
            task.notices.extend(new)
