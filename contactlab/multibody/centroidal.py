"""Momentum of the whole model: linear, angular about the centre of mass, their rates, and how they depend on v.

Every function takes leading axes, q (..., nq), v (..., nv), and gives results that have them too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked_vector, failure
from contactlab.multibody.batch import body_sums_batch, centroidal_momentum_matrix_batch
from contactlab.multibody.entries import kernels
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.instants import batched
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import crba_size, rnea_size
from contactlab.multibody.kinematics import Instant, at_configuration, at_state
from contactlab.multibody.model import Model
from contactlab.multibody.structure import world_mass
from contactlab.spatial.arrays import FloatArray

_NONE = np.zeros(0)


def linear_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Linear momentum p (3,) [kg m/s], world axes: total mass times the velocity of the centre of mass.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    v
        (nv,) velocity.
    """
    return body_sums(model, q, v, None, 1)[..., 4:7]


def angular_momentum(model: Model, q: Instant, v: ArrayLike | None) -> FloatArray:
    """Angular momentum L (3,) [kg m^2/s] about the centre of mass, world axes; arguments as for `linear_momentum`.

    About another point x it is L + (c - x) x p, c being the centre of mass.
    """
    return body_sums(model, q, v, None, 1)[..., 7:10]


def angular_momentum_rate(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> FloatArray:
    """dL/dt (3,) [N m] of `angular_momentum` while the model moves with the accelerations a (nv,).

    It equals the moment, about the centre of mass, of all external forces, among which gravity has none. That of the
    linear momentum is the mass times `center_of_mass_acceleration`.
    """
    return body_sums(model, q, v, a, 2)[..., 14:17]


def centroidal_momentum_matrix(model: Model, q: Instant) -> FloatArray:
    """A (6, nv): A v is the angular momentum about the centre of mass, then the linear momentum, world axes.

    Orin, Goswami, Lee, "Centroidal dynamics of a humanoid robot", Autonomous Robots 35 (2013).

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    """
    if batched(q):
        return centroidal_momentum_matrix_batch(model, q)
    packed = model.packed
    nv = model.nv
    q_, custom, work, ready = at_configuration(model, q, crba_size(packed.nl, nv))
    A = np.zeros((6, nv))
    fixed = world_mass(model)
    code = kernels().centroidal.centroidal_columns(packed.ints, packed.floats, q_, fixed, custom, work, ready, A)
    if code != GOOD:
        raise failure(model, code, q_)
    return A


def body_sums(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, order: int) -> FloatArray:
    """Sums over the bodies, (17,), of the kernel of this name: only what the order asks for is set."""
    if batched(q, v, a):
        return body_sums_batch(model, q, v, a, order)
    packed = model.packed
    size = rnea_size(packed.nl, model.nv)
    if order == 0:
        q_, custom, work, ready = at_configuration(model, q, size)
        v_ = _NONE
    else:
        q_, v_, custom, work, ready = at_state(model, q, v, size)
    if order > 1 and a is None:
        raise MultibodyError("a", "is needed")
    rates = _NONE if a is None else checked_vector("a", a, model.nv)
    out = np.empty(17)
    code = kernels().centroidal.body_sums(
        packed.ints, packed.floats, q_, v_, rates, world_mass(model), custom, work, ready, order, out
    )
    if code != GOOD:
        raise failure(model, code, q_, ("v", v_), ("a", rates))
    return out
