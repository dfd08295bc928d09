"""A user's own robot: friction and damping of its joints, masses of its links, from positions under known forces.

The recording is cut into windows that follow one another, each with a start of its own; the samples of a window err
independently. Noise of positions is taken from their third differences, in which no motion of an arm is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.arm_log import ArmLog, load_arm_log
from contactlab.lab.errors import DatasetError
from contactlab.multibody.configuration import difference
from contactlab.simulation import TimeStepping, World
from contactlab.simulation.scene import load_scene
from contactlab.spatial.arrays import IntArray
from contactlab.studies.identification.problem import Parameter, Problem
from contactlab.studies.identification.recordings import Recordings
from contactlab.studies.identification.windows import Windows, window_problem, with_parameters

#: A window lasts about so long [s], and has so many samples at least.
LASTS, LEAST = 0.2, 8
#: The longest step [s], and the fewest from one sample to the next.
STEP, FEWEST = 1e-3, 2
#: Of positions whose noise cannot be told [rad, m].
FINEST = 1e-7


def arm_recordings(path: str | Path, description: str | Path, *, threads: int | None = None) -> Recordings:
    """Return a recording (`load_arm_log`) of the robot of a URDF, on a fixed base, or of the world of a scene file."""
    description = Path(description)
    world = (
        load_scene(description).world if description.suffix == ".toml" else World.from_urdf(description, ground=False)
    )
    return arm_log(load_arm_log(path), world, threads=threads)


def arm_log(log: ArmLog, world: World, *, threads: int | None = None) -> Recordings:
    """Return a recording, as read, of the robot in a world."""
    for name, array, wanted in (("q", log.q, world.nq), ("tau", log.tau, world.nv)):
        if array.shape[1] != wanted:
            raise DatasetError(log.path, name, f"has {array.shape[1]} columns, the robot has {wanted}")
    windows, h = _windows(log, world)
    stepper = TimeStepping(h, friction="cone")

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        having = partial(with_parameters, world)
        return window_problem(windows.at(rows), parameters, having, stepper, fixed=fixed, threads=threads)

    joints = [body.joint_name for body in world.model.bodies if body.joint.nv == 1]
    usual = tuple(f"{kind}:{joint}" for joint in joints for kind in ("friction", "damping"))
    return Recordings(
        title="robot",
        noise=f"of positions {', '.join(f'{one:.2g}' for one in windows.noise[0])}, independent from sample to sample",
        parameters=(*_parameters(world, log, joints), *_masses(world)),
        default_parameters=usual,
        nominal={},
        groups=windows.groups,
        problem=problem,
    )


def _parameters(world: World, log: ArmLog, joints: list[str]) -> tuple[Parameter, ...]:
    """Return friction and damping of joints, with steps in proportion to the forces that were recorded."""
    told = {
        f"{kind}:{one.body}": one.value
        for kind in ("friction", "damping")
        for one in getattr(world.joint_actions, kind)
    }
    found = []
    for joint in joints:
        body = world.model.body_of_joint(joint)
        force = max(float(np.std(log.tau[:, world.place_of(joint)[1]])), 1e-3)
        found.append(Parameter(f"friction:{joint}", told.get(f"friction:{body}", 0.0), 1e-3 * force, 0.0, unit="N m"))
        found.append(Parameter(f"damping:{joint}", told.get(f"damping:{body}", 0.0), 1e-3 * force, 0.0, unit="N m s"))
    return tuple(found)


def _masses(world: World) -> tuple[Parameter, ...]:
    heavy = [body.name for body in world.model.bodies if body.inertia is not None and body.inertia.mass > 0.0]
    return tuple(Parameter(f"mass:{name}", 1.0, 1e-3, 1e-3, 1e3, "of the stated") for name in heavy)


def _windows(log: ArmLog, world: World) -> tuple[Windows, float]:
    """Return windows that share their ends, and the time step."""
    n = max(LEAST, round(LASTS / log.dt)) + 1
    every = max(FEWEST, math.ceil(log.dt / STEP - 1e-9))
    count = (log.t.size - 1) // (n - 1)
    if count < 1:
        raise DatasetError(log.path, "t", f"{log.t.size} samples do not fill a window of {n}: record more")
    moved = np.cumsum(np.vstack((np.zeros(world.nv), difference(world.model, log.q[:-1], log.q[1:]))), axis=0)
    third = np.diff(moved, 3, axis=0)
    noise = np.maximum(np.median(np.abs(third), axis=0) / (0.6745 * math.sqrt(20.0)), FINEST)
    rows = (n - 1) * np.arange(count)[:, None] + np.arange(n)
    speed = np.gradient(moved, log.dt, axis=0) if log.v is None else log.v
    return Windows(
        q=log.q[rows[:, 0]],
        v=speed[rows[:, 0]],
        measured=log.q[rows],
        noise=np.tile(noise, (n, 1)),
        every=every,
        groups=np.arange(count),
        taus=np.repeat(log.tau[rows[:, :-1]], every, axis=1),
    ), log.dt / every
