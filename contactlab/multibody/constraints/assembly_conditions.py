"""Conditions of a constraint set on a configuration: residuals that must vanish, and their exact derivatives.

Dynamics needs rows G that are valid near a solution; assembly starts far from one. Three things therefore differ from
`constraint_position_error` and `constraint_jacobian`:

* The Jacobian here is the derivative of the residual everywhere. G is this derivative only on closed loops, because it
  omits the rotation of the predecessor's axes and the curvature of sin(angle).
* Two or three rotation rows of one loop require that the whole angle between their axes vanishes. It grows up to 180
  degrees, where sin(angle) would be zero again.
* A contact has no reference position: it keeps its initial position along its normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.custom import CustomRows
from contactlab.multibody.constraints.rows import ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.kinematics import Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose, point_jacobian, point_jacobian_6d, point_position
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.transform import Transform, cross_matrix

#: Residual e (k,) of a condition at kinematics, and its rate (k, nv) for motion along v.
Linearised: TypeAlias = tuple[FloatArray, FloatArray]


class Condition(Protocol):
    """Rows of residuals that must vanish at an assembled configuration."""

    def linearised(self, model: Model, kin: Kinematics) -> Linearised:
        """Return the residual e (k,), and its rate (k, nv)."""
        ...


@dataclass(frozen=True, eq=False)
class FixedPointCondition:
    """A point keeps its position along the normals of its rows."""

    #: body, point: The point.
    body: str
    point: FloatArray
    normals: FloatArray  # (k, 3)
    place: FloatArray  # (3,) initial position

    def linearised(self, model: Model, kin: Kinematics) -> Linearised:
        """Return the residual e (k,) [m], and its rate (k, nv)."""
        e = self.normals @ (point_position(model, kin, self.body, self.point) - self.place)
        return np.asarray(e), np.asarray(self.normals @ point_jacobian(model, kin, self.body, self.point))


@dataclass(frozen=True, eq=False)
class LoopClosure:
    """Rows of one pair of frames."""

    #: predecessor, successor: Bodies.
    predecessor: str
    successor: str
    #: X_p, X_s: Frames in them.
    X_p: Transform
    X_s: Transform
    axes: FloatArray  # (k, 6), rotation first, in the predecessor's frame
    #: Number of rotations that the rows fix as a whole: 3 (all), 2 (an axis keeps its direction) or 0 (row by row).
    aligned: int
    hinge: FloatArray  # (3,) the free axis, for ``aligned`` 2

    def linearised(self, model: Model, kin: Kinematics) -> Linearised:
        """Return the residual e (k,) [rad, m], and its rate (k, nv)."""
        one, two = body_pose(model, kin, self.predecessor), body_pose(model, kin, self.successor)
        R_p, R_s = one.R @ self.X_p.R, two.R @ self.X_s.R
        shift = R_p.T @ (two.R @ self.X_s.p + two.p - one.R @ self.X_p.p - one.p)
        turn, rate = self._turn(R_p.T @ R_s)
        J_p = point_jacobian_6d(model, kin, self.predecessor, self.X_p.p)
        J_s = point_jacobian_6d(model, kin, self.successor, self.X_s.p)
        angular = R_p.T @ (J_s[:3] - J_p[:3])
        # R_p^T (x_s - x_p) changes with the distance of the origins and with the predecessor's axes.
        linear = R_p.T @ (J_s[3:] - J_p[3:]) + cross_matrix(shift) @ (R_p.T @ J_p[:3])
        turning, moving = self.axes[:, :3], self.axes[:, 3:]
        return np.asarray(turning @ turn + moving @ shift), np.asarray(turning @ (rate @ angular) + moving @ linear)

    def _turn(self, D: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rotation error (3,), predecessor's axes, and its rate (3, 3) for a relative angular velocity."""
        if self.aligned == 3:
            return _rotation_vector(D)
        if self.aligned == 2:
            return _tilt(D, self.hinge)
        sine = 0.5 * np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
        # dD/dt = [w] D, and [w] D + D^T [w] is the cross product matrix of (tr(D) - D) w.
        return sine, 0.5 * (np.trace(D) * np.eye(3) - D)


