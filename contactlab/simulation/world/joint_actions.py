"""Actions on the joints of a world, as data, and their rows.

Actions are limits, damping, dry friction, drives, mimics and loops. Loops include a spring between two points and a
polynomial relation between two joints.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from contactlab.constraint_solver.model_problem.drives import Drive, DriveTerm, RowKind
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import Model, integrate
from contactlab.multibody.bodies import WORLD, joint_axes
from contactlab.multibody.constraints import (
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    LoopConstraint,
    PointPair,
)
from contactlab.multibody.constraints.custom import CustomRows
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number, read_only, set_fields
from contactlab.simulation.world.errors import SimulationConfigError


@dataclass(frozen=True)
class Coefficient:
    """A number of one coordinate of a joint: viscous damping [N m s/rad, N s/m] or dry friction [N m, N]."""

    # The body that the joint moves, and the degree of freedom.
    body: str
    coordinate: int
    value: float  # the number, at least 0


@dataclass(frozen=True)
class MimicJoint:
    """A joint of one coordinate that follows another: multiplier times its position, plus offset."""

    # The bodies that the two joints move.
    body: str
    followed: str
    # Coefficients of the relation.
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Loop:
    """A bilateral constraint, or a spring."""

    #: A `LoopConstraint`, `DistanceConstraint`, `ContactConstraint`, `CustomConstraint` or `PointSpring` between bodies
    #: of the world.
    constraint: Any
    erp: float | None  # fraction of its position error corrected in a step, None for the stepper's
    # Of a custom constraint: the bodies it acts on, None if its Jacobian shows them.
    bodies: tuple[str, ...] | None = None

    @property
    def joined(self) -> tuple[str, ...] | None:
        """Names of its bodies, the world included; None if only its Jacobian shows them."""
        if isinstance(self.constraint, LoopConstraint):
            return self.constraint.predecessor, self.constraint.successor
        if isinstance(self.constraint, PointPair):
            return self.constraint.body_a, self.constraint.body_b
        return (self.constraint.body,) if isinstance(self.constraint, ContactConstraint) else self.bodies


@dataclass(frozen=True, eq=False)
class JointActions:
    """All joint actions; joints are named by the bodies they move, drives numbered in their order.

    Attributes
    ----------
    limits
        Ranges of coordinates.
    damping, friction
        Viscous damping and dry friction, by coordinate.
    drives
        Motors, with different names.
    mimics
        Mimic joints.
    loops
        Other equations, and springs between points.
    """

    limits: tuple[JointLimit, ...] = ()
    damping: tuple[Coefficient, ...] = ()
    friction: tuple[Coefficient, ...] = ()
    drives: tuple[Drive, ...] = ()
    mimics: tuple[MimicJoint, ...] = ()
    loops: tuple[Loop, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return True if the world has no joint actions."""
        return not any(getattr(self, field.name) for field in fields(self))

    @property
    def springs(self) -> tuple[tuple[int, DriveTerm], ...]:
        """Indices of drives, with their terms without force bounds: they are implicit, in the mass matrix."""
        return tuple((i, term) for i, one in enumerate(self.drives) for term in one.terms() if term.is_implicit)

    def drive_number(self, name: str) -> int:
        """Return the number of a drive; -1 for an unknown name."""
        return next((i for i, drive in enumerate(self.drives) if drive.name == name), -1)


