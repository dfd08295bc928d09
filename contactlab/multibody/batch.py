"""Many instants of one model in one call, on threads.

Every vector may have leading axes, (B, nq) or more, which broadcast against each other; results have them too. Numbers
are those of the functions for one instant, to the last bit, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.batch_operands import BatchOperands, operand, optional, velocity
from contactlab.multibody.entries import kernels
from contactlab.multibody.kernels.codes import NOT_FINITE
from contactlab.multibody.kernels.sizes import aba_size, crba_size, factor_size, head_size, point_size, rnea_size
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.multibody.structure import world_mass
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.spatial.errors import MultibodyError


def inverse_dynamics_batch(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike | None,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Generalised forces (..., nv) of `inverse_dynamics` for many instants.

    Parameters
    ----------
    model
        The model.
    q
        (..., nq) configurations.
    v, a
        (..., nv) velocities and accelerations; a = None stands for zero, v = None for those of a `Kinematics` q.
    f_ext
        (..., nb, 6) external forces.
    threads
        Number of threads, None for one per core; short batches run on the caller's.

    Raises
    ------
    MultibodyError
        As `inverse_dynamics`, saying which instant is at fault.
    """
    many = BatchOperands.of_dynamics(model, q, v, optional("a", a, model.nv), f_ext)
    return _filled(many, kernels().batch.inverse_dynamics, rnea_size, threads, model.nv)


def nonlinear_effects_batch(
    model: Model, q: Instant, v: ArrayLike | None, f_ext: ArrayLike | None = None, *, threads: int | None = None
) -> FloatArray:
    """`nonlinear_effects` (..., nv) for many instants; arguments as for `inverse_dynamics_batch`."""
    return inverse_dynamics_batch(model, q, v, None, f_ext, threads=threads)


