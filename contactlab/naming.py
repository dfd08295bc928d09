"""The names that a package lists, and the names of other libraries with their meaning here.

A name of another library is an error that states the name here; the pages `docs/from_*.md` have the arguments.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def module_hooks(package: str, public: Sequence[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its ``__name__``.
    public
        Its ``__all__``, which `dir` shows, so that completion shows no modules and no imports.
    """

    def attribute(name: str) -> Any:
        raise unknown_name(package, name, public)

    return attribute, lambda: sorted(public)


def unknown_name(package: str, name: str, public: Iterable[str]) -> AttributeError:
    """Return the error about a name that a package does not have, with its name here or with close names."""
    text = f"module {package!r} has no attribute {name!r}"
    if not name.startswith("_"):
        found = foreign_names().get(name, ())
        known = [one for one in public if not one.startswith("_")]
        spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        if found:
            text += f": {'; '.join(f'{library} {name} is {meant} here' for library, meant in found)}"
        elif spelled in known:
            text += f": it is {package}.{spelled}"
        elif close := difflib.get_close_matches(name, known, n=3, cutoff=0.75):
            text += f"; close: {', '.join(close)}"
    return AttributeError(text, name=name)


@functools.cache
def foreign_names() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return, by foreign name, the libraries that have it (as "RBDL's") and its counterpart here."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for library, table in _FOREIGN.items():
        for address, names in table.items():
            for name in names.split():
                found[name] = (*found.get(name, ()), (f"{library}'s", address))
    return found


_MULTIBODY, _CONSTRAINTS = "contactlab.multibody.", "contactlab.multibody.constraints."
_SOLVER = "contactlab.ConstraintSolver."

