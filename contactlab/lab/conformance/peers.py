"""Engines of other projects: Drake and MuJoCo.

Drake's discrete plant: its default approximation of contact, or one of its four by name.

Contact is Drake's default, hydroelastic with fallback to points. Point contact alone has only one point for each pair
of shapes, on which a box cannot stand. Walls are rigid, boxes have a modulus of 1e7 Pa, and round shapes have point
contact.

Drake has no coefficient of restitution: contact is compliant with dissipation. Scenes with restitution are not offered.

MuJoCo with its defaults; with the elliptic cone and impratio 10; or with its manual's noslip iterations.

MuJoCo has no coefficient of restitution: contact is a spring and a damper. Scenes with restitution are not offered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.lab.conformance.case import UNTURNED, EngineContacts, Joint, NotSupportedError, Scene, ShapeSpec
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray


class Drake:
    """The package ``drake``."""

    def __init__(self, setting: str = "") -> None:
        import importlib.metadata

        import pydrake  # noqa: F401  a missing package raises here

        self.name = f"drake:{setting}" if setting else "drake"
        self.version = importlib.metadata.version("drake")
        self._setting = setting

    def load(self, scene: Scene, h: float) -> DrakeRun:
        """Return a run of the scene; a restitution, or a pin with TAMSI, raises `NotSupportedError`."""
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.geometry import (
            AddCompliantHydroelasticProperties,
            AddContactMaterial,
            AddRigidHydroelasticProperties,
            HalfSpace,
            ProximityProperties,
        )
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody import plant as plants
        from pydrake.multibody.math import SpatialForce, SpatialVelocity
        from pydrake.multibody.tree import SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        if scene.restitution > 0.0:
            raise NotSupportedError("Drake has no coefficient of restitution")
        builder = DiagramBuilder()
        plant, graph = plants.AddMultibodyPlantSceneGraph(builder, h)
        if self._setting:
            approximation = getattr(plants.DiscreteContactApproximation, f"k{self._setting.capitalize()}")
            plant.set_discrete_contact_approximation(approximation)
        plant.mutable_gravity_field().set_gravity_vector(np.array(scene.gravity))
        friction = plants.CoulombFriction(scene.mu, scene.mu)
        rigid, soft, round_ones = ProximityProperties(), ProximityProperties(), ProximityProperties()
        for properties in (rigid, soft, round_ones):
            AddContactMaterial(friction=friction, properties=properties)
        AddRigidHydroelasticProperties(properties=rigid)
        AddCompliantHydroelasticProperties(resolution_hint=0.02, hydroelastic_modulus=1e7, properties=soft)
        for i, wall in enumerate(scene.walls):
            normal = np.array(wall.normal, dtype=float)
            place = RigidTransform(RotationMatrix.MakeFromOneVector(normal, 2), wall.offset * normal)
            plant.RegisterCollisionGeometry(plant.world_body(), place, HalfSpace(), f"wall {i}", rigid)
        bodies = []
        for i, body in enumerate(scene.bodies):
            unit = UnitInertia(*(np.array(body.inertia) / body.mass))
            one = plant.AddRigidBody(f"body {i}", SpatialInertia(body.mass, np.zeros(3), unit))
            bodies.append(one)
            if (joint := scene.joint_of(i)) is not None:
                _add_joint(plant, scene, bodies, i, joint)
            if body.shape is None:
                continue
            surface = soft if body.shape.kind == "box" else round_ones
            plant.RegisterCollisionGeometry(one, RigidTransform(), _shape(body.shape), f"shape {i}", surface)
        for pin in scene.pins:
            if self._setting == "tamsi":
                raise NotSupportedError("Drake's TAMSI has no constraint that closes a loop")
            ends = [plant.world_body() if k < 0 else bodies[k] for k in (pin.body, pin.other)]
            spots = [np.array(scene.local(k, pin.point)) for k in (pin.body, pin.other)]
            plant.AddBallConstraint(ends[0], spots[0], ends[1], spots[1])
        plant.Finalize()
        simulator = Simulator(builder.Build())
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        forces = []
        for one, body in zip(bodies, scene.bodies, strict=True):
            turn = RotationMatrix(Quaternion(*body.turn))
            if any(body.force):
                force = plants.ExternallyAppliedSpatialForce()
                force.body_index, force.p_BoBq_B = one.index(), np.zeros(3)
                force.F_Bq_W = SpatialForce(np.zeros(3), np.array(body.force, dtype=float))
                forces.append(force)
            if not one.is_floating_base_body():
                continue
            plant.SetFreeBodyPose(context, one, RigidTransform(turn, np.array(body.position, dtype=float)))
            velocity = SpatialVelocity(np.array(body.spin, dtype=float), np.array(body.velocity, dtype=float))
            plant.SetFreeBodySpatialVelocity(context=context, body=one, V_JpJc=velocity)
        plant.get_applied_spatial_force_input_port().FixValue(context, forces)
        simulator.Initialize()
        return DrakeRun(plant, graph.model_inspector(), simulator, bodies, h)


class DrakeRun:
    """A plant and its simulator."""

    def __init__(self, plant: Any, inspector: Any, simulator: Any, bodies: list[Any], h: float) -> None:
        self._plant, self._simulator, self._bodies, self._h = plant, simulator, bodies, h
        self._inspector = inspector
        self._context, self._made = plant.GetMyContextFromRoot(simulator.get_context()), 0
        self._number = {int(body.index()): i for i, body in enumerate(bodies)}

    def step(self) -> None:
        """Make one step of h."""
        self._made += 1
        self._simulator.AdvanceTo(self._made * self._h)

    def poses(self) -> FloatArray:
        """Return the poses (n, 7) of all bodies: centre of mass [m] and unit quaternion (w, x, y, z)."""
        poses = [self._plant.EvalBodyPoseInWorld(self._context, body) for body in self._bodies]
        return np.array([(*pose.translation(), *pose.rotation().ToQuaternion().wxyz()) for pose in poses])

    def velocities(self) -> FloatArray:
        """Return the velocities (n, 6) of all bodies: of the centre of mass, then angular; world axes."""
        twists = [self._plant.EvalBodySpatialVelocityInWorld(self._context, body) for body in self._bodies]
        return np.array([(*twist.translational(), *twist.rotational()) for twist in twists])

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step: points, and surfaces, each as one contact with its resultant."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        number, inspector = self._number, self._inspector
        told: list[tuple[int, int, Any, Any, Any]] = []
        for i in range(results.num_point_pair_contacts()):
            # The normal points from B into A, and the force acts on B.
            info = results.point_pair_contact_info(i)
            pair = number.get(int(info.bodyB_index()), -1), number.get(int(info.bodyA_index()), -1)
            told.append((*pair, info.contact_point(), -info.point_pair().nhat_BA_W, info.contact_force()))
        for i in range(results.num_hydroelastic_contacts()):
            # Normals point from N into M, and the force acts on the body of M.
            info = results.hydroelastic_contact_info(i)
            surface = info.contact_surface()
            frames = (inspector.GetFrameId(shape) for shape in (surface.id_M(), surface.id_N()))
            one, other = (number.get(int(self._plant.GetBodyFromFrameId(frame).index()), -1) for frame in frames)
            told.append((one, other, surface.centroid(), surface.face_normal(0), info.F_Ac_W().translational()))
        point, normal, force = (np.array([line[k] for line in told]).reshape(-1, 3) for k in (2, 3, 4))
        return EngineContacts(tuple(line[0] for line in told), tuple(line[1] for line in told), point, normal, force)


def _add_joint(plant: Any, scene: Scene, bodies: list[Any], i: int, joint: Joint) -> None:
    """Add the joint of body i to the plant, between frames with world axes at the start."""
    from pydrake.common.eigen_geometry import Quaternion
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint

    frames = []
    for k in (joint.other, i):
        # Frames at the joint's point, with world axes at the start.
        one = plant.world_body() if k < 0 else bodies[k]
        turn = RotationMatrix() if k < 0 else RotationMatrix(Quaternion(*scene.bodies[k].turn)).inverse()
        place = RigidTransform(turn, np.array(scene.local(k, joint.point), dtype=float))
        frames.append(plant.AddFrame(FixedOffsetFrame(f"joint of {i} on {k}", one.body_frame(), place)))
    kind = RevoluteJoint if joint.kind == "revolute" else PrismaticJoint
    plant.AddJoint(kind(f"joint {i}", *frames, np.array(joint.axis, dtype=float)))


def _shape(shape: ShapeSpec) -> Any:
    """Return Drake's geometry of a shape; Drake takes full lengths."""
    from pydrake import geometry

    size = shape.size
    if shape.kind == "box":
        return geometry.Box(*(2.0 * np.array(size)))
    return geometry.Sphere(size[0]) if shape.kind == "sphere" else geometry.Capsule(size[0], 2.0 * size[1])


