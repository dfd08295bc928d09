"""Sums over all bodies: momentum, its rates, centre of mass, zero-moment point, energy.

Bodies fixed to the world count. Every function accepts leading axes, q (..., nq), v (..., nv), and its result has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked_vector, kernels
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    at_configuration,
    at_order,
    batched,
    fill_batch,
    operand,
    optional,
    run,
    velocity,
)
from contactlab.multibody.model import Model, world_mass
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, finite_array, unit_axis

_NONE = np.zeros(0)


def linear_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Return the linear momentum p (3,) [kg m/s], world axes: total mass times the velocity of the centre of mass.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return body_sums(model, q, v, None, 1)[..., 4:7]


def angular_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Return the angular momentum L (3,) [kg m^2/s] about the centre of mass, world axes.

    About another point x it is L + (c - x) x p, with the centre of mass c.
    """
    return body_sums(model, q, v, None, 1)[..., 7:10]


def angular_momentum_rate(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """Return dL/dt (3,) [N m] of `angular_momentum` while the model moves with the accelerations a (nv,).

    It equals the moment, about the centre of mass, of all external forces; gravity has none. The rate of the linear
    momentum is the mass times `center_of_mass_acceleration`.
    """
    return body_sums(model, q, v, a, 2)[..., 14:17]


def centroidal_momentum_matrix(model: Model, q: Instant) -> FloatArray:
    """Return a (6, nv): A v is the angular momentum about the centre of mass, then the linear momentum, world axes.

    Orin, Goswami, Lee, "Centroidal dynamics of a humanoid robot", Autonomous Robots 35 (2013).

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    """
    fixed = world_mass(model)
    if batched(q):
        many = BatchOperands.of(model, operand("q", q, model.nq), operand("model", fixed, 4))
        return fill_batch(many, kernels().entries.centroidal_momentum_matrix, None, 6, model.nv)
    A = np.zeros((6, model.nv))
    run(model, kernels().centroidal.centroidal_columns, at_configuration(model, q), [("model", fixed)], A)
    return A


def body_sums(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, order: int) -> FloatArray:
    """Return the sums over the bodies, (17,), from the kernel `body_sums`; entries above ``order`` are not set."""
    if order > 1 and a is None:
        raise MultibodyError("a", "is needed")
    nv, fixed = model.nv, world_mass(model)
    if batched(q, v, a):
        speed = velocity(q, v, nv) if order > 0 else optional("v", None, nv)
        more = optional("a", a, nv), operand("model", fixed, 4)
        many = BatchOperands.of(model, operand("q", q, model.nq), speed, *more)
        return fill_batch(many, kernels().entries.sums_over_bodies, None, 17, last=(order,))
    given, out = (("a", _NONE if a is None else checked_vector("a", a, nv)), ("model", fixed)), np.empty(17)
    run(model, kernels().centroidal.body_sums, at_order(model, q, v, order), given, order, out)
    return out


def center_of_mass(model: Model, q: Instant) -> FloatArray:
    """Return the centre of mass c (3,) [m], world axes.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.

    Raises
    ------
    MultibodyError
        The model has no mass; or, as everywhere, a wrong length, an entry that is not finite, a bad quaternion.
    """
    sums = body_sums(model, q, None, None, 0)
    _total(sums)
    return sums[..., 1:4]


def center_of_mass_velocity(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Return the velocity dc/dt (3,) [m/s] of the centre of mass at the velocity v (nv,), world axes.

    v can be None only if q is a `Kinematics` with velocities: then these are used.
    """
    sums = body_sums(model, q, v, None, 1)
    return np.asarray(sums[..., 4:7] / _total(sums))


def center_of_mass_acceleration(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """Return the acceleration (3,) [m/s^2] of the centre of mass while v (nv,) changes at the rate a (nv,), world axes.

    Gravity is not subtracted: at rest the acceleration is zero, in free fall it equals gravity. v can be None only if q
    is a `Kinematics` with velocities.
    """
    sums = body_sums(model, q, v, a, 2)
    return np.asarray(sums[..., 11:14] / _total(sums))


def center_of_mass_jacobian(model: Model, q: Instant) -> FloatArray:
    """Return J (3, nv): J v is the velocity of the centre of mass; arguments as for `center_of_mass`."""
    return np.asarray(centroidal_momentum_matrix(model, q)[..., 3:, :] / _total(np.array([model.mass])))


def _total(sums: FloatArray) -> FloatArray:
    """Return the total mass (..., 1); raise if the model has no mass."""
    mass = sums[..., :1]
    if not (mass > 0.0).all():
        raise MultibodyError("model", "has no mass, hence no centre of mass")
    return mass


# A normal force smaller than this, relative to its terms, is rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps


def zero_moment_point(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike,
    *,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> FloatArray:
    """Return the zero-moment point z (3,) [m] of a plane.

    At this point, a single force and a moment along the normal produce the motion of the model.

    The force in addition to gravity is f = m (dv_c/dt - g), with moment dL/dt about the centre of mass c. About the
    point x of the plane it has the moment m_x = dL/dt + (c - x) x f, and z = x + n x m_x / (n.f) (Vukobratovic,
    Borovac, "Zero-moment point: thirty five years of its life", 2004). Bodies fixed to the world count, with their
    weight.

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, a
        (nv,) velocity and acceleration.
    normal, point
        Normal n (3,), of any length, of the plane, and a point x (3,) [m] it contains; world axes.

    Raises
    ------
    MultibodyError
        The normal has length zero, or the force has no component along it (free fall), so no such point exists.
    """
    n = unit_axis(normal, "normal", MultibodyError)
    x = finite_array(point, "point", (3,), MultibodyError)
    sums = body_sums(model, q, v, a, 2)
    weight = sums[..., :1] * model.gravity
    f = sums[..., 11:14] - weight
    along = f @ n
    size = (np.abs(sums[..., 11:14]) + np.abs(weight)) @ np.abs(n)
    missing = np.argwhere(~(np.abs(along) > _ROUNDING * size))
    if missing.shape[0]:
        at = tuple(int(i) for i in missing[0])
        where = f"instant {list(at)}: " if at else ""
        raise MultibodyError(
            "normal", f"{where}the force {f[at].tolist()} N has no part along it: no such point exists"
        )
    moment = sums[..., 14:17] + np.cross(sums[..., 1:4] - x, f)
    return np.asarray(x + np.cross(n, moment) / np.asarray(along)[..., None])


def kinetic_energy(model: Model, q: Instant, v: ArrayLike | None) -> Any:
    """Return the kinetic energy v.M v / 2 [J], summed body by body: a float.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return _number(body_sums(model, q, v, None, 1)[..., 10])


def potential_energy(model: Model, q: Instant) -> Any:
    """Return the energy of all bodies in gravity, -m g.c [J], zero with the centre of mass c at the world origin.

    Bodies fixed to the world count. Arguments as for `kinetic_energy`.
    """
    sums, g = body_sums(model, q, None, None, 0), model.gravity
    # Term by term: a matrix product may round in another order than the kernel `energies`.
    return _number(-sums[..., 0] * (sums[..., 1] * g[0] + sums[..., 2] * g[1] + sums[..., 3] * g[2]))


def _number(energy: FloatArray) -> Any:
    """Return a float if there are no leading axes."""
    return float(energy) if energy.ndim == 0 else energy
