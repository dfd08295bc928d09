"""The runs of a batch: their worlds, of one layout, their states, and the threads that step them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.batch_worker import (
    CHUNK,
    MIN_PARALLEL_SECONDS,
    SharedRuns,
    StateHistory,
    StepWorker,
    allocate_batch_state,
    arrays_of_run,
    grow_batch_state,
    write_run,
)
from contactlab.simulation.recording.long_steps import StepMotions
from contactlab.simulation.recording.notices import Notice, long_step_notices
from contactlab.simulation.recording.run_reports import NoticeMonitor
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import StepCallbacks, poses_at
from contactlab.simulation.stepping.contact_table import ContactTable
from contactlab.simulation.stepping.kernels.arrays import BatchState
from contactlab.simulation.stepping.kernels.layout import IN_PYTHON, QUEUE_LENGTH, SHUTDOWN, STEPS
from contactlab.simulation.stepping.prepared import (
    Prepared,
    check_run,
    checked_state,
    layout_difference,
    prepare,
)
from contactlab.simulation.stepping.record_schema import Rows, columns_of
from contactlab.simulation.stepping.wrenches import Wrench, applied_by
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.sensors import Sensor, StepView
from contactlab.simulation.world.world import StepperState, World
from lcp.interruptible import ThreadTeam

# The memory that the last `rollout` of each thread has left for the next one.
_SPARE = threading.local()


def _prepared(world: World, stepper: TimeStepping) -> Prepared:
    """Return the arrays of a world: those of the thread's last `rollout` if it was of this world and stepper."""
    last: Prepared | None = getattr(_SPARE, "left", (None, []))[0]
    if last is not None and last.world is world and last.stepper is stepper.in_world(world):
        return last
    return prepare(world, stepper)


class BatchWorlds:
    """The world of each of B runs: ``of_run``; all have the layout of the ``first``.

    ``watches`` are monitors for each world, still without notices; ``targets`` (B, nd) are the default targets of the
    drives of each run.
    """

    def __init__(self, worlds: Sequence[World], stepper: TimeStepping, runs: int | None) -> None:
        """Check one world for each of ``runs`` runs (None: as many as there are worlds), or one for all."""
        if not worlds:
            raise SimulationConfigError("worlds", "must be a world, or one for each run, got none")
        different = list(dict.fromkeys(worlds))
        for world in different:
            check_run(world, stepper)
        if runs is not None and len(worlds) not in (1, runs):
            raise SimulationConfigError("worlds", f"must be one, or one for each of {runs} states, got {len(worlds)}")
        given = list(worlds) if runs is None or len(worlds) == runs else list(worlds) * runs
        known = {world: _prepared(world, stepper) for world in different}
        self.first = known[different[0]]
        for world, prepared in known.items():
            differs = "" if prepared is self.first else layout_difference(self.first, prepared)
            if differs:
                detail = f"has other {differs} than worlds[0]: one batch does not hold both"
                raise SimulationConfigError(f"worlds[{given.index(world)}]", detail)
        self.of_run = [known[world] for world in given]
        self.watches: dict[Prepared, NoticeMonitor] = {
            known[world]: NoticeMonitor(world, stepper) for world in different
        }
        self.targets = np.zeros((len(given), len(self.first.world.joint_actions.drives)))
        for i, world in enumerate(given):
            self.targets[i] = [drive.target for drive in world.joint_actions.drives]
        self._number = np.array([different.index(world) for world in given], dtype=np.int64)
        self._different = different

    def by_world(self, runs: IntArray) -> Iterator[tuple[World, IntArray]]:
        """Yield each world, with the indices into ``runs`` of the runs in this world."""
        numbers = self._number[runs]
        for number in np.unique(numbers):
            yield self._different[number], np.flatnonzero(numbers == number)

    def applied_by(self, q: FloatArray, wrenches: Mapping[str, Wrench]) -> FloatArray:
        """Return the generalized forces (B, nv) of wrenches, by body, at the configurations q (B, nq) of all runs."""
        found = np.empty((q.shape[0], self.first.world.nv))
        for world, own in self.by_world(np.arange(q.shape[0])):
            of_them = {name: wrench.of_runs(own) for name, wrench in wrenches.items()}
            found[own] = applied_by(world.model, q[own], of_them)
        return found

    @property
    def given(self) -> World | tuple[World, ...]:
        """The world, or the world of each run if they differ."""
        return self._different[0] if len(self._different) == 1 else tuple(one.world for one in self.of_run)


def states_of(given: Any) -> list[StepperState]:
    """Return states as a list; raise an error for anything but a sequence."""
    if isinstance(given, Sequence):
        return list(given)
    detail = f"must be a sequence of B states, got {type(given).__name__}: `[world.initial_state()] * B` makes one"
    raise SimulationConfigError("states", detail)


