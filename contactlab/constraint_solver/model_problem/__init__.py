"""Problem data of both levels from a model, its state and its contacts, and the effect of forces on the model.

`problem_data_from` returns a `ModelProblem`; `delassus` is for problems too large for dense matrices. Rows are sparse,
with entries only on the paths from a body to its root. M is never formed. Its inverse is applied through articulated
bodies, and the Delassus matrix is built from columns L^-T J^T along the branches.
"""

from __future__ import annotations

from contactlab.constraint_solver.model_problem import drives
from contactlab.constraint_solver.model_problem.branches import Delassus, delassus
from contactlab.constraint_solver.model_problem.building import problem_data_from
from contactlab.constraint_solver.model_problem.contact_geometry import ContactPoint
from contactlab.constraint_solver.model_problem.drives import *  # noqa: F403  # its __all__
from contactlab.constraint_solver.model_problem.inputs import Row, RowTable
from contactlab.constraint_solver.model_problem.options import BridgeError, JointLimit, Stabilisation, Thresholds
from contactlab.constraint_solver.model_problem.problem import BodyLoad, ContactLoad, ModelProblem, ProblemRows

__all__ = [
    "BodyLoad",
    "BridgeError",
    "ContactLoad",
    "ContactPoint",
    "Delassus",
    "JointLimit",
    "ModelProblem",
    "ProblemRows",
    "Row",
    "RowTable",
    "Stabilisation",
    "Thresholds",
    "delassus",
    "problem_data_from",
]
__all__ += drives.__all__
