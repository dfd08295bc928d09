"""Learning to run: gymnasium's HalfCheetah, Hopper and Ant, and a search for a gait over a `VectorEnv`.

Files are gymnasium's; observations, rewards and the ends of episodes follow its version 5 (for Ant without contact
forces). The method is augmented random search (Mania, Guy, Recht, 2018). `main("HalfCheetah", 60)` trains longer.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.learning import Controls, Noise, Snapshot, Task, VectorEnv
from contactlab.simulation import ImplausibleWarning, TimeStepping
from contactlab.simulation.world.mjcf import load_mjcf

try:
    import gymnasium
    import mujoco  # noqa: F401  # reads the files
except ImportError:
    gymnasium = None

#: File, steps per action, number of unobserved entries of q, weights of control and of health, noise of the start.
ROBOTS: dict[str, tuple[Any, ...]] = {
    "HalfCheetah": ("half_cheetah", 5, 1, 0.1, 0.0, Noise(0.1, 0.1, "normal")),
    "Hopper": ("hopper", 4, 1, 1e-3, 1.0, Noise(5e-3, 5e-3)),
    "Ant": ("ant", 5, 2, 0.5, 1.0, Noise(0.1, 0.1, "normal")),
}
REFERENCE = 1.25  # height of Hopper where its coordinate is 0


def locomotion(robot: str) -> Task:
    """Return the task of a robot."""
    name, frames, hidden, control, healthy, noise = ROBOTS[robot]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="compiler attribute")
        scene = load_mjcf(Path(gymnasium.__file__).parent / f"envs/mujoco/assets/{name}.xml")
    stepper = TimeStepping(scene.timestep, erp=0.2)  # Ant starts 0.52 rad outside its stops, which push it back

    def observe(now: Snapshot) -> np.ndarray:
        seen = np.concatenate((now.q[:, hidden:], np.clip(now.v, -10, 10) if robot == "Hopper" else now.v), axis=1)
        seen[:, 0] += REFERENCE * (robot == "Hopper")
        return seen

    def well(now: Snapshot) -> np.ndarray:
        if robot == "Ant":
            return (now.q[:, 2] >= 0.2) & (now.q[:, 2] <= 1.0)
        if robot == "Hopper":
            small = (np.abs(np.concatenate((now.q[:, 2:], now.v), axis=1)) < 100.0).all(axis=1)
            return small & (now.q[:, 1] + REFERENCE > 0.7) & (np.abs(now.q[:, 2]) < 0.2)
        return np.ones(len(now.q), dtype=bool)

    def reward(before: Snapshot, action: np.ndarray, after: Snapshot) -> dict[str, np.ndarray]:
        speed, costs = (after.q[:, 0] - before.q[:, 0]) / (frames * stepper.h), -control * (action**2).sum(axis=1)
        return {"reward_forward": speed, "reward_ctrl": costs, "reward_survive": healthy * well(after)}

    controls, ended = Controls(scene.world, scene.robot), (lambda now: ~well(now))
    return Task(scene.world, stepper, controls, reward, observe, ended, noise, frame_skip=frames, max_steps=1000)


def search(env: VectorEnv, updates: int, steps: int = 1000, best: int = 8) -> None:
    """Train linear laws of observations brought to one scale, both ways along random directions in one vector."""
    rng, pairs, m = np.random.default_rng(0), env.num_envs // 2, env.single_observation_space.shape[0]
    law, sums, count = np.zeros((env.single_action_space.shape[0], m)), np.zeros((2, m)), 0
    for update in range(updates):
        ways = rng.standard_normal((pairs, *law.shape))
        laws, (mean, square) = law + 0.03 * np.concatenate((ways, -ways)), sums / max(count, 1)
        scale = np.sqrt(np.maximum(square - mean**2, 1e-4)) if count else 1.0
        seen, worth, going = env.reset(seed=1000 * update)[0], np.zeros(2 * pairs), np.ones(2 * pairs, dtype=bool)
        for _ in range(steps):
            sums, count = sums + (seen.sum(axis=0), (seen**2).sum(axis=0)), count + len(seen)
            action = np.clip(np.einsum("bij,bj->bi", laws, (seen - mean) / scale), -1.0, 1.0)
            seen, reward, terminated, truncated, _ = env.step(action)
            worth, going = worth + np.where(going, reward, 0.0), going & ~(terminated | truncated)
        gain, top = worth[:pairs] - worth[pairs:], np.argsort(-np.maximum(*worth.reshape(2, -1)))[:best]
        spread = worth.reshape(2, -1)[:, top].std() + 1e-9
        law = law + 0.02 / (best * spread) * np.einsum("k,kij->ij", gain[top], ways[top])
        print(f"update {update}: mean return {worth.mean():.0f}, best {worth.max():.0f}", flush=True)


def main(robot: str = "HalfCheetah", updates: int = 0) -> None:
    """Play every robot at random, then train one."""
    if gymnasium is None:
        return print("gymnasium or mujoco is not installed: pip install gymnasium mujoco")
    warnings.simplefilter("ignore", ImplausibleWarning)  # cheetahs start in penetration with the floor, as in gymnasium
    for name in ROBOTS:
        env = VectorEnv(locomotion(name), 16)
        env.reset(seed=1), env.action_space.seed(1)
        reward = np.mean([env.step(env.action_space.sample())[1] for _ in range(100)])
        print(f"{name}, at random: {reward:.2f} for each action")
    search(VectorEnv(locomotion(robot), 64), updates or 2, 1000 if updates else 100)


if __name__ == "__main__":
    main()
