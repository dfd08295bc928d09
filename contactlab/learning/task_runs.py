"""The runs of a task: the arithmetic of an action, for `Env` and `VectorEnv` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.learning.errors import LearningError
from contactlab.learning.task import Mask, Snapshot, Task
from contactlab.recording import SimulationError
from contactlab.simulation import Batch
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.world.errors import SimulationConfigError
from contactlab.world.sensors import Sensor
from contactlab.world.world import World


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of an action in B runs."""

    reward: FloatArray  # (B,)
    terms: Mapping[str, FloatArray]  # what it is the sum of where the task says so
    terminated: Mask  # (B,)
    truncated: Mask
    errors: Mapping[int, str]  # why steps failed, by number of the run
    after: Snapshot  # the runs after it


class TaskRuns:
    """B runs, ``batch``, of a task; ``made`` (B,) are the actions since each began."""

    def __init__(self, task: Task, runs: int, worlds: Sequence[World] | None, threads: int | None) -> None:
        if not isinstance(task, Task):
            raise LearningError("task", f"must be a Task, got {task!r}")
        given = [task.world] * runs if worlds is None else list(worlds)
        if len(given) != runs:
            raise LearningError("worlds", f"must be one for each of {runs} runs, got {len(given)}")
        self.task, self.made = task, np.zeros(runs, dtype=np.int64)
        # Actions on their way, those to act last first (most + 1, B, n), and how long those of each run take.
        rest = np.clip(0.0, task.actions.low, task.actions.high)
        self._rest, self._coming = rest, np.tile(rest, (task.delays[1] + 1, runs, 1))
        self._delays = np.full(runs, task.delays[0], dtype=np.int64)
        self.batch = Batch(given, task.stepper, threads=threads)
        # What of the sensors only steps can tell, with its length.
        self._of_steps = {name: size for name, one in task.sensors.items() if (size := self._size_of(one)) is not None}
        self.batch.reset()
        self.size: int | None = None
        self.size = self.observe().shape[1]

    def __len__(self) -> int:
        return len(self.batch)

    def _size_of(self, sensor: Sensor) -> int | None:
        """Length of the readings of a sensor that reads steps; None of one that reads states."""
        self.batch.reset()
        try:
            self.batch.read(sensor)
        except SimulationConfigError:
            self.batch.step()
            return int(self.batch.read(sensor).shape[1])
        return None

    def begin(self, runs: IntArray, generators: Sequence[np.random.Generator]) -> None:
        """Begin some runs anew, each where its generator says."""
        if not runs.size:
            return
        worlds, mask = self.batch.worlds, np.zeros(len(self), dtype=np.bool_)
        mask[runs] = True
        self.batch.reset(mask, [self.task.start(worlds[i], generators[i]) for i in runs])
        self.made[runs] = 0
        self._coming[:, runs] = self._rest
        least, most = self.task.delays
        if most > least:
            self._delays[runs] = [generators[i].integers(least, most, endpoint=True) for i in runs]

    def snapshot(self) -> Snapshot:
        """Return what the functions of the task see of the present."""
        batch = self.batch
        readings = {name: self._read(name, sensor) for name, sensor in self.task.sensors.items()}
        return Snapshot(batch.q.copy(), batch.v.copy(), batch.time, readings)

    def _read(self, name: str, sensor: Sensor) -> FloatArray:
        size = self._of_steps.get(name)
        if size is None:
            return self.batch.read(sensor)
        begun = self.batch.steps > 0
        if not begun.any():
            return np.zeros((len(self), size))
        return self.batch.read(sensor) if begun.all() else np.where(begun[:, None], self.batch.read(sensor), 0.0)

    def observe(self, now: Snapshot | None = None) -> FloatArray:
        """Return what is observed, (B, size), of the present or of a snapshot of it."""
        seen = self.task.observe(self.snapshot() if now is None else now)
        # A copy: what the task returns may be part of what it was given.
        return finite_array(seen, "observe", (len(self), self.size), LearningError).copy()

    def act(self, actions: ArrayLike, mask: Mask) -> Outcome:
        """Act in some runs; the others stay where they are, and nothing of what is said of them counts."""
        task, batch, n = self.task, self.batch, len(self)
        given = finite_array(actions, "actions", (n, len(task.actions.low)), LearningError)
        within = np.minimum(np.maximum(given, task.actions.low), task.actions.high)
        self._coming = np.concatenate((within[None], self._coming[:-1]))
        within = self._coming[self._delays, np.arange(n)]
        before = self.snapshot()
        for _ in range(task.frame_skip if task.actions.by_state else 1):
            taus, targets = task.actions.inputs(within, batch.q, batch.v)
            batch.step(taus, targets, 1 if task.actions.by_state else task.frame_skip, mask=mask)
        errors = self._errors(mask)
        self.made[mask] += 1
        after = self.snapshot()
        worth = task.reward(before, given, after)
        told = worth.items() if isinstance(worth, Mapping) else ()
        terms = {name: self._reward(one, mask, f"reward[{name!r}]") for name, one in told}
        reward = sum(terms.values(), np.zeros(n)) if terms else self._reward(worth, mask, "reward")
        terminated = (
            np.zeros(n, dtype=np.bool_) if task.terminated is None else self._ended(task.terminated(after), mask)
        )
        terminated[list(errors)] = True
        truncated = mask & (self.made >= task.max_steps) if task.max_steps is not None else np.zeros(n, dtype=np.bool_)
        return Outcome(reward, terms, terminated, truncated, {i: str(e) for i, e in errors.items()}, after)

    def _errors(self, mask: Mask) -> dict[int, SimulationError]:
        """Return why steps failed; what code of the user raised is raised again."""
        found: dict[int, SimulationError] = {}
        for i, error in enumerate(self.batch.errors):
            if not mask[i]:
                continue
            if isinstance(error, SimulationError):
                found[i] = error
            elif error is not None:
                raise error
        return found

    def _reward(self, value: Any, mask: Mask, name: str) -> FloatArray:
        checked = finite_array(value, name, (len(self),), LearningError)
        return np.where(mask, checked, 0.0)

    def _ended(self, value: Any, mask: Mask) -> Mask:
        ended = np.asarray(value)
        if ended.dtype != np.bool_ or ended.shape != mask.shape:
            detail = f"must return bool of shape {mask.shape}, got {ended.dtype} of shape {ended.shape}"
            raise LearningError("terminated", detail)
        return ended & mask
