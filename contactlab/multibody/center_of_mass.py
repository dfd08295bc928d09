"""Centre of mass of the whole model and its motion; bodies fixed to the world count.

Every function takes leading axes, q (..., nq), v (..., nv), and gives results that have them too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.centroidal import body_sums, centroidal_momentum_matrix
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


def center_of_mass(model: Model, q: Instant) -> FloatArray:
    """Centre of mass c (3,) [m], world axes.

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
    """Velocity dc/dt (3,) [m/s] of the centre of mass at the velocity v (nv,), world axes."""
    sums = body_sums(model, q, v, None, 1)
    return np.asarray(sums[..., 4:7] / _total(sums))


def center_of_mass_acceleration(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """Acceleration (3,) [m/s^2] of the centre of mass while v (nv,) changes at the rate a (nv,), world axes.

    There is no gravity in it: at rest it is zero, in free fall it is gravity.
    """
    sums = body_sums(model, q, v, a, 2)
    return np.asarray(sums[..., 11:14] / _total(sums))


def center_of_mass_jacobian(model: Model, q: Instant) -> FloatArray:
    """J (3, nv): J v is the velocity of the centre of mass; arguments as for `center_of_mass`."""
    return np.asarray(centroidal_momentum_matrix(model, q)[..., 3:, :] / _total(np.array([model.mass])))


def _total(sums: FloatArray) -> FloatArray:
    """The mass (..., 1), if there is any."""
    mass = sums[..., :1]
    if not (mass > 0.0).all():
        raise MultibodyError("model", "has no mass, hence no centre of mass")
    return mass
