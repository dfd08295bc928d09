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

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.custom import CustomRows
from contactlab.multibody.constraints.rows import ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.kinematics import Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose, point_jacobian, point_jacobian_6d, point_position
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.transform import cross_matrix

#: Function of a model and kinematics: residual e (k,), zero for an assembled model, and its rate (k, nv) along v.
Condition: TypeAlias = Callable[[Model, Kinematics], tuple[FloatArray, FloatArray]]


def loop_residual(
    loop: LoopConstraint, axes: FloatArray, aligned: int, hinge: FloatArray, model: Model, kin: Kinematics
) -> tuple[FloatArray, FloatArray]:
    """Return the residual [rad, m] of rows of one pair of frames, the frames of ``loop``, and its rate.

    ``axes`` (k, 6) are the rows' directions, rotation first, in the predecessor's frame. ``aligned`` is the number of
    rotations that the rows fix as a whole: 3 (all), 2 (the axis ``hinge`` keeps its direction) or 0 (row by row).
    """
    one, two = body_pose(model, kin, loop.predecessor), body_pose(model, kin, loop.successor)
    R_p, R_s = one.R @ loop.X_p.R, two.R @ loop.X_s.R
    shift = R_p.T @ (two.R @ loop.X_s.p + two.p - one.R @ loop.X_p.p - one.p)
    turn, rate = _turn(R_p.T @ R_s, aligned, hinge)
    J_p = point_jacobian_6d(model, kin, loop.predecessor, loop.X_p.p)
    J_s = point_jacobian_6d(model, kin, loop.successor, loop.X_s.p)
    angular = R_p.T @ (J_s[:3] - J_p[:3])
    # R_p^T (x_s - x_p) changes with the distance of the origins and with the predecessor's axes.
    linear = R_p.T @ (J_s[3:] - J_p[3:]) + cross_matrix(shift) @ (R_p.T @ J_p[:3])
    turning, moving = axes[:, :3], axes[:, 3:]
    return np.asarray(turning @ turn + moving @ shift), np.asarray(turning @ (rate @ angular) + moving @ linear)


def _turn(D: FloatArray, aligned: int, hinge: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rotation error (3,), predecessor's axes, and its rate (3, 3) for a relative angular velocity."""
    if aligned == 3:
        return _rotation_vector(D)
    if aligned == 2:
        return _tilt(D, hinge)
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


def loop_conditions(rows: Sequence[LoopConstraint]) -> list[Condition]:
    """Return one condition for all rows that join the same frames of the same bodies."""
    groups: dict[tuple[object, ...], list[LoopConstraint]] = {}
    for row in rows:
        frames = tuple(part.tobytes() for X in (row.X_p, row.X_s) for part in (X.R, X.p))
        groups.setdefault((row.predecessor, row.successor, *frames), []).append(row)
    return [_loop_condition(group) for group in groups.values()]


def _loop_condition(group: list[LoopConstraint]) -> Condition:
    """Return the condition of loop rows between the same frames; two or three rotation rows require the whole angle."""
    # Unit vectors, so that residuals are angles and lengths in any units of the dynamics.
    axes = np.array([row.axis / np.linalg.norm(row.axis) for row in group])
    turning = axes[:, :3].any(axis=1)
    aligned, hinge = 0, np.zeros(3)
    # Rows that mix rotation and translation (screws) are used one by one.
    if turning.any() and not axes[turning, 3:].any():
        _, s, Vt = np.linalg.svd(axes[turning, :3])
        rank = int(np.count_nonzero(s > 1e-9 * s[0]))
        aligned, hinge = (rank if rank >= 2 else 0), Vt[2]
    return partial(loop_residual, group[0], axes, aligned, hinge)


def distance_residual(pair: PointPair, model: Model, kin: Kinematics) -> tuple[FloatArray, FloatArray]:
    """Return the residual (1,) [m] of the prescribed distance, and its rate; coincident points have any direction."""
    a = point_position(model, kin, pair.body_a, pair.point_a)
    way = point_position(model, kin, pair.body_b, pair.point_b) - a
    distance = float(np.linalg.norm(way))
    along = way / distance if distance > 0.0 else np.array([1.0, 0.0, 0.0])
    J_a = point_jacobian(model, kin, pair.body_a, pair.point_a)
    J_b = point_jacobian(model, kin, pair.body_b, pair.point_b)
    return np.array([distance - pair.zero]), np.asarray(along @ (J_b - J_a))[None]


def contact_residual(
    rows: list[ContactConstraint], place: FloatArray, model: Model, kin: Kinematics
) -> tuple[FloatArray, FloatArray]:
    """Return the distances (k,) [m] of a point from ``place`` along the normals of its rows, and their rates."""
    body, point, normals = rows[0].body, rows[0].point, np.array([row.normal for row in rows])
    e = normals @ (point_position(model, kin, body, point) - place)
    return np.asarray(e), np.asarray(normals @ point_jacobian(model, kin, body, point))


def custom_residual(rows: CustomRows, t: float, model: Model, kin: Kinematics) -> tuple[FloatArray, FloatArray]:
    """Return the residual (m,) of a custom constraint at a time, and its rate."""
    return rows.assembly_position(model, kin.q, t)


def conditions_of(model: Model, q0: FloatArray, cs: ConstraintSet, t: float) -> tuple[list[Condition], int]:
    """Return the conditions of a set: loops, distances, contacts at their positions at q0, then custom rows.

    The second value is the number of rows before custom rows. A custom constraint has its assembly methods, or
    otherwise its position error and G.
    """
    at, rows = kinematics(model, q0), cs.constraints
    conditions = loop_conditions([row for row in rows if isinstance(row, LoopConstraint)])
    conditions += [partial(distance_residual, row) for row in rows if isinstance(row, PointPair)]
    points: dict[tuple[str, bytes], list[ContactConstraint]] = {}
    for row in rows:
        if isinstance(row, ContactConstraint):
            points.setdefault((row.body, row.point.tobytes()), []).append(row)
    for same in points.values():
        conditions.append(partial(contact_residual, same, point_position(model, at, same[0].body, same[0].point)))
    conditions += [partial(custom_residual, custom, t) for custom in cs.packed.custom]
    return conditions, cs.n_rows - sum(custom.n for custom in cs.packed.custom)
