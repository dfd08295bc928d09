"""Where the mass of the whole model is and how it moves; bodies fixed to the world count."""

from __future__ import annotations

from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked_vector
from contactlab.multibody.centroidal import body_sums, centroidal_momentum_matrix
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

__all__ = ["center_of_mass", "center_of_mass_acceleration", "center_of_mass_jacobian", "center_of_mass_velocity"]


def center_of_mass(model: Model, q: Instant) -> FloatArray:
    """Centre of mass c (3,) [m], world axes.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.

    Raises
    ------
    MultibodyError
        The model has no mass; or, as everywhere, a wrong length, an entry that is not finite, a bad quaternion.
    """
    sums = body_sums(model, q, None, None, 0)
    _total(sums[0])
    return sums[1:4]


def center_of_mass_velocity(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Velocity dc/dt (3,) [m/s] of the centre of mass at the velocity v (nv,), world axes."""
    sums = body_sums(model, q, v, None, 1)
    return sums[4:7] / _total(sums[0])


def center_of_mass_acceleration(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """Acceleration (3,) [m/s^2] of the centre of mass while v (nv,) changes at the rate a (nv,), world axes.

    There is no gravity in it: at rest it is zero, in free fall it is gravity.
    """
    sums = body_sums(model, q, v, checked_vector("a", a, model.nv), 2)
    return sums[11:14] / _total(sums[0])


def center_of_mass_jacobian(model: Model, q: Instant) -> FloatArray:
    """J (3, nv): J v is the velocity of the centre of mass; arguments as for `center_of_mass`."""
    return centroidal_momentum_matrix(model, q)[3:] / _total(model.mass)


def _total(mass: float) -> float:
    """The mass, if there is any."""
    if not mass > 0.0:
        raise MultibodyError("model", "has no mass, hence no centre of mass")
    return mass
