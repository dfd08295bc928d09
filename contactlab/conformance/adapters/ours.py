"""contactlab itself: `TimeStepping` at its defaults, or with the exact cone of friction."""

from __future__ import annotations

import numpy as np

import contactlab
from contactlab.conformance.scene import EngineContacts, NotSupportedError, Scene, ShapeSpec
from contactlab.constraints import LoopConstraint
from contactlab.contact import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.multibody import Model, ModelBuilder, body_poses, joints, kinematics, point_velocity_6d
from contactlab.simulation import Simulation, TimeStepping, WorldBuilder, Wrench
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.spatial.arrays import FloatArray


class Contactlab:
    """contactlab."""

    version = contactlab.__version__

    def __init__(self, setting: str = "") -> None:
        self.name = "ours:cone" if setting else "ours"
        self._friction = "cone" if setting else "pyramid"

    def load(self, scene: Scene, h: float) -> OurRun:
        """Return a run."""
        builder, material = WorldBuilder(scene.gravity), Material(scene.mu, scene.restitution)
        for i, wall in enumerate(scene.walls):
            builder.add_half_space(f"wall {i}", HalfSpace(wall.normal, wall.offset), material)
        if scene.joints:
            return _jointed(scene, builder, material, TimeStepping(h, friction=self._friction))
        for i, body in enumerate(scene.bodies):
            inertia = RigidInertia(body.mass, inertia=np.diag(body.inertia))
            spin = quaternion.to_matrix(np.array(body.turn, dtype=float)).T @ np.array(body.spin, dtype=float)
            start = (*body.position, *body.turn), (*body.velocity, *spin)
            builder.add_free_body(f"body {i}", inertia, _shape(body.shape), material, *start)
        return OurRun(Simulation(builder.build(), TimeStepping(h, friction=self._friction)), scene)


class OurRun:
    """A `Simulation`."""

    def __init__(self, run: Simulation, scene: Scene) -> None:
        self._run = run
        self._wrenches = {f"body {i}": Wrench(body.force) for i, body in enumerate(scene.bodies) if any(body.force)}

    def step(self) -> None:
        """Go on by h."""
        self._run.step(f_ext=self._wrenches or None)

    def poses(self) -> FloatArray:
        """Poses of all bodies."""
        return self._run.q.reshape(-1, 7).copy()

    def velocities(self) -> FloatArray:
        """Twists of all bodies, turned into world axes."""
        twists = self._run.v.reshape(-1, 6).copy()
        for twist, pose in zip(twists, self.poses(), strict=True):
            twist[3:] = quaternion.to_matrix(pose[3:]) @ twist[3:]
        return twists

    def contacts(self) -> EngineContacts:
        """Contacts of the last step."""
        table, h = self._run.contacts, self._run.stepper.h
        return EngineContacts(
            tuple(table.body_b.tolist()), tuple(table.body_a.tolist()), table.point, table.normal, table.impulse / h
        )


class JointedRun(OurRun):
    """A `Simulation` of bodies held by joints: their frames lie at the joints."""

    def __init__(self, run: Simulation, scene: Scene, model: Model, centres: FloatArray) -> None:
        super().__init__(run, scene)
        self._model, self._centres = model, centres
        self._wrenches = {
            f"body {i}": Wrench(body.force, at=centre)
            for i, (body, centre) in enumerate(zip(scene.bodies, centres, strict=True)) if any(body.force)
        }  # fmt: skip

    def poses(self) -> FloatArray:
        """Poses of all bodies."""
        R, p = body_poses(self._model, self._run.q)
        return np.hstack(((R @ self._centres[:, :, None])[..., 0] + p, quaternion.from_matrix(R)))

    def velocities(self) -> FloatArray:
        """Twists of all bodies."""
        at = kinematics(self._model, self._run.q, self._run.v)
        points = enumerate(self._centres)
        twists = np.array([point_velocity_6d(self._model, at, None, f"body {i}", centre) for i, centre in points])
        return np.roll(twists, 3, axis=1)


def _jointed(scene: Scene, builder: WorldBuilder, material: Material, stepper: TimeStepping) -> JointedRun:
    tree, centres, start = ModelBuilder(scene.gravity), np.zeros((len(scene.bodies), 3)), []
    kind: joints.FloatingBase | joints.Revolute | joints.Prismatic
    for i, body in enumerate(scene.bodies):
        turn, joint = quaternion.to_matrix(np.array(body.turn, dtype=float)), scene.joint_of(i)
        if joint is None:
            kind, parent, place = joints.FloatingBase(), "world", Transform()
            start += [*body.position, *body.turn]
        else:
            made = joints.Revolute if joint.kind == "revolute" else joints.Prismatic
            kind, start = made(turn.T @ joint.axis), [*start, 0.0]
            centres[i] = turn.T @ (np.array(body.position, dtype=float) - joint.point)
            parent = "world" if joint.other < 0 else f"body {joint.other}"
            outer = np.eye(3)
            if joint.other >= 0:
                outer = quaternion.to_matrix(np.array(scene.bodies[joint.other].turn, dtype=float))
            base = centres[joint.other] if joint.other >= 0 else np.zeros(3)
            place = Transform(outer.T @ turn, base + scene.local(joint.other, joint.point))
        inertia = RigidInertia(body.mass, centres[i], np.diag(body.inertia))
        tree.add_body(f"body {i}", parent=parent, joint=kind, placement=place, inertia=inertia)
    model = tree.build()
    builder.add_model(model, start)
    for i, body in enumerate(scene.bodies):
        if body.shape is not None:
            builder.add_shape(f"body {i}", _shape(body.shape), material, placement=Transform(p=centres[i]))
    for pin in scene.pins:
        ends = [Transform(p=np.array(scene.local(k, pin.point)) + (centres[k] if k >= 0 else 0.0))
                for k in (pin.body, pin.other)]  # fmt: skip
        one, other = ("world" if k < 0 else f"body {k}" for k in (pin.body, pin.other))
        builder.add_loop([LoopConstraint(one, other, ends[0], ends[1], axis) for axis in np.eye(6)[3:]])
    return JointedRun(Simulation(builder.build(), stepper), scene, model, centres)


def _shape(shape: ShapeSpec | None) -> Box | Sphere | Capsule:
    if shape is None:
        raise NotSupportedError("a free body of no shape")
    size = shape.size
    if shape.kind == "box":
        return Box(size)
    return Sphere(size[0]) if shape.kind == "sphere" else Capsule(*size)
