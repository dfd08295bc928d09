"""A task as a gymnasium environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.learning.base import BaseEnv, action_space, observation_space, refuse
from contactlab.learning.errors import LearningError
from contactlab.learning.task import Task
from contactlab.learning.task_runs import TaskRuns
from contactlab.simulation import Batch
from contactlab.spatial.arrays import FloatArray

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
