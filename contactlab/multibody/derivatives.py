"""Derivatives of inverse and forward dynamics, of the motion of points and of the momentum of the model.

Derivatives are taken with respect to configuration, velocity, and acceleration or force. Every function accepts leading
axes, q (..., nq), v (..., nv), f_ext (..., nb, 6), which broadcast, and runs on threads. Derivatives by q are along
`integrate`: column j is d/de at ``integrate(model, q, e_j, e)``. All 6-vectors are angular first, in world axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import ON_STACK, Entry, kernels, single_signature
from contactlab.multibody.joints import evaluated
from contactlab.multibody.kernels import (
    CUSTOM_RATES,
    GOOD,
)
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    Kinematics,
    at_state,
    operand,
    optional,
    velocity,
)
from contactlab.multibody.model import Model, world_mass
from contactlab.multibody.spatial.arrays import FloatArray

# one look-up less in a very short call
_empty = np.empty

_quick = Entry(lambda: single_signature(kernels().entries.fast_derivatives, 1, (1, 1, 1, 1, 1, 3), 0))

#: Fourth-order differences of users' methods: step, points and weights. Truncation and rounding error are about 1e-13.
STEP = 1e-3
STENCIL = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau = `inverse_dynamics`, (..., nv, nv) each: [i, j] is the derivative of entry i by entry j.

    Attributes
    ----------
    dtau_dq
        Along `integrate`: column j is d/de of tau at ``integrate(model, q, e_j, e)``.
    dtau_dv
        With respect to velocity.
    dtau_da
        With respect to acceleration: the mass matrix.
    """

    dtau_dq: FloatArray
    dtau_dv: FloatArray
    dtau_da: FloatArray


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of a = `forward_dynamics`, (..., nv, nv) each: [i, j] is the derivative of entry i by entry j.

    Attributes
    ----------
    da_dq
        Along `integrate`: column j is d/de of a at ``integrate(model, q, e_j, e)``.
    da_dv
        With respect to velocity.
    da_dtau
        With respect to force: the inverse of the mass matrix.
    """

    da_dq: FloatArray
    da_dv: FloatArray
    da_dtau: FloatArray


def inverse_dynamics_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, f_ext: ArrayLike | None = None
) -> InverseDynamicsDerivatives:
    """Return the derivatives of `inverse_dynamics`, exact except for rounding, at a small multiple of its cost.

    Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms" (2018), as in Singh, Russell,
    Wensing (2022). The methods of user joints are differenced, by four calls for every degree of freedom.

    Parameters
    ----------
    model, q, v, a, f_ext
        As for `inverse_dynamics`, leading axes included. External forces do not move with the bodies: moment about the
        world origin and force, in world axes, are constant as q changes.

    Returns
    -------
    InverseDynamicsDerivatives
        dtau_dq, dtau_dv, dtau_da, (..., nv, nv) each. Columns correspond to entries of v, not of q; see `integrate`.

    Raises
    ------
    MultibodyError
        As `inverse_dynamics`.
    """
    return InverseDynamicsDerivatives(*_derivatives(model, q, v, "a", a, f_ext, 0))


def forward_dynamics_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> ForwardDynamicsDerivatives:
    """Return the derivatives of `forward_dynamics`: M^-1 times dtau less the derivatives of `inverse_dynamics` at a.

    Parameters
    ----------
    model, q, v, tau, f_ext
        As for `forward_dynamics`, leading axes included; external forces are constant, as in
        `inverse_dynamics_derivatives`.

    Returns
    -------
    ForwardDynamicsDerivatives
        da_dq, da_dv, da_dtau, (..., nv, nv) each.

    Raises
    ------
    MultibodyError
        As `forward_dynamics`.
    """
    return ForwardDynamicsDerivatives(*_derivatives(model, q, v, "tau", tau, f_ext, 1))


def _derivatives(
    model: Model, q: Instant, v: ArrayLike | None, name: str, x: ArrayLike, f_ext: ArrayLike | None, forward: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return three derivatives (..., nv, nv), by q, v and x, for one instant or many.

    They are derivatives of tau at x = a, or of a at x = tau if ``forward`` is 1. ``name`` is the name of x in errors.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and f_ext is None and not packed.custom:
        out = _empty((3 + forward, nv, nv))
        try:
            work = ON_STACK if packed.compact else np.empty(packed.size)
            if _quick.call(packed.ints, packed.floats, q, v, x, work, out, forward) == GOOD:
                return out[0], out[1], out[2]
        except (TypeError, ValueError):
            pass  # not plain arrays; of an empty list, even its type is unknown
    given = operand(name, x, nv), optional("f_ext", f_ext, model.nb, 6)
    found = _of_many(model, q, v, kernels().entries.derivatives, given, (3 + forward, nv, nv), forward)
    return found[0], found[1], found[2]


def _of_many(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    kernel: Any,
    given: tuple[tuple[str, FloatArray, int], ...],
    shape: tuple[int, ...],
    last: object,
) -> tuple[FloatArray, ...]:
    """Return the derivatives, shape[0] arrays (..., *shape[1:]), by a kernel of `kernels.entries` for many instants."""
    if isinstance(q, Kinematics):
        q, v = at_state(model, q, v)[:2]
    many = BatchOperands.of(model, operand("q", q, model.nq), velocity(q, v, model.nv), *given)
    out = np.zeros((many.count, *shape))
    many.fill(kernel, None, (*many.rows, many.custom(), rates_of(many), last), out)
    return tuple(many.shaped(out[:, number]) for number in range(shape[0]))


def rates_of(many: BatchOperands) -> FloatArray:
    """Return `joint_rates` of every instant, (B or 1, n, 252); q and v are the first two operands."""
    if not many.model.packed.custom or not many.count:
        return np.zeros((1, len(many.model.packed.custom), CUSTOM_RATES))
    return np.array([joint_rates(many.model, many.row(0, b), many.row(1, b)) for b in range(many.count)])


def joint_rates(model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return the rows (n, 252) of custom joints: derivatives of subspaces and velocity products by coordinate."""
    joints = model.packed.custom
    rows = np.zeros((len(joints), CUSTOM_RATES))
    for row, (joint, iq, iv) in zip(rows, joints, strict=True):
        for k in range(joint.nv):
            for place, weight in STENCIL:
                # the joint moved along its degree of freedom k
                way = place * STEP * np.eye(joint.nv)[k]
                there = evaluated(joint, "integrate", (joint.nq,), q[iq], way, 1.0)
                S = evaluated(joint, "motion_subspace", (6, joint.nv), there)
                c = evaluated(joint, "velocity_product", (6,), there, v[iv])
                row[36 * k : 36 * k + 6 * joint.nv] += weight / (12.0 * STEP) * S.T.ravel()
                row[216 + 6 * k : 222 + 6 * k] += weight / (12.0 * STEP) * c
    return rows


