"""Inputs of a problem: a model at one instant with everything that may act on it. Both levels are stated from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints import ConstraintSet
from contactlab.formulation.bridge.bilateral_rows import BilateralRows
from contactlab.formulation.bridge.contact_geometry import ContactGeometry
from contactlab.formulation.bridge.contact_point import ContactPoint
from contactlab.formulation.bridge.held_joints import Holder, Servo
from contactlab.formulation.bridge.limit_rows import Stop
from contactlab.formulation.bridge.options import Stabilisation, Thresholds
from contactlab.formulation.bridge.rows import Operator, Row, RowTable
from contactlab.multibody.inverse_dynamics import inverse_dynamics, nonlinear_effects
from contactlab.multibody.kinematics import Kinematics
from contactlab.multibody.mass_matrix import MassMatrixFactor, factorize_mass_matrix
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData
from problem_data.inertia import FunctionInertia

Data = TypeVar("Data", ConstraintAccelProblemData, ConstraintVelProblemData)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Arguments of `problem_data_from`, checked and placed at their instant; see there."""

    model: Model
    kin: Kinematics
    tau: FloatArray
    f_ext: FloatArray | None
    contacts: tuple[ContactPoint, ...]
    geometry: ContactGeometry
    loads: FloatArray  # (nc,) [N] of the contacts with torsional or rolling friction
    stops: tuple[Stop, ...]
    holders: tuple[Holder, ...]
    servos: tuple[Servo, ...]
    loops: BilateralRows
    mimics: BilateralRows
    constraint_set: ConstraintSet | None
    h: float | None
    at_end: bool
    edges: int
    stabilisation: Mapping[str, Stabilisation]
    thresholds: Thresholds
    given: Mapping[str, float]  # forces, by label, of what holds a joint at acceleration level and is known to give way
    t: float

    @cached_property
    def factor(self) -> MassMatrixFactor:
        """M, ready to solve with."""
        return factorize_mass_matrix(self.model, self.kin)

    @cached_property
    def applied(self) -> FloatArray:
        """Forces (nv,) but those of constraints: tau, weights, gyroscopic terms and f_ext."""
        return self.tau - nonlinear_effects(self.model, self.kin, self.kin.v, self.f_ext)

    @property
    def solve_inertia(self) -> FunctionInertia:
        """B -> M^-1 B for problem data: it takes vectors and matrices, which need not be found out by trial."""
        return FunctionInertia(self.factor.solve, self.model.nv, vectors=True, matrices=True)

    @cached_property
    def momentum(self) -> FloatArray:
        """M v (nv,) in O(nv): the forces that would bring about the accelerations v at rest, without gravity."""
        return inverse_dynamics(self.model.weightless, self.kin._q, np.zeros(self.model.nv), self.kin._v)

    @cached_property
    def slip_speed(self) -> FloatArray:
        """Tangential speed (nc,) [m/s] of every contact."""
        return np.asarray(np.linalg.norm(self.geometry.slip, axis=1))

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Mask (nc,) of the contacts that slide, by the threshold."""
        return np.asarray(self.slip_speed > self.thresholds.slip)


@dataclass(frozen=True, eq=False)
class Level(Generic[Data]):
    """Problem data of one level."""

    data: Data
    rows: RowTable  # what their rows stand for
    contacts: IntArray  # (nc,) place, among all contacts given, of each row of N


def place(rows: dict[Operator, list[Row]], operator: Operator, row: Row) -> None:
    """Append a row to those of an operator."""
    rows.setdefault(operator, []).append(row)


def contact_rows(
    p: Inputs,
    rows: dict[Operator, list[Row]],
    operator: Operator,
    contacts: IntArray,
    directions: FloatArray,
    kind: str,
    edges: IntArray | None = None,
) -> None:
    """Name one row for each of the contacts (m,) along its direction (m, 3)."""
    fixed = directions.view()
    fixed.flags.writeable = False
    for i, c in enumerate(contacts.tolist()):
        name, contact = p.geometry.names[c], p.contacts[c]
        edge = None if edges is None else int(edges[i])
        what = kind if edge is None else f"edge {edge}"
        bodies = (contact.body_a, contact.body_b)
        place(rows, operator, Row(operator, 0, kind, name, f"{name}: {what}", *bodies, edge, fixed[i]))