#: Releases that must not be used for comparisons: 4.0.0 has a wrong Hessian for sparse Jacobians.
WRONG_RELEASES = ("4.0.0",)


def import_mujoco() -> Any:
    """Return the package ``mujoco``, for measurements.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed.
    ImportError
        The installed release is one of `WRONG_RELEASES`.
    """
    import mujoco

    if mujoco.__version__ in WRONG_RELEASES:
        raise ImportError(
            f"MuJoCo {mujoco.__version__} has a wrong Hessian for sparse Jacobians, so its figures mean nothing: "
            f"install another release, for example pip install 'mujoco!={mujoco.__version__}'"
        )
    return mujoco


class MuJoCo:
    """The package ``mujoco``."""

    def __init__(self, setting: str = "") -> None:
        mujoco = import_mujoco()
        self.name = f"mujoco:{setting}" if setting else "mujoco"
        self.version = str(mujoco.__version__)
        self._setting = setting

    def load(self, scene: Scene, h: float) -> MuJoCoRun:
        """Return a run of the scene; a restitution raises `NotSupportedError`."""
        import mujoco

        if scene.restitution > 0.0:
            raise NotSupportedError("MuJoCo has no coefficient of restitution")
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = h, scene.gravity
        if self._setting:
            spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
        if self._setting == "noslip":
            spec.option.noslip_iterations = 10
        friction = [scene.mu, 0.005, 0.0001]
        # With condim 3 a contact has only sliding friction, as in the scene.
        for wall in scene.walls:
            turn = np.zeros(4)
            mujoco.mju_quatZ2Vec(turn, np.array(wall.normal, dtype=float))
            spot = (wall.offset * np.array(wall.normal, dtype=float)).tolist()
            plane, endless = mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0]
            spec.worldbody.add_geom(type=plane, size=endless, pos=spot, quat=turn, friction=friction, condim=3)
        made: dict[int, Any] = {-1: spec.worldbody}
        for i, body in enumerate(scene.bodies):
            joint = scene.joint_of(i)
            other = -1 if joint is None else joint.other
            outer = UNTURNED if other < 0 else scene.bodies[other].turn
            turn = quaternion.multiply(quaternion.conjugate(outer), body.turn)
            one = made[i] = made[other].add_body(name=f"body {i}", pos=scene.local(other, body.position), quat=turn)
            if joint is None:
                one.add_freejoint()
            else:
                sort = mujoco.mjtJoint.mjJNT_HINGE if joint.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
                one.add_joint(type=sort, pos=scene.local(i, joint.point), axis=scene.local(i, joint.axis, point=False))
            one.explicitinertial, one.mass, one.inertia = True, body.mass, body.inertia
            one.ipos = (0.0, 0.0, 0.0)
            if body.shape is None:
                continue
            kind = getattr(mujoco.mjtGeom, f"mjGEOM_{body.shape.kind.upper()}")
            one.add_geom(type=kind, size=[*body.shape.size, 0.0, 0.0][:3], friction=friction, condim=3)
        for pin in scene.pins:
            names = ["world" if k < 0 else f"body {k}" for k in (pin.body, pin.other)]
            row = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY)
            row.name1, row.name2, row.data[:3] = *names, scene.local(pin.body, pin.point)
        model = spec.compile()
        data = mujoco.MjData(model)
        for i, body in enumerate(scene.bodies):
            if scene.joint_of(i) is None:
                first = model.body(f"body {i}").dofadr[0]
                data.qvel[first : first + 6] = (*body.velocity, *scene.local(i, body.spin, point=False))
            data.xfrc_applied[model.body(f"body {i}").id, :3] = body.force
        mujoco.mj_forward(model, data)
        return MuJoCoRun(model, data, [model.body(f"body {i}").id for i in range(len(scene.bodies))])