class PointVelocityDerivatives(NamedTuple):
    """Derivatives of `point_velocity_6d`, (..., 6, nv) each; rows 3 to 5 belong to `point_velocity`.

    Attributes
    ----------
    dvelocity_dq, dvelocity_dv
        By configuration and velocity; the last is `point_jacobian_6d`.
    """

    dvelocity_dq: FloatArray
    dvelocity_dv: FloatArray


class PointAccelerationDerivatives(NamedTuple):
    """Derivatives of `point_acceleration_6d`, (..., 6, nv) each; rows 3 to 5 belong to `point_acceleration`.

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
    """Return the derivatives of `point_velocity_6d`, exact except for rounding.

    The derivative of `point_position` by q is `point_jacobian`.

    Parameters
    ----------
    model, q, v, body, point
        As for `point_velocity`.

    Returns
    -------
    PointVelocityDerivatives
        dvelocity_dq, dvelocity_dv, (..., 6, nv) each.
    """
    by_q, by_v, _, _ = _point_derivatives(model, q, v, np.zeros(model.nv), body, point)
    return PointVelocityDerivatives(by_q, by_v)


def point_acceleration_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> PointAccelerationDerivatives:
    """Return the derivatives of `point_acceleration_6d`, exact except for rounding.

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
    _, by_a, by_q, by_v = _point_derivatives(model, q, v, a, body, point)
    return PointAccelerationDerivatives(by_q, by_v, by_a)


def centroidal_momentum_derivatives(model: Model, q: Instant, v: ArrayLike | None) -> CentroidalMomentumDerivatives:
    """Return the derivatives of angular momentum about the centre of mass and of linear momentum.

    Parameters
    ----------
    model, q, v
        As for `angular_momentum`.

    Returns
    -------
    CentroidalMomentumDerivatives
        dmomentum_dq, dmomentum_dv, (..., 6, nv) each.
    """
    by_q, by_v, _, _ = _momentum_derivatives(model, q, v, np.zeros(model.nv))
    return CentroidalMomentumDerivatives(by_q, by_v)


def centroidal_rate_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike
) -> CentroidalRateDerivatives:
    """Return the derivatives of the rates of both momenta, exact except for rounding.

    Contacts must exert these rates less gravity.

    Parameters
    ----------
    model, q, v, a
        As for `angular_momentum_rate`.

    Returns
    -------
    CentroidalRateDerivatives
        drate_dq, drate_dv, drate_da, (..., 6, nv) each.
    """
    _, by_a, by_q, by_v = _momentum_derivatives(model, q, v, a)
    return CentroidalRateDerivatives(by_q, by_v, by_a)


def _point_derivatives(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike, body: str, point: ArrayLike
) -> tuple[FloatArray, ...]:
    """Return four derivatives (..., 6, nv) of a point: of its velocity by q and v, of its acceleration by q and v."""
    given, index = (operand("a", a, model.nv), operand("point", point, 3)), model.index_or_world(body)
    return _of_many(model, q, v, kernels().entries.rates_of_points, given, (4, 6, model.nv), index)


def _momentum_derivatives(model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike) -> tuple[FloatArray, ...]:
    given = (operand("a", a, model.nv),)
    return _of_many(model, q, v, kernels().entries.rates_of_momentum, given, (4, 6, model.nv), world_mass(model))
