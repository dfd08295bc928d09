"""Linear complementarity problems from problem data, and conversion of their solutions to forces.

`blocks` eliminates the equations; `acceleration` and `discretized` state one problem each and unpack its solution.
`quadratic_programs` has friction backends, `strategy_solver` the default solver of a step, and `forces` certificates.
`softening` converts springs and dampers to terms of rows. `uniqueness` counts the velocities that solve a problem.
`kernels` contains the arithmetic that the compiled step shares. `model_problem` states problem data from a model.
"""

from typing import TYPE_CHECKING

from contactlab.constraint_solver.model_problem import drives, problem_data_from
from contactlab.constraint_solver.model_problem.branches import Delassus, delassus
from contactlab.constraint_solver.model_problem.contact_geometry import ContactPoint
from contactlab.constraint_solver.model_problem.drives import *  # noqa: F403  # its __all__
from contactlab.constraint_solver.model_problem.inputs import Row, RowTable
from contactlab.constraint_solver.model_problem.options import BridgeError, JointLimit, Stabilisation, Thresholds
from contactlab.constraint_solver.model_problem.problem import BodyLoad, ContactLoad, ModelProblem

# The function hides the module of the same name; `from contactlab.constraint_solver.softening import ...` still finds
# it.
from contactlab.constraint_solver.softening import (
    Softening,
    SpringDamper,
    impulse_softening,
    softening,
    spring_damper,
    spring_damper_from_impulse,
)
from contactlab.constraint_solver.solver import (
    AccelerationSolution,
    ConstraintSolveError,
    ConstraintSolver,
    ImpactSolution,
    Solution,
    StepSolution,
    certify_forces,
)
from contactlab.constraint_solver.uniqueness import Uniqueness, VelocityCount, motion_is_unique
from contactlab.naming import module_hooks

__all__ = [
    "AccelerationSolution",
    "BodyLoad",
    "BridgeError",
    "ConstraintSolveError",
    "ConstraintSolver",
    "ContactLoad",
    "ContactPoint",
    "Delassus",
    "ImpactSolution",
    "JointLimit",
    "ModelProblem",
    "Row",
    "RowTable",
    "Softening",
    "Solution",
    "SpringDamper",
    "Stabilisation",
    "StepSolution",
    "Thresholds",
    "Uniqueness",
    "VelocityCount",
    "certify_forces",
    "delassus",
    "impulse_softening",
    "motion_is_unique",
    "problem_data_from",
    "softening",
    "spring_damper",
    "spring_damper_from_impulse",
]
__all__ += drives.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