class MuJoCoRun:
    """A model and its data."""

    def __init__(self, model: Any, data: Any, ids: list[int]) -> None:
        self._model, self._data, self._ids = model, data, ids
        self._number = {one: i for i, one in enumerate(ids)}

    def step(self) -> None:
        """Make one step of h; after `mj_step`, poses and velocities of bodies are from its beginning."""
        import mujoco

        mujoco.mj_step(self._model, self._data)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_comVel(self._model, self._data)

    def poses(self) -> FloatArray:
        """Return the poses (n, 7) of all bodies: centre of mass [m] and unit quaternion (w, x, y, z)."""
        return np.hstack((self._data.xpos[self._ids], self._data.xquat[self._ids]))

    def velocities(self) -> FloatArray:
        """Return the velocities (n, 6) of all bodies: of the centre of mass, then angular; world axes."""
        import mujoco

        twists = np.zeros((len(self._ids), 6))
        for one, twist in zip(self._ids, twists, strict=True):
            mujoco.mj_objectVelocity(self._model, self._data, mujoco.mjtObj.mjOBJ_BODY, one, twist, 0)
        return np.roll(twists, 3, axis=1)

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step; MuJoCo's normal points from the first geom into the second.

        So the body of the second geom is ``body`` of `EngineContacts`, and the force acts on it.
        """
        import mujoco

        model, data, wrench = self._model, self._data, np.zeros(6)
        body, other, force = [], [], []
        for i, contact in enumerate(data.contact[: data.ncon]):
            mujoco.mj_contactForce(model, data, i, wrench)
            body.append(self._number.get(int(model.geom_bodyid[contact.geom2]), -1))
            other.append(self._number.get(int(model.geom_bodyid[contact.geom1]), -1))
            force.append(contact.frame.reshape(3, 3).T @ wrench[:3])
        point = np.array([contact.pos for contact in data.contact[: data.ncon]]).reshape(-1, 3)
        normal = np.array([contact.frame[:3] for contact in data.contact[: data.ncon]]).reshape(-1, 3)
        return EngineContacts(tuple(body), tuple(other), point, normal, np.array(force).reshape(-1, 3))