class BatchRuns(SharedRuns):
    """B runs and the threads that step them."""

    def __init__(self, worlds: BatchWorlds, states: Sequence[StepperState], threads: int) -> None:
        from lcp.compiler.bound_call import supports_bound_calls

        # Without bound calls the words of the queue are not atomic.
        self._threads = threads if supports_bound_calls() else 1
        super().__init__(allocate_batch_state(worlds.first, len(states)), worlds.of_run, worlds.watches, threads)
        self._by_world = worlds
        self._workers: list[StepWorker] = []
        self._crew = ThreadTeam(threads)
        self._monitors = self.found
        self.set_states(range(len(states)), states)
        # Motions and custom rows call Python in each step, and steps with impacts are all inspected.
        asks = StepCallbacks(worlds.first.world, None, None, None, worlds.first.motions).needs_callback
        self._in_python = asks or any(watch.bounces for watch in worlds.watches.values())
        self._state = states[0] if states else worlds.first.world.initial_state()

    def take_workers(self) -> None:
        """Take the memory that the thread's last `rollout` has left, if it was of the same world."""
        prepared, workers = getattr(_SPARE, "left", (None, []))
        _SPARE.left = None, []
        if prepared is self._by_world.first:
            self._workers = workers[: self._threads]
            self.compiled.set()

    def leave_workers(self) -> None:
        """Leave the memory of the threads for the thread's next `rollout`, if there is one world and it is small."""
        self._stop_queue()
        if len(self.watches) == 1 and all([worker.drop_runs() for worker in self._workers]):
            _SPARE.left = self._by_world.first, self._workers

    def set_states(self, runs: Sequence[int], states: Sequence[StepperState]) -> None:
        """Set the states of runs; an invalid state raises an error before anything changes."""
        checked = [
            checked_state(self.worlds[i], state, f"states[{k}]")
            for k, (i, state) in enumerate(zip(runs, states, strict=True))
        ]
        for i, state, (q, v) in zip(runs, states, checked, strict=True):
            self.slots = write_run(self.slots, i, state, q, v)
            self.slots.energy[i] = self.watches[self.worlds[i]].energy_of(state)
            self.errors.pop(i, None)
            self._monitors.pop(i, None)

    def step_runs(
        self,
        steps: int,
        look: bool,
        chosen: IntArray,
        kept: StateHistory | None = None,
        taus: FloatArray | None = None,
        targets: FloatArray | None = None,
        wrenches: Mapping[str, Wrench] | None = None,
    ) -> list[Notice]:
        """Make ``steps`` steps of the chosen runs that have not failed; return the notices found.

        A run that fails is listed in ``errors``; the others continue. ``look``: inspect the contacts of every step for
        notices, not only notices of first steps. ``kept`` (B, steps + 1, ...) is filled with the state after each step.
        ``taus`` and ``targets`` (B, steps, n) are the inputs of each step; None: the values in ``slots``. Steps under
        wrenches on bodies are made one by one, because these depend on q.
        """
        if wrenches is not None:
            notices, base = [], self.slots.tau.copy()
            for k in range(steps):
                # Growth replaces them.
                slots, now = self.slots, {name: one.of_step(k) for name, one in wrenches.items()}
                applied = self._by_world.applied_by(slots.q, now)
                slots.tau[:] = (base if taus is None else taus[:, k]) + applied
                if targets is not None:
                    slots.target[:] = targets[:, k]
                part = None if kept is None else StateHistory(*(one[:, k : k + 2] for one in kept))
                notices += self.step_runs(1, look, chosen, part)
            return notices
        if self.errors:
            chosen = np.array([i for i in chosen.tolist() if i not in self.errors], dtype=np.int64)
        if taus is not self.inputs[0] or targets is not self.inputs[1]:
            # A thread takes the tables of inputs when it begins.
            self._stop_queue()
        self.steps, self.look, self.inputs, self.kept, self.notices = steps, look, (taus, targets), kept, []
        self.found = self._monitors if kept is None else {}
        self.words[STEPS] = steps
        has_tables = not (kept is None and taus is None and targets is None)
        self.words[IN_PYTHON] = look or has_tables or steps > CHUNK or self._in_python
        try:
            # The queue is claimed from its end, so that the runs begin in their order.
            self._process_queue(chosen[::-1])
        except BaseException:
            # Ctrl-C may have interrupted a change of the threads' memory; the slots are valid at any time.
            self.words[QUEUE_LENGTH] = 0
            self._stop_queue(given_up=True)
            self._workers = []
            self.clear_queue(self._threads)
            raise
        # The caller owns the history.
        self.kept = None
        return self.notices

    def _process_queue(self, queue: IntArray) -> None:
        """Step the queued runs on all threads, which claim runs from one queue; enlarge the slots if a run needs it."""
        threads, grown = min(self._threads, queue.size), False
        while len(self._workers) < threads:
            self._workers.append(StepWorker(self._by_world.first, self._state))
        while queue.size or grown:
            self.queue[: queue.size] = queue
            # A thread that still polls need not be woken.
            seconds = queue.size * self.steps * self._workers[0].pace
            if threads > 1 and (grown or seconds > MIN_PARALLEL_SECONDS):
                self._crew.begin(lambda number: self._workers[number].process_queue(self, number), threads)
            self._workers[0].process_queue(self, 0, queue.size)
            if not any(self.wanted) and not grown:
                return
            self._stop_queue()
            grown = any(self.wanted)
            if not grown:
                return
            left = max(0, int(self.words[QUEUE_LENGTH]))
            self.words[QUEUE_LENGTH] = 0
            queue = np.array([*self.back, *self.queue[:left]], dtype=np.int64)
            # All threads store the run in their memory, and go on.
            self.slots, threads = grow_batch_state(self.slots, max(self.wanted)), len(self._workers)
            self.back, self.wanted = [], [0] * self._threads

    def _stop_queue(self, given_up: bool = False) -> None:
        """Make all threads that wait for queued runs return, and wait for them, unless ``given_up``."""
        self.words[SHUTDOWN] = 1
        self._crew.end(given_up)
        self.words[SHUTDOWN] = 0

    def long_step_notices(
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
        """Yield notices of motion too fast for the step, for steps given by run and number."""
        for world, of_it in self._by_world.by_world(runs):
            # With one world take all, without a copy.
            own = slice(None) if of_it.size == runs.size else of_it

            def name(i: int, own: IntArray | slice = own) -> str:
                return f"step {steps[own][i]} of run {runs[own][i]}"

            pose, pose_next = poses_at(world, time[own]), poses_at(world, time_next[own])
            h = time_next[own] - time[own]
            yield from long_step_notices(
                StepMotions(world, q[own], v[own], q_next[own], v_next[own], h, pose, pose_next, name)
            )


def last_step_rows(slots: BatchState, table: str) -> Rows:
    """Return the rows of a table ("contact", "joint") of every run's last step; the column of steps has the run."""
    held, counts = getattr(slots, table), getattr(slots, f"{table}_rows")
    rows = columns_of(table, held[np.arange(held.shape[1]) < counts[:, None]])
    rows[f"{table}_step"] = np.repeat(np.arange(counts.size), counts)
    return rows


def last_h(slots: BatchState, stepper: TimeStepping) -> FloatArray:
    """Return the size of every run's last step [s], (B,), or the stepper's if it has made none."""
    return np.where(slots.steps > 0, slots.last_h, stepper.h)


def read_runs(
    worlds: BatchWorlds,
    slots: BatchState,
    stepper: TimeStepping,
    sensor: Sensor,
    runs: IntArray,
    contacts: Callable[[], ContactTable],
) -> FloatArray:
    """Return the readings (n, d) of a sensor for the runs with the indices ``runs`` (n,).

    Either all of them have made steps, or none has.
    """
    parts: list[tuple[IntArray, FloatArray]] = []
    for world, places in worlds.by_world(runs):
        own, trees = runs[places], world.body_trees

        def of_them(own: IntArray = own) -> ContactTable:
            table, number = contacts(), np.full(slots.steps.size, -1)
            number[own] = np.arange(own.size)
            held = table.rows(number[table.step] >= 0)
            return replace(held, step=number[held.step], scope=replace(table.scope, h=table.scope.h[own]))

        asleep = None if stepper.sleep is None else (trees >= 0) & (slots.asleep[own][:, trees] != 0)
        view = StepView(
            world,
            slots.q[own],
            slots.v[own],
            (slots.q_before[own], slots.v_before[own]) if slots.steps[own].all() else None,
            last_h(slots, stepper)[own],
            of_them,
            (poses_at(world, slots.time_before[own]), poses_at(world, slots.time[own])),
            asleep,
            slots.time[own],
        )
        parts.append((places, view.read(sensor)))
    found = np.empty((runs.size, *parts[0][1].shape[1:]))
    for places, reading in parts:
        found[places] = reading
    return found


@dataclass(frozen=True, eq=False)
class Rollout:
    """The results of B runs.

    Attributes
    ----------
    q, v
        (B, steps + 1, nq) and (B, steps + 1, nv): the states, the start first. NaN after a failed step.
    failed
        (B,) True if a run stopped early.
    errors
        The error of each stopped run, None for the others. The record of a `SimulationError` has no steps: it holds the
        state at the start of the failed step.
    notices
        Notices of doubts that certificates do not cover (`Recording.notices`), the worst of each kind over all runs;
        the text names run and step.
    """

    q: FloatArray
    v: FloatArray
    failed: NDArray[np.bool_]
    errors: tuple[Exception | None, ...]
    notices: tuple[Notice, ...]
    _ends: BatchState = field(repr=False)

    @functools.cached_property
    def states(self) -> tuple[StepperState, ...]:
        """The final state of each run, from which it can continue, bit for bit."""
        return tuple(arrays_of_run(self._ends, i).read() for i in range(self.failed.size))
