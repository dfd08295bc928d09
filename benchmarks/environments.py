"""Random actions in five robots' environments: failed steps, and the slowest step.

Run: ``python benchmarks/environments.py [--steps 200000] [--robots Ant Hopper ...] [--out
benchmarks/results/environments_DATE] [--keep FOLDER] [--seed 0]``. Ant, HalfCheetah and Hopper are gymnasium's, as in
`examples/23_learning_locomotion.py`. Quadruped is `quadruped.urdf` with servos on 12 joints, which can also throw it on
its back. Gripper is a gantry with two fingers and a free box.

There is one thread; an env step is one action of one run. Seconds are seconds of the processor without compilation. The
time of a call for all runs bounds its slowest run. A call that takes longer than ``LIMIT`` is repeated, run by run,
from the states before it. ``--keep`` writes the states and actions of slow and of failed steps, pickled.
"""

from __future__ import annotations

import argparse
import pickle
import runpy
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import simulation_ours
import simulation_scenes
from tables import environment, write

from contactlab.collision import Box, HalfSpace, Material
from contactlab.lab.sweeps import Progress
from contactlab.learning import Noise, Targets, Task, VectorEnv
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import Batch, ImplausibleWarning, PositionDrive, StepperState, TimeStepping, WorldBuilder
from lcp.compiler import count_compilations

ROOT = Path(__file__).resolve().parents[1]
RUNS = 16
LIMIT = 0.02  # s of the processor for one run and env step
HEAD = ("robot", "h [ms]", "steps/action", "env steps", "runs begun", "failed", "uncertified", "mean [us]",
        "slowest, at most [ms]", "slower than 20 ms", "env steps/s")  # fmt: skip


def locomotion(robot: str) -> Task:
    """One of gymnasium's."""
    task: Task = runpy.run_path(str(ROOT / "examples/23_learning_locomotion.py"))["locomotion"](robot)
    return task


def quadruped() -> Task:
    """Servos that aim anywhere within a radian of the stance."""
    world = simulation_ours.world(simulation_scenes.scenes()["quadruped standing"], drives=True)
    stance = simulation_scenes.stance(0.0)
    actions = Targets(world, least=stance - 1.0, most=stance + 1.0)
    return Task(world, TimeStepping(2e-3), actions, forward, start=Noise(0.05, 0.05), frame_skip=10, max_steps=500)


def gripper() -> Task:
    """A gantry that presses, drags and throws a box."""
    gantry, material, builder = ModelBuilder(), Material(0.5), WorldBuilder()
    parts = {"carriage": ("world", (1, 0, 0), 0.0), "palm": ("carriage", (0, 0, 1), 0.0)}
    parts |= {"left": ("palm", (1, 0, 0), -0.09), "right": ("palm", (1, 0, 0), 0.09)}
    for name, (parent, axis, x) in parts.items():
        place, inertia = Transform(p=(x, 0, 0.05)), RigidInertia.solid_box(0.3 if x else 2.0, (0.02, 0.04, 0.04))
        gantry.add_body(name, parent=parent, joint=joints.Prismatic(axis), placement=place, inertia=inertia)
    builder.add_half_space("floor", HalfSpace(), material)
    builder.add_model(gantry.build())
    for name, (_, _, x) in parts.items():
        builder.add_drive(PositionDrive(name, 0.0, 2e4, 4e2, max_force=20.0 if x else np.inf))
        if x:
            builder.add_shape(name, Box((0.02, 0.04, 0.04)), material)
    inertia = RigidInertia.solid_box(0.5, (0.05,) * 3)
    builder.add_free_body("box", inertia, Box.cube(0.05), material, q=(0, 0, 0.05, 1, 0, 0, 0))
    world = builder.build()
    actions = Targets(world, least=[-0.3, 0.0, -0.02, -0.06], most=[0.3, 0.3, 0.06, 0.02])
    return Task(world, TimeStepping(2e-3), actions, forward, start=Noise(1e-3, 1e-3), frame_skip=10, max_steps=300)


def forward(before: Any, action: np.ndarray, after: Any) -> np.ndarray:
    """Return the distance travelled."""
    return after.q[:, 0] - before.q[:, 0]  # type: ignore[no-any-return]


ROBOTS = {name: lambda name=name: locomotion(name) for name in ("Ant", "HalfCheetah", "Hopper")}
ROBOTS |= {"Quadruped": quadruped, "Gripper": gripper}


def alone(task: Task, state: StepperState, action: np.ndarray) -> float:
    """Return the seconds of the processor of one action of one run: the smaller of two, as the first can compile."""
    spent = []
    for _ in range(2):
        batch = Batch(task.world, task.stepper, [state], threads=1)
        clock = time.process_time()
        for _ in range(task.frame_skip):
            batch.step(*task.actions.inputs(action[None].astype(float), batch.q, batch.v))
        spent.append(time.process_time() - clock)
    return min(spent)


def play(robot: str, steps: int, seed: int, keep: Path | None, progress: Progress) -> list[Any]:
    """Play one robot; a row of the table."""
    task = ROBOTS[robot]()
    env = VectorEnv(task, RUNS, threads=1)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    done, begun, failed, slow, slowest, spent, ended = 0, RUNS, 0, 0, 0.0, 0.0, np.zeros(RUNS, dtype=bool)
    while done < steps:
        actions, states = env.action_space.sample(), env.batch.states
        with count_compilations() as compiled:
            clock = time.process_time()
            _, _, terminated, truncated, info = env.step(actions)
            clock = 0.0 if compiled.compiled else time.process_time() - clock
        acted = np.flatnonzero(~ended)
        done, begun, spent, ended = done + acted.size, begun + int(ended.sum()), spent + clock, terminated | truncated
        kept = [(i, info["error"][i]) for i in np.flatnonzero(info.get("_error", np.zeros(0)))]
        failed += len(kept)
        if clock > LIMIT:
            longest = {int(i): alone(task, states[i], actions[i]) for i in acted}
            slowest = max(slowest, *longest.values())
            late = [(i, f"{1e3 * one:.0f} ms") for i, one in longest.items() if one > LIMIT]
            slow, kept = slow + len(late), kept + late
        else:
            slowest = max(slowest, clock)
        for i, why in kept:
            print(f"{robot}, env step {done}, run {i}: {why}", flush=True)
            if keep is not None:
                with (keep / f"{robot}_{seed}_{done}_{i}.pickle").open("wb") as file:
                    pickle.dump((states[i], actions[i], why), file)
        progress.update(done, steps)
    uncertified = next((notice.text for notice in env.batch.notices if notice.kind == "uncertified"), "none")
    mean = spent / done
    return [robot, 1e3 * task.stepper.h, task.frame_skip, done, begun, failed, uncertified, round(1e6 * mean, 1),
            round(1e3 * slowest, 2), slow, round(1.0 / mean)]  # fmt: skip


def main() -> None:
    """Play, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--robots", nargs="+", choices=list(ROBOTS), default=list(ROBOTS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ImplausibleWarning)  # random starts lie within the floor, as gymnasium's do
    print(environment(), flush=True)
    rows = []
    for robot in given.robots:
        with Progress(robot, "env steps") as progress:
            rows.append(play(robot, given.steps, given.seed, given.keep, progress))
        print(*rows[-1], sep="; ", flush=True)
        if given.out is not None:
            write(given.out, "", f"seed {given.seed}, {RUNS} runs on one thread", HEAD, rows)


if __name__ == "__main__":
    main()
