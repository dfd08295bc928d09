"""Contacts, closed loops and conditions of one's own on the motion of a model.

A set of rows, the matrices they stand for, and what follows from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.constraints import solve
from contactlab.constraints.actuation import Actuation, is_fully_actuated
from contactlab.constraints.assembly_position import AssembledPosition, assemble_q
from contactlab.constraints.assembly_velocity import AssembledVelocity, assemble_v
from contactlab.constraints.baumgarte import Baumgarte
from contactlab.constraints.check import ConstraintCheck, ConstraintReport, check_constraint
from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.contact import ContactConstraint
from contactlab.constraints.custom import CustomConstraint
from contactlab.constraints.derivatives import (
    ConstrainedMotionDerivatives,
    forward_dynamics_constraints_derivatives,
)
from contactlab.constraints.distance import DistanceConstraint, PointPair
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.evaluation import (
    baumgarte_term,
    constraint_gamma,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
)
from contactlab.constraints.forward_dynamics import ConstrainedMotion, forward_dynamics_constraints
from contactlab.constraints.groups import ConstraintGroup
from contactlab.constraints.impulses import ConstraintImpact, constraint_impulses
from contactlab.constraints.inverse_dynamics import ConstrainedInverseDynamics, inverse_dynamics_constraints
from contactlab.constraints.inverse_dynamics_relaxed import inverse_dynamics_constraints_relaxed
from contactlab.constraints.loop import LoopConstraint
from contactlab.constraints.system import ConstrainedSystem, constrained_system
from contactlab.constraints.unit_forces import delassus_matrix
from contactlab.constraints.wrenches import BodyWrench, group_wrenches
from contactlab.naming import doors

__all__ = [
    "Actuation",
    "is_fully_actuated",
    "AssembledPosition",
    "assemble_q",
    "AssembledVelocity",
    "assemble_v",
    "ConstrainedInverseDynamics",
    "inverse_dynamics_constraints",
    "inverse_dynamics_constraints_relaxed",
    "Baumgarte",
    "BodyWrench",
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
    "solve",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = doors(__name__, __all__, {"delassus": "contactlab.constraints.delassus_matrix"})
