"""Multibody models: bodies, joints, kinematics and dynamics.

Build a `Model` with `ModelBuilder` or `load_urdf`, then call functions of (model, q, v, ...). They return new
arrays and keep no state. `kinematics` computes the poses and velocities of one instant once; pass its result in place
of q.

- Links: For the kernels a body is broken up into links, one for each elementary motion. A composite or Euler joint is
  a chain of links without mass in between, and fixed bodies belong to the link they are fixed to. So all joints need
  the codes of `contactlab.multibody.kernels`, and no algorithm has a case for composite joints.
- Memory: A packed model is one buffer of integers and one of floats, which kernels cut into views. Separate arrays
  would cost more to pass than the computation.
- Frames: Spatial vectors have the angular part first. Inside the kernels they are in world axes, about the origin of
  the root link of their tree, as a fixed point. Sums over bodies then need no transforms, and no digits are lost far
  from the world's origin. Public 6-vectors of points are in world axes at the point; `f_ext` is about the world origin.
- Batches: q, v and other arguments broadcast over leading axes. Portions run on threads, and the number of threads
  changes no bit.
- Custom joints are Python. Their transform, subspace and velocity product are evaluated before the kernel runs.
- Factors: `factorize_mass_matrix` keeps articulated inertias (O(nv) for each solve), `factorize_ltl` the factor of a
  given matrix along the branches.
- Errors: Kernels return codes. The entry at fault is searched for afterwards, so the usual call has no
  additional cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.multibody import joints
from contactlab.multibody.bodies import BodySpec, JointLimits
from contactlab.multibody.builder import ModelBuilder, lock_joints
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
from contactlab.multibody.configuration import (
    difference,
    integrate,
    neutral,
    normalize,
    random_configuration,
)
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
from contactlab.multibody.mass_matrix import (
    LTLFactor,
    MassMatrixFactor,
    factorize_ltl,
    factorize_mass_matrix,
    mass_matrix,
    solve_mass_matrix,
)
from contactlab.multibody.model import Model, dof_overview, hierarchy_overview, workspace
from contactlab.multibody.points import (
    body_origins_overview,
    body_pose,
    body_poses,
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
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError
from contactlab.multibody.urdf import UrdfError, UrdfModel, UrdfWarning, load_urdf
from contactlab.naming import module_hooks

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
    "dof_overview",
    "effort_limits",
    "external_forces",
    "factorize_ltl",
    "factorize_mass_matrix",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_lagrangian",
    "hierarchy_overview",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "joint_damping",
    "joint_friction",
    "joints",
    "kinematics",
    "kinetic_energy",
    "linear_momentum",
    "load_urdf",
    "lock_joints",
    "mass_matrix",
    "mimic_coupling",
    "neutral",
    "nonlinear_effects",
    "normalize",
    "point_acceleration",
    "point_acceleration_6d",
    "point_acceleration_derivatives",
    "point_bias_acceleration",
    "point_bias_acceleration_6d",
    "point_in_body",
    "point_jacobian",
    "point_jacobian_6d",
    "point_position",
    "point_velocity",
    "point_velocity_6d",
    "point_velocity_derivatives",
    "position_limits",
    "potential_energy",
    "random_configuration",
    "solve_mass_matrix",
    "velocity_limits",
    "workspace",
    "zero_moment_point",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
