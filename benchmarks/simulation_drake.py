"""A scene in Drake: a discrete plant with point contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pydrake import geometry
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, RoleAssign
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody import plant as drake_plant
from pydrake.multibody import tree as drake_tree
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.parsing import Parser
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from simulation_ours import Runs
from simulation_scenes import JOINTS, KD, KP, URDF, Body, Scene, standing_height


def drake_runs(scene: Scene, approximation: str) -> tuple[Runs, Callable[[], float]]:
    """Return runs of Drake's discrete plant with point contact, and the mean number of contacts (sampled ten times)."""
    builder = DiagramBuilder()
    plant, graph = drake_plant.AddMultibodyPlantSceneGraph(builder, scene.h)
    plant.set_discrete_contact_approximation(getattr(drake_plant.DiscreteContactApproximation, f"k{approximation}"))
    plant.set_contact_model(drake_plant.ContactModel.kPoint)
    friction = drake_plant.CoulombFriction(scene.mu, scene.mu)
    for i, (normal, offset) in enumerate(scene.walls):
        place = RigidTransform(
            RotationMatrix.MakeFromOneVector(np.array(normal), 2), offset * np.array(normal, dtype=float)
        )
        plant.RegisterCollisionGeometry(plant.world_body(), place, HalfSpace(), f"wall {i}", friction)
    bodies = []
    for i, body in enumerate(scene.bodies):
        unit = drake_tree.UnitInertia(*(body.inertia / body.mass))
        spatial = drake_tree.SpatialInertia(body.mass, np.zeros(3), unit)
        one = plant.AddRigidBody(f"body {i}", spatial)
        plant.RegisterCollisionGeometry(one, RigidTransform(), shape_of(body), f"shape {i}", friction)
        bodies.append(one)
    instance, joints = None, []
    if scene.reference is not None:
        (instance,) = Parser(plant).AddModels(str(URDF))
        for name in JOINTS:
            joint = plant.GetJointByName(name, instance)
            servo = plant.AddJointActuator(name, joint)
            servo.set_controller_gains(drake_tree.PdControllerGains(p=KP, d=KD))
            joints.append(joint)
        set_friction(plant, graph, instance, friction)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    root = simulator.get_mutable_context()
    inside = plant.GetMyMutableContextFromRoot(root)
    for one, body in zip(bodies, scene.bodies, strict=True):
        turn = RotationMatrix(Quaternion(*body.pose[3:]))
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


def shape_of(body: Body) -> Any:
    if body.kind == "box":
        return geometry.Box(*(2.0 * np.array(body.size)))
    if body.kind == "sphere":
        return geometry.Sphere(body.size[0])
    return geometry.Capsule(body.size[0], 2.0 * body.size[1])


def set_friction(plant: Any, graph: Any, instance: Any, friction: Any) -> None:
    """Give the shapes of a parsed robot the scene's friction."""
    for index in plant.GetBodyIndices(instance):
        for shape in plant.GetCollisionGeometriesForBody(plant.get_body(index)):
            properties = ProximityProperties()
            AddContactMaterial(friction=friction, properties=properties)
            graph.AssignRole(plant.get_source_id(), shape, properties, RoleAssign.kReplace)
