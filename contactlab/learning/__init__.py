"""Environments for learning: one task definition for a `gymnasium.Env` and, over a `Batch`, for a vector environment.

The names exist without gymnasium too, which `Env` and `VectorEnv` need: ``pip install '.[learning]'``.
Both environments have the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from contactlab.learning.task import ActionMap, Controls, LearningError, Mask, Noise, Snapshot, Targets, Task, Torques
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.naming import module_hooks
from contactlab.simulation import Batch
from contactlab.simulation.recording.run_reports import SimulationError
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.sensors import Sensor
from contactlab.simulation.world.world import World

try:
    from gymnasium import Env as BaseEnv
    from gymnasium.vector import VectorEnv as BaseVectorEnv
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("gymnasium"):
        raise

    class BaseEnv:  # type: ignore[no-redef]
        """Replacement for gymnasium's class, so that the names of `contactlab.learning` exist without gymnasium."""

        def __new__(cls, *_: Any, **__: Any) -> NoReturn:
            """Raise an error that names the package to install."""
            raise ModuleNotFoundError("gymnasium is not installed: pip install '.[learning]'", name="gymnasium")

    BaseVectorEnv = BaseEnv

__all__ = [
    "ActionMap", "Controls", "Env", "LearningError", "Noise", "Snapshot", "Targets", "Task", "Torques", "VectorEnv",
]  # fmt: skip


def action_space(task: Task) -> Any:
    """Return the box between the bounds of a task's actions, of float32 as in gymnasium's environments of MuJoCo."""
    from gymnasium.spaces import Box

    return Box(np.asarray(task.actions.low, np.float32), np.asarray(task.actions.high, np.float32), dtype=np.float32)


def observation_space(size: int | None) -> Any:
    """Return the unbounded space of observations (size,), float64."""
    from gymnasium.spaces import Box

    return Box(-np.inf, np.inf, (size,), np.float64)


def refuse(options: dict[str, Any] | None) -> None:
    """Refuse options of a reset, because the task defines the starts."""
    if options:
        raise LearningError("options", f"there are none, got {options}: where runs begin is the task's `start`")


@dataclass(frozen=True, eq=False)
class StepOutcome:
    """Results of an action in B runs."""

    reward: FloatArray  # (B,)
    terms: Mapping[str, FloatArray]  # terms of the reward, if the task returns them
    terminated: Mask  # (B,)
    truncated: Mask
    errors: Mapping[int, str]  # reasons of failed steps, by index of the run
    after: Snapshot  # the runs after the action


