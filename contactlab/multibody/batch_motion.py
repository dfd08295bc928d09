"""Points, poses, momenta and configurations of many instants of one model in one call, on threads.

Every vector may have leading axes, (B, nq) or more, which broadcast against each other; results have them too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.instants import Instants, operand, optional, velocity
from contactlab.multibody.kernels.outcomes import NOT_FINITE
from contactlab.multibody.kernels.sizes import crba_size, point_size, rnea_size
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.multibody.world_mass import world_mass
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array

__all__ = [
    "body_poses",
    "body_spatial_jacobian_batch",
    "body_sums_batch",
    "centroidal_momentum_matrix_batch",
    "difference_batch",
    "integrate_batch",
    "point_in_body_batch",
    "point_jacobian_batch",
    "point_motion_batch",
]


@functools.cache
def _kernels() -> Any:
    from contactlab.multibody.kernels import batch_motion

    return batch_motion


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
    """Motion of one body's points at many instants.

    Parameters
    ----------
    model
        The model.
    q, v, a
        (..., nq), (..., nv), (..., nv); v is needed from order 1 on (None: that of a `Kinematics` q), a = None stands
        for zero.
    body
        Name of the body.
    point
        (..., 3) [m] in body coordinates: one for all instants, or one for each.
    order
        0: positions (..., 3); 1: velocities (..., 6), angular first; 2: accelerations (..., 6).
    threads
        Number of threads, None for one per core.
    """
    nv, packed = model.nv, model.packed
    speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
    many = Instants.of(model, operand("q", q, model.nq), speed, optional("a", a, nv), operand("point", point, 3))
    index = model.index(body)
    custom = many.custom(moving=order > 0)
    *moved, points = many.rows
    out = np.empty((many.count, 3 if order == 0 else 6))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().motion_batch(
            packed.ints, packed.floats, *moved, custom, index, points, order, start, stop, W, out, codes
        )

    many.run(work, point_size(packed.nl, nv), threads)
    _check(many, out)
    return many.shaped(out)


def point_jacobian_batch(
    model: Model, q: Instant, body: str, point: ArrayLike, *, angular: bool = True, threads: int | None = None
) -> FloatArray:
    """`point_jacobian_6d` (..., 6, nv), or without ``angular`` `point_jacobian` (..., 3, nv), for many instants."""
    J, many, _ = _columns(model, q, body, point, 0 if angular else 3, threads)
    return many.shaped(J)


def body_poses(model: Model, q: Instant, body: str, *, threads: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Rotation matrices (..., 3, 3), body axes to world axes, and origins (..., 3) [m] of a body at many instants."""
    _, many, pose = _columns(model, q, body, np.zeros(3), 3, threads)
    return many.shaped(pose[:, :9].reshape(-1, 3, 3)), many.shaped(pose[:, 9:].copy())


def point_in_body_batch(
    model: Model, q: Instant, body: str, position: ArrayLike, *, threads: int | None = None
) -> FloatArray:
    """`point_in_body` (..., 3) [m] of positions (..., 3) at configurations q (..., nq)."""
    R, p = body_poses(model, q, body, threads=threads)
    (at,) = Instants.of(model, operand("position", position, 3)).rows
    return np.asarray(np.einsum("...ji,...j->...i", R, at.reshape(np.shape(position)) - p))


def body_spatial_jacobian_batch(model: Model, q: Instant, body: str, *, threads: int | None = None) -> FloatArray:
    """`body_spatial_jacobian` (..., 6, nv) of configurations q (..., nq)."""
    J, many, pose = _columns(model, q, body, np.zeros(3), 0, threads)
    turned = np.einsum("bji,bkjn->bkin", pose[:, :9].reshape(-1, 3, 3), J.reshape(-1, 2, 3, model.nv))
    return many.shaped(turned.reshape(J.shape))


