"""Problem data of both levels from a model, its state and what touches it, and the way from forces back to the model.

`problem_data_from` is the way in, `ModelProblem` what it gives; `delassus` serves problems too large to be dense.
"""

from __future__ import annotations

from contactlab.formulation.bridge.building import problem_data_from
from contactlab.formulation.bridge.contact_geometry import ContactPoint
from contactlab.formulation.bridge.delassus_operator import Delassus, delassus
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.formulation.bridge.joint_actions import JointLimit, PositionDrive, VelocityDrive
from contactlab.formulation.bridge.options import Stabilisation, Thresholds
from contactlab.formulation.bridge.problem import BodyLoad, ContactLoad, ModelProblem, ProblemRows
from contactlab.formulation.bridge.rows import Row, RowTable

__all__ = [
    "BodyLoad",
    "BridgeError",
    "ContactLoad",
    "ContactPoint",
    "Delassus",
    "JointLimit",
    "ModelProblem",
    "PositionDrive",
    "ProblemRows",
    "Row",
    "RowTable",
    "Stabilisation",
    "Thresholds",
    "VelocityDrive",
    "delassus",
    "problem_data_from",
]
