"""A scene in contactlab: ready closures that make one run from the same start.

`our_runs`, like `mujoco_runs` and `drake_runs`, returns ``{variant: (run, world steps of one run)}`` and a record of
one run; a run can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from simulation_scenes import (
    BODIES,
    FOOT_RADIUS,
    JOINTS,
    KD,
    KP,
    LEGS,
    TRUNK,
    URDF,
    Array,
    Body,
    Scene,
    standing_height,
)

from contactlab.collision import Box, Capsule, ConvexPoints, HalfSpace, Material, Sphere
from contactlab.constraint_solver import PositionDrive
from contactlab.multibody import Model, load_urdf
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import (
    Batch,
    Recording,
    Simulation,
    StepperState,
    TimeStepping,
    World,
    WorldBuilder,
    rollout,
    simulate,
    step,
)

Run = Callable[[], object]
Runs = dict[str, tuple[Run, int]]
BATCH = 8  # copies of a world in a batch; more would take minutes in the slow scenes


def world(scene: Scene, *, drives: bool = False) -> World:
    """Return the scene as a world; with ``drives`` a robot's joints have servos of the world."""
    builder, material = WorldBuilder(), Material(scene.mu)
    for i, (normal, offset) in enumerate(scene.walls):
        builder.add_half_space(f"wall {i}", HalfSpace(normal, offset), material)
    for i, body in enumerate(scene.bodies):
        inertia = RigidInertia(body.mass, inertia=np.diag(body.inertia))
        builder.add_free_body(f"body {i}", inertia, _shape(body), material, body.pose, body.velocity)
    if scene.reference is not None:
        model = load_urdf(URDF, floating_base=True)
        q = model.neutral
        q[:3] = 0.0, 0.0, standing_height()
        q[_order(model, "q")] = scene.reference(0.0)
        builder.add_model(model, q)
        builder.add_shape("trunk", Box(TRUNK), material)
        foot = Transform(p=(0.0, 0.0, -0.3))
        for leg in LEGS:
            builder.add_shape(f"{leg}_shank", Sphere(FOOT_RADIUS), material, placement=foot)
        if drives:
            for name, angle in zip(JOINTS, scene.reference(0.0), strict=True):
                builder.add_drive(PositionDrive(name, float(angle), stiffness=KP, damping=KD))
    return builder.build()


def control(scene: Scene, model: Model) -> Callable[[float, Array, Array], Array]:
    """Return the PD law of a scene with a robot, called once per step."""
    at_q, at_v = _order(model, "q"), _order(model, "v")
    reference = scene.reference
    assert reference is not None

    def law(time: float, q: Array, v: Array) -> Array:
        tau = np.zeros(model.nv)
        tau[at_v] = KP * (reference(time) - q[at_q]) - KD * v[at_v]
        return tau

    return law


def our_run(scene: Scene, edges: int) -> tuple[World, TimeStepping, Callable[[float, Array, Array], Array] | None]:
    """Return world, stepper and applied forces of a scene."""
    place = world(scene)
    return place, TimeStepping(scene.h, edges=edges), None if scene.reference is None else control(scene, place.model)


def our_runs(scene: Scene, edges: int) -> tuple[Runs, Callable[[], Recording]]:
    """Return runs of contactlab, and one run that returns its record."""
    place, stepper, tau = our_run(scene, edges)
    runs: Runs = {}

    def steps_from_python() -> StepperState:
        state = place.initial_state()
        for _ in range(scene.steps):
            state = step(place, stepper, state, tau).state
        return state

    def loop_of_ones_own() -> None:
        run = Simulation(place, stepper)
        for _ in range(scene.steps):
            run.step(None if tau is None else tau(run.time, run.q, run.v))

    def rolled(threads: int) -> None:
        what = place if tau is None else driven
        found = rollout(what, stepper, [what.initial_state()] * BATCH, steps=scene.steps, threads=threads)
        assert not found.failed.any()

    def batch(threads: int) -> None:
        what = place if tau is None else driven
        runs = Batch(what, stepper, [what.initial_state()] * BATCH, threads=threads)
        for _ in range(scene.steps):
            runs.step()
        assert not runs.failed.any()

    def recorded() -> Recording:
        return simulate(place, stepper, steps=scene.steps, tau=tau)

    driven = world(scene, drives=True) if tau is not None and not scene.moving_reference else place
    if tau is None:
        zero = np.zeros(place.nv)
        runs["simulate"] = (recorded, scene.steps)
        callback = lambda: simulate(place, stepper, steps=scene.steps, tau=lambda t, q, v: zero)  # noqa: E731
        runs["simulate, tau from Python"] = (callback, scene.steps)
    else:
        if not scene.moving_reference:
            runs["simulate, drives"] = (lambda: simulate(driven, stepper, steps=scene.steps), scene.steps)
        runs["simulate, tau from Python"] = (recorded, scene.steps)
    if tau is None or not scene.moving_reference:
        runs["Batch.step, 1 thread"] = (lambda: batch(1), BATCH * scene.steps)
        runs["Batch.step, 2 threads"] = (lambda: batch(2), BATCH * scene.steps)
        runs["rollout, 2 threads"] = (lambda: rolled(2), BATCH * scene.steps)
    runs["Simulation.step from Python"] = (loop_of_ones_own, scene.steps)
    runs["step from Python"] = (steps_from_python, scene.steps)
    return runs, recorded


def _shape(body: Body) -> Box | Sphere | Capsule | ConvexPoints:
    if body.kind == "hull":
        return ConvexPoints(np.array(body.corners))
    if body.kind == "box":
        return Box(body.size)
    return Sphere(body.size[0]) if body.kind == "sphere" else Capsule(*body.size)


def _order(model: Model, kind: str) -> NDArray[np.int64] | slice:
    """Return the places of the angles (kind q) or speeds (kind v) of the joints, in the order of `JOINTS`.

    Adjacent places are a slice, as in the law for MuJoCo.
    """
    place = model.q_slice if kind == "q" else model.v_slice
    places = np.array([place(body).start for body in BODIES])
    return slice(places[0], places[-1] + 1) if (np.diff(places) == 1).all() else places
