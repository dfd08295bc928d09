"""Derivatives of points' motion and of centroidal momentum against fourth-order differences, identities, pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from differencing import Function, differenced, worst
from pin_models import random_pair
from test_multibody_derivatives import with_rotors_and_own_joints
from trees import random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    angular_momentum,
    angular_momentum_rate,
    center_of_mass_acceleration,
    centroidal_momentum_derivatives,
    centroidal_momentum_matrix,
    centroidal_rate_derivatives,
    integrate,
    joints,
    kinematics,
    linear_momentum,
    point_acceleration_6d,
    point_acceleration_derivatives,
    point_jacobian_6d,
    point_position,
    point_velocity_6d,
    point_velocity_derivatives,
    random_configuration,
)
from contactlab.spatial import RigidInertia

POINT = np.array([0.3, -0.2, 0.5])


def momentum(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.concatenate([angular_momentum(model, q, v), linear_momentum(model, q, v)], axis=-1)


def momentum_rate(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    force = model.mass * center_of_mass_acceleration(model, q, v, a)
    return np.concatenate([angular_momentum_rate(model, q, v, a), force], axis=-1)


def check(model: Model, seed: int) -> None:
    """Derivatives by q and v to 1e-10, those that are Jacobians to rounding."""
    (q, v, a), nv = state(model, seed), model.nv

    def along(function: Function) -> np.ndarray:
        return differenced(function, lambda ways: integrate(model, q, ways, 1.0), nv, 1e-3)

    def by_speed(function: Function) -> np.ndarray:
        return differenced(function, lambda ways: v + ways, nv, 1e-2)

    at = (model.names[seed % model.nb], POINT)
    dq, dv = point_velocity_derivatives(model, q, v, *at)
    J = point_jacobian_6d(model, q, *at)
    assert worst(along(lambda x: point_position(model, x, *at)), J[3:]) < 1e-10
    assert worst(dq, along(lambda x: point_velocity_6d(model, x, v, *at))) < 1e-10
    np.testing.assert_array_equal(dv, J)
    dq, dv, da = point_acceleration_derivatives(model, q, v, a, *at)
    assert worst(dq, along(lambda x: point_acceleration_6d(model, x, v, a, *at))) < 1e-10
    assert worst(dv, by_speed(lambda x: point_acceleration_6d(model, q, x, a, *at))) < 1e-10
    np.testing.assert_array_equal(da, J)
    dq, dv = centroidal_momentum_derivatives(model, q, v)
    A = centroidal_momentum_matrix(model, q)
    assert worst(dq, along(lambda x: momentum(model, x, v))) < 1e-10
    assert worst(dv, A) < 1e-13
    dq, dv, da = centroidal_rate_derivatives(model, q, v, a)
    assert worst(dq, along(lambda x: momentum_rate(model, x, v, a))) < 1e-10
    assert worst(dv, by_speed(lambda x: momentum_rate(model, q, x, a))) < 1e-10
    assert worst(da, A) < 1e-13


def test_random_trees() -> None:
    """All joints, free ones in mid-tree, skew screws, several trees; half with joints of the user's own."""
    for seed in range(8):
        check(random_tree(seed) if seed % 2 else with_rotors_and_own_joints(seed), seed)


