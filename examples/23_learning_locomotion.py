"""Learning to run: gymnasium's HalfCheetah, Hopper and Ant, and a search for a gait over a `VectorEnv`.

The files are those of the installed gymnasium package; observations, rewards and ends are those that it documents for its
versions 5 (Ant without contact forces). Contacts are rigid here, so that returns compare with gymnasium's by their size
alone. The method is augmented random search (Mania, Guy and Recht, 2018, V1-t with observations scaled as in V2): both
ways along random directions, all in one vector. `python examples/23_learning_locomotion.py HalfCheetah 100` trains longer.
Without gymnasium and mujoco the example says so.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.learning import Controls, Noise, Snapshot, Task, VectorEnv
from contactlab.simulation import ImplausibleWarning, TimeStepping
from contactlab.world.mjcf import load_mjcf

try:
    import gymnasium
    import mujoco  # noqa: F401  # reads the files
except ImportError:
    gymnasium = None

#: File, steps for an action, what of q is not observed, the weights of the control and of being well, noise of a start.
ROBOTS: dict[str, tuple[Any, ...]] = {
    "HalfCheetah": ("half_cheetah", 5, 1, 0.1, 0.0, Noise(0.1, 0.1, "normal")),
    "Hopper": ("hopper", 4, 1, 1e-3, 1.0, Noise(5e-3, 5e-3)),
    "Ant": ("ant", 5, 2, 0.5, 1.0, Noise(0.1, 0.1, "normal")),
}
HEIGHT = {"Hopper": 1.25}  # of the file's joint where its coordinate is 0


def observe(robot: str, hidden: int, now: Snapshot) -> np.ndarray:
    """Return q but for where the robot is, and v."""
    q, v = now.q[:, hidden:].copy(), now.v
    if robot == "Hopper":
        q[:, 0] += HEIGHT[robot]
        v = np.clip(v, -10.0, 10.0)
    return np.concatenate((q, v), axis=1)


def well(robot: str, now: Snapshot) -> np.ndarray:
    """Return whether the robot stands as it should."""
    if robot == "Ant":
        return (now.q[:, 2] >= 0.2) & (now.q[:, 2] <= 1.0)
    if robot == "Hopper":
        small = (np.abs(np.concatenate((now.q[:, 2:], now.v), axis=1)) < 100.0).all(axis=1)
        return small & (now.q[:, 1] + HEIGHT[robot] > 0.7) & (np.abs(now.q[:, 2]) < 0.2)
    return np.ones(len(now.q), dtype=bool)


def locomotion(robot: str) -> Task:
    """Return the task of a robot."""
    name, frames, hidden, control, healthy, noise = ROBOTS[robot]
    root = Path(gymnasium.__file__).parent / "envs/mujoco/assets"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="compiler attribute")
        scene = load_mjcf(root / f"{name}.xml")
    stepper = TimeStepping(scene.timestep, erp=0.2)  # Ant starts 0.52 rad outside its stops: they take it back

    def reward(before: Snapshot, action: np.ndarray, after: Snapshot) -> dict[str, np.ndarray]:
        speed = (after.q[:, 0] - before.q[:, 0]) / (frames * stepper.h)
        costs = -control * np.square(action).sum(axis=1)
        return {"reward_forward": speed, "reward_ctrl": costs, "reward_survive": healthy * well(robot, after)}

    ended, seen = (lambda now: ~well(robot, now)), partial(observe, robot, hidden)
    controls = Controls(scene.world, scene.robot)
    return Task(scene.world, stepper, controls, reward, seen, ended, noise, frame_skip=frames, max_steps=1000)