class TaskBatch:
    """B runs, ``batch``, of a task; ``made`` (B,) are the numbers of actions since each began."""

    def __init__(self, task: Task, runs: int, worlds: Sequence[World] | None, threads: int | None) -> None:
        if not isinstance(task, Task):
            raise LearningError("task", f"must be a Task, got {task!r}")
        given = [task.world] * runs if worlds is None else list(worlds)
        if len(given) != runs:
            raise LearningError("worlds", f"must be one for each of {runs} runs, got {len(given)}")
        self.task, self.made = task, np.zeros(runs, dtype=np.int64)
        # Delayed actions, the next one last (most + 1, B, n), and the delay of each run.
        rest = np.clip(0.0, task.actions.low, task.actions.high)
        self._rest, self._coming = rest, np.tile(rest, (task.delays[1] + 1, runs, 1))
        self._delays = np.full(runs, task.delays[0], dtype=np.int64)
        self.batch = Batch(given, task.stepper, threads=threads)
        # Sensors that need a step, with the lengths of their readings.
        self._of_steps = {
            name: size for name, one in task.sensors.items() if (size := self._step_sensor_size(one)) is not None
        }
        self.batch.reset()
        self.size: int | None = None
        self.size = self.observe().shape[1]

    def __len__(self) -> int:
        return len(self.batch)

    def _step_sensor_size(self, sensor: Sensor) -> int | None:
        """Return the length of the readings of a sensor that needs a step, or None if it needs only a state.

        All runs are reset, and make a step if the sensor needs one.
        """
        self.batch.reset()
        try:
            self.batch.read(sensor)
        except SimulationConfigError:
            self.batch.step()
            return int(self.batch.read(sensor).shape[1])
        return None

    def begin(self, runs: IntArray, generators: Sequence[np.random.Generator]) -> None:
        """Restart some runs, each from a start, and with a delay, drawn by its generator."""
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
        """Return the present state and readings, for the functions of the task."""
        batch = self.batch
        readings = {name: self._read(name, sensor) for name, sensor in self.task.sensors.items()}
        return Snapshot(batch.q.copy(), batch.v.copy(), batch.time, readings)

    def _read(self, name: str, sensor: Sensor) -> FloatArray:
        """Return the readings (B, size) of a sensor; zero for runs that have no step yet, if the sensor needs one."""
        size = self._of_steps.get(name)
        if size is None:
            return self.batch.read(sensor)
        begun = self.batch.steps > 0
        if not begun.any():
            return np.zeros((len(self), size))
        return self.batch.read(sensor) if begun.all() else np.where(begun[:, None], self.batch.read(sensor), 0.0)

    def observe(self, now: Snapshot | None = None) -> FloatArray:
        """Return the observation (B, size) of the present or of a snapshot of it."""
        seen = self.task.observe(self.snapshot() if now is None else now)
        # Copied, because the task may return a part of its arguments.
        return finite_array(seen, "observe", (len(self), self.size), LearningError).copy()

    def act(self, actions: ArrayLike, mask: Mask) -> StepOutcome:
        """Apply actions (B, n) for ``frame_skip`` steps in the runs of ``mask``; the others do not move.

        Results of the other runs have no meaning. Actions are clipped to their bounds and come into effect after the
        delay of the run. The reward gets the actions as given.
        """
        task, batch, n = self.task, self.batch, len(self)
        given = finite_array(actions, "actions", (n, len(task.actions.low)), LearningError)
        within = np.minimum(np.maximum(given, task.actions.low), task.actions.high)
        self._coming = np.concatenate((within[None], self._coming[:-1]))
        within = self._coming[self._delays, np.arange(n)]
        before = self.snapshot()
        for _ in range(task.frame_skip if task.actions.depends_on_state else 1):
            taus, targets = task.actions.inputs(within, batch.q, batch.v)
            batch.step(taus, targets, 1 if task.actions.depends_on_state else task.frame_skip, mask=mask)
        errors = self._errors(mask)
        self.made[mask] += 1
        after = self.snapshot()
        worth = task.reward(before, given, after)
        told = worth.items() if isinstance(worth, Mapping) else ()
        terms = {name: self._reward(one, mask, f"reward[{name!r}]") for name, one in told}
        reward = sum(terms.values(), np.zeros(n)) if terms else self._reward(worth, mask, "reward")
        terminated = (
            np.zeros(n, dtype=np.bool_)
            if task.terminated is None
            else self._check_terminated(task.terminated(after), mask)
        )
        terminated[list(errors)] = True
        truncated = mask & (self.made >= task.max_steps) if task.max_steps is not None else np.zeros(n, dtype=np.bool_)
        return StepOutcome(reward, terms, terminated, truncated, {i: str(e) for i, e in errors.items()}, after)

    def _errors(self, mask: Mask) -> dict[int, SimulationError]:
        """Return the errors of failed steps by run of ``mask``; raise the first exception of user code again."""
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
        return np.where(mask, finite_array(value, name, (len(self),), LearningError), 0.0)

    def _check_terminated(self, value: Any, mask: Mask) -> Mask:
        """Return the mask (B,) of terminated runs within ``mask``; raise unless the task's value is bool (B,)."""
        ended = np.asarray(value)
        if ended.dtype != np.bool_ or ended.shape != mask.shape:
            raise LearningError(
                "terminated", f"must return bool of shape {mask.shape}, got {ended.dtype} of shape {ended.shape}"
            )
        return ended & mask


ALL, FIRST = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.int64)