@pytest.mark.nojit
def test_a_point_on_a_wheel() -> None:
    """Of (r cos q, r sin q), with the momentum of the mass that is there."""
    inertia = RigidInertia(2.0, (0.5, 0, 0), inertia=np.diag([0.1, 0.1, 0.1]))
    wheel = ModelBuilder().add_body("wheel", joint=joints.Revolute(), inertia=inertia).build()
    s, c, w, a = np.sin(0.3), np.cos(0.3), 2.0, 1.5
    dq, dv = point_velocity_derivatives(wheel, [0.3], [w], "wheel", (0.5, 0, 0))
    np.testing.assert_allclose(dq[:, 0], [0, 0, 0, -0.5 * w * c, -0.5 * w * s, 0], atol=1e-14)
    np.testing.assert_allclose(dv[:, 0], [0, 0, 1, -0.5 * s, 0.5 * c, 0], atol=1e-14)
    found = point_acceleration_derivatives(wheel, [0.3], [w], [a], "wheel", (0.5, 0, 0))
    slope = np.array([0, 0, 0, 0.5 * (w**2 * s - a * c), 0.5 * (-(w**2) * c - a * s), 0])
    np.testing.assert_allclose(found.dacceleration_dq[:, 0], slope, atol=1e-14)
    np.testing.assert_allclose(found.dacceleration_dv[:, 0], [0, 0, 0, -w * c, -w * s, 0], atol=1e-14)
    np.testing.assert_allclose(centroidal_rate_derivatives(wheel, [0.3], [w], [a])[0][:, 0], 2.0 * slope, atol=1e-14)
    np.testing.assert_allclose(centroidal_momentum_derivatives(wheel, [0.3], [w])[0][:, 0], 2.0 * dq[:, 0], atol=1e-14)
    for still in point_velocity_derivatives(wheel, [0.3], [w], "world", POINT):
        assert not still.any()


def test_errors() -> None:
    model = random_tree(4)
    (q, v, a), at = state(model, 4), (model.names[-1], POINT)
    for function, more in (
        (point_velocity_derivatives, at),
        (point_acceleration_derivatives, (a, *at)),
        (centroidal_momentum_derivatives, ()),
        (centroidal_rate_derivatives, (a,)),
    ):
        with pytest.raises(MultibodyError, match=r"^v: entry \[0\] is nan"):
            function(model, q, np.full(model.nv, np.nan), *more)
        with pytest.raises(MultibodyError, match="^v: is needed"):
            function(model, q, None, *more)
        with pytest.raises(MultibodyError, match="so large"):
            function(model, q, 1e200 * v, *more)
    for message, call in (
        (
            "another model",
            lambda: centroidal_momentum_derivatives(
                model, kinematics(random_tree(3), *state(random_tree(3), 3)[:2]), None
            ),
        ),
        ("nobody", lambda: point_velocity_derivatives(model, q, v, "nobody", POINT)),
        (
            r"^point: must have shape \(..., 3\), got \(2,\)",
            lambda: point_velocity_derivatives(model, q, v, "b1", [1.0, 2.0]),
        ),
    ):
        with pytest.raises(MultibodyError, match=message):
            call()


def test_pinocchio_agrees() -> None:
    """Trees without free bodies, whose velocities are the same in both."""
    pin = pytest.importorskip("pinocchio")
    for seed in range(30):
        rng = np.random.default_rng([8, seed])
        pair = random_pair(pin, rng, int(rng.integers(2, 30)))
        if "floating" in pair.kinds:
            continue
        model, theirs, data = pair.ours, pair.theirs, pair.theirs.createData()
        q, (v, a) = random_configuration(model, rng), rng.standard_normal((2, model.nv))
        pin.computeForwardKinematicsDerivatives(theirs, data, pair.q(q), v, a)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        place, at = pin.SE3(np.eye(3), POINT), model.names[-1]
        their = pin.getPointClassicAccelerationDerivatives(theirs, data, model.nb, place, world)
        ours = point_velocity_derivatives(model, q, v, at, POINT)
        for found, expected in zip(
            (ours[0], *point_acceleration_derivatives(model, q, v, a, at, POINT)), their, strict=True
        ):
            assert worst(found[3:], expected) < 1e-11
        their = pin.computeCentroidalDynamicsDerivatives(theirs, data, pair.q(q), v, a)
        ours = centroidal_momentum_derivatives(model, q, v)[0], *centroidal_rate_derivatives(model, q, v, a)
        for found, expected in zip(ours, their, strict=True):
            assert worst(found[[3, 4, 5, 0, 1, 2]], expected) < 1e-11
