"""Inputs of a model problem, common to both levels, and the meaning of every row.

Loops and mimic relations of the model are bilateral rows, with their terms at both levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from contactlab.constraint_solver.model_problem.contact_geometry import ContactGeometry, ContactPoint
from contactlab.constraint_solver.model_problem.joint_limit_rows import BoundedRow, LimitRow
from contactlab.constraint_solver.model_problem.options import BridgeError, Stabilisation, Thresholds
from contactlab.multibody.constraints import ConstraintSet, baumgarte_term
from contactlab.multibody.constraints.evaluation import evaluated
from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    POSITION_ERROR,
    VELOCITY_ERROR,
)
from contactlab.multibody.dynamics import inverse_dynamics, nonlinear_effects
from contactlab.multibody.joint_data import mimic_coupling
from contactlab.multibody.kinematics import Kinematics
from contactlab.multibody.mass_matrix import MassMatrixFactor, factorize_mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, close_names, read_only
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData
from problem_data.inertia import FunctionInertia

Operator = Literal["N", "F", "Q", "L", "G", "B"]
#: Operators of problem data; Q exists at acceleration level only, B at velocity level only.
OPERATORS: tuple[Operator, ...] = ("N", "F", "Q", "L", "G", "B")


@dataclass(frozen=True, eq=False)
class Row:
    """One row of an operator of problem data.

    Attributes
    ----------
    operator, index
        Position of the row: row `index` of "N", "F", "Q", "L", "G" or "B".
    kind
        "normal", "friction", "sliding", "lower limit", "upper limit", "loop", "mimic", "dry friction", "drive",
        "torsional friction" or "rolling friction".
    source
        Name of its contact, joint, loop or drive.
    label
        A label that is unique in the problem, such as "contact foot: edge 1" or "lower limit of knee".
    body_a, body_b
        The bodies of a contact, "" otherwise. The force acts on B along `direction`.
    edge
        Number of the friction edge; None for other rows.
    direction
        (3,) direction of a contact's row, world axes; None for other rows.
    bounds
        Smallest and largest force [N or N m] of the row; not enforced at acceleration level, see
        `ModelProblem.overloaded_joints`.
    """

    operator: Operator
    index: int
    kind: str
    source: str
    label: str
    body_a: str = ""
    body_b: str = ""
    edge: int | None = None
    direction: FloatArray | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows of a problem by operator, in the order of the operators' rows; `table[label]` finds one."""

    N: tuple[Row, ...] = ()
    F: tuple[Row, ...] = ()
    Q: tuple[Row, ...] = ()
    L: tuple[Row, ...] = ()
    G: tuple[Row, ...] = ()
    B: tuple[Row, ...] = ()

    @classmethod
    def of(cls, rows: list[Row]) -> RowTable:
        """Number the rows of each operator, and make equal labels distinct."""
        count: dict[str, int] = {}
        placed: dict[str, list[Row]] = {}
        for row in rows:
            count[row.label] = count.get(row.label, 0) + 1
            label = row.label if count[row.label] == 1 else f"{row.label} ({count[row.label]})"
            own = placed.setdefault(row.operator, [])
            own.append(replace(row, index=len(own), label=label))
        return cls(**{operator: tuple(own) for operator, own in placed.items()})

    def __iter__(self) -> Iterator[Row]:
        for operator in OPERATORS:
            yield from getattr(self, operator)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all rows, in the order N, F, Q, L, G, B."""
        return tuple(row.label for row in self)

    def __getitem__(self, label: str) -> Row:
        for row in self:
            if row.label == label:
                return row
        raise BridgeError("label", f"no row is labelled {label!r}{close_names(label, self.labels)}")

    def __str__(self) -> str:
        return "\n".join(f"{row.operator}[{row.index}]  {row.label}" for row in self)


@dataclass(frozen=True, eq=False)
class BilateralRows:
    """Bilateral rows of one kind."""

    rows: tuple[Row, ...]  # meaning of each row
    jacobian: FloatArray  # (nb, nv)
    scale: FloatArray  # (nb,) sizes of the terms of its entries
    acceleration: FloatArray  # (nb,) kG of the acceleration level
    #: position, rate: (nb,) violations of positions, and the part of the rows' rate that does not depend on v.
    position: FloatArray
    rate: FloatArray
    drift: FloatArray  # (nb,) rate of the rows at a = 0, such as (dG/dt) v
    #: (nb,) rows without a velocity condition: over a step h they are G v+ = G v + h gamma.
    free: NDArray[np.bool_]
    stabilisation: Stabilisation  # of the velocity level

    def velocity_term(self, v: FloatArray, erp: float, h: float | None, at_end: bool) -> FloatArray:
        """Return kG (nb,) of a step, or of an impact, which has no duration and no stabilisation."""
        if h is None:
            return np.where(self.free, -self.jacobian @ v, self.rate)
        held = self.rate + erp * self.position / h
        if at_end:
            held = held + h * self.drift
        return np.where(self.free, h * self.acceleration - self.jacobian @ v, held)


def loop_rows(
    model: Model, kin: Kinematics, loops: ConstraintSet | None, how: Stabilisation, t: float
) -> BilateralRows:
    """Return rows of a constraint set; kG is -gamma with Baumgarte terms, or phi_t at velocity level."""
    if loops is None:
        return _none(model, how)
    if not isinstance(loops, ConstraintSet):
        raise BridgeError("loops", f"must be a ConstraintSet, got {type(loops).__name__}")
    if loops.model is not model:
        raise BridgeError("loops", "this ConstraintSet belongs to another model")
    if how.baumgarte is not None:
        raise BridgeError(
            "stabilisation", "'loops' have a Baumgarte term of their own: see ConstraintSet.with_baumgarte"
        )
    values = evaluated(model, kin, kin.v, loops, JACOBIAN | GAMMA | BAUMGARTE | POSITION_ERROR | VELOCITY_ERROR, t)
    G, gamma = values.G, values.gamma
    # Rows of custom constraints; and rows without a velocity condition: at acceleration level, or contacts with a
    # prescribed acceleration.
    custom, free = np.zeros(len(loops), dtype=bool), loops.accelerations != 0.0
    for one in loops.packed.custom:
        custom[one.rows] = True
        free[one.rows] = one.level == "acceleration"
    rows = tuple(Row("G", i, "loop", label, label) for i, label in enumerate(loops.labels))
    return BilateralRows(
        rows=rows,
        jacobian=G,
        scale=at_least_its_entries(values.scale, G),
        acceleration=-gamma,
        position=values.phi,
        # Only custom rows have such a rate; for others the difference would be rounding.
        rate=np.where(custom, values.phid - G @ kin._v, 0.0),
        drift=baumgarte_term(model, kin, kin.v, loops, t=t) - gamma,
        free=np.asarray(free),
        stabilisation=how,
    )


def mimic_rows(model: Model, kin: Kinematics, mimics: bool, how: Stabilisation) -> BilateralRows:
    """Return the rows of the joints that mimic others, by the model's description."""
    if not mimics:
        return _none(model, how)
    coupling = mimic_coupling(model, kin.q)
    alpha, beta = how.rates
    labels = [f"mimic of {joint}" for joint in coupling.joints]
    return BilateralRows(
        rows=tuple(
            Row("G", i, "mimic", joint, label)
            for i, (joint, label) in enumerate(zip(coupling.joints, labels, strict=True))
        ),
        jacobian=coupling.G,
        scale=at_least_its_entries(np.zeros(len(labels)), coupling.G),
        acceleration=2.0 * alpha * (coupling.G @ kin._v) + beta**2 * coupling.error,
        position=coupling.error,
        rate=np.zeros(len(labels)),
        drift=np.zeros(len(labels)),
        free=np.zeros(len(labels), dtype=bool),
        stabilisation=how,
    )


