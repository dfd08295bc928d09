"""Multibody models: bodies, joints, kinematics and dynamics.

Build a `Model` with `ModelBuilder` or `Model.from_urdf`, then call functions of (model, q, v, ...): they return new
arrays and keep nothing. `kinematics` computes one instant once for several of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.multibody import joints
from contactlab.multibody.batch import (
    body_poses,
    difference_batch,
    forward_dynamics_batch,
    integrate_batch,
    inverse_dynamics_batch,
    mass_matrix_batch,
    nonlinear_effects_batch,
    point_jacobian_batch,
    point_motion_batch,
    solve_mass_matrix_batch,
)
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.centroidal import (
    angular_momentum,
    angular_momentum_rate,
    center_of_mass,
    center_of_mass_acceleration,
    center_of_mass_jacobian,
    center_of_mass_velocity,
    centroidal_momentum_matrix,
    kinetic_energy,
    linear_momentum,
    potential_energy,
    zero_moment_point,
)
from contactlab.multibody.configuration import difference, integrate, neutral, normalize, random_configuration
from contactlab.multibody.derivatives import (
    CentroidalMomentumDerivatives,
    CentroidalRateDerivatives,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    PointAccelerationDerivatives,
    PointVelocityDerivatives,
    centroidal_momentum_derivatives,
    centroidal_rate_derivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    point_acceleration_derivatives,
    point_velocity_derivatives,
)
from contactlab.multibody.dynamics import (
    PointForce,
    external_forces,
    forward_dynamics,
    forward_dynamics_lagrangian,
    inverse_dynamics,
    nonlinear_effects,
)
from contactlab.multibody.inverse_kinematics import (
    CenterOfMassTarget,
    IKResult,
    OrientationTarget,
    PointTarget,
    PoseTarget,
    inverse_kinematics,
)
from contactlab.multibody.joint_data import (
    JointData,
    Mimic,
    MimicCoupling,
    apply_mimic,
    effort_limits,
    joint_damping,
    joint_friction,
    mimic_coupling,
    position_limits,
    velocity_limits,
)
from contactlab.multibody.kinematics import Kinematics, kinematics
from contactlab.multibody.limits import JointLimits
from contactlab.multibody.mass_matrix import (
    LTLFactor,
    MassMatrixFactor,
    factorize_ltl,
    factorize_mass_matrix,
    mass_matrix,
    solve_mass_matrix,
)
from contactlab.multibody.model import BodySpec, Model
from contactlab.multibody.overview import body_origins_overview, dof_overview, hierarchy_overview
from contactlab.multibody.points import (
    body_pose,
    body_spatial_jacobian,
    point_acceleration,
    point_acceleration_6d,
    point_bias_acceleration,
    point_bias_acceleration_6d,
    point_in_body,
    point_jacobian,
    point_jacobian_6d,
    point_position,
    point_velocity,
    point_velocity_6d,
)
from contactlab.multibody.structure import workspace
from contactlab.multibody.urdf import UrdfError, UrdfModel, UrdfWarning
from contactlab.naming import doors
from contactlab.spatial import RigidInertia, Transform
from contactlab.spatial.errors import MultibodyError

__all__ = [
    "BodySpec",
    "CenterOfMassTarget",
    "CentroidalMomentumDerivatives",
    "CentroidalRateDerivatives",
    "ForwardDynamicsDerivatives",
    "IKResult",
    "InverseDynamicsDerivatives",
    "JointData",
    "JointLimits",
    "Kinematics",
    "LTLFactor",
    "MassMatrixFactor",
    "Mimic",
    "MimicCoupling",
    "Model",
    "ModelBuilder",
    "MultibodyError",
    "OrientationTarget",
    "PointAccelerationDerivatives",
    "PointForce",
    "PointTarget",
    "PointVelocityDerivatives",
    "PoseTarget",
    "RigidInertia",
    "Transform",
    "UrdfError",
    "UrdfModel",
    "UrdfWarning",
    "angular_momentum",
    "angular_momentum_rate",
    "apply_mimic",
    "body_origins_overview",
    "body_pose",
    "body_poses",
    "body_spatial_jacobian",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "centroidal_rate_derivatives",
    "difference",
    "difference_batch",
    "dof_overview",
    "effort_limits",
    "external_forces",
    "factorize_ltl",
    "factorize_mass_matrix",
    "forward_dynamics",
    "forward_dynamics_batch",
    "forward_dynamics_derivatives",
    "forward_dynamics_lagrangian",
    "hierarchy_overview",
    "integrate",
    "integrate_batch",
    "inverse_dynamics",
    "inverse_dynamics_batch",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "joint_damping",
    "joint_friction",
    "joints",
    "kinematics",
    "kinetic_energy",
    "linear_momentum",
    "mass_matrix",
    "mass_matrix_batch",
    "mimic_coupling",
    "neutral",
    "nonlinear_effects",
    "nonlinear_effects_batch",
    "normalize",
    "point_acceleration",
    "point_acceleration_6d",
    "point_acceleration_derivatives",
    "point_bias_acceleration",
    "point_bias_acceleration_6d",
    "point_in_body",
    "point_jacobian",
    "point_jacobian_6d",
    "point_jacobian_batch",
    "point_motion_batch",
    "point_position",
    "point_velocity",
    "point_velocity_6d",
    "point_velocity_derivatives",
    "position_limits",
    "potential_energy",
    "random_configuration",
    "solve_mass_matrix",
    "solve_mass_matrix_batch",
    "velocity_limits",
    "workspace",
    "zero_moment_point",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = doors(__name__, __all__, {})
