"""Positions of points of bodies, their motion, and their Jacobians, at one instant or many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked_vector, failure, kernels
from contactlab.multibody.kernels.codes import (
    GOOD,
    head_size,
    point_size,
)
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    at_configuration,
    at_order,
    batched,
    check_batch,
    fill_batch,
    operand,
    optional,
    run,
    velocity,
)
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.transform import Transform

#: The origin of a body, in its own coordinates.
ORIGIN = np.zeros(3)


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
    if batched(q, point):
        return point_jacobian_batch(model, q, body, point, angular=False)
    return columns(model, q, body, checked_vector("point", point, 3), 3)[0]


def point_jacobian_6d(model: Model, q: Instant, body: str, point: ArrayLike) -> FloatArray:
    """Return J (6, nv): rows 0 to 2 give the body's angular velocity, 3 to 5 the velocity of its point; world axes."""
    if batched(q, point):
        return point_jacobian_batch(model, q, body, point)
    return columns(model, q, body, checked_vector("point", point, 3), 0)[0]


def body_spatial_jacobian(model: Model, q: Instant, body: str) -> FloatArray:
    """Return J (6, nv): J v is the body's angular velocity and its origin's velocity, both in body axes."""
    if batched(q):
        R, _, J = _batch_columns(model, q, body, ORIGIN, 0, None)
        turned = np.einsum("...ji,...kjn->...kin", R, J.reshape(*J.shape[:-2], 2, 3, model.nv))
        return np.asarray(turned.reshape(J.shape))
    J, pose = columns(model, q, body, ORIGIN, 0)
    R = pose[:9].reshape(3, 3)
    return np.concatenate([R.T @ J[:3], R.T @ J[3:]])


def columns(model: Model, q: Instant, body: str, point: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
    """Return the Jacobian (6 - first, nv) of a point, and the body's pose: R by rows and p, (12,)."""
    J, pose = np.zeros((6 - first, model.nv)), np.empty(12)
    state = at_configuration(model, q, point_size(model.packed.nl, model.nv))
    run(model, kernels().points.point_columns, state, (), model.index_or_world(body), point, first, pose, J)
    if not (np.isfinite(pose).all() and np.isfinite(point).all()):
        raise failure(model, GOOD, state[0], ("point", point))
    return J, pose


_NONE = np.zeros(0)


def body_pose(model: Model, q: Instant, body: str) -> Transform:
    """Return the pose of a body in the world: R maps body axes to world axes, p is the body's origin [m].

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    body
        Name of a body, fixed ones included, or "world".
    """
    _, pose = columns(model, q, body, ORIGIN, 3)
    return Transform(pose[:9].reshape(3, 3), pose[9:])


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
    _, pose = columns(model, q, body, ORIGIN, 3)
    return np.asarray(pose[:9].reshape(3, 3).T @ (at - pose[9:]))


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
    if batched(q, v, a, point):
        return point_motion_batch(model, q, v, a, body, point, order)
    index, size = model.index_or_world(body), point_size(model.packed.nl, model.nv)
    given = (("a", _NONE if a is None else checked_vector("a", a, model.nv)),)
    at, out = checked_vector("point", point, 3), np.empty(3 if order == 0 else 6)
    state = at_order(model, q, v, size, order)
    run(model, kernels().points.point_motion, state, given, index, at, order, out)
    if not np.isfinite(out).all():
        raise failure(model, GOOD, state[0], ("v", state[1]), *given, ("point", at))
    return out


def point_motion_batch(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike | None,
    body: str,
    point: ArrayLike,
    order: int,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Return the motion of one body's points at many instants.

    Parameters
    ----------
    model
        The model.
    q, v, a
        (..., nq), (..., nv), (..., nv); v is needed from order 1 on (None: the velocity of a `Kinematics` q), a = None
        stands for zero.
    body
        Name of the body.
    point
        (..., 3) [m] in body coordinates: one for all instants, or one for each.
    order
        0: positions (..., 3); 1: velocities (..., 6), angular first; 2: accelerations (..., 6).
    threads
        Number of threads, None for one per core.
    """
    nv = model.nv
    speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
    many = BatchOperands.of(model, operand("q", q, model.nq), speed, optional("a", a, nv), operand("point", point, 3))
    last = (model.index_or_world(body), order)
    out = fill_batch(many, kernels().entries.point_motions, point_size, threads, 3 if order == 0 else 6, last=last)
    check_batch(many, out)
    return out


def point_jacobian_batch(
    model: Model, q: Instant, body: str, point: ArrayLike, *, angular: bool = True, threads: int | None = None
) -> FloatArray:
    """Return `point_jacobian_6d` (..., 6, nv), or `point_jacobian` (..., 3, nv), for many instants."""
    return _batch_columns(model, q, body, point, 0 if angular else 3, threads)[2]


def body_poses(
    model: Model, q: Instant, body: str | None = None, *, threads: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return rotation matrices (..., 3, 3), body to world axes, and origins (..., 3) [m] of a body at many instants.

    Without ``body`` of all bodies, (..., nb, 3, 3) and (..., nb, 3).
    """
    many = BatchOperands.of(model, operand("q", q, model.nq))
    bodies = np.arange(model.nb) if body is None else np.array([model.index_or_world(body)])
    flat = fill_batch(many, kernels().entries.poses_of, head_size, threads, bodies.size, 12, last=(bodies,))
    R, p = flat[..., :9].reshape(*flat.shape[:-1], 3, 3), flat[..., 9:].copy()
    return (R, p) if body is None else (R[..., 0, :, :], p[..., 0, :])


def _batch_columns(
    model: Model, q: Instant, body: str, point: ArrayLike, first: int, threads: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rotation matrices (..., 3, 3), origins (..., 3) and Jacobians (..., 6 - first, nv)."""
    many = BatchOperands.of(model, operand("q", q, model.nq), operand("point", point, 3))
    operands = (*many.rows, many.custom(), model.index_or_world(body), first)
    poses, J = np.zeros((many.count, 12)), np.zeros((many.count, 6 - first, model.nv))
    size = point_size(model.packed.nl, model.nv)
    many.fill(kernels().entries.point_jacobians, size, threads, operands, (poses, J))
    check_batch(many, poses)
    return many.shaped(poses[:, :9].reshape(-1, 3, 3)), many.shaped(poses[:, 9:].copy()), many.shaped(J)
