"""Positions of points of bodies, their motion, and their Jacobians, at one instant or many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked_vector, kernels
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    Kinematics,
    at_configuration,
    at_order,
    batched,
    fill_batch,
    kinematics,
    operand,
    optional,
    run,
    velocity,
)
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.transform import Transform

#: The origin of a body, in its own coordinates.
ORIGIN = np.zeros(3)


_NONE = np.zeros(0)


def point_jacobian(model: Model, q: Instant, body: str, point: ArrayLike) -> FloatArray:
    """Return J (..., 3, nv): J v is the velocity of a body's point and J^T f the effect of a force f on it; world axes.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    body
        Name of a body, fixed ones included, or "world", whose Jacobian is zero.
    point
        (3,) [m] in body coordinates.
    """
    return columns(model, q, body, point, 3)[2]


def point_jacobian_6d(model: Model, q: Instant, body: str, point: ArrayLike) -> FloatArray:
    """Return J (6, nv): rows 0 to 2 give the body's angular velocity, 3 to 5 the velocity of its point; world axes."""
    return columns(model, q, body, point, 0)[2]


def body_spatial_jacobian(model: Model, q: Instant, body: str) -> FloatArray:
    """Return J (6, nv): J v is the body's angular velocity and its origin's velocity, both in body axes."""
    R, _, J = columns(model, q, body, ORIGIN, 0)
    inverse = np.swapaxes(R, -1, -2)
    return np.concatenate([inverse @ J[..., :3, :], inverse @ J[..., 3:, :]], axis=-2)


def columns(
    model: Model, q: Instant, body: str, point: ArrayLike, first: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a body's rotation matrix (..., 3, 3) and origin (..., 3), and a point's Jacobian (..., 6 - first, nv)."""
    number = model.index_or_world(body)
    if batched(q, point):
        many = BatchOperands.of(model, operand("q", q, model.nq), operand("point", point, 3))
        poses, J = np.zeros((many.count, 12)), np.zeros((many.count, 6 - first, model.nv))
        operands = (*many.rows, many.custom(), number, first)
        many.fill(kernels().entries.point_jacobians, None, operands, (poses, J))
        return many.shaped(poses[:, :9].reshape(-1, 3, 3)), many.shaped(poses[:, 9:].copy()), many.shaped(J)
    at, J, pose = checked_vector("point", point, 3), np.zeros((6 - first, model.nv)), np.empty(12)
    state = at_configuration(model, q)
    run(model, kernels().points.point_columns, state, [("point", at)], number, first, pose, J)
    return pose[:9].reshape(3, 3), pose[9:], J


def body_pose(model: Model, q: Instant, body: str) -> Transform:
    """Return the pose of a body in the world: R maps body axes to world axes, p is the body's origin [m].

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    body
        Name of a body, fixed ones included, or "world".
    """
    R, p, _ = columns(model, q, body, ORIGIN, 3)
    return Transform(R, p)


def point_position(model: Model, q: Instant, body: str, point: ArrayLike) -> FloatArray:
    """Return the position (3,) [m] in the world of a point (3,) of a body.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    body
        Name of a body, fixed ones included, or "world".
    point
        (3,) [m] in body coordinates.
    """
    return _point_motion(model, q, None, None, body, point, 0)


def point_in_body(model: Model, q: Instant, body: str, position: ArrayLike) -> FloatArray:
    """Return the body coordinates (3,) [m] of a point given in the world: the inverse of `point_position`."""
    if batched(q, position):
        R, p = body_poses(model, q, body)
        (given,) = BatchOperands.of(model, operand("position", position, 3)).rows
        return np.asarray(np.einsum("...ji,...j->...i", R, given.reshape(np.shape(position)) - p))
    at = checked_vector("position", position, 3)
    check_finite("position", at)
    R, p, _ = columns(model, q, body, ORIGIN, 3)
    return np.asarray(R.T @ (at - p))


def point_velocity(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Return the velocity (3,) [m/s], world axes, of a point of a body; arguments as for `point_position`."""
    return _point_motion(model, q, v, None, body, point, 1)[..., 3:]


def point_velocity_6d(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Return the angular velocity of a body and velocity of its point, (6,) [rad/s, m/s], world axes."""
    return _point_motion(model, q, v, None, body, point, 1)


def point_acceleration(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> FloatArray:
    """Return the acceleration (3,) [m/s^2] of a point of a body, world axes: the second derivative of `point_position`.

    There is no gravity in it. Arguments as for `point_position`; a (nv,) is the derivative of v.
    """
    return _point_motion(model, q, v, a, body, point, 2)[..., 3:]


def point_acceleration_6d(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> FloatArray:
    """Return angular acceleration of a body and acceleration of its point, (6,) [rad/s^2, m/s^2], world axes."""
    return _point_motion(model, q, v, a, body, point, 2)


def point_bias_acceleration(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Return the acceleration (3,) of a point at a = 0: (dJ/dt) v for the J of `point_jacobian`."""
    return _point_motion(model, q, v, None, body, point, 2)[..., 3:]


def point_bias_acceleration_6d(
    model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike
) -> FloatArray:
    """Return (dJ/dt) v (6,) for the J of `point_jacobian_6d`."""
    return _point_motion(model, q, v, None, body, point, 2)


def _point_motion(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, body: str, point: ArrayLike, order: int
) -> FloatArray:
    """Return position (..., 3), velocity or acceleration (..., 6) of a body's point, for order 0, 1 or 2."""
    index, nv, width = model.index_or_world(body), model.nv, 3 if order == 0 else 6
    if batched(q, v, a, point):
        speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
        more = optional("a", a, nv), operand("point", point, 3)
        many = BatchOperands.of(model, operand("q", q, model.nq), speed, *more)
        return fill_batch(many, kernels().entries.point_motions, None, width, last=(index, order))
    rates, out = _NONE if a is None else checked_vector("a", a, nv), np.empty(width)
    given = ("a", rates), ("point", checked_vector("point", point, 3))
    run(model, kernels().points.point_motion, at_order(model, q, v, order), given, index, order, out)
    return out


def body_poses(
    model: Model, q: Instant, body: str | None = None, *, threads: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return rotation matrices (..., 3, 3), body to world axes, and origins (..., 3) [m] of a body at many instants.

    Without ``body`` of all bodies, (..., nb, 3, 3) and (..., nb, 3).
    """
    many = BatchOperands.of(model, operand("q", q, model.nq))
    bodies = np.arange(model.nb) if body is None else np.array([model.index_or_world(body)])
    flat = fill_batch(many, kernels().entries.poses_of, threads, bodies.size, 12, last=(bodies,))
    R, p = flat[..., :9].reshape(*flat.shape[:-1], 3, 3), flat[..., 9:].copy()
    return (R, p) if body is None else (R[..., 0, :, :], p[..., 0, :])


def body_origins_overview(model: Model, q: Instant) -> str:
    """Return a line ``body: x y z`` [m] per body, fixed ones included: its origin in the world at q.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    width = max((len(name) for name in model.names), default=0) + 1
    lines = []
    for name in model.names:
        x, y, z = body_pose(model, at, name).p
        lines.append(f"{name + ':':{width}s} {x:12.6g} {y:12.6g} {z:12.6g}")
    return "\n".join(lines)
