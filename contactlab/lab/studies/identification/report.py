"""Identification of parameters from a file, with scores on recordings that were held back, as JSON values.

For a user's robot, it identifies friction and damping of joints and masses of links, from positions under known forces.
The recording is cut into consecutive windows, each with a separate unknown start; errors of samples are independent.
The noise of positions is estimated from their third differences, which contain no motion of an arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.lab.datasets.files import DatasetError, array_names, files_with, only_file
from contactlab.lab.datasets.recordings import ArmLog, load_arm_log, load_planar_impacts
from contactlab.lab.studies.identification import Recordings, fit
from contactlab.lab.studies.identification.problem import IdentificationResult, Parameter, Problem
from contactlab.lab.studies.identification.tosses import cube_recordings, planar_impacts
from contactlab.lab.studies.identification.windows import Windows, window_problem, with_parameters
from contactlab.multibody.configuration import difference
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation import TimeStepping, World, load_urdf_world
from contactlab.simulation.scene import load_scene

#: Duration of a window [s], and its minimum number of samples.
LASTS, LEAST = 0.2, 8
#: Longest time step [s], and minimum number of steps per sample.
STEP, FEWEST = 1e-3, 2
#: Smallest noise of positions [rad, m].
FINEST = 1e-7


def arm_recordings(path: str | Path, description: str | Path, *, threads: int | None = None) -> Recordings:
    """Return a recording (`load_arm_log`) of a robot from a URDF, on a fixed base, or from a scene file."""
    description = Path(description)
    world = (
        load_scene(description).world if description.suffix == ".toml" else load_urdf_world(description, ground=False)
    )
    return arm_log(load_arm_log(path), world, threads=threads)


def arm_log(log: ArmLog, world: World, *, threads: int | None = None) -> Recordings:
    """Return the recordings of a robot's log, cut into windows, with the parameters that they can identify."""
    for name, array, wanted in (("q", log.q, world.nq), ("tau", log.tau, world.nv)):
        if array.shape[1] != wanted:
            raise DatasetError(log.path, name, f"has {array.shape[1]} columns, the robot has {wanted}")
    windows, h = _windows(log, world)
    stepper = TimeStepping(h, friction="cone")

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        having = partial(with_parameters, world)
        return window_problem(windows.at(rows), parameters, having, stepper, fixed=fixed, threads=threads)

    bodies = world.model.bodies
    joints = [body.joint_name for body in bodies if body.joint.nv == 1]
    heavy = [body.name for body in bodies if body.inertia is not None and body.inertia.mass > 0.0]
    masses = [Parameter(f"mass:{name}", 1.0, 1e-3, 1e-3, 1e3, "of the stated") for name in heavy]
    return Recordings(
        title="robot",
        noise=f"of positions {', '.join(f'{one:.2g}' for one in windows.noise[0])}, independent from sample to sample",
        parameters=(*_parameters(world, log, joints), *masses),
        default_parameters=tuple(f"{kind}:{joint}" for joint in joints for kind in ("friction", "damping")),
        nominal={},
        groups=windows.groups,
        problem=problem,
    )


def _parameters(world: World, log: ArmLog, joints: list[str]) -> tuple[Parameter, ...]:
    """Return friction and damping of joints as parameters whose start values are the world's.

    Their difference steps are a thousandth of the standard deviation of the recorded forces.
    """
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


def _windows(log: ArmLog, world: World) -> tuple[Windows, float]:
    """Return consecutive windows with common ends, and the time step [s] of the simulation, at most the sample time.

    Starts and noise are estimated from the recording.
    """
    n = max(LEAST, round(LASTS / log.dt)) + 1
    every = max(FEWEST, math.ceil(log.dt / STEP - 1e-9))
    count = (log.t.size - 1) // (n - 1)
    if count < 1:
        raise DatasetError(log.path, "t", f"{log.t.size} samples do not fill a window of {n}: record more")
    moved = np.cumsum(np.vstack((np.zeros(world.nv), difference(world.model, log.q[:-1], log.q[1:]))), axis=0)
    third = np.diff(moved, 3, axis=0)
    noise = np.maximum(np.median(np.abs(third), axis=0) / (0.6745 * math.sqrt(20.0)), FINEST)
    rows = (n - 1) * np.arange(count)[:, None] + np.arange(n)
    return Windows(
        q=log.q[rows[:, 0]],
        v=(np.gradient(moved, log.dt, axis=0) if log.v is None else log.v)[rows[:, 0]],
        measured=log.q[rows],
        noise=np.tile(noise, (n, 1)),
        every=every,
        groups=np.arange(count),
        taus=np.repeat(log.tau[rows[:, :-1]], every, axis=1),
    ), log.dt / every