def at_least_its_entries(scale: FloatArray, G: FloatArray) -> FloatArray:
    """Return positive scales (nb,): at least the largest entry of the row, and 1 for zero rows."""
    size = np.maximum(scale, np.abs(G).max(axis=1, initial=0.0))
    return np.where(size > 0.0, size, 1.0)


def _none(model: Model, how: Stabilisation) -> BilateralRows:
    empty = np.zeros(0)
    return BilateralRows((), np.zeros((0, model.nv)), *(empty,) * 5, np.zeros(0, dtype=bool), how)


Data = TypeVar("Data", ConstraintAccelProblemData, ConstraintVelProblemData)


@dataclass(frozen=True, eq=False)
class ProblemInputs:
    """Checked arguments of `problem_data_from` with their instant; see there.

    ``h`` is the step [s] of the velocity level, None for an impact.
    """

    model: Model
    kin: Kinematics
    tau: FloatArray
    f_ext: FloatArray | None
    contacts: tuple[ContactPoint, ...]
    geometry: ContactGeometry
    loads: FloatArray  # (nc,) [N] of the contacts with torsional or rolling friction
    limit_rows: tuple[LimitRow, ...]
    bounded_rows: tuple[BoundedRow, ...]
    loops: BilateralRows
    mimics: BilateralRows
    constraint_set: ConstraintSet | None
    h: float | None
    at_end: bool
    edges: int
    contact_friction: str
    stabilisation: Mapping[str, Stabilisation]
    thresholds: Thresholds
    given: Mapping[str, float]  # forces at acceleration level, by label, of joints that slip
    t: float

    @cached_property
    def factor(self) -> MassMatrixFactor:
        """Factor of M, for solves in O(nv)."""
        return factorize_mass_matrix(self.model, self.kin)

    @cached_property
    def applied(self) -> FloatArray:
        """Return all forces (nv,) except constraint forces: tau, weights, gyroscopic terms and f_ext."""
        return self.tau - nonlinear_effects(self.model, self.kin, self.kin.v, self.f_ext)

    @property
    def solve_inertia(self) -> FunctionInertia:
        """Return the function B -> M^-1 B for problem data; it declares that it accepts vectors and matrices."""
        return FunctionInertia(self.factor.solve, self.model.nv, vectors=True, matrices=True)

    @cached_property
    def momentum(self) -> FloatArray:
        """Return M v (nv,) in O(nv): the forces that cause the accelerations v at rest, without gravity."""
        return inverse_dynamics(self.model.without_gravity, self.kin._q, np.zeros(self.model.nv), self.kin._v)

    @cached_property
    def slip_speed(self) -> FloatArray:
        """Tangential speed (nc,) [m/s] of every contact."""
        return np.asarray(np.linalg.norm(self.geometry.slip, axis=1))

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Mask (nc,) of the contacts that slide, by the threshold."""
        return np.asarray(self.slip_speed > self.thresholds.slip)


@dataclass(frozen=True, eq=False)
class LevelData(Generic[Data]):
    """Problem data of one level."""

    data: Data
    rows: RowTable  # meaning of their rows
    contacts: IntArray  # (nc,) index, among all given contacts, of each row of N


def contact_rows(
    p: ProblemInputs,
    rows: list[Row],
    operator: Operator,
    contacts: IntArray,
    directions: FloatArray,
    kind: str,
    edges: IntArray | None = None,
) -> None:
    """Append one row for each of the contacts (m,) along its direction (m, 3)."""
    fixed = read_only(directions)
    for i, c in enumerate(contacts.tolist()):
        name, contact = p.geometry.names[c], p.contacts[c]
        edge = None if edges is None else int(edges[i])
        what = kind if edge is None else f"edge {edge}"
        bodies = (contact.body_a, contact.body_b)
        rows.append(Row(operator, 0, kind, name, f"{name}: {what}", *bodies, edge, fixed[i]))
