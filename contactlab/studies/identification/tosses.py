"""Tosses of bodies onto a board: windows about the first impact, and errors of whole tosses.

Mass is not seen: a free body that meets only the fixed board moves the same for any mass, with inertia, stiffness,
dissipation and friction of joints in proportion to it. What is found holds for the mass that the data set states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from contactlab.multibody.batch import body_poses
from contactlab.multibody.configuration import difference
from contactlab.simulation import TimeStepping, World, rollout
from contactlab.spatial import quaternion
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies.identification.problem import Parameter, Problem
from contactlab.studies.identification.windows import Windows, window_problem
from contactlab.studies.identification.worlds import world_with

MASS_HIDDEN = {"mass": "tosses of any mass are the same, with all forces in proportion; give the others for the mass"}
#: A corner this near the board touches [m]: where boards lie in the data is off by millimetres.
TOUCHES = 3e-3
SUBSTEPS = 10
#: Without restitution no contact is an impact: a corner then closes its gap within the step.
NO_IMPACTS, V_MIN = 1e3, 1e-2


@dataclass(frozen=True, eq=False)
class Tosses:
    """Measured tosses of one kind of body."""

    paths: tuple[FloatArray, ...]  # configurations (n_i, nq) of each toss at all its samples; angles unwrapped
    starts: tuple[tuple[int, FloatArray, FloatArray], ...]  # of each the row where scores begin, and the state (q, v)
    groups: IntArray  # (n,) which are of the same throw
    dt: float  # [s] from sample to sample
    width: float  # [m] in which distances are told
    before: FloatArray  # (nv,) noise of samples in flight
    after: FloatArray  # (nv,) what comes upon it after the impact
    samples: tuple[int, int] = (3, 4)  # of a window: before the impact, which tell the start, and after it


def stepper_for(dt: float, values: Mapping[str, float]) -> TimeStepping:
    """Return the stepper, with exact cones, ten steps to a sample; impacts where there is a restitution."""
    return TimeStepping(dt / SUBSTEPS, friction="cone", v_min=V_MIN if "restitution" in values else NO_IMPACTS)


def lowest(world: World, q: FloatArray) -> FloatArray:
    """Return the height (n,) of the lowest support point of all surfaces at configurations (n, nq)."""
    R, p = body_poses(world.model, q)
    heights = []
    for body, surface in zip(world.surface_bodies, world.surfaces, strict=True):
        points, radii = surface.support_points()
        heights.append(p[:, body, 2:] + R[:, body, 2] @ points.T - radii)
    return np.asarray(np.concatenate(heights, axis=1).min(axis=1))


def impact_windows(tosses: Tosses, world: World, rows: IntArray) -> Windows:
    """Return a window about the first impact of each toss that has the samples; others have none."""
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
    """Return the problem of explaining first impacts by numbers of a world (`world_with`)."""
    names = [one.name for one in parameters]
    stepper = stepper_for(tosses.dt, {**fixed, **dict.fromkeys(names, 0.0)})

    def world_of(values: FloatArray) -> World:
        return world_with(world, {**fixed, **dict(zip(names, values.tolist(), strict=True))})

    return window_problem(impact_windows(tosses, world, rows), parameters, world_of, stepper, threads=threads)


def toss_errors(
    tosses: Tosses, world: World, stepper: TimeStepping, rows: IntArray, threads: int | None
) -> dict[str, FloatArray]:
    """Return errors of whole tosses (n,): from the scored start, without a look at the data, to the last sample.

    Means over samples of the distance of the bodies' centres of mass [% of the width], of the angle between the first
    body's orientations, and of the difference of joint angles, wrapped [deg]. NaN where a simulation failed.
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
            off = np.linalg.norm(_centres(world, made) - _centres(world, path), axis=2).mean()
            turned = np.degrees(quaternion.angle_between(made[:, 3:7], path[:, 3:7])).mean()
            joints = (made[:, 7:] - path[:, 7:] + math.pi) % (2.0 * math.pi) - math.pi
            joint = np.degrees(np.abs(joints)).mean() if model.nq > 7 else 0.0
            errors[k] = 100.0 * off / tosses.width, turned, joint
    named = {"position_percent": errors[:, 0], "rotation_deg": errors[:, 1]}
    return named | ({"joint_deg": errors[:, 2]} if model.nq > 7 else {})


def _centres(world: World, q: FloatArray) -> FloatArray:
    R, p = body_poses(world.model, q)
    coms = np.array([body.inertia.com if body.inertia else np.zeros(3) for body in world.model.bodies])
    return np.asarray(p + np.einsum("nbij,bj->nbi", R, coms))


def errors_of(
    tosses: Tosses, world: Callable[[Mapping[str, float]], World], threads: int | None
) -> Callable[[Mapping[str, float], IntArray], Mapping[str, FloatArray]]:
    """Return what scores tosses in the world that has some values."""

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        return toss_errors(tosses, world_with(world(values), values), stepper_for(tosses.dt, values), rows, threads)

    return errors


#: What a toss may tell, with the steps of differences and the bounds.
CONTACT = (
    Parameter("mu", 0.25, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.1, 1e-2, 0.0, 1.0),
    Parameter("stiffness", 3e4, 200.0, 1e2, 1e7, "N/m"),
    Parameter("dissipation", 30.0, 1.0, 0.0, 1e4, "N s/m"),
    Parameter("inertia", 1.0, 5e-3, 0.2, 5.0, "of the stated"),
    Parameter("gravity", 9.65, 1e-2, 5.0, 15.0, "m/s^2"),
)
