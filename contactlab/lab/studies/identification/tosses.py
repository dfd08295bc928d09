"""Identification from tosses onto a board, by windows about the first impact, and from single planar impacts.

The mass cannot be identified. A free body that touches only the fixed board has the same motion for any mass, if
inertia, stiffness, dissipation and joint friction are proportional to it. Identified values assume the stated mass.

Planar impacts give friction and restitution in closed form, from the velocities before and after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from contactlab.lab.datasets import CubeTosses, load_cube_tosses
from contactlab.lab.datasets.files import Arrays
from contactlab.lab.datasets.recordings import PlanarImpacts
from contactlab.lab.studies import MODELS, NO_IMPACTS, V_MIN, TossSettings, toss_world
from contactlab.lab.studies.identification import Recordings
from contactlab.lab.studies.identification.problem import Parameter, Problem, differences
from contactlab.lab.studies.identification.windows import Windows, window_problem, with_parameters
from contactlab.lab.studies.planar_fit import (
    SUSPECTS,
    PlanarModel,
    momentum_balance,
    predict_velocities,
    prediction_errors,
    take,
)
from contactlab.lab.studies.planar_laws import Law
from contactlab.multibody.configuration import difference
from contactlab.multibody.points import body_poses
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation import TimeStepping, World, rollout

MASS_HIDDEN = {"mass": "tosses of any mass are the same, with all forces in proportion; give the others for the mass"}
#: Distance [m] below which a corner touches the board; positions of boards in the data have errors of millimetres.
TOUCHES = 3e-3
SUBSTEPS = 10


@dataclass(frozen=True, eq=False)
class Tosses:
    """Measured tosses of one kind of body."""

    paths: tuple[FloatArray, ...]  # configurations (n_i, nq) of all samples of each toss; angles unwrapped
    starts: tuple[tuple[int, FloatArray, FloatArray], ...]  # first scored row of each toss, and its state (q, v)
    groups: IntArray  # (n,) throw of each toss
    dt: float  # [s] between samples
    width: float  # [m] unit of reported distances
    before: FloatArray  # (nv,) noise of samples in flight
    after: FloatArray  # (nv,) additional noise after the impact
    samples: tuple[int, int] = (3, 4)  # number in a window before the impact, which determine the start, and after it


def stepper_for(dt: float, values: Mapping[str, float]) -> TimeStepping:
    """Return the stepper with exact cones and ten steps per sample; with impacts if there is a restitution."""
    return TimeStepping(
        dt / SUBSTEPS, friction="cone", restitution_threshold=V_MIN if "restitution" in values else NO_IMPACTS
    )


def lowest(world: World, q: FloatArray) -> FloatArray:
    """Return the height (n,) of the lowest support point of all surfaces at configurations (n, nq)."""
    R, p = body_poses(world.model, q)
    heights = []
    for body, surface in zip(world.surface_bodies, world.surfaces, strict=True):
        points, radii = surface.support_points()
        heights.append(p[:, body, 2:] + R[:, body, 2] @ points.T - radii)
    return np.asarray(np.concatenate(heights, axis=1).min(axis=1))


def impact_windows(tosses: Tosses, world: World, rows: IntArray) -> Windows:
    """Return a window about the first impact of each toss in ``rows``; tosses with too few samples are omitted."""
    q, v, measured, groups = [], [], [], []
    before, after = tosses.samples
    fall = np.zeros(world.nv)
    fall[:3] = world.model.gravity
    clock = np.arange(before) * tosses.dt
    for i in rows.tolist():
        path = tosses.paths[i]
        touches = lowest(world, path) < TOUCHES
        first = int(np.argmax(touches)) - before
        if not touches.any() or first < 0 or first + before + after >= len(path):
            continue
        window = path[first : first + before + after + 1]
        moved = difference(world.model, np.repeat(window[:1], before, axis=0), window[:before])
        moved -= 0.5 * clock[:, None] ** 2 * fall
        q.append(window[0])
        v.append(np.polyfit(clock, moved, 1)[0])
        measured.append(window)
        groups.append(tosses.groups[i])
    noise = np.array([tosses.before + (tosses.after if k >= before else 0.0) for k in range(before + after + 1)])
    shape = (len(q), before + after + 1)
    return Windows(
        np.reshape(q, (len(q), world.model.nq)),
        np.reshape(v, (len(q), world.nv)),
        np.reshape(measured, (*shape, world.model.nq)),
        noise,
        SUBSTEPS,
        np.array(groups, dtype=np.int64),
    )


def toss_problem(
    tosses: Tosses,
    world: World,
    parameters: tuple[Parameter, ...],
    fixed: Mapping[str, float],
    rows: IntArray,
    threads: int | None,
) -> Problem:
    """Return the problem of fitting first impacts by parameters of a world (`with_parameters`)."""
    stepper = stepper_for(tosses.dt, {**fixed, **dict.fromkeys((one.name for one in parameters), 0.0)})
    windows, having = impact_windows(tosses, world, rows), partial(with_parameters, world)
    return window_problem(windows, parameters, having, stepper, fixed=fixed, threads=threads)


def toss_errors(
    tosses: Tosses, world: World, stepper: TimeStepping, rows: IntArray, threads: int | None
) -> dict[str, FloatArray]:
    """Return errors of whole tosses (n,), simulated from the scored start to the last sample.

    They are means over samples: of the distance of the bodies' centres of mass [% of the width]; of the angle between
    the first body's orientations [deg]; and of the difference of joint angles, wrapped [deg]. NaN if a simulation
    failed.
    """
    model = world.model
    kept = [(tosses.paths[i][tosses.starts[i][0] :], *tosses.starts[i][1:]) for i in rows.tolist()]
    steps = SUBSTEPS * max(len(path) - 1 for path, _, _ in kept)
    states = [world.initial_state(stepper.h, q=q, v=v) for _, q, v in kept]
    found = rollout(world, stepper, states, steps=steps, threads=threads)
    errors = np.full((len(kept), 3), np.nan)
    for k, (path, _, _) in enumerate(kept):
        made = found.q[k, : SUBSTEPS * len(path) : SUBSTEPS]
        if np.isfinite(made).all():
            off = np.linalg.norm(_centers_of_mass(world, made) - _centers_of_mass(world, path), axis=2).mean()
            turned = np.degrees(quaternion.angle_between(made[:, 3:7], path[:, 3:7])).mean()
            joints = (made[:, 7:] - path[:, 7:] + math.pi) % (2.0 * math.pi) - math.pi
            joint = np.degrees(np.abs(joints)).mean() if model.nq > 7 else 0.0
            errors[k] = 100.0 * off / tosses.width, turned, joint
    named = {"position_percent": errors[:, 0], "rotation_deg": errors[:, 1]}
    return named | ({"joint_deg": errors[:, 2]} if model.nq > 7 else {})


def _centers_of_mass(world: World, q: FloatArray) -> FloatArray:
    """Return the centres of mass (n, nb, 3) of all bodies at q (n, nq)."""
    R, p = body_poses(world.model, q)
    coms = np.array([body.inertia.com if body.inertia else np.zeros(3) for body in world.model.bodies])
    return np.asarray(p + np.einsum("nbij,bj->nbi", R, coms))


def errors_of(
    tosses: Tosses, world: Callable[[Mapping[str, float]], World], threads: int | None
) -> Callable[[Mapping[str, float], IntArray], Mapping[str, FloatArray]]:
    """Return a function of (values, rows) that simulates these tosses and returns their errors by name."""

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        return toss_errors(
            tosses, with_parameters(world(values), values), stepper_for(tosses.dt, values), rows, threads
        )

    return errors


#: Parameters that tosses can determine, with steps of differences and bounds.
CONTACT = (
    Parameter("mu", 0.25, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.1, 1e-2, 0.0, 1.0),
    Parameter("stiffness", 3e4, 200.0, 1e2, 1e7, "N/m"),
    Parameter("dissipation", 30.0, 1.0, 0.0, 1e4, "N s/m"),
    Parameter("inertia", 1.0, 5e-3, 0.2, 5.0, "of the stated"),
    Parameter("gravity", 9.65, 1e-2, 5.0, 15.0, "m/s^2"),
)


# Samples in flight deviate by 0.03 mm and 0.2 mrad from a parabola and a uniform rotation. The noise of the first
# samples is larger here, 0.1 mm and 2 mrad, because the position of the board is inexact. After an impact the errors of
# the model exceed any noise.
BEFORE = np.repeat((1e-4, 2e-3), 3)
AFTER = np.repeat((2e-3, 5e-2), 3)
# Stated inertia and board height 0, because these may be identified.
SOFT = TossSettings(mu=0.183, corner_radius=3e-3, stiffness=15e3, dissipation=60.0, gravity=9.65)
NOISE = "0.1 mm and 2 mrad before the impact, 2 mm and 0.05 rad more after it, for errors of the model"


def cube_recordings(path: str | Path, *, threads: int | None = None) -> Recordings:
    """Return the tosses of a file; tosses with the same ``duplicate_group`` are one event."""
    arrays = Arrays(path)
    tosses = load_cube_tosses(path)
    groups = np.arange(len(tosses))
    if "duplicate_group" in arrays:
        groups = arrays.integers("duplicate_group", len(tosses))
    return cube_tosses(tosses, groups, threads=threads)


def cube_tosses(
    tosses: CubeTosses,
    groups: IntArray | None = None,
    *,
    before: FloatArray = BEFORE,
    after: FloatArray = AFTER,
    threads: int | None = None,
) -> Recordings:
    """Return cube tosses, loaded or synthetic, as recordings to identify from.

    ``before`` and ``after`` are the standard deviations of samples before and after the impact.
    """
    rows = [slice(a, b) for a, b in zip(tosses.offsets[:-1], tosses.offsets[1:], strict=True)]
    kept = Tosses(
        paths=tuple(np.hstack((tosses.pos[one], tosses.quat_wxyz[one])) for one in rows),
        starts=tuple((int(k), toss.q, toss.v) for k, toss in zip(tosses.eval_start, tosses, strict=True)),
        groups=np.arange(len(tosses)) if groups is None else groups,
        dt=tosses.dt,
        width=2.0 * tosses.half_width,
        before=before,
        after=after,
    )

    def world(values: Mapping[str, float]) -> World:
        return toss_world(tosses, MODELS["rigid"] if "restitution" in values else SOFT)

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], chosen: IntArray) -> Problem:
        names = {**fixed, **{one.name: one.start for one in parameters}}
        return toss_problem(kept, world(names), parameters, fixed, chosen, threads)

    rigid = MODELS["rigid"]
    return Recordings(
        title="cube tosses",
        noise=NOISE,
        parameters=CONTACT,
        default_parameters=("mu", "stiffness", "dissipation"),
        nominal={"mu": rigid.mu, "restitution": rigid.restitution, "gravity": tosses.gravity},
        groups=kept.groups,
        problem=problem,
        errors=errors_of(kept, world, threads),
        unidentifiable=MASS_HIDDEN,
    )


#: Noise of the velocities before and after an impact, relative to the speed before, in the norm of the mass matrix. The
#: second includes the error of a law of two numbers. With equal values, a varying e would fit the noise of the speeds.
NOISE_BEFORE, NOISE_AFTER = 0.01, 0.05
LAW: Law = "Poisson"
IMPACT_PARAMETERS = (
    Parameter("mu", 0.1, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.5, 2e-3, 0.0, 1.0),
    Parameter("offset", 0.0, 2e-5, -0.01, 0.01, "m"),
    Parameter("exponent", 0.0, 5e-3, -2.0, 2.0),
)


def planar_impacts(data: PlanarImpacts) -> Recordings:
    """Return the impacts of loaded data, with the sign of the tangent lever from the momentum balance."""
    balance = momentum_balance(data)
    model = PlanarModel(LAW, balance.lever_turned, ingredients=("offset", "exponent"))

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        return _impact_problem(take(data, rows), model, parameters, fixed, rows)

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        told = {one.name: one.start for one in IMPACT_PARAMETERS} | dict(values)
        numbers = np.array([told[one.name] for one in IMPACT_PARAMETERS])
        return {"error": prediction_errors(take(data, rows), model, numbers)[0]}

    def doubt(values: Mapping[str, float]) -> str:
        wrong = balance.contradiction(friction=values.get("mu", IMPACT_PARAMETERS[0].start) > 0.0)
        return f"{wrong}: look at {SUSPECTS}" if wrong else ""

    return Recordings(
        title=f"planar impacts, tangent row {balance.reading}",
        noise=f"{100 * NOISE_BEFORE:g} % of the speed before, {100 * NOISE_AFTER:g} % after the impact, "
        "in the norm of the masses",
        parameters=IMPACT_PARAMETERS,
        default_parameters=("mu", "restitution"),
        nominal={"mu": 0.1, "restitution": 0.5},
        groups=np.arange(len(data)),
        problem=problem,
        errors=errors,
        unidentifiable={
            "mass": "impulses are not measured: velocities of any mass are the same",
            "inertia": "velocities cannot distinguish it from the lever of the contact; they determine `offset`",
        },
        plausibility_check=doubt,
    )


def _impact_problem(
    data: PlanarImpacts,
    model: PlanarModel,
    parameters: tuple[Parameter, ...],
    fixed: Mapping[str, float],
    groups: IntArray,
) -> Problem:
    """Return the problem of fitting a law to impacts; each impact is a window.

    The velocity before the impact is an unknown of the window, because it is measured like the velocity after it.
    """
    unit = np.sqrt((data.mass * data.before**2).sum(axis=1))[:, None] / np.sqrt(data.mass)
    told = {one.name: one.start for one in IMPACT_PARAMETERS} | dict(fixed)

    def residuals(values: FloatArray, local: FloatArray) -> FloatArray:
        n = {**told, **dict(zip((one.name for one in parameters), values.tolist(), strict=True))}
        n["e"] = n["restitution"]
        predicted = predict_velocities(data, model, n, data.before + NOISE_BEFORE * local * unit)
        return np.asarray(np.hstack(((data.after - predicted) / (NOISE_AFTER * unit), -local)))

    return Problem(parameters, groups.copy(), residuals, differences(residuals, parameters, np.full(3, 1e-3)), 3)