def _columns(
    model: Model, q: Instant, body: str, point: ArrayLike, first: int, threads: int | None
) -> tuple[FloatArray, Instants, FloatArray]:
    """Jacobians (B, 6 - first, nv) and poses (B, 12)."""
    nv, packed = model.nv, model.packed
    many = Instants.of(model, operand("q", q, model.nq), operand("point", point, 3))
    index = model.index(body)
    custom = many.custom(moving=False)
    q_, points = many.rows
    J, pose = np.zeros((many.count, 6 - first, nv)), np.empty((many.count, 12))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().columns_batch(
            packed.ints, packed.floats, q_, custom, index, points, first, start, stop, W, pose, J, codes
        )

    many.run(work, point_size(packed.nl, nv), threads)
    _check(many, pose)
    return J, many, pose


def body_sums_batch(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, order: int, *, threads: int | None = None
) -> FloatArray:
    """What the kernel `body_sums` fills, (..., 17), for many instants."""
    nv, packed = model.nv, model.packed
    speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
    rates = operand("a", a, nv) if order > 1 else optional("a", None, nv)
    many = Instants.of(model, operand("q", q, model.nq), speed, rates)
    custom = many.custom(moving=order > 0)
    fixed = world_mass(model)
    out = np.empty((many.count, 17))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().sums_batch(packed.ints, packed.floats, *many.rows, fixed, custom, order, start, stop, W, out, codes)

    many.run(work, rnea_size(packed.nl, nv), threads)
    return many.shaped(out)


def centroidal_momentum_matrix_batch(model: Model, q: Instant, *, threads: int | None = None) -> FloatArray:
    """`centroidal_momentum_matrix` (..., 6, nv) of configurations q (..., nq)."""
    nv, packed = model.nv, model.packed
    many = Instants.of(model, operand("q", q, model.nq))
    custom = many.custom(moving=False)
    fixed = world_mass(model)
    A = np.zeros((many.count, 6, nv))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().centroidal_batch(packed.ints, packed.floats, *many.rows, fixed, custom, start, stop, W, A, codes)

    many.run(work, crba_size(packed.nl, nv), threads)
    return many.shaped(A)


def integrate_batch(
    model: Model, q: ArrayLike, v: ArrayLike, dt: ArrayLike, *, threads: int | None = None
) -> FloatArray:
    """`integrate` (..., nq) for many configurations, velocities and times dt (...,) [s]."""
    packed = model.packed
    many = Instants.of(model, operand("q", q, model.nq), operand("v", v, model.nv), operand("dt", dt))
    q_, v_, times = many.rows
    out = np.zeros((many.count, model.nq))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().integrate_batch(packed.ints, packed.floats, q_, v_, times, start, stop, out)

    many.run(work, 0, threads)
    for joint, iq, iv in packed.custom:
        name = f"{type(joint).__name__}.integrate"
        for b in range(many.count):
            moved = joint.integrate(many.row(0, b)[iq], many.row(1, b)[iv], float(many.row(2, b)))
            out[b, iq] = finite_array(moved, name, (joint.nq,), MultibodyError)
    _check(many, out)
    return many.shaped(out)


def difference_batch(model: Model, q0: ArrayLike, q1: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """`difference` (..., nv) between many configurations."""
    packed = model.packed
    many = Instants.of(model, operand("q0", q0, model.nq), operand("q1", q1, model.nq))
    a, b_ = many.rows
    out = np.zeros((many.count, model.nv))

    def work(start: int, stop: int, W: FloatArray, codes: IntArray) -> None:
        _kernels().difference_batch(packed.ints, packed.floats, a, b_, start, stop, out)

    many.run(work, 0, threads)
    for joint, iq, iv in packed.custom:
        name = f"{type(joint).__name__}.difference"
        for b in range(many.count):
            apart = joint.difference(many.row(0, b)[iq], many.row(1, b)[iq])
            out[b, iv] = finite_array(apart, name, (joint.nv,), MultibodyError)
    _check(many, out)
    return many.shaped(out)


def _check(many: Instants, out: FloatArray) -> None:
    """Raise for the first instant whose result is not finite."""
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if bad.shape[0]:
        raise many.error(int(bad[0]), NOT_FINITE)
