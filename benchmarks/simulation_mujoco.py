"""A scene in MuJoCo at its defaults, except for the step."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from simulation_ours import BATCH, Runs
from simulation_scenes import JOINTS, KD, KP, URDF, Scene, standing_height

from contactlab.lab.conformance.peers import import_mujoco

mujoco = import_mujoco()  # refuses a release with wrong results
rollout = importlib.import_module("mujoco.rollout")


def mujoco_model(scene: Scene) -> Any:
    """Return the scene for MuJoCo at its defaults, except for the step."""
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
    for number, body in enumerate(scene.bodies):
        one = spec.worldbody.add_body(pos=body.pose[:3], quat=body.pose[3:])
        one.add_freejoint()
        one.explicitinertial = True
        # By default the centre of mass is as far from the body as the body from the world.
        one.ipos, one.iquat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        one.mass, one.inertia = body.mass, body.inertia
        if body.kind == "hull":
            mesh = spec.add_mesh(name=f"mesh {number}", uservert=np.ravel(body.corners).tolist())
            one.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, friction=friction)
            continue
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


def mujoco_data(scene: Scene, model: Any) -> Any:
    """Return the start of a scene: poses of the model, velocities of the bodies."""
    data = mujoco.MjData(model)
    for i, body in enumerate(scene.bodies):
        data.qvel[6 * i : 6 * i + 6] = body.velocity
    return data


def mujoco_runs(scene: Scene) -> tuple[Runs, Callable[[], float]]:
    """Return runs of MuJoCo, and the mean number of contacts of one."""
    model = mujoco_model(scene)
    data = mujoco_data(scene, model)
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
