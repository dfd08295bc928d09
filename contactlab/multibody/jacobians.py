"""Jacobians: how the velocities of points and bodies depend on v."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked_vector, failure
from contactlab.multibody.batch import body_spatial_jacobian_batch, point_jacobian_batch
from contactlab.multibody.entries import kernels
from contactlab.multibody.instants import batched
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import point_size
from contactlab.multibody.kinematics import Instant, at_configuration
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

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
