"""Positions of points of bodies, how they move, and their Jacobians: how their velocities depend on v."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked_vector, failure
from contactlab.multibody.batch import (
    body_spatial_jacobian_batch,
    point_in_body_batch,
    point_jacobian_batch,
    point_motion_batch,
)
from contactlab.multibody.batch_operands import batched
from contactlab.multibody.entries import kernels
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import point_size
from contactlab.multibody.kinematics import Instant, at_configuration, at_state
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.transform import Transform

#: The origin of a body, in its own coordinates.
ORIGIN = np.zeros(3)


def point_jacobian(model: Model, q: Instant, body: str, point: ArrayLike) -> FloatArray:
    """J (3, nv): J v is the velocity of the point (3,) of a body, world axes; J^T f the effect of a force f there.

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
    """J (6, nv): rows 0 to 2 give the body's angular velocity, 3 to 5 the velocity of its point; world axes."""
    if batched(q, point):
        return point_jacobian_batch(model, q, body, point)
    return columns(model, q, body, checked_vector("point", point, 3), 0)[0]


def body_spatial_jacobian(model: Model, q: Instant, body: str) -> FloatArray:
    """J (6, nv): J v is the body's angular velocity and its origin's velocity, both in body axes."""
    if batched(q):
        return body_spatial_jacobian_batch(model, q, body)
    J, pose = columns(model, q, body, ORIGIN, 0)
    R = pose[:9].reshape(3, 3)
    return np.concatenate([R.T @ J[:3], R.T @ J[3:]])


def columns(model: Model, q: Instant, body: str, point: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
    """Jacobian (6 - first, nv) of a point, and the body's pose: R by rows and p, (12,)."""
    index, packed = model.index_or_world(body), model.packed
    q_, custom, work, ready = at_configuration(model, q, point_size(packed.nl, model.nv))
    J, pose = np.zeros((6 - first, model.nv)), np.empty(12)
    code = kernels().points.point_columns(
        packed.ints, packed.floats, q_, custom, work, ready, index, point, first, pose, J
    )
    if code != GOOD or not (np.isfinite(pose).all() and np.isfinite(point).all()):
        raise failure(model, code, q_, ("point", point))
    return J, pose


_NONE = np.zeros(0)


def body_pose(model: Model, q: Instant, body: str) -> Transform:
    """Pose of a body in the world: R maps body axes to world axes, p is the body's origin [m].

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
    """Position (3,) [m] in the world of a point (3,) of a body.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    body
        Name of a body, fixed ones included, or "world".
    point
        (3,) [m] in body coordinates.
    """
    return _moved(model, q, None, None, body, point, 0)


def point_in_body(model: Model, q: Instant, body: str, position: ArrayLike) -> FloatArray:
    """Body coordinates (3,) [m] of a point given in the world: the inverse of `point_position`."""
    if batched(q, position):
        return point_in_body_batch(model, q, body, position)
    at = checked_vector("position", position, 3)
    check_finite("position", at)
    _, pose = columns(model, q, body, ORIGIN, 3)
    return np.asarray(pose[:9].reshape(3, 3).T @ (at - pose[9:]))


def point_velocity(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Velocity (3,) [m/s], world axes, of a point of a body; arguments as for `point_position`."""
    return _moved(model, q, v, None, body, point, 1)[..., 3:]


def point_velocity_6d(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Angular velocity of a body and velocity of its point, (6,) [rad/s, m/s], world axes."""
    return _moved(model, q, v, None, body, point, 1)


def point_acceleration(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> FloatArray:
    """Acceleration (3,) [m/s^2] of a point of a body, world axes: the second derivative of `point_position`.

    There is no gravity in it. Arguments as for `point_position`, a (nv,) being the derivative of v.
    """
    return _moved(model, q, v, a, body, point, 2)[..., 3:]


def point_acceleration_6d(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> FloatArray:
    """Angular acceleration of a body and acceleration of its point, (6,) [rad/s^2, m/s^2], world axes, no gravity."""
    return _moved(model, q, v, a, body, point, 2)


def point_bias_acceleration(model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike) -> FloatArray:
    """Acceleration (3,) of a point at a = 0: (dJ/dt) v for the J of `point_jacobian`."""
    return _moved(model, q, v, None, body, point, 2)[..., 3:]


def point_bias_acceleration_6d(
    model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike
) -> FloatArray:
    """(dJ/dt) v (6,) for the J of `point_jacobian_6d`."""
    return _moved(model, q, v, None, body, point, 2)


def _moved(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, body: str, point: ArrayLike, order: int
) -> FloatArray:
    if batched(q, v, a, point):
        return point_motion_batch(model, q, v, a, body, point, order)
    index, packed = model.index_or_world(body), model.packed
    a_ = _NONE if a is None else checked_vector("a", a, model.nv)
    at = checked_vector("point", point, 3)
    size = point_size(packed.nl, model.nv)
    if order == 0:
        q_, custom, work, ready = at_configuration(model, q, size)
        v_, out = _NONE, np.empty(3)
    else:
        q_, v_, custom, work, ready = at_state(model, q, v, size)
        out = np.empty(6)
    code = kernels().points.point_motion(
        packed.ints, packed.floats, q_, v_, a_, custom, work, ready, index, at, order, out
    )
    if code != GOOD or not np.isfinite(out).all():
        raise failure(model, code, q_, ("v", v_), ("a", a_), ("point", at))
    return out
