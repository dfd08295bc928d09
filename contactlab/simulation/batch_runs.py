"""The runs of a batch: their states, and the threads that step them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from contactlab.recording.long_steps import Moves
from contactlab.recording.plausibility import Notice, too_long
from contactlab.simulation.batch_worker import BRIEF, CHUNK, Kept, Task, Worker
from contactlab.simulation.batch_worlds import BatchWorlds
from contactlab.simulation.watching import Watch
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.kinematic import poses_at
from contactlab.stepping.prepared import checked_state
from contactlab.stepping.slots import grow_slots, new_slots, write_slot
from contactlab.stepping.wrenches import Wrench
from contactlab.world.state import StepperState
from lcp.hearing import Crew


class BatchRuns:
    """B runs, and what makes their steps.

    Attributes
    ----------
    worlds, slots
        Which world each steps; the states.
    errors
        Why runs stopped, by number.
    """

    def __init__(self, worlds: BatchWorlds, states: Sequence[StepperState], threads: int) -> None:
        self.worlds = worlds
        self.slots = new_slots(worlds.first, len(states))
        self.errors: dict[int, Exception] = {}
        self._threads = threads
        self._workers: list[Worker] = []
        self._crew = Crew(threads)
        self._found: dict[int, Watch] = {}
        self.put(range(len(states)), states)
        # What impacts gain is looked at in every step.
        self._passes = not any(watch.bounces for watch in worlds.watches.values())
        self._state = states[0] if states else worlds.first.world.initial_state()

    def put(self, runs: Sequence[int], states: Sequence[StepperState]) -> None:
        """Put runs at states, of which one that does not fit is refused before anything changes."""
        checked = [
            checked_state(self.worlds.of_run[i], state, f"states[{k}]")
            for k, (i, state) in enumerate(zip(runs, states, strict=True))
        ]
        for i, state, (q, v) in zip(runs, states, checked, strict=True):
            self.slots = write_slot(self.slots, i, state, q, v)
            self.slots.energy[i] = self.worlds.watches[self.worlds.of_run[i]].energy_of(state)
            self.errors.pop(i, None)
            self._found.pop(i, None)

    def make(
        self,
        steps: int,
        look: bool,
        chosen: IntArray,
        kept: Kept | None = None,
        taus: FloatArray | None = None,
        targets: FloatArray | None = None,
    ) -> list[Notice]:
        """Make steps of the chosen runs that have not failed; return what was found."""
        runs = [i for i in chosen.tolist() if i not in self.errors]
        queue = np.zeros(0, dtype=np.int64)
        told = not (kept is None and taus is None and targets is None)
        if self._passes and self._workers and not (look or told) and steps <= CHUNK:
            # What begins is looked at.
            from lcp.compiler.held import available

            begun = (self.slots.steps[runs] > 0) & available()
            every = np.array(runs, dtype=np.int64)
            queue, runs = every[begun], every[~begun].tolist()
        # The first run alone: the compiler is not entered from two threads at once.
        parts = [runs] if self._workers else [runs[:1], runs[1:]]
        found: list[Notice] = []
        task = Task(
            slots=self.slots,
            worlds=self.worlds.of_run,
            watches=self.worlds.watches,
            found=self._found if kept is None else {},
            steps=steps,
            left=iter(()),
            queue=queue[:0],
            look=look,
            taus=taus,
            targets=targets,
            kept=kept,
            errors=self.errors,
            notices=found,
        )
        try:
            for part in parts:
                task.left = iter(part)
                self._share(task, min(self._threads, len(part)))
            if queue.size:
                # Another thread takes some time to begin.
                seconds = queue.size * steps * self._workers[0].pace
                task.queue, task.threads = queue, int(min(self._threads, queue.size, max(1, seconds / BRIEF)))
                self._share(task, task.threads)
        except BaseException:
            # Ctrl-C may have come where their memory was in the midst of a change; the slots are whole at any time.
            self._workers = []
            raise
        return found

    def push(
        self,
        steps: int,
        look: bool,
        chosen: IntArray,
        kept: Kept,
        taus: FloatArray | None,
        targets: FloatArray | None,
        wrenches: Mapping[str, Wrench],
    ) -> list[Notice]:
        """Make steps as `make` does, under wrenches on bodies besides: one by one, since they turn with the bodies."""
        found: list[Notice] = []
        for k in range(steps):
            # Growth makes others of them.
            slots = self.slots
            slots.tau[:] = 0.0 if taus is None else taus[:, k]
            slots.tau[:] += self.worlds.applied_by(slots.q, {name: one.of_step(k) for name, one in wrenches.items()})
            if targets is not None:
                slots.target[:] = targets[:, k]
            found += self.make(1, look, chosen, Kept(*(one[:, k : k + 2] for one in kept)))
        return found

    def _share(self, task: Task, threads: int) -> None:
        """Have what is left of a task done by so many threads."""
        while len(self._workers) < threads:
            self._workers.append(Worker(self.worlds.first, self._state))
        wanted = [0] * threads

        def one(number: int) -> None:
            wanted[number] = self._workers[number].work(task)

        while threads:
            self._crew.work(one, threads)
            if not any(wanted):
                return
            self.slots = task.slots = grow_slots(self.slots, max(wanted))

    def long(
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
        for world, own in self.worlds.parts(runs):

            def name(i: int, own: IntArray = own) -> str:
                return f"step {steps[own[i]]} of run {runs[own[i]]}"

            pose, pose_next = poses_at(world, time[own]), poses_at(world, time_next[own])
            h = time_next[own] - time[own]
            yield from too_long(Moves(world, q[own], v[own], q_next[own], v_next[own], h, pose, pose_next, name))