def forward_dynamics_batch(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Accelerations (..., nv) of `forward_dynamics` for many instants; arguments as for `inverse_dynamics_batch`."""
    many = BatchOperands.of_dynamics(model, q, v, operand("tau", tau, model.nv), f_ext)
    return _filled(many, kernels().batch.forward_dynamics, aba_size, threads, model.nv)


def mass_matrix_batch(model: Model, q: Instant, *, threads: int | None = None) -> FloatArray:
    """Mass matrices (..., nv, nv) of configurations q (..., nq)."""
    many = BatchOperands.of(model, operand("q", q, model.nq))
    return _filled(many, kernels().batch.mass_matrix, crba_size, threads, model.nv, model.nv)


def solve_mass_matrix_batch(model: Model, q: Instant, tau: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """M(q)^-1 tau for configurations q (..., nq) and one vector tau (..., nv) each."""
    many = BatchOperands.of(model, operand("q", q, model.nq), operand("tau", tau, model.nv))
    return _filled(many, kernels().batch.solve_mass_matrix, _solve_size, threads, model.nv)


def _solve_size(nl: int, nv: int) -> int:
    """Return the workspace of `factor_inertia`, the factor and the scratch of `solve_inertia`."""
    return factor_size(nl, nv) + 13 * nv + 6 * nl


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
    nv = model.nv
    speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
    many = BatchOperands.of(model, operand("q", q, model.nq), speed, optional("a", a, nv), operand("point", point, 3))
    last = (model.index_or_world(body), order)
    out = _filled(many, kernels().batch.point_motions, point_size, threads, 3 if order == 0 else 6, last=last)
    _check_finite(many, out)
    return out


def point_jacobian_batch(
    model: Model, q: Instant, body: str, point: ArrayLike, *, angular: bool = True, threads: int | None = None
) -> FloatArray:
    """`point_jacobian_6d` (..., 6, nv), or without ``angular`` `point_jacobian` (..., 3, nv), for many instants."""
    return _columns(model, q, body, point, 0 if angular else 3, threads)[2]


def body_poses(
    model: Model, q: Instant, body: str | None = None, *, threads: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Rotation matrices (..., 3, 3), body axes to world axes, and origins (..., 3) [m] of a body at many instants.

    Without ``body`` of all bodies, (..., nb, 3, 3) and (..., nb, 3).
    """
    many = BatchOperands.of(model, operand("q", q, model.nq))
    bodies = np.arange(model.nb) if body is None else np.array([model.index_or_world(body)])
    flat = _filled(many, kernels().batch.poses_of, head_size, threads, bodies.size, 12, last=(bodies,))
    R, p = flat[..., :9].reshape(*flat.shape[:-1], 3, 3), flat[..., 9:].copy()
    return (R, p) if body is None else (R[..., 0, :, :], p[..., 0, :])


def point_in_body_batch(
    model: Model, q: Instant, body: str, position: ArrayLike, *, threads: int | None = None
) -> FloatArray:
    """`point_in_body` (..., 3) [m] of positions (..., 3) at configurations q (..., nq)."""
    R, p = body_poses(model, q, body, threads=threads)
    (at,) = BatchOperands.of(model, operand("position", position, 3)).rows
    return np.asarray(np.einsum("...ji,...j->...i", R, at.reshape(np.shape(position)) - p))


def body_spatial_jacobian_batch(model: Model, q: Instant, body: str, *, threads: int | None = None) -> FloatArray:
    """`body_spatial_jacobian` (..., 6, nv) of configurations q (..., nq)."""
    R, _, J = _columns(model, q, body, np.zeros(3), 0, threads)
    turned = np.einsum("...ji,...kjn->...kin", R, J.reshape(*J.shape[:-2], 2, 3, model.nv))
    return np.asarray(turned.reshape(J.shape))


def _columns(
    model: Model, q: Instant, body: str, point: ArrayLike, first: int, threads: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotation matrices (..., 3, 3), origins (..., 3) and Jacobians (..., 6 - first, nv)."""
    many = BatchOperands.of(model, operand("q", q, model.nq), operand("point", point, 3))
    operands = (*many.rows, many.custom(), model.index_or_world(body), first)
    poses, J = np.zeros((many.count, 12)), np.zeros((many.count, 6 - first, model.nv))
    size = point_size(model.packed.nl, model.nv)
    many.fill(kernels().batch.point_jacobians, size, threads, operands, (poses, J))
    _check_finite(many, poses)
    return many.shaped(poses[:, :9].reshape(-1, 3, 3)), many.shaped(poses[:, 9:].copy()), many.shaped(J)


def body_sums_batch(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, order: int, *, threads: int | None = None
) -> FloatArray:
    """Sums over the bodies, (..., 17), of the kernel `body_sums` for many instants."""
    nv = model.nv
    speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
    rates = operand("a", a, nv) if order > 1 else optional("a", None, nv)
    many = BatchOperands.of(model, operand("q", q, model.nq), speed, rates)
    return _filled(many, kernels().batch.sums_over_bodies, rnea_size, threads, 17, last=(world_mass(model), order))


def centroidal_momentum_matrix_batch(model: Model, q: Instant, *, threads: int | None = None) -> FloatArray:
    """`centroidal_momentum_matrix` (..., 6, nv) of configurations q (..., nq)."""
    many = BatchOperands.of(model, operand("q", q, model.nq))
    kernel = kernels().batch.centroidal_momentum_matrix
    return _filled(many, kernel, crba_size, threads, 6, model.nv, last=(world_mass(model),))


def _filled(
    many: BatchOperands,
    kernel: Any,
    size: Callable[[int, int], int],
    threads: int | None,
    *shape: int,
    last: tuple[object, ...] = (),
) -> FloatArray:
    """Results (..., *shape) of a kernel of many instants, their rows, custom joints and ``last`` being its operands."""
    out = np.zeros((many.count, *shape))
    length = size(many.model.packed.nl, many.model.nv)
    many.fill(kernel, length, threads, (*many.rows, many.custom(), *last), out)
    return many.shaped(out)


def integrate_batch(
    model: Model, q: ArrayLike, v: ArrayLike, dt: ArrayLike, *, threads: int | None = None
) -> FloatArray:
    """`integrate` (..., nq) for many configurations, velocities and times dt (...,) [s]."""
    many = BatchOperands.of(model, operand("q", q, model.nq), operand("v", v, model.nv), operand("dt", dt))
    out = np.zeros((many.count, model.nq))
    many.fill(kernels().batch.integrate, 0, threads, many.rows, out)
    for b in range(many.count if model.packed.custom else 0):
        custom_step(model, many.row(0, b), many.row(1, b), float(many.row(2, b)), out[b])
    _check_finite(many, out)
    return many.shaped(out)


def difference_batch(model: Model, q0: ArrayLike, q1: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """`difference` (..., nv) between many configurations."""
    many = BatchOperands.of(model, operand("q0", q0, model.nq), operand("q1", q1, model.nq))
    out = np.zeros((many.count, model.nv))
    many.fill(kernels().batch.difference, 0, threads, many.rows, out)
    for b in range(many.count if model.packed.custom else 0):
        custom_difference(model, many.row(0, b), many.row(1, b), out[b])
    _check_finite(many, out)
    return many.shaped(out)


def custom_step(model: Model, q: FloatArray, v: FloatArray, dt: float, out: FloatArray) -> None:
    """Fill in where custom joints are after dt, out (nq,)."""
    for joint, iq, iv in model.packed.custom:
        name = f"{type(joint).__name__}.integrate"
        out[iq] = finite_array(joint.integrate(q[iq], v[iv], dt), name, (joint.nq,), MultibodyError)


def custom_difference(model: Model, q0: FloatArray, q1: FloatArray, out: FloatArray) -> None:
    """Fill in the velocities that take custom joints from q0 to q1, out (nv,)."""
    for joint, iq, iv in model.packed.custom:
        name = f"{type(joint).__name__}.difference"
        out[iv] = finite_array(joint.difference(q0[iq], q1[iq]), name, (joint.nv,), MultibodyError)


def _check_finite(many: BatchOperands, out: FloatArray) -> None:
    """Raise for the first instant whose result is not finite."""
    bad = np.flatnonzero(~np.isfinite(out).all(axis=-1))
    if bad.shape[0]:
        raise many.error(int(bad[0]), NOT_FINITE)