@dataclass(frozen=True, eq=False)
class JointPolynomial(CustomConstraint):
    """One row: the position of a joint of one coordinate is a polynomial of the position of another joint.

    Parameters
    ----------
    body
        Body whose joint follows, a hinge or slide.
    followed
        Body whose joint is followed, a hinge or slide; None: the polynomial is its constant, which locks the joint.
    coefficients
        (n,) for the powers 0, 1, ... of the followed position.
    name
        Group of the row, as for `LoopConstraint`.
    """

    body: str
    followed: str | None
    coefficients: FloatArray
    name: str | None = None

    # Not a field, because it is the same for all instances.
    rows = 1

    def __post_init__(self) -> None:
        set_fields(self, coefficients=finite_array(self.coefficients, "coefficients", (None,), SimulationConfigError))

    def jacobian(self, model: Model, q: FloatArray) -> FloatArray:
        """Return G (1, nv): 1 for the joint that follows, minus the slope for the followed joint."""
        G = np.zeros((1, model.nv))
        G[0, model.v_slice(self.body).start] = 1.0
        if self.followed is not None:
            G[0, model.v_slice(self.followed).start] -= self._value(model, q, 1)
        return G

    def gamma(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gamma (1,): the curvature times the square of the followed speed."""
        speed = 0.0 if self.followed is None else float(v[model.v_slice(self.followed).start])
        return np.array([self._value(model, q, 2) * speed * speed])

    def position_error(self, model: Model, q: FloatArray) -> FloatArray:
        """Return the joint's deviation from the polynomial (1,)."""
        return np.array([q[model.q_slice(self.body).start] - self._value(model, q, 0)])

    def _value(self, model: Model, q: FloatArray, order: int) -> float:
        """Return the polynomial, or its derivative, at the position of the followed joint."""
        at = 0.0 if self.followed is None else float(q[model.q_slice(self.followed).start])
        power = np.polynomial.polynomial
        return float(power.polyval(at, power.polyder(self.coefficients, order)))


@dataclass(frozen=True, eq=False)
class PointSpring(PointPair):
    """The force -stiffness (length - rest_length) - damping (rate of the length) along the line between two points.

    `WorldBuilder.add_spring` adds one. The law is satisfied at the end of the step along the line at its start,
    together with all contacts and joints, so that any stiffness and damping is stable. The line turns from step to
    step. Across it a stretched spring acts like an explicit force, and needs h^2 stiffness (1 - rest_length / length) <
    4 m. Coincident points have no line, and no force.

    Parameters
    ----------
    body_a, body_b
        Bodies; "world" for a fixed point.
    point_a, point_b
        (3,) [m] in body coordinates.
    rest_length
        [m], at least 0.
    stiffness, damping
        [N/m] and [N s/m], at least 0, not both 0.
    name
        Name of its row.

    Raises
    ------
    SimulationConfigError
        A value is invalid; the error names the field and the value.
    """

    rest_length: float
    stiffness: float
    damping: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        self.check_points(SimulationConfigError)
        given = {field: getattr(self, field) for field in ("rest_length", "stiffness", "damping")}
        set_fields(self, **{k: finite_number(value, k, SimulationConfigError, least=0.0) for k, value in given.items()})
        if self.stiffness == self.damping == 0.0:
            raise SimulationConfigError("stiffness", "and damping are both 0: such a spring does nothing")

    @property
    def zero(self) -> float:
        """Return the length at rest."""
        return self.rest_length


SAMPLES = 8
SPREAD = 0.5  # rad or m from the start


@dataclass(frozen=True)
class JointRow:
    """One row.

    Attributes
    ----------
    kind
        Kind of the row; its ``label`` has it in words.
    label
        Kind and joint in words.
    trees
        Numbers of the trees it acts on, ascending.
    dof, place
        Degree of freedom, and index in q of its position; -1 for none.
    sign
        +1 for the lower end of a range, -1 for the upper one, 0 for other rows.
    bound
        Position of a stop [rad, m]; of other rows the maximum force [N m, N].
    low
        Minimum force [N m, N] of rows without a stop.
    factor, offset
        Restitution of a stop; multiplier and offset of a follower; offset of a drive's target.
    stiffness, dissipation, speed
        Stiffness and dissipation of a compliant stop, of a spring, or of a drive; wanted speed of
        the drive, also for a stop on its coordinate.
    erp
        Fraction of the error corrected in a step, NaN for the stepper's.
    other, other_place
        Degree of freedom and index in q of the followed joint.
    drive
        Number of the drive; for a stop, of a drive on the same coordinate; -1 for none.
    loop_row
        Number of the row among the rows of loops and springs.
    angular
        1 for a stop of an angle.
    """

    kind: RowKind
    label: str
    trees: tuple[int, ...]
    dof: int = -1
    place: int = -1
    sign: float = 0.0
    bound: float = math.inf
    low: float = -math.inf
    factor: float = 0.0
    offset: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0
    speed: float = 0.0
    erp: float = math.nan
    other: int = -1
    other_place: int = -1
    drive: int = -1
    loop_row: int = -1
    angular: int = 0

    @property
    def rank(self) -> int:
        """Rank of its row class, see `RowKind`."""
        return self.kind.rank


def joint_rows(
    actions: JointActions,
    model: Model,
    loops: ConstraintSet,
    place_of: Callable[[str, int], tuple[int, int]],
    start: tuple[FloatArray, FloatArray],
) -> tuple[JointRow, ...]:
    """Return the rows of a world in the order of their numbers.

    ``loops`` are the constraints of the actions, ``place_of`` is the method of the world, and ``start`` its initial q
    and v.
    """

    def locate(body: str, coordinate: int) -> tuple[int, int, tuple[int, ...], str]:
        # index in v, index in q (-1 for a coordinate without a position, as of a quaternion), tree, name in messages
        dof, place = place_of(body, coordinate)
        v = model.v_slice(body)
        name = body if v.stop - v.start == 1 else f"{body}[{coordinate}]"
        return dof, place, (int(model.body_trees[model.index(body)]),), name

    drives = {place_of(drive.joint, drive.coordinate)[0]: i for i, drive in enumerate(actions.drives)}
    rows = _loop_rows(actions.loops, loops, model, start)
    for limit in actions.limits:
        dof, place, trees, name = locate(limit.joint, limit.coordinate)
        drive = drives.get(dof, -1)
        for sign, end, bound in ((1.0, "lower", limit.lower), (-1.0, "upper", limit.upper)):
            if math.isfinite(bound):
                rows.append(
                    JointRow(
                        RowKind.LIMIT,
                        f"{end} limit of {name}",
                        trees,
                        dof,
                        place,
                        sign,
                        bound,
                        factor=limit.restitution,
                        stiffness=limit.stiffness,
                        dissipation=limit.dissipation,
                        speed=actions.drives[drive].terms()[0].speed if drive >= 0 else 0.0,
                        drive=drive,
                        angular=_turns(model, limit.joint, limit.coordinate),
                    )
                )
    for one in actions.friction:
        dof, place, trees, name = locate(one.body, one.coordinate)
        rows.append(
            JointRow(RowKind.FRICTION, f"friction of {name}", trees, dof, place, bound=one.value, low=-one.value)
        )
    for i, motor in enumerate(actions.drives):
        dof, place, trees, _ = locate(motor.joint, motor.coordinate)
        rows += [
            JointRow(
                term.kind,
                str(motor.name),
                trees,
                dof,
                place,
                bound=term.high,
                low=term.low,
                offset=term.offset,
                stiffness=term.stiffness,
                dissipation=term.damping,
                speed=term.speed,
                drive=i,
            )
            for term in motor.terms()
            if not term.is_implicit
        ]
    for follower in actions.mimics:
        dof, place, trees, name = locate(follower.body, 0)
        other, other_place, more, _ = locate(follower.followed, 0)
        rows.append(
            JointRow(
                RowKind.MIMIC,
                f"mimic of {name}",
                tuple(sorted({*trees, *more})),
                dof,
                place,
                factor=follower.multiplier,
                offset=follower.offset,
                other=other,
                other_place=other_place,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.rank, row.kind)))


