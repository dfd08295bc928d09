"""One scene in three engines; each gives ready closures that make one run from the same start.

`ours`, `mujoco_runs` and `drake_runs` return ``{variant: (run, world steps of one run)}``; `run` returns nothing and
may be called again and again. Engines are imported inside their function, so that each is optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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

from contactlab.contact import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.multibody import Model
from contactlab.simulation import Recording, StepperState, TimeStepping, World, WorldBuilder, simulate
from contactlab.spatial import RigidInertia, Transform

Run = Callable[[], object]
Runs = dict[str, tuple[Run, int]]
BATCH = 8  # copies of a world in a batch; more would not fit the slow scenes


# --- contactlab ---


def world(scene: Scene) -> World:
    """The scene as a world."""
    builder, material = WorldBuilder(), Material(scene.mu)
    for i, (normal, offset) in enumerate(scene.walls):
        builder.add_half_space(f"wall {i}", HalfSpace(normal, offset), material)
    for i, body in enumerate(scene.bodies):
        inertia = RigidInertia(body.mass, inertia=np.diag(body.inertia))
        builder.add_free_body(f"body {i}", inertia, _shape(body), material, body.pose, body.velocity)
    if scene.reference is not None:
        model = Model.from_urdf(URDF, floating_base=True)
        q = model.neutral
        q[:3] = 0.0, 0.0, standing_height()
        q[_order(model, "q")] = scene.reference(0.0)
        builder.add_model(model, q)
        builder.add_shape("trunk", Box(TRUNK), material)
        foot = Transform(p=(0.0, 0.0, -0.3))
        for leg in LEGS:
            builder.add_shape(f"{leg}_shank", Sphere(FOOT_RADIUS), material, placement=foot)
    return builder.build()


def control(scene: Scene, model: Model) -> Callable[[float, Array, Array], Array]:
    """The PD law of a scene with a robot, asked once a step."""
    at_q, at_v = _order(model, "q"), _order(model, "v")
    tau, reference = np.zeros(model.nv), scene.reference
    assert reference is not None

    def law(time: float, q: Array, v: Array) -> Array:
        tau[at_v] = KP * (reference(time) - q[at_q]) - KD * v[at_v]
        return tau

    return law


def ours(scene: Scene, edges: int) -> tuple[Runs, Callable[[], Recording]]:
    """Runs of contactlab, and one run that gives its record."""
    place, stepper = world(scene), TimeStepping(scene.h, edges=edges)
    runs: Runs = {}
    tau = None if scene.reference is None else control(scene, place.model)

    def steps_from_python() -> StepperState:
        state = place.initial_state()
        for _ in range(scene.steps):
            state = stepper.step(place, state, tau).state
        return state

    def recorded() -> Recording:
        return simulate(place, stepper, steps=scene.steps, tau=tau)

    if tau is None:
        zero = np.zeros(place.nv)
        runs["simulate"] = (recorded, scene.steps)
        callback = lambda: simulate(place, stepper, steps=scene.steps, tau=lambda t, q, v: zero)  # noqa: E731
        runs["simulate, tau from Python"] = (callback, scene.steps)
    else:
        runs["simulate, tau from Python"] = (recorded, scene.steps)
    runs["step from Python"] = (steps_from_python, scene.steps)
    return runs, recorded


def _shape(body: Body) -> Box | Sphere | Capsule:
    if body.kind == "box":
        return Box(body.size)
    return Sphere(body.size[0]) if body.kind == "sphere" else Capsule(*body.size)


def _order(model: Model, kind: str) -> Any:
    """Where the angles (kind q) or speeds (kind v) of the joints stand, in the order of `JOINTS`."""
    place = model.q_slice if kind == "q" else model.v_slice
    return np.array([place(body).start for body in BODIES])


# --- MuJoCo ---


def mujoco_model(scene: Scene) -> Any:
    """The scene for MuJoCo at its defaults, but for the step."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(URDF)) if scene.reference is not None else mujoco.MjSpec()
    spec.option.timestep = scene.h
    spec.compiler.fusestatic = False
    friction = [scene.mu, 0.005, 0.0001]
    for geom in spec.geoms:
        geom.friction = friction
    for normal, offset in scene.walls:
        turn = np.zeros(4)
        mujoco.mju_quatZ2Vec(turn, np.array(normal))
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0, 0, 1],
            pos=(offset * np.array(normal)).tolist(),
            quat=turn,
            friction=friction,
        )
    kinds = {"box": "BOX", "sphere": "SPHERE", "capsule": "CAPSULE"}
    for body in scene.bodies:
        one = spec.worldbody.add_body(pos=body.pose[:3], quat=body.pose[3:])
        one.add_freejoint()
        one.explicitinertial = True
        one.mass, one.inertia = body.mass, body.inertia
        size = [*body.size, 0.0, 0.0][:3]
        one.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kinds[body.kind]}"), size=size, friction=friction)
    if scene.reference is not None:
        trunk = spec.body("trunk")
        trunk.add_freejoint()
        trunk.pos = (0.0, 0.0, standing_height())
        for name in JOINTS:
            servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=KP, kv=KD)
    return spec.compile()


