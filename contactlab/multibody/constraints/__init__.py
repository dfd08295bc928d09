"""Contacts, closed loops and custom conditions on the motion of a model: rows, their matrices, and the dynamics.

A `ConstraintSet` is a description. It packs its rows once, and groups rows of one point or of one pair of frames.
`kernels.rows` computes G, gamma and errors. Jacobians, constrained dynamics, assembly and `problem_data_from` all use
it. Custom rows are evaluated in Python beforehand.

Forward dynamics is one compiled call for each of three methods, which differ in the matrix they factorise. If pivots
show dependent rows or missing inertia, all call one rank-revealing kernel, the null space by QR with pivoting. So each
method gives the same result for a redundant set, with rank, residual and the shortest forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.multibody.constraints import solve
from contactlab.multibody.constraints.assembly import AssembledPosition, AssembledVelocity, assemble_q, assemble_v
from contactlab.multibody.constraints.check import ConstraintCheck, ConstraintReport, check_constraint
from contactlab.multibody.constraints.constraint_set import ConstraintGroup, ConstraintSet
from contactlab.multibody.constraints.custom import CustomConstraint
from contactlab.multibody.constraints.derivatives import (
    ConstrainedMotionDerivatives,
    forward_dynamics_constraints_derivatives,
)
from contactlab.multibody.constraints.evaluation import (
    ConstrainedSystem,
    baumgarte_term,
    constrained_system,
    constraint_gamma,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
)
from contactlab.multibody.constraints.forward_dynamics import (
    ConstrainedMotion,
    ConstraintImpact,
    constraint_impulses,
    delassus_matrix,
    forward_dynamics_constraints,
)
from contactlab.multibody.constraints.inverse_dynamics import (
    Actuation,
    ConstrainedInverseDynamics,
    inverse_dynamics_constraints,
    inverse_dynamics_constraints_relaxed,
    is_fully_actuated,
)
from contactlab.multibody.constraints.rows import (
    Baumgarte,
    ConstraintError,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    PointPair,
)
from contactlab.multibody.constraints.wrenches import BodyWrench, group_wrenches
from contactlab.naming import module_hooks

__all__ = [
    "Actuation",
    "AssembledPosition",
    "AssembledVelocity",
    "Baumgarte",
    "BodyWrench",
    "ConstrainedInverseDynamics",
    "ConstrainedMotion",
    "ConstrainedMotionDerivatives",
    "ConstrainedSystem",
    "ConstraintCheck",
    "ConstraintError",
    "ConstraintGroup",
    "ConstraintImpact",
    "ConstraintReport",
    "ConstraintSet",
    "ContactConstraint",
    "CustomConstraint",
    "DistanceConstraint",
    "LoopConstraint",
    "PointPair",
    "assemble_q",
    "assemble_v",
    "baumgarte_term",
    "check_constraint",
    "constrained_system",
    "constraint_gamma",
    "constraint_impulses",
    "constraint_jacobian",
    "constraint_position_error",
    "constraint_velocity_error",
    "delassus_matrix",
    "forward_dynamics_constraints",
    "forward_dynamics_constraints_derivatives",
    "group_wrenches",
    "inverse_dynamics_constraints",
    "inverse_dynamics_constraints_relaxed",
    "is_fully_actuated",
    "solve",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
