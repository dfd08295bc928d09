"""Momentum of the whole model: linear, angular about the centre of mass, their rates, and how they depend on v."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked_vector
from contactlab.multibody.failures import failure
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import crba_size, rnea_size
from contactlab.multibody.kinematics import Instant, at_configuration, at_state
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

__all__ = [
    "angular_momentum",
    "angular_momentum_rate",
    "body_sums",
    "centroidal_momentum_matrix",
    "linear_momentum",
    "world_mass",
]

_NONE = np.zeros(0)
_NO_MASS = np.zeros(4)


@functools.cache
def _kernels() -> Any:
    from contactlab.multibody.kernels import centroidal

    return centroidal


def linear_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Linear momentum p (3,) [kg m/s], world axes: total mass times the velocity of the centre of mass.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return body_sums(model, q, v, None, 1)[4:7]


def angular_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Angular momentum L (3,) [kg m^2/s] about the centre of mass, world axes; arguments as for `linear_momentum`.

    About another point x it is L + (c - x) x p, c being the centre of mass.
    """
    return body_sums(model, q, v, None, 1)[7:10]


def angular_momentum_rate(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """dL/dt (3,) [N m] of `angular_momentum` while the model moves with the accelerations a (nv,).

    It equals the moment, about the centre of mass, of all external forces, among which gravity has none. That of the
    linear momentum is the mass times `center_of_mass_acceleration`.
    """
    return body_sums(model, q, v, checked_vector("a", a, model.nv), 2)[14:17]


def centroidal_momentum_matrix(model: Model, q: Instant) -> FloatArray:
    """A (6, nv): A v is the angular momentum about the centre of mass, then the linear momentum, world axes.

    Orin, Goswami, Lee, "Centroidal dynamics of a humanoid robot", Autonomous Robots 35 (2013).

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    """
    packed = model.packed
    nv = model.nv
    q_, custom, work, ready = at_configuration(model, q, crba_size(packed.nl, nv))
    A = np.zeros((6, nv))
    fixed = world_mass(model)
    code = _kernels().centroidal_columns(packed.ints, packed.floats, q_, fixed, custom, work, ready, A)
    if code != GOOD:
        raise failure(model, code, q_)
    return A


def body_sums(model: Model, q: Instant, v: ArrayLike | None, a: FloatArray | None, order: int) -> FloatArray:
    """What the kernel of this name fills, (17,): only what the order asks for is set."""
    packed = model.packed
    size = rnea_size(packed.nl, model.nv)
    if order == 0:
        q_, custom, work, ready = at_configuration(model, q, size)
        v_ = _NONE
    else:
        q_, v_, custom, work, ready = at_state(model, q, v, size)
    rates = _NONE if a is None else a
    out = np.empty(17)
    code = _kernels().body_sums(
        packed.ints, packed.floats, q_, v_, rates, world_mass(model), custom, work, ready, order, out
    )
    if code != GOOD:
        raise failure(model, code, q_, ("v", v_), ("a", rates))
    return out


def world_mass(model: Model) -> FloatArray:
    """Mass of the bodies fixed to the world and its first moment, (4,) [kg, kg m]: no link of the model carries them."""
    nb = model.nb
    links = model.packed.ints[-nb:].tolist() if nb else []  # `body_link`, last in the buffer
    if -1 not in links:
        return _NO_MASS
    floats = model.packed.floats[-12 * nb :]  # `body_R` and `body_p`, last in theirs
    R, p = floats[: 9 * nb].reshape(nb, 3, 3), floats[9 * nb :].reshape(nb, 3)
    out = np.zeros(4)
    for i, body in enumerate(model.bodies):
        if links[i] < 0 and body.inertia is not None:
            out[0] += body.inertia.mass
            out[1:] += body.inertia.mass * (R[i] @ body.inertia.com + p[i])
    return out