def mujoco_runs(scene: Scene) -> tuple[Runs, Callable[[], float]]:
    """Runs of MuJoCo, and the mean number of contacts of one."""
    import mujoco
    from mujoco import rollout

    model = mujoco_model(scene)
    data = mujoco.MjData(model)
    for i, body in enumerate(scene.bodies):
        data.qvel[6 * i : 6 * i + 6] = body.velocity
    table = None
    if scene.reference is not None:
        data.qpos[7:] = scene.reference(0.0)
        table = np.array([scene.reference(scene.h * i) for i in range(scene.steps)])
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, start, full)
    torque = mujoco_model(scene)  # the same without servos: torques come from Python
    torque.actuator_gainprm[:] = torque.actuator_biasprm[:] = 0.0

    def loop() -> None:
        mujoco.mj_setState(model, data, start, full)
        for i in range(scene.steps):
            if table is not None:
                data.ctrl[:] = table[i]
            mujoco.mj_step(model, data)

    def from_python() -> None:
        reference = scene.reference
        assert reference is not None
        mujoco.mj_setState(torque, data, start, full)
        for _ in range(scene.steps):
            data.qfrc_applied[6:] = KP * (reference(data.time) - data.qpos[7:]) - KD * data.qvel[6:]
            mujoco.mj_step(torque, data)
        data.qfrc_applied[:] = 0.0

    many = [mujoco.MjData(model) for _ in range(2)]

    def rolled(copies: int, threads: int) -> None:
        batch = np.tile(start, (copies, 1))
        steering = None if table is None else np.tile(table, (copies, 1, 1))
        rollout.rollout(model, many[:threads], batch, steering, nstep=scene.steps)

    def contacts() -> float:
        mujoco.mj_setState(model, data, start, full)
        total = 0
        for i in range(scene.steps):
            if table is not None:
                data.ctrl[:] = table[i]
            mujoco.mj_step(model, data)
            total += data.ncon
        return total / scene.steps

    runs: Runs = {"mj_step loop": (loop, scene.steps)}
    if scene.reference is not None:
        runs["mj_step loop, tau from Python"] = (from_python, scene.steps)
    runs["rollout, 1 thread"] = (lambda: rolled(1, 1), scene.steps)
    runs["rollout, 2 threads"] = (lambda: rolled(BATCH, 2), BATCH * scene.steps)
    return runs, contacts


# --- Drake ---


