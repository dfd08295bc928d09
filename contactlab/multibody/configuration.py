"""Configurations: neutral and random ones, moving along a velocity, and the difference of two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import bad_configuration, check_finite, checked, kernels
from contactlab.multibody.joints import CustomJoint, evaluated
from contactlab.multibody.kinematics import BatchOperands, batched, check_batch, operand
from contactlab.multibody.model import Model
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, finite_array


def neutral(model: Model) -> FloatArray:
    """Return the configuration (nq,) of zeros and identity quaternions; custom joints define their entries."""
    return model.neutral


def random_configuration(model: Model, seed: int | np.random.Generator, *, spread: float = 1.0) -> FloatArray:
    """Return the coordinates uniform in [-spread, spread] (rad, m), orientations uniform over all rotations.

    Parameters
    ----------
    model
        The model.
    seed
        A seed or a generator; the same seed gives the same q.
    spread
        Half width [rad or m].
    """
    rng = np.random.default_rng(seed)
    q = neutral(model)
    for body in model.bodies:
        place = model.q_slice(body.name)
        if not isinstance(body.joint, CustomJoint):
            q[place] = rng.uniform(-spread, spread, place.stop - place.start)
    for at in model.quaternion_starts:
        q[at : at + 4] = quaternion.normalize(rng.standard_normal(4))
    for joint, iq, iv in model.packed.custom:
        q[iq] = joint.integrate(q[iq], rng.uniform(-spread, spread, iv.stop - iv.start), 1.0)
    return q


def normalize(model: Model, q: ArrayLike) -> FloatArray:
    """Return a copy of q, (nq,) or (..., nq), with every quaternion divided by its length."""
    out = finite_array(q, "q", (*np.shape(q)[:-1], model.nq), MultibodyError)
    for row in out.reshape(math.prod(out.shape[:-1]), model.nq):
        for at in model.quaternion_starts:
            row[at : at + 4] = quaternion.normalize(row[at : at + 4])
    return out


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """Return the configuration (nq,) after moving at constant v (nv,) for dt [s].

    Quaternions are multiplied from the right by the exponential of dt times their angular velocity, which is in body
    axes, and renormalised.
    """
    if batched(q, v) or np.ndim(dt) > 0:
        many = BatchOperands.of(model, operand("q", q, model.nq), operand("v", v, model.nv), operand("dt", dt))
        return _of_many(many, kernels().entries.integrate, custom_step, model.nq, threads)
    q_, v_ = checked("q", q, model.nq), checked("v", v, model.nv)
    time = float(finite_array(dt, "dt", (), MultibodyError))
    out = np.zeros(model.nq)
    kernels().integration.integrate_configuration(model.packed.ints, model.packed.floats, q_, v_, time, out)
    custom_step(model, q_, v_, time, out)
    if not np.isfinite(out).all():
        check_finite("v", v_)
        raise bad_configuration(model, q_, 0)
    return out


def difference(model: Model, q0: ArrayLike, q1: ArrayLike, *, threads: int | None = None) -> FloatArray:
    """Return the velocity (nv,) from q0 to q1 in unit time, by the shorter turns: inverse of `integrate`."""
    if batched(q0, q1):
        many = BatchOperands.of(model, operand("q0", q0, model.nq), operand("q1", q1, model.nq))
        return _of_many(many, kernels().entries.difference, custom_difference, model.nv, threads)
    a, b = checked("q0", q0, model.nq), checked("q1", q1, model.nq)
    out = np.zeros(model.nv)
    kernels().integration.configuration_difference(model.packed.ints, model.packed.floats, a, b, out)
    custom_difference(model, a, b, out)
    if not np.isfinite(out).all():
        check_finite("q0", a)
        check_finite("q1", b)
    return out


def _of_many(
    many: BatchOperands, kernel: Any, custom: Callable[..., None], width: int, threads: int | None
) -> FloatArray:
    """Return the results (..., width) of a kernel for many instants; ``custom`` fills the entries of custom joints."""
    out = np.zeros((many.count, width))
    many.fill(kernel, threads, many.rows, out)
    for b in range(many.count if many.model.packed.custom else 0):
        custom(many.model, *(many.row(number, b) for number in range(len(many.rows))), out[b])
    check_batch(many, out)
    return many.shaped(out)


def custom_step(model: Model, q: FloatArray, v: FloatArray, dt: ArrayLike, out: FloatArray) -> None:
    """Fill out (nq,) with the configuration of custom joints after dt."""
    for joint, iq, iv in model.packed.custom:
        out[iq] = evaluated(joint, "integrate", (joint.nq,), q[iq], v[iv], float(np.asarray(dt)))


def custom_difference(model: Model, q0: FloatArray, q1: FloatArray, out: FloatArray) -> None:
    """Fill out (nv,) with the velocities that move custom joints from q0 to q1 in unit time."""
    for joint, iq, iv in model.packed.custom:
        out[iv] = evaluated(joint, "difference", (joint.nv,), q0[iq], q1[iq])
