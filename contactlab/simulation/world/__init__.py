"""Worlds as descriptions: bodies, shapes, joints and their actions, and readers of robot description files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.naming import module_hooks
from contactlab.simulation.world import sensors
from contactlab.simulation.world.builder import WorldBuilder, load_mjcf, load_mjcf_world, load_urdf_world
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.joint_actions import JointActions, JointPolynomial, JointRow, PointSpring
from contactlab.simulation.world.motion import ConstantVelocity, Conveyor, Motion, Oscillation, PrescribedMotion
from contactlab.simulation.world.surface import AnyShape, Collider, RayHits, Visual, VisualMesh
from contactlab.simulation.world.world import StepperState, World

__all__ = [
    "AnyShape", "Collider", "ConstantVelocity", "Conveyor", "JointActions", "JointPolynomial", "JointRow", "Motion",
    "Oscillation", "PointSpring", "PrescribedMotion", "RayHits", "RowKind", "SimulationConfigError", "StepperState",
    "Visual", "VisualMesh", "World", "WorldBuilder", "load_mjcf", "load_mjcf_world", "load_urdf_world", "sensors",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