def _rotation_vector(D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotation vector (3,) of D, and its rate (3, 3) for a unit angular velocity in the axes before D."""
    turn = quaternion.log(quaternion.from_matrix(D))
    return turn, turn_jacobian(turn).T


def turn_jacobian(turn: FloatArray) -> FloatArray:
    """Return J (3, 3), the rate of the rotation vector (3,) of exp(turn) for an angular velocity in the turned axes.

    It is the inverse of the right Jacobian of the exponential, I + [r]/2 + (1/a^2 - (1 + cos a)/(2 a sin a)) [r]^2 with
    a = |r| (Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, 2012, section 10.6). Its transpose
    applies to the axes before the turn.
    """
    angle = float(np.linalg.norm(turn))
    skew = cross_matrix(turn)
    if angle < 1e-3:
        factor = 1.0 / 12.0 + angle * angle / 720.0
    else:
        factor = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.asarray(np.eye(3) + 0.5 * skew + factor * (skew @ skew))


def _tilt(D: FloatArray, axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotation (3,) about an axis normal to ``axis`` that maps it to D axis, and its rate."""
    image = D @ axis
    normal = np.cross(axis, image)
    sine, cosine = float(np.linalg.norm(normal)), float(axis @ image)
    rate = cosine * np.eye(3) - np.outer(image, axis)  # of the normal
    if sine < 1e-7:
        if cosine > 0.0:
            return normal, rate
        # For opposite directions any axis is valid, along which the angle decreases at unit rate.
        away = np.linalg.svd(axis[None, :])[2][1]
        return np.pi * away, np.outer(away, away)
    angle = np.arctan2(sine, cosine)
    unit = normal / sine
    along = (1.0 - angle * cosine / sine) / sine  # derivative of angle / sin(angle), over sin(angle) once
    return angle * unit, angle / sine * rate + along * np.outer(normal, unit)


def loop_closures(rows: Sequence[LoopConstraint]) -> list[LoopClosure]:
    """Return one closure for all rows that join the same frames of the same bodies."""
    groups: dict[tuple[object, ...], list[LoopConstraint]] = {}
    for row in rows:
        frames = tuple(part.tobytes() for X in (row.X_p, row.X_s) for part in (X.R, X.p))
        groups.setdefault((row.predecessor, row.successor, *frames), []).append(row)
    return [_closure(group) for group in groups.values()]


def _closure(group: list[LoopConstraint]) -> LoopClosure:
    """Return the closure of loop rows between the same frames; two or three rotation rows require the whole angle."""
    first = group[0]
    # Unit vectors, so that residuals are angles and lengths in any units of the dynamics.
    axes = np.array([row.axis / np.linalg.norm(row.axis) for row in group])
    turning = axes[:, :3].any(axis=1)
    aligned, hinge = 0, np.zeros(3)
    # Rows that mix rotation and translation (screws) are used one by one.
    if turning.any() and not axes[turning, 3:].any():
        _, s, Vt = np.linalg.svd(axes[turning, :3])
        rank = int(np.count_nonzero(s > 1e-9 * s[0]))
        aligned = rank if rank >= 2 else 0
        hinge = Vt[2] if rank == 2 else hinge
    return LoopClosure(first.predecessor, first.successor, first.X_p, first.X_s, axes, aligned, hinge)


@dataclass(frozen=True, eq=False)
class PointDistance:
    """Two points have the distance that their row prescribes."""

    pair: PointPair

    def linearised(self, model: Model, kin: Kinematics) -> Linearised:
        """Return the residual e (1,) [m], and its rate (1, nv); coincident points have an arbitrary direction."""
        pair = self.pair
        a = point_position(model, kin, pair.body_a, pair.point_a)
        way = point_position(model, kin, pair.body_b, pair.point_b) - a
        distance = float(np.linalg.norm(way))
        along = way / distance if distance > 0.0 else np.array([1.0, 0.0, 0.0])
        J_a = point_jacobian(model, kin, pair.body_a, pair.point_a)
        J_b = point_jacobian(model, kin, pair.body_b, pair.point_b)
        return np.array([distance - pair.zero]), np.asarray(along @ (J_b - J_a))[None]


@dataclass(frozen=True, eq=False)
class CustomCondition:
    """Condition of a custom constraint on q at a time: its assembly methods, or otherwise its position error and G."""

    rows: CustomRows
    t: float

    def linearised(self, model: Model, kin: Kinematics) -> Linearised:
        """Return the residual e (m,), and its rate (m, nv)."""
        return self.rows.assembly_position(model, kin.q, self.t)


def conditions_of(model: Model, q0: FloatArray, cs: ConstraintSet, t: float) -> tuple[list[Condition], int]:
    """Return the conditions of a set: loops, distances, contacts at their positions at q0, then custom rows.

    The second value is the number of rows before custom rows.
    """
    at = kinematics(model, q0)
    conditions: list[Condition] = []
    conditions.extend(loop_closures([row for row in cs.constraints if isinstance(row, LoopConstraint)]))
    conditions.extend(PointDistance(row) for row in cs.constraints if isinstance(row, PointPair))
    conditions.extend(
        _contact_conditions(model, at, [row for row in cs.constraints if isinstance(row, ContactConstraint)])
    )
    conditions.extend(CustomCondition(rows, t) for rows in cs.packed.custom)
    return conditions, cs.n_rows - sum(rows.n for rows in cs.packed.custom)


def _contact_conditions(model: Model, at: Kinematics, rows: Sequence[ContactConstraint]) -> list[FixedPointCondition]:
    """Return one condition for each point with contact rows: it keeps its present position along their normals."""
    points: dict[tuple[str, bytes], list[ContactConstraint]] = {}
    for row in rows:
        points.setdefault((row.body, row.point.tobytes()), []).append(row)
    return [
        FixedPointCondition(body, same[0].point, np.array([row.normal for row in same]), place)
        for (body, _), same in points.items()
        for place in [point_position(model, at, body, same[0].point)]
    ]
