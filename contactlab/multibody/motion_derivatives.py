"""Derivatives of the motion of points and of the momentum of the model by configuration, velocity and acceleration.

Every function takes leading axes, q (..., nq), v (..., nv), and gives results that have them too. By q is along
`integrate`: column j is d/de at ``integrate(model, q, e_j, e)``. All 6-vectors are angular first, in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.derivatives import rates_of
from contactlab.multibody.entries import kernels
from contactlab.multibody.instants import Instants, operand, velocity
from contactlab.multibody.kernels.sizes import derivatives_size, head_size, point_rates_size
from contactlab.multibody.kinematics import Instant, Kinematics, at_state
from contactlab.multibody.model import Model
from contactlab.multibody.structure import world_mass
from contactlab.spatial.arrays import FloatArray


class PointVelocityDerivatives(NamedTuple):
    """Derivatives of `point_velocity_6d`, (..., 6, nv) each; rows 3 to 5 are those of `point_velocity`.

    Attributes
    ----------
    dvelocity_dq, dvelocity_dv
        By configuration and velocity; the last is `point_jacobian_6d`.
    """

    dvelocity_dq: FloatArray
    dvelocity_dv: FloatArray


class PointAccelerationDerivatives(NamedTuple):
    """Derivatives of `point_acceleration_6d`, (..., 6, nv) each; rows 3 to 5 are those of `point_acceleration`.

    Attributes
    ----------
    dacceleration_dq, dacceleration_dv, dacceleration_da
        By configuration, velocity and acceleration; the last is `point_jacobian_6d`.
    """

    dacceleration_dq: FloatArray
    dacceleration_dv: FloatArray
    dacceleration_da: FloatArray


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of A v, (..., 6, nv) each: of `angular_momentum`, then of `linear_momentum`.

    Attributes
    ----------
    dmomentum_dq, dmomentum_dv
        By configuration and velocity; the last is A, the `centroidal_momentum_matrix`.
    """

    dmomentum_dq: FloatArray
    dmomentum_dv: FloatArray


class CentroidalRateDerivatives(NamedTuple):
    """Derivatives of d(A v)/dt, (..., 6, nv) each: of `angular_momentum_rate`, then of the rate of `linear_momentum`.

    Attributes
    ----------
    drate_dq, drate_dv, drate_da
        By configuration, velocity and acceleration; the last is A.
    """

    drate_dq: FloatArray
    drate_dv: FloatArray
    drate_da: FloatArray


def point_velocity_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, body: str, point: ArrayLike
) -> PointVelocityDerivatives:
    """Derivatives of `point_velocity_6d`, exact but for rounding; that of `point_position` by q is `point_jacobian`.

    Parameters
    ----------
    model, q, v, body, point
        As for `point_velocity`.

    Returns
    -------
    PointVelocityDerivatives
        dvelocity_dq, dvelocity_dv, (..., 6, nv) each.
    """
    by_q, by_v, _, _ = _of_point(model, q, v, np.zeros(model.nv), body, point)
    return PointVelocityDerivatives(by_q, by_v)


def point_acceleration_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> PointAccelerationDerivatives:
    """Derivatives of `point_acceleration_6d`, exact but for rounding.

    Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms" (2018), for the links.

    Parameters
    ----------
    model, q, v, a, body, point
        As for `point_acceleration`.

    Returns
    -------
    PointAccelerationDerivatives
        dacceleration_dq, dacceleration_dv, dacceleration_da, (..., 6, nv) each.
    """
    _, by_a, by_q, by_v = _of_point(model, q, v, a, body, point)
    return PointAccelerationDerivatives(by_q, by_v, by_a)


def centroidal_momentum_derivatives(model: Model, q: Instant, v: ArrayLike | None) -> CentroidalMomentumDerivatives:
    """Derivatives of angular momentum about the centre of mass and of linear momentum, exact but for rounding.

    Parameters
    ----------
    model, q, v
        As for `angular_momentum`.

    Returns
    -------
    CentroidalMomentumDerivatives
        dmomentum_dq, dmomentum_dv, (..., 6, nv) each.
    """
    by_q, by_v, _, _ = _of_momentum(model, q, v, np.zeros(model.nv))
    return CentroidalMomentumDerivatives(by_q, by_v)


def centroidal_rate_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike
) -> CentroidalRateDerivatives:
    """Derivatives of the rates of both momenta, exact but for rounding: of what contacts must exert less gravity.

    Parameters
    ----------
    model, q, v, a
        As for `angular_momentum_rate`.

    Returns
    -------
    CentroidalRateDerivatives
        drate_dq, drate_dv, drate_da, (..., 6, nv) each.
    """
    _, by_a, by_q, by_v = _of_momentum(model, q, v, a)
    return CentroidalRateDerivatives(by_q, by_v, by_a)


def _of_point(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> tuple[FloatArray, ...]:
    index = model.index_or_world(body)
    more = (operand("point", point, 3),)
    return _filled(model, q, v, a, kernels().batch.rates_of_points, point_rates_size, more, index)


def _of_momentum(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> tuple[FloatArray, ...]:
    return _filled(model, q, v, a, kernels().batch.rates_of_momentum, derivatives_size, (), world_mass(model))


def _filled(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike,
    kernel: Any,
    size: Callable[[int, int], int],
    more: tuple[tuple[str, FloatArray, int], ...],
    last: object,
) -> tuple[FloatArray, ...]:
    """The four results (..., 6, nv) of a kernel of `kernels.batch`."""
    nv = model.nv
    if isinstance(q, Kinematics):
        q, v = at_state(model, q, v, head_size(model.packed.nl, nv))[:2]
    many = Instants.of(model, operand("q", q, model.nq), velocity(q, v, nv), operand("a", a, nv), *more)
    out = np.zeros((many.count, 4, 6, nv))
    many.fill(kernel, size(model.packed.nl, nv), None, (*many.rows, many.custom(), rates_of(many), last), out)
    return tuple(many.shaped(out[:, number]) for number in range(4))
