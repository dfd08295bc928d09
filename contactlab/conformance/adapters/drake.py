"""Drake's discrete plant: its default approximation of contact, or one of its four by name.

Contact is Drake's default, hydroelastic with fallback to points. Point contact alone has only one point for each pair
of shapes, on which a box cannot stand. Walls are rigid, boxes have a modulus of 1e7 Pa, and round shapes have point
contact.

Drake has no coefficient of restitution: contact is compliant with dissipation. Scenes with restitution are not offered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.conformance.case import EngineContacts, Joint, NotSupportedError, Scene, ShapeSpec
from contactlab.spatial.arrays import FloatArray


class Drake:
    """The package ``drake``."""

    def __init__(self, setting: str = "") -> None:
        import importlib.metadata

        import pydrake  # noqa: F401  a missing one is told here

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