class Env(BaseEnv):
    """One run of a task, a `gymnasium.Env`; with equal seeds it has the same bits as a `VectorEnv` of one run.

    Parameters
    ----------
    task
        The task to run.

    Raises
    ------
    LearningError
        The task is invalid, or an observation is not (B, m) and finite.
    ModuleNotFoundError
        gymnasium is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from contactlab.learning import Env, Task, Torques
    >>> from contactlab.multibody import ModelBuilder, joints
    >>> from contactlab.simulation import TimeStepping, WorldBuilder
    >>> from contactlab.multibody.spatial import RigidInertia
    >>> model, builder = ModelBuilder(), WorldBuilder()
    >>> rod = RigidInertia(1.0, (0, 0, -0.5), inertia=0.1 * np.eye(3))
    >>> _ = model.add_body("rod", joint=joints.Revolute((0, 1, 0)), inertia=rod)
    >>> _ = builder.add_model(model.build())
    >>> world = builder.build()
    >>> up = Task(world, TimeStepping(0.01), Torques(world, ["rod"], 2.0), lambda a, action, b: -np.cos(b.q[:, 0]))
    >>> env = Env(up)
    >>> env.reset(seed=1)[0].shape, env.step(np.zeros(1, np.float32))[1]
    ((2,), -1.0)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as gymnasium has it

    def __init__(self, task: Task) -> None:
        self._runs = TaskBatch(task, 1, None, 1)
        self.task = task
        self.action_space = action_space(task)
        self.observation_space = observation_space(self._runs.size)
        self._begun = False

    @property
    def batch(self) -> Batch:
        """The run, as a batch of one: its state, contacts and sensors."""
        return self._runs.batch

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Restart the run; a seed determines all starts from here on."""
        refuse(options)
        super().reset(seed=seed)
        self._runs.begin(FIRST, [self.np_random])
        self._begun = True
        return self._runs.observe()[0], {}

    def step(self, action: Any) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Apply an action.

        Returns
        -------
        tuple
            Observation, reward, whether the run terminated and whether it was truncated, and the info: terms of the
            reward, and ``error`` after a failed step, which terminates the run.
        """
        if not self._begun:
            raise LearningError("step", "call reset first")
        found = self._runs.act(np.asarray(action)[None], ALL)
        info: dict[str, Any] = {name: float(term[0]) for name, term in found.terms.items()}
        if found.errors:
            info["error"] = found.errors[0]
        return (
            self._runs.observe(found.after)[0],
            float(found.reward[0]),
            bool(found.terminated[0]),
            bool(found.truncated[0]),
            info,
        )


class VectorEnv(BaseVectorEnv):
    """B runs of a task over a `Batch`, a `gymnasium.vector.VectorEnv`; the bits do not depend on the number of threads.

    A run that ended is restarted by the next call of `step`, which ignores its action, as in gymnasium by default
    (``AutoresetMode.NEXT_STEP``). Run i with the seed s equals the run of an `Env` with the seed s + i. A run with a
    failed step terminates, and the others continue; ``info["error"]`` has the reason.

    Parameters
    ----------
    task
        The task to run.
    num_envs
        Number B of runs.
    worlds
        B worlds with the layout of the task's world and different masses, friction or gains; None: the task's world.
    threads
        Number of runs in parallel; None for the number of processors of the process.

    Raises
    ------
    SimulationConfigError
        An argument is invalid, or an observation is not (B, m) and finite.
    ModuleNotFoundError
        gymnasium is not installed.
    """

    metadata: dict[str, Any] = {}  # noqa: RUF012  # as gymnasium has it

    def __init__(
        self, task: Task, num_envs: int, *, worlds: Sequence[World] | None = None, threads: int | None = None
    ) -> None:
        from gymnasium.vector import AutoresetMode
        from gymnasium.vector.utils import batch_space

        self.num_envs = whole_number("num_envs", num_envs, 1)
        self._runs = TaskBatch(task, self.num_envs, worlds, threads)
        self.task = task
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
        self.single_action_space = action_space(task)
        self.single_observation_space = observation_space(self._runs.size)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._generators: list[np.random.Generator] = []
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    @property
    def batch(self) -> Batch:
        """The runs: their states, contacts and sensors."""
        return self._runs.batch

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Restart all runs; a seed s (s + i for run i), or B seeds, determine all starts from here on."""
        from gymnasium.utils import seeding

        refuse(options)
        n = self.num_envs
        if isinstance(seed, int | np.integer):
            seeds: list[int | None] = [int(seed) + i for i in range(n)]
        else:
            seeds = [None] * n if seed is None else list(seed)
        if len(seeds) != n:
            raise LearningError("seed", f"must be one, or one for each of {n} runs, got {len(seeds)}")
        before = self._generators
        self._generators = [
            before[i] if before and one is None else seeding.np_random(one)[0] for i, one in enumerate(seeds)
        ]
        self._runs.begin(np.arange(n), self._generators)
        self._ended[:] = False
        return self._runs.observe(), {}

    def step(self, actions: ArrayLike) -> tuple[FloatArray, FloatArray, Mask, Mask, dict[str, Any]]:
        """Apply an action in every run; runs that ended are restarted instead, with the reward 0.

        Returns
        -------
        tuple
            Observations, rewards, masks of terminated and truncated runs, and the info: terms of the reward, and
            ``error`` for failed steps, each with a mask ``_name`` of its runs.
        """
        if not self._generators:
            raise LearningError("step", "call reset first")
        acting = ~self._ended
        found = self._runs.act(actions, acting)
        begun = np.flatnonzero(self._ended)
        self._runs.begin(begun, self._generators)
        info: dict[str, Any] = {}
        for name, term in found.terms.items():
            info[name], info[f"_{name}"] = term, acting.copy()
        if found.errors:
            failed = list(found.errors)
            info["error"], info["_error"] = np.full(self.num_envs, None, dtype=object), np.zeros_like(acting)
            info["error"][failed], info["_error"][failed] = list(found.errors.values()), True
        self._ended = found.terminated | found.truncated
        seen = self._runs.observe(None if begun.size else found.after)
        return seen, found.reward, found.terminated, found.truncated, info


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