def drake_runs(scene: Scene, approximation: str) -> tuple[Runs, Callable[[], float]]:
    """Runs of Drake's discrete plant with point contact, and the mean number of contacts (sampled ten times)."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody import plant as drake_plant
    from pydrake.multibody import tree as drake_tree
    from pydrake.multibody.math import SpatialVelocity
    from pydrake.multibody.parsing import Parser
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, graph = drake_plant.AddMultibodyPlantSceneGraph(builder, scene.h)
    plant.set_discrete_contact_approximation(getattr(drake_plant.DiscreteContactApproximation, f"k{approximation}"))
    plant.set_contact_model(drake_plant.ContactModel.kPoint)
    friction = drake_plant.CoulombFriction(scene.mu, scene.mu)
    for i, (normal, offset) in enumerate(scene.walls):
        place = RigidTransform(
            RotationMatrix.MakeFromOneVector(np.array(normal), 2), offset * np.array(normal, dtype=float)
        )
        plant.RegisterCollisionGeometry(plant.world_body(), place, _drake_half_space(), f"wall {i}", friction)
    bodies = []
    for i, body in enumerate(scene.bodies):
        unit = drake_tree.UnitInertia(*(body.inertia / body.mass))
        spatial = drake_tree.SpatialInertia(body.mass, np.zeros(3), unit)
        one = plant.AddRigidBody(f"body {i}", spatial)
        plant.RegisterCollisionGeometry(one, RigidTransform(), _drake_shape(body), f"shape {i}", friction)
        bodies.append(one)
    instance, joints = None, []
    if scene.reference is not None:
        (instance,) = Parser(plant).AddModels(str(URDF))
        for name in JOINTS:
            joint = plant.GetJointByName(name, instance)
            servo = plant.AddJointActuator(name, joint)
            servo.set_controller_gains(drake_tree.PdControllerGains(p=KP, d=KD))
            joints.append(joint)
        _drake_friction(plant, graph, instance, friction)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    root = simulator.get_mutable_context()
    inside = plant.GetMyMutableContextFromRoot(root)
    for one, body in zip(bodies, scene.bodies, strict=True):
        turn = RotationMatrix(_drake_quaternion(body.pose[3:]))
        plant.SetFreeBodyPose(inside, one, RigidTransform(turn, np.array(body.pose[:3], dtype=float)))
        spin = turn.matrix() @ np.array(body.velocity[3:], dtype=float)
        velocity = SpatialVelocity(spin, np.array(body.velocity[:3], dtype=float))
        plant.SetFreeBodySpatialVelocity(context=inside, body=one, V_JpJc=velocity)
    wanted = None
    if scene.reference is not None:
        trunk = plant.GetBodyByName("trunk")
        plant.SetFreeBodyPose(inside, trunk, RigidTransform(np.array([0.0, 0.0, standing_height()])))
        for joint, angle in zip(joints, scene.reference(0.0), strict=True):
            joint.set_angle(inside, angle)
        port = plant.get_desired_state_input_port(instance)
        wanted = port.FixValue(inside, np.concatenate([scene.reference(0.0), np.zeros(12)]))
    start = root.Clone()
    simulator.Initialize()

    def reset() -> None:
        root.SetTimeStateAndParametersFrom(start)
        simulator.Initialize()

    def whole() -> None:
        reset()
        simulator.AdvanceTo(scene.h * scene.steps)

    def one_step(i: int) -> None:
        if wanted is not None and scene.moving_reference:
            assert scene.reference is not None
            wanted.GetMutableData().set_value(np.concatenate([scene.reference(scene.h * i), np.zeros(12)]))
        simulator.AdvanceTo(scene.h * (i + 1))

    def stepwise() -> None:
        reset()
        for i in range(scene.steps):
            one_step(i)

    def contacts() -> float:
        reset()
        counts = []
        for i in range(scene.steps):
            one_step(i)
            if (i + 1) % max(1, scene.steps // 10) == 0:
                results = plant.get_contact_results_output_port().Eval(plant.GetMyContextFromRoot(root))
                counts.append(results.num_point_pair_contacts())
        return float(np.mean(counts))

    runs: Runs = {}
    if not scene.moving_reference:
        runs["AdvanceTo"] = (whole, scene.steps)
    runs["AdvanceTo, step by step"] = (stepwise, scene.steps)
    return runs, contacts


def _drake_half_space() -> Any:
    from pydrake.geometry import HalfSpace as DrakeHalfSpace

    return DrakeHalfSpace()


def _drake_quaternion(values: Any) -> Any:
    from pydrake.common.eigen_geometry import Quaternion

    return Quaternion(*values)


def _drake_shape(body: Body) -> Any:
    from pydrake import geometry

    if body.kind == "box":
        return geometry.Box(*(2.0 * np.array(body.size)))
    if body.kind == "sphere":
        return geometry.Sphere(body.size[0])
    return geometry.Capsule(body.size[0], 2.0 * body.size[1])


def _drake_friction(plant: Any, graph: Any, instance: Any, friction: Any) -> None:
    """Give the shapes of a parsed robot the scene's friction."""
    from pydrake.geometry import AddContactMaterial, ProximityProperties, RoleAssign

    for index in plant.GetBodyIndices(instance):
        for shape in plant.GetCollisionGeometriesForBody(plant.get_body(index)):
            properties = ProximityProperties()
            AddContactMaterial(friction=friction, properties=properties)
            graph.AssignRole(plant.get_source_id(), shape, properties, RoleAssign.kReplace)