def open_recordings(path: Path, robot: Path | None = None, *, threads: int | None = None) -> Recordings:
    """Return the recordings of a file, or of a folder with one file; the arrays determine their kind.

    They are tosses of the cube, planar impacts, or a recording of a ``robot`` described
    by a URDF or scene file.
    """
    if robot is not None:
        try:
            return arm_recordings(path, robot, threads=threads)
        except DatasetError:
            raise
        except ValueError as error:
            raise DatasetError(robot, "", str(error)) from error
    path = only_file(path, *(("jac_normal",) if path.is_dir() and files_with(path, "jac_normal") else ()))
    own = path.suffix.lower() == ".csv"
    names = set() if own else array_names(path)
    if "jac_normal" in names:
        return planar_impacts(load_planar_impacts(path))
    if "eval_ic" in names:
        return cube_recordings(path, threads=threads)
    if own or {"t", "q", "tau"} <= names:
        raise DatasetError(path, "", "a robot's recording: its description, URDF or scene file, is needed, too")
    raise DatasetError(path, "", "holds no tosses (eval_ic), planar impacts (jac_normal), nor a robot's t, q, tau")


def report(
    recordings: Recordings,
    *,
    names: Sequence[str] = (),
    values: Mapping[str, float] | None = None,
    share: float = 0.4,
    seed: int = 0,
    iterations: int = 30,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Identify parameters from one part of the recordings, score them on both parts; return JSON values.

    ``share`` is the fraction of recordings held back if motions are scored, and ``seed`` the seed of their selection.
    The other arguments are as in `fit`.
    """
    rows, held = recordings.split(share if recordings.errors is not None else 0.0, seed)
    given = dict(values or {})
    found = _values(fit(recordings, rows, names=names, values=given, iterations=iterations, progress=progress))
    told = {**given, **{name: one["value"] for name, one in found["parameters"].items()}}
    scores: dict[str, Any] = {}
    if recordings.errors is not None:
        for part, chosen in (("fitted", rows), ("held_back", held)):
            for which, numbers in (("nominal", recordings.nominal), ("identified", told)):
                if chosen.size:
                    scores.setdefault(part, {})[which] = score(recordings.errors(numbers, chosen))
    return {
        "recordings": recordings.title,
        "fitted": int(rows.size),
        "held_back": int(held.size),
        "noise": recordings.noise,
        **found,
        "stay": given,
        "nominal": dict(recordings.nominal),
        "scores": scores,
    }


def score(errors: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return the means over the successful motions by name, the number of all motions, and the number of failures."""
    ran = np.isfinite(next(iter(errors.values())))
    means = {name: float(np.mean(of[ran])) if ran.any() else None for name, of in errors.items()}
    return {**means, "motions": int(ran.size), "failed": int(np.count_nonzero(~ran))}


def _values(found: IdentificationResult) -> dict[str, Any]:
    """Return the result as JSON values, with None for values that are not finite."""
    return {
        "parameters": {
            one.name: {"value": float(x), "low": finite_or_none(low), "high": finite_or_none(high), "unit": one.unit}
            for one, x, (low, high) in zip(found.parameters, found.values, found.intervals, strict=True)
        },
        "covariance": [[finite_or_none(x) for x in row] for row in found.covariance],
        "residual": finite_or_none(found.residual),
        "windows": int(found.weights.size),
        "standing_out": int(np.count_nonzero((found.weights > 0.0) & (found.weights < 1.0))),
        "without_prediction": int(np.count_nonzero(found.weights == 0.0)),
        "verdict": found.verdict.name.lower(),
        "why": found.why,
        "advice": found.verdict.advice,
        "iterations": found.iterations,
    }


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON, None if it is not finite."""
    return float(value) if math.isfinite(value) else None
