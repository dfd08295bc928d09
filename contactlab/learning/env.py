"""A task as a gymnasium environment, or as a vector of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.learning.base import BaseEnv, BaseVectorEnv, action_space, observation_space, refuse
from contactlab.learning.errors import LearningError
from contactlab.learning.task import Mask, Task
from contactlab.learning.task_runs import TaskRuns
from contactlab.simulation import Batch
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import whole_number
from contactlab.world.world import World

ALL, FIRST = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.int64)


class Env(BaseEnv):
    """One run of a task, a `gymnasium.Env`; from the same seed it has the bits of a `VectorEnv` of one run.

    Parameters
    ----------
    task
        What is played.

    Raises
    ------
    LearningError
        No task; an observation that is not (B, m) and finite.
    ModuleNotFoundError
        gymnasium is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from contactlab.learning import Env, Task, Torques
    >>> from contactlab.multibody import ModelBuilder, joints
    >>> from contactlab.simulation import TimeStepping, WorldBuilder
    >>> from contactlab.spatial import RigidInertia
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
        self._runs = TaskRuns(task, 1, None, 1)
        self.task = task
        self.action_space = action_space(task)
        self.observation_space = observation_space(self._runs.size)
        self._begun = False

    @property
    def batch(self) -> Batch:
        """The run, in a batch of one: its state, contacts and sensors."""
        return self._runs.batch

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begin anew; a seed decides all starts from here on."""
        refuse(options)
        super().reset(seed=seed)
        self._runs.begin(FIRST, [self.np_random])
        self._begun = True
        return self._runs.observe()[0], {}

    def step(self, action: Any) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Act once.

        Returns
        -------
        tuple
            Observation, reward, whether the run terminated and whether it was truncated, and the info: terms of the
            reward, and ``error`` where a step failed, which terminates.
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
    """B runs of a task over a `Batch`, a `gymnasium.vector.VectorEnv`; the same bits on any number of threads.

    A run that ended begins anew in the next call of `step`, whose action for it counts for nothing, as in gymnasium's
    own by default (``AutoresetMode.NEXT_STEP``). The run i of the seed s is that of an `Env` of the seed s + i. A run
    whose step failed terminates, and the others go on; ``info["error"]`` says why.

    Parameters
    ----------
    task
        What is played.
    num_envs
        B.
    worlds
        B worlds of the layout of the task's, whose masses, friction or gains differ; None: the task's.
    threads
        Runs under way at a time; None for as many as the process has processors.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used; an observation that is not (B, m) and finite.
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
        self._runs = TaskRuns(task, self.num_envs, worlds, threads)
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
        """Begin all runs anew; a seed s, which is s + i for run i, or B of them, decides all starts from here on."""
        from gymnasium.utils import seeding

        refuse(options)
        n = self.num_envs
        if isinstance(seed, int | np.integer):
            seeds: list[int | None] = [int(seed) + i for i in range(n)]
        else:
            seeds = [None] * n if seed is None else list(seed)
        if len(seeds) != n:
            raise LearningError("seed", f"must be one, or one for each of {n} runs, got {len(seeds)}")
        if not self._generators:
            self._generators = [seeding.np_random(one)[0] for one in seeds]
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i] = seeding.np_random(one)[0]
        self._runs.begin(np.arange(n), self._generators)
        self._ended[:] = False
        return self._runs.observe(), {}

    def step(self, actions: ArrayLike) -> tuple[FloatArray, FloatArray, Mask, Mask, dict[str, Any]]:
        """Act once in every run; those that ended begin anew instead, with the reward 0.

        Returns
        -------
        tuple
            Observations, rewards, which runs terminated and which were truncated, and the info: terms of the reward,
            and ``error`` where steps failed, each beside a mask ``_name`` of the runs of which it is said.
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