#: By library: addresses here, and the names that it has for each. Words behind the address say how to call it.
_FOREIGN: dict[str, dict[str, str]] = {
    "RBDL": {
        _MULTIBODY + "forward_dynamics": "ForwardDynamics",
        _MULTIBODY + "forward_dynamics_lagrangian": "ForwardDynamicsLagrangian",
        _MULTIBODY + "inverse_dynamics": "InverseDynamics",
        _MULTIBODY + "nonlinear_effects": "NonlinearEffects",
        _MULTIBODY + "mass_matrix": "CompositeRigidBodyAlgorithm",
        _MULTIBODY + "solve_mass_matrix": "CalcMInvTimesTau",
        _MULTIBODY + "factorize_ltl": "SparseFactorizeLTL",
        _MULTIBODY + "LTLFactor.solve_lt": "SparseSolveLTx",
        _MULTIBODY + "LTLFactor.solve_l": "SparseSolveLx",
        _MULTIBODY + "kinematics": "UpdateKinematics UpdateKinematicsCustom",
        _MULTIBODY + "point_position": "CalcBodyToBaseCoordinates",
        _MULTIBODY + "point_in_body": "CalcBaseToBodyCoordinates",
        _MULTIBODY + "body_pose (.R is its transpose)": "CalcBodyWorldOrientation",
        _MULTIBODY + "point_velocity": "CalcPointVelocity",
        _MULTIBODY + "point_velocity_6d": "CalcPointVelocity6D",
        _MULTIBODY + "point_acceleration": "CalcPointAcceleration",
        _MULTIBODY + "point_acceleration_6d": "CalcPointAcceleration6D",
        _MULTIBODY + "point_jacobian": "CalcPointJacobian",
        _MULTIBODY + "point_jacobian_6d": "CalcPointJacobian6D",
        _MULTIBODY + "body_spatial_jacobian": "CalcBodySpatialJacobian",
        _MULTIBODY + "inverse_kinematics": "InverseKinematics",
        _MULTIBODY + "inverse_kinematics, with a list of targets": "InverseKinematicsConstraintSet InverseKinematicsCS "
        "ClearConstraints",
        _MULTIBODY + "PointTarget": "AddPointConstraint AddPointConstraintXY AddPointConstraintZ",
        _MULTIBODY + "CenterOfMassTarget": "AddPointConstraintCoMXY",
        _MULTIBODY + "OrientationTarget": "AddOrientationConstraint",
        _MULTIBODY + "PoseTarget": "AddFullConstraint",
        _MULTIBODY + "center_of_mass": "CalcCenterOfMass",
        _MULTIBODY + "zero_moment_point": "CalcZeroMomentPoint",
        _MULTIBODY + "potential_energy": "CalcPotentialEnergy",
        _MULTIBODY + "kinetic_energy": "CalcKineticEnergy",
        _MULTIBODY + "hierarchy_overview": "GetModelHierarchy",
        _MULTIBODY + "dof_overview": "GetModelDOFOverview",
        _MULTIBODY + "body_origins_overview": "GetNamedBodyOriginsOverview",
        _MULTIBODY + "load_urdf": "URDFReadFromFile URDFReadFromString loadModel",
        _MULTIBODY + "ModelBuilder.remove_body, of a model that was read": "PartialURDFReadFromFile "
        "PartialURDFReadFromString",
        _MULTIBODY + "ModelBuilder.add_body": "AddBody AppendBody AddBodyCustomJoint AddBodySphericalJoint",
        _MULTIBODY + "ModelBuilder.change_body": "SetJointFrame SetBodyMass SetBodyInertia SetBodyCenterOfMass "
        "SetBodyInertialParameters",
        _MULTIBODY + "RigidInertia": "Body fromMassComInertia SpatialRigidBodyInertia createFromMassComInertiaC",
        _MULTIBODY + "RigidInertia.from_matrix": "createFromMatrix",
        _MULTIBODY + "RigidInertia.join": "Join",
        _MULTIBODY + "RigidInertia.separate": "Separate",
        _MULTIBODY + "joints.Fixed": "FixedBody JointTypeFixed",
        _MULTIBODY + "joints.Revolute": "JointTypeRevolute JointTypeRevoluteX JointTypeRevoluteY JointTypeRevoluteZ",
        _MULTIBODY + "joints.Prismatic": "JointTypePrismatic",
        _MULTIBODY + "joints.Screw": "JointTypeHelical",
        _MULTIBODY + "joints.Spherical": "JointTypeSpherical",
        _MULTIBODY + "joints.EulerZYX": "JointTypeEulerZYX",
        _MULTIBODY + "joints.EulerXYZ": "JointTypeEulerXYZ",
        _MULTIBODY + "joints.EulerYXZ": "JointTypeEulerYXZ",
        _MULTIBODY + "joints.EulerZXY": "JointTypeEulerZXY",
        _MULTIBODY + "joints.TranslationXYZ": "JointTypeTranslationXYZ",
        _MULTIBODY + "joints.FloatingBase": "JointTypeFloatingBase",
        _MULTIBODY + "joints.Composite": "JointType1DoF JointType2DoF JointType3DoF JointType4DoF JointType5DoF "
        "JointType6DoF fromJointAxes",
        _MULTIBODY + "joints.CustomJoint": "JointTypeCustom CustomJoint jcalc",
        _MULTIBODY + "Model.index": "GetBodyId",
        _MULTIBODY + "Model.names": "GetBodyName IsBodyId",
        _MULTIBODY + "Model.bodies": "IsFixedBodyId GetParentBodyId GetJointFrame",
        _MULTIBODY + "Model.q_slice": "GetQuaternion SetQuaternion",
        _MULTIBODY + "MultibodyError": "RBDLError",
        "contactlab.multibody.spatial.Transform": "SpatialTransform Xtrans",
        "contactlab.multibody.spatial.Transform.rotation": "Xrot",
        "contactlab.multibody.spatial.cross_motion": "crossm",
        "contactlab.multibody.spatial.cross_force": "crossf",
        "contactlab.multibody.spatial.quaternion": "Quaternion fromAxisAngle",
        _CONSTRAINTS + "ConstraintSet": "Bind",
        _CONSTRAINTS + "ContactConstraint": "AddContactConstraint",
        _CONSTRAINTS + "LoopConstraint": "AddLoopConstraint",
        _CONSTRAINTS + "CustomConstraint": "AddCustomConstraint",
        _CONSTRAINTS + "ConstraintSet.group": "getGroupIndexByName getGroupIndexById",
        _CONSTRAINTS + "ConstraintSet.group_of_row": "getGroupIndexByAssignedId",
        _CONSTRAINTS + "ConstraintSet.groups": "getGroupIndexMax getGroupName getGroupSize getGroupType getGroupId "
        "getGroupAssignedId",
        _CONSTRAINTS + "ConstraintSet.constraints": "contactConstraints loopConstraints",
        _CONSTRAINTS + "ConstraintSet.with_baumgarte": "enableBaumgarteStabilization disableBaumgarteStabilization",
        _CONSTRAINTS + "ConstraintGroup.baumgarte": "isBaumgarteStabilizationEnabled",
        _CONSTRAINTS + "ConstraintGroup.coefficients": "getBaumgarteStabilizationCoefficients",
        _CONSTRAINTS + "Baumgarte.term": "calcBaumgarteStabilizationForces",
        _CONSTRAINTS + "group_wrenches": "calcForces calcImpulses",
        _CONSTRAINTS + "is_fully_actuated, with a mask `actuated`,": "SetActuationMap",
        _CONSTRAINTS + "forward_dynamics_constraints, with linear_solver=,": "SetSolver",
        _CONSTRAINTS + "constraint_jacobian": "CalcConstraintsJacobian CalcContactJacobian",
        _CONSTRAINTS + "constraint_position_error": "CalcConstraintsPositionError calcPositionError",
        _CONSTRAINTS + "constraint_velocity_error": "CalcConstraintsVelocityError calcVelocityError",
        _CONSTRAINTS + "constrained_system": "CalcConstrainedSystemVariables CalcContactSystemVariables",
        _CONSTRAINTS + "forward_dynamics_constraints(method='direct')": "ForwardDynamicsConstraintsDirect "
        "ForwardDynamicsContactsDirect ForwardDynamicsContactsLagrangian",
        _CONSTRAINTS + "forward_dynamics_constraints(method='range_space_sparse')": ""
        "ForwardDynamicsConstraintsRangeSpaceSparse ForwardDynamicsContactsRangeSpaceSparse",
        _CONSTRAINTS + "forward_dynamics_constraints(method='null_space')": "ForwardDynamicsConstraintsNullSpace "
        "ForwardDynamicsContactsNullSpace",
        _CONSTRAINTS + "forward_dynamics_constraints(method='kokkevis')": "ForwardDynamicsContactsKokkevis "
        "ForwardDynamicsContacts",
        _CONSTRAINTS + "constraint_impulses(method='direct')": "ComputeConstraintImpulsesDirect "
        "ComputeContactImpulsesDirect ComputeContactImpulsesLagrangian",
        _CONSTRAINTS + "constraint_impulses(method='range_space_sparse')": "ComputeConstraintImpulsesRangeSpaceSparse "
        "ComputeContactImpulsesRangeSpaceSparse",
        _CONSTRAINTS + "constraint_impulses(method='null_space')": "ComputeConstraintImpulsesNullSpace "
        "ComputeContactImpulsesNullSpace",
        _CONSTRAINTS + "solve.direct": "SolveConstrainedSystemDirect SolveContactSystemDirect",
        _CONSTRAINTS + "solve.range_space_sparse": "SolveConstrainedSystemRangeSpaceSparse "
        "SolveContactSystemRangeSpaceSparse",
        _CONSTRAINTS + "solve.null_space": "SolveConstrainedSystemNullSpace SolveContactSystemNullSpace",
        _CONSTRAINTS + "assemble_q": "CalcAssemblyQ",
        _CONSTRAINTS + "assemble_v": "CalcAssemblyQDot",
        _CONSTRAINTS + "inverse_dynamics_constraints": "InverseDynamicsConstraints InverseDynamicsWithConstraints",
        _CONSTRAINTS + "inverse_dynamics_constraints_relaxed": "InverseDynamicsConstraintsRelaxed",
        _CONSTRAINTS + "is_fully_actuated": "isConstrainedSystemFullyActuated",
    },
    "Drake": {
        "contactlab.ConstraintSolver": "ConstraintSolver",
        _SOLVER + "solve_constraint_problem": "SolveConstraintProblem",
        _SOLVER + "solve_impact_problem": "SolveImpactProblem",
        "problem_data.ConstraintAccelProblemData": "ConstraintAccelProblemData",
        "problem_data.ConstraintVelProblemData": "ConstraintVelProblemData",
        _SOLVER + "compute_generalized_force_from_constraint_forces": "ComputeGeneralizedForceFromConstraintForces",
        _SOLVER + "compute_generalized_acceleration_from_constraint_forces": ""
        "ComputeGeneralizedAccelerationFromConstraintForces",
        _SOLVER + "compute_generalized_acceleration": "ComputeGeneralizedAcceleration",
        _SOLVER + "compute_generalized_velocity_change": "ComputeGeneralizedVelocityChange",
        _SOLVER + "calc_contact_forces_in_contact_frames": "CalcContactForcesInContactFrames",
        _SOLVER + "construct_base_discretized_time_lcp": "ConstructBaseDiscretizedTimeLcp "
        "ConstructBaseDiscretizedTimeLCP",
        _SOLVER + "update_discretized_time_lcp": "UpdateDiscretizedTimeLcp UpdateDiscretizedTimeLCP",
        _SOLVER
        + "populate_packed_constraint_forces_from_lcp_solution": "PopulatePackedConstraintForcesFromLcpSolution",
        "lcp.reduce": "MlcpToLcpData MlcpToLcp",
        "lcp.Lemke": "MobyLcpSolver MobyLCPSolver SolveLcpLemke UnrevisedLemkeSolver",
        "lcp.Regularized": "SolveLcpLemkeRegularized",
        "lcp.residuals": "IsSolution ComputeZeroTolerance",
    },
    "Pinocchio": {
        _MULTIBODY + "load_urdf": "buildModelFromUrdf buildModelFromXML",
        "contactlab.simulation.load_mjcf_world": "buildModelFromMJCF",
        "contactlab.simulation.load_urdf_world": "buildGeomFromUrdf",
        _MULTIBODY + "lock_joints": "buildReducedModel",
        _MULTIBODY + "ModelBuilder.add_body": "addJoint appendBodyToJoint addFrame",
        _MULTIBODY + "ModelBuilder.add_spec": "appendModel",
        _MULTIBODY + "random_configuration": "randomConfiguration",
        _MULTIBODY + "kinematics": "forwardKinematics framesForwardKinematics",
        _MULTIBODY + "point_velocity_6d": "getFrameVelocity",
        _MULTIBODY + "point_acceleration_6d": "getFrameClassicalAcceleration",
        _MULTIBODY + "point_jacobian_6d": "computeFrameJacobian",
        _MULTIBODY + "body_spatial_jacobian": "getFrameJacobian",
        _MULTIBODY + "inverse_dynamics": "rnea",
        _MULTIBODY + "forward_dynamics": "aba",
        _MULTIBODY + "mass_matrix": "crba",
        _MULTIBODY + "nonlinear_effects": "nonLinearEffects computeGeneralizedGravity",
        _MULTIBODY + "inverse_dynamics_derivatives": "computeRNEADerivatives",
        _MULTIBODY + "forward_dynamics_derivatives": "computeABADerivatives",
        _MULTIBODY + "point_velocity_derivatives": "getPointVelocityDerivatives",
        _MULTIBODY + "point_acceleration_derivatives": "getPointClassicAccelerationDerivatives",
        _MULTIBODY + "centroidal_rate_derivatives": "computeCentroidalDynamicsDerivatives",
        _MULTIBODY + "solve_mass_matrix": "computeMinverse",
        _MULTIBODY + "center_of_mass": "centerOfMass",
        _MULTIBODY + "center_of_mass_jacobian": "jacobianCenterOfMass",
        _MULTIBODY + "centroidal_momentum_matrix": "ccrba",
        _MULTIBODY + "angular_momentum": "computeCentroidalMomentum",
        _MULTIBODY + "kinetic_energy": "computeKineticEnergy",
        _MULTIBODY + "potential_energy": "computePotentialEnergy",
        _MULTIBODY + "Model.mass": "computeTotalMass",
        "contactlab.multibody.spatial.RigidInertia": "Inertia",
        "contactlab.multibody.spatial.Transform": "SE3",
        "contactlab.multibody.spatial.quaternion.exp": "exp3",
        "contactlab.multibody.spatial.quaternion.log": "log3",
        "contactlab.collision.detection.collide": "computeCollisions",
        "contactlab.collision.detection.distance": "computeDistances",
        _CONSTRAINTS + "ConstraintSet": "RigidConstraintModel initConstraintDynamics",
        _CONSTRAINTS + "forward_dynamics_constraints": "constraintDynamics",
        _CONSTRAINTS + "forward_dynamics_constraints_derivatives": "computeConstraintDynamicsDerivatives",
        _CONSTRAINTS + "constraint_impulses": "impulseDynamics",
        _CONSTRAINTS + "constraint_jacobian": "getConstraintsJacobian",
        _CONSTRAINTS + "delassus_matrix": "computeDelassusMatrix",
        "contactlab.ConstraintSolver": "PointContactConstraintModel ADMMConstraintSolver PGSConstraintSolver",
    },
    "MuJoCo": {
        "contactlab.simulation.World": "mjModel MjModel",
        "contactlab.simulation.StepperState": "mjData MjData",
        "contactlab.simulation.Simulation.step": "mj_step",
        _MULTIBODY + "forward_dynamics": "mj_forward",
        _MULTIBODY + "inverse_dynamics": "mj_inverse",
        _MULTIBODY + "point_jacobian": "mj_jac",
        _MULTIBODY + "mass_matrix": "mj_fullM",
        _MULTIBODY + "nonlinear_effects": "mj_rne",
        "contactlab.simulation.World.cast_rays": "mj_ray mj_multiRay",
        "contactlab.simulation.find_contacts": "mj_collision",
        "contactlab.simulation.Recording.contacts": "mj_contactForce",
        "contactlab.derivatives.linearize": "mjd_transitionFD",
    },
}