def _loop_rows(
    loops: Sequence[Loop], cs: ConstraintSet, model: Model, start: tuple[FloatArray, FloatArray]
) -> list[JointRow]:
    """Return the rows of the loops and springs of a world, in the order of its loops.

    A spring has one row. Loops between bodies that cannot move have none.
    """
    found = []
    customs = {custom.rows.start: custom for custom in cs.packed.custom}
    for loop, place in zip(loops, cs._places, strict=True):
        trees = _trees(model, loop, customs.get(place.start), start)
        if trees:  # between bodies that do not move there is no row
            erp = math.nan if loop.erp is None else loop.erp
            if isinstance(spring := loop.constraint, PointSpring):
                found.append(
                    JointRow(
                        RowKind.SPRING,
                        cs.labels[place.start],
                        trees,
                        stiffness=spring.stiffness,
                        dissipation=spring.damping,
                        loop_row=place.start,
                    )
                )
                continue
            found += [
                JointRow(RowKind.LOOP, cs.labels[row], trees, erp=erp, loop_row=row)
                for row in range(place.start, place.stop)
            ]
    return found


def _trees(
    model: Model, loop: Loop, custom: CustomRows | None, start: tuple[FloatArray, FloatArray]
) -> tuple[int, ...]:
    """Return the trees that a loop connects."""
    if loop.joined is None:
        assert custom is not None
        return trees_acted_on(model, custom, start)
    trees = {int(model.body_trees[model.index(name)]) for name in loop.joined if name != WORLD}
    return tuple(sorted(trees - {-1}))


def trees_acted_on(model: Model, custom: CustomRows, start: tuple[FloatArray, FloatArray]) -> tuple[int, ...]:
    """Return the trees in whose columns the Jacobian is not 0, at the start or at states near it.

    If the Jacobian raises at one of these states, or is 0, return all trees.
    """
    rng = np.random.default_rng(0)
    starts, (q0, v0) = model.tree_starts, start
    seen = np.zeros(model.nv, dtype=np.bool_)
    for k in range(SAMPLES):
        v = SPREAD * rng.standard_normal(model.nv) if k else v0
        q = integrate(model, q0, v, 1.0) if k else q0
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                seen |= np.any(custom.jacobian(model, read_only(q), read_only(v), 0.1 * k) != 0.0, axis=0)
        except Exception:  # noqa: BLE001  # the user's function, at a state for which it may not be defined
            return tuple(range(starts.size - 1))
    trees = np.flatnonzero(np.logical_or.reduceat(seen, starts[:-1])) if seen.any() else ()
    return tuple(int(tree) for tree in trees) or tuple(range(starts.size - 1))


def _turns(model: Model, body: str, coordinate: int) -> int:
    """Return 1 if a coordinate is an angle, otherwise 0."""
    joint = model.bodies[model.index(body)].joint
    return int(joint_axes(joint)[coordinate].startswith("R"))
