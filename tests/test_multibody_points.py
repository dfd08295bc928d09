"""Points of bodies, their velocities, accelerations and Jacobians, and the kinematics computed once."""

import numpy as np
import pytest
from every_joint import model_with_every_joint, moved

from contactlab.multibody import (
    PointForce,
    body_pose,
    body_spatial_jacobian,
    external_forces,
    forward_dynamics,
    inverse_dynamics,
    point_acceleration,
    point_acceleration_6d,
    point_bias_acceleration,
    point_bias_acceleration_6d,
    point_in_body,
    point_jacobian,
    point_jacobian_6d,
    point_position,
    point_velocity,
    point_velocity_6d,
    random_configuration,
)
from contactlab.multibody.spatial import quaternion

POINT = np.array([0.3, -0.2, 0.5])


@pytest.fixture(scope="module")
def case() -> tuple:
    model = model_with_every_joint()
    rng = np.random.default_rng(2)
    return model, random_configuration(model, rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)


@pytest.mark.nojit
def test_velocity_is_the_derivative_of_position(case: tuple) -> None:
    """Central differences of position and orientation along v give the point's velocity and the body's angular one."""
    model, q, v, _ = case
    step = 1e-6
    before, after = moved(model, q, v, 0 * v, -step), moved(model, q, v, 0 * v, step)
    for body in model.names:
        slope = (point_position(model, after, body, POINT) - point_position(model, before, body, POINT)) / (2 * step)
        np.testing.assert_allclose(point_velocity(model, q, v, body, POINT), slope, rtol=1e-7, atol=1e-7)
        turn = body_pose(model, after, body).R @ body_pose(model, before, body).R.T
        angular = quaternion.log(quaternion.from_matrix(turn)) / (2 * step)
        np.testing.assert_allclose(point_velocity_6d(model, q, v, body, POINT)[:3], angular, rtol=1e-7, atol=1e-7)


def test_acceleration_is_the_derivative_of_velocity(case: tuple) -> None:
    """Central differences of the velocity along a motion with the given a are the accelerations, without gravity."""
    model, q, v, a = case
    step = 1e-5
    for body in model.names:
        rates = [point_velocity_6d(model, moved(model, q, v, a, h), v + h * a, body, POINT) for h in (-step, step)]
        slope = (rates[1] - rates[0]) / (2 * step)
        np.testing.assert_allclose(point_acceleration_6d(model, q, v, a, body, POINT), slope, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(point_acceleration(model, q, v, a, body, POINT), slope[3:], rtol=1e-6, atol=1e-6)


@pytest.mark.nojit
def test_jacobians(case: tuple) -> None:
    """J v is the velocity, J a plus the bias the acceleration, and the spatial Jacobian is in body axes."""
    model, q, v, a = case
    for body in (*model.names, "world"):
        J = point_jacobian_6d(model, q, body, POINT)
        np.testing.assert_allclose(J @ v, point_velocity_6d(model, q, v, body, POINT), atol=1e-12)
        np.testing.assert_array_equal(point_jacobian(model, q, body, POINT), J[3:])
        bias = point_bias_acceleration_6d(model, q, v, body, POINT)
        np.testing.assert_allclose(J @ a + bias, point_acceleration_6d(model, q, v, a, body, POINT), atol=1e-11)
        np.testing.assert_array_equal(point_bias_acceleration(model, q, v, body, POINT), bias[3:])
        R = body_pose(model, q, body).R
        at_origin = point_jacobian_6d(model, q, body, np.zeros(3))
        expected = np.concatenate([R.T @ at_origin[:3], R.T @ at_origin[3:]])
        np.testing.assert_allclose(body_spatial_jacobian(model, q, body), expected, atol=1e-14)


def test_body_coordinates_and_back(case: tuple) -> None:
    """`point_in_body` undoes `point_position`."""
    model, q, _, _ = case
    for body in (*model.names, "world"):
        there = point_position(model, q, body, POINT)
        np.testing.assert_allclose(point_in_body(model, q, body, there), POINT, atol=1e-13)


@pytest.mark.nojit
def test_external_forces_do_the_work_of_their_points(case: tuple) -> None:
    """Forces at points, in world or body axes, add J^T f to the generalised force; on the world they add nothing."""
    model, q, v, a = case
    rng = np.random.default_rng(4)
    forces, generalized = [], np.zeros(model.nv)
    for number, body in enumerate((*model.names, *model.names, "world")):
        point, force = rng.standard_normal((2, 3))
        frame = "world" if number % 2 else "body"
        forces.append(PointForce(body, point, force, frame))
        in_world = force if frame == "world" else body_pose(model, q, body).R @ force
        generalized += point_jacobian(model, q, body, point).T @ in_world
    rows = external_forces(model, q, forces)
    assert rows.shape == (model.nb, 6)
    np.testing.assert_allclose(
        inverse_dynamics(model, q, v, a) - inverse_dynamics(model, q, v, a, rows), generalized, rtol=1e-10, atol=1e-10
    )
    found = forward_dynamics(model, q, v, a, rows)
    np.testing.assert_allclose(found, forward_dynamics(model, q, v, a + generalized), rtol=1e-9, atol=1e-9)
