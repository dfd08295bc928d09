from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import assert_fields, assert_messages
from trees import random_tree

from contactlab.multibody import (
    Model,
    ModelBuilder,
    angular_momentum,
    angular_momentum_rate,
    body_pose,
    body_poses,
    body_spatial_jacobian,
    center_of_mass,
    center_of_mass_acceleration,
    center_of_mass_jacobian,
    center_of_mass_velocity,
    centroidal_momentum_matrix,
    difference,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    joints,
    kinematics,
    kinetic_energy,
    linear_momentum,
    mass_matrix,
    nonlinear_effects,
    point_acceleration_6d,
    point_in_body,
    point_jacobian,
    point_jacobian_6d,
    point_position,
    point_velocity_6d,
    potential_energy,
    random_configuration,
    solve_mass_matrix,
    zero_moment_point,
)
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError

BALL = RigidInertia.solid_sphere(1.0, 0.1)
POINT = np.array([0.1, -0.2, 0.3])


class Slider(joints.CustomJoint):
    """Moves along x by the cube of its coordinate."""

    nq = 1
    nv = 1

    def transform(self, q):
        return Transform(p=[q[0] ** 3 + q[0], 0.0, 0.0])

    def motion_subspace(self, q):
        return (3.0 * q[0] ** 2 + 1.0) * np.eye(6)[:, 3:4]

    def velocity_product(self, q, v):
        return 6.0 * q[0] * v[0] ** 2 * np.eye(6)[3]


def with_custom_joint() -> Model:
    builder = ModelBuilder()
    builder.add_body("slider", joint=Slider(), inertia=BALL)
    builder.add_body("ball", parent="slider", joint=joints.Spherical(), placement=Transform(p=POINT), inertia=BALL)
    return builder.build()


def states(model: Model, *lead: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    count = int(np.prod(lead))
    q = np.array([random_configuration(model, rng) for _ in range(count)]).reshape((*lead, model.nq))
    v, a = rng.uniform(-1.0, 1.0, (2, *lead, model.nv))
    return q, v, a, rng.uniform(-1.0, 1.0, (*lead, model.nb, 6))


def all_functions(model: Model) -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Batch and single version of everything, as functions of (q, v, a, f)."""
    name = model.names[-1]

    def both(f: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return f, f

    return {
        "inverse_dynamics": (
            lambda q, v, a, f: inverse_dynamics(model, q, v, a),
            lambda q, v, a, f: inverse_dynamics(model, q, v, a),
        ),
        "inverse_dynamics_f": (
            lambda q, v, a, f: inverse_dynamics(model, q, v, a, f),
            lambda q, v, a, f: inverse_dynamics(model, q, v, a, f),
        ),
        "nonlinear_effects": (
            lambda q, v, a, f: nonlinear_effects(model, q, v),
            lambda q, v, a, f: nonlinear_effects(model, q, v),
        ),
        "forward_dynamics": (
            lambda q, v, a, f: forward_dynamics(model, q, v, a),
            lambda q, v, a, f: forward_dynamics(model, q, v, a),
        ),
        "forward_dynamics_f": (
            lambda q, v, a, f: forward_dynamics(model, q, v, a, f),
            lambda q, v, a, f: forward_dynamics(model, q, v, a, f),
        ),
        "mass_matrix": (lambda q, v, a, f: mass_matrix(model, q), lambda q, v, a, f: mass_matrix(model, q)),
        "solve_mass_matrix": (
            lambda q, v, a, f: solve_mass_matrix(model, q, a),
            lambda q, v, a, f: solve_mass_matrix(model, q, a),
        ),
        "position": (
            lambda q, v, a, f: point_position(model, q, name, POINT),
            lambda q, v, a, f: point_position(model, q, name, POINT),
        ),
        "velocity": (
            lambda q, v, a, f: point_velocity_6d(model, q, v, name, POINT),
            lambda q, v, a, f: point_velocity_6d(model, q, v, name, POINT),
        ),
        "acceleration": (
            lambda q, v, a, f: point_acceleration_6d(model, q, v, a, name, POINT),
            lambda q, v, a, f: point_acceleration_6d(model, q, v, a, name, POINT),
        ),
        "jacobian": (
            lambda q, v, a, f: point_jacobian_6d(model, q, name, POINT),
            lambda q, v, a, f: point_jacobian_6d(model, q, name, POINT),
        ),
        "jacobian_3d": (
            lambda q, v, a, f: point_jacobian(model, q, name, POINT),
            lambda q, v, a, f: point_jacobian(model, q, name, POINT),
        ),
        "spatial_jacobian": (
            lambda q, v, a, f: body_spatial_jacobian(model, q, name),
            lambda q, v, a, f: body_spatial_jacobian(model, q, name),
        ),
        "in_body": (
            lambda q, v, a, f: point_in_body(model, q, name, POINT),
            lambda q, v, a, f: point_in_body(model, q, name, POINT),
        ),
        "R": (lambda q, v, a, f: body_poses(model, q, name)[0], lambda q, v, a, f: body_pose(model, q, name).R),
        "p": (lambda q, v, a, f: body_poses(model, q, name)[1], lambda q, v, a, f: body_pose(model, q, name).p),
        "integrate": (
            lambda q, v, a, f: integrate(model, q, v, 0.3),
            lambda q, v, a, f: integrate(model, q, v, 0.3),
        ),
        "com": both(lambda q, v, a, f: center_of_mass(model, q)),
        "com_velocity": both(lambda q, v, a, f: center_of_mass_velocity(model, q, v)),
        "com_acceleration": both(lambda q, v, a, f: center_of_mass_acceleration(model, q, v, a)),
        "com_jacobian": both(lambda q, v, a, f: center_of_mass_jacobian(model, q)),
        "linear_momentum": both(lambda q, v, a, f: linear_momentum(model, q, v)),
        "angular_momentum": both(lambda q, v, a, f: angular_momentum(model, q, v)),
        "angular_momentum_rate": both(lambda q, v, a, f: angular_momentum_rate(model, q, v, a)),
        "momentum_matrix": both(lambda q, v, a, f: centroidal_momentum_matrix(model, q)),
        "kinetic_energy": both(lambda q, v, a, f: kinetic_energy(model, q, v)),
        "potential_energy": both(lambda q, v, a, f: potential_energy(model, q)),
        "zero_moment_point": both(lambda q, v, a, f: zero_moment_point(model, q, v, a, point=POINT)),
    }


@pytest.mark.nojit
@pytest.mark.parametrize("make", [lambda: random_tree(1), lambda: random_tree(2, 3), with_custom_joint])
def test_batches_are_single_calls_to_the_last_bit(make):
    """Every function of many instants gives what it gives for each, with all joints, custom ones included."""
    model = make()
    q, v, a, f = states(model, 2, 3)
    for name, (many, one) in all_functions(model).items():
        found = many(q, v, a, f)
        single = np.array([[one(q[i, j], v[i, j], a[i, j], f[i, j]) for j in range(3)] for i in range(2)])
        assert found.shape == single.shape, name
        if name in (
            "spatial_jacobian",
            "in_body",
            "com_jacobian",
            "zero_moment_point",
            "potential_energy",
        ):  # numpy's own sums, in another order
            np.testing.assert_allclose(found, single, rtol=1e-13, atol=1e-13, err_msg=name)
        else:
            np.testing.assert_array_equal(found, single, err_msg=name)


@pytest.mark.nojit
def test_difference_undoes_integrate():
    """Over a batch: the velocity that leads from q to where it leads."""
    model = random_tree(1)
    q, v, _, _ = states(model, 5)
    np.testing.assert_allclose(difference(model, q, integrate(model, q, v, 1.0)), v, atol=1e-12)
    single = [difference(model, q[0], row) for row in q]
    np.testing.assert_array_equal(difference(model, q[0], q), single)
    times = np.linspace(0.0, 1.0, 5)
    each = [integrate(model, q[i], v[i], times[i]) for i in range(5)]
    np.testing.assert_array_equal(integrate(model, q, v, times), each)
    custom = with_custom_joint()
    q, v, _, _ = states(custom, 4)
    np.testing.assert_allclose(difference(custom, q, integrate(custom, q, v, 1.0)), v, atol=1e-12)


@pytest.mark.nojit
def test_leading_axes_broadcast():
    """One q with many v, many q with one v, a column against a row; a `Kinematics` stands for its q."""
    model = random_tree(4, 3)
    q, v, a, _ = states(model, 4)
    rows = inverse_dynamics(model, q[0], v, a[0])
    np.testing.assert_array_equal(rows, [inverse_dynamics(model, q[0], row, a[0]) for row in v])
    table = inverse_dynamics(model, q[:, None], v[None, :3], a[0])
    assert table.shape == (4, 3, model.nv)
    np.testing.assert_array_equal(table[2, 1], inverse_dynamics(model, q[2], v[1], a[0]))
    moving = kinematics(model, q[0], v[0])
    np.testing.assert_array_equal(inverse_dynamics(model, moving, None, a), inverse_dynamics(model, q[0], v[0], a))
    np.testing.assert_array_equal(kinetic_energy(model, moving, v)[1], kinetic_energy(model, q[0], v[1]))
    points = np.random.default_rng(0).standard_normal((5, 3))
    name = model.names[-1]
    at = kinematics(model, q[0])
    found = point_position(model, at, name, points)
    np.testing.assert_array_equal(found, [point_position(model, q[0], name, row) for row in points])
    np.testing.assert_array_equal(inverse_dynamics(model, q[0], v[0], a[0]), inverse_dynamics(model, q[0], v[0], a[0]))


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_results_do_not_depend_on_threads(threads):
    """Long batches, cut into portions over any number of threads: the same bits."""
    model = random_tree(5, 3)
    q, v, a, f = states(model, 64)
    big = [np.concatenate([array] * 200) for array in (q, v, a, f)]
    found = forward_dynamics(model, *big, threads=threads)
    np.testing.assert_array_equal(
        found.reshape(200, 64, -1), np.broadcast_to(forward_dynamics(model, q, v, a, f), (200, 64, model.nv))
    )
    bad = big[0].copy()
    bad[9000, 0] = np.nan
    bad[12000, 0] = np.nan
    with pytest.raises(MultibodyError, match=r"instant \[9000\]"):
        forward_dynamics(model, bad, *big[1:], threads=threads)


@pytest.mark.nojit
def test_empty_batches():
    """No instants give no results of the right shape; a model that does not move takes batches too."""
    model = random_tree(4, 3)
    q, v, a, _ = states(model, 4)
    assert inverse_dynamics(model, q[:0], v[:0], a[:0]).shape == (0, model.nv)
    assert mass_matrix(model, np.zeros((3, 0, model.nq))).shape == (3, 0, model.nv, model.nv)
    assert center_of_mass(model, q[:0]).shape == (0, 3)
    fixed = ModelBuilder().add_body("table", joint=joints.Fixed(), inertia=BALL).build()
    assert forward_dynamics(fixed, np.zeros((4, 0)), [], []).shape == (4, 0)
    assert center_of_mass(fixed, np.zeros((4, 0))).shape == (4, 3)


def test_refused_batches():
    """Errors name the argument and the instant."""
    model = random_tree(1)
    name = model.names[-1]
    q, v, a, f = states(model, 2, 3)
    broken = a.copy()
    broken[1, 2, 0] = np.inf
    ball = ModelBuilder().add_body("ball", joint=joints.Spherical(), inertia=BALL).build()
    turned = np.array([[1.0], [1.1], [1.0]]) * ball.neutral
    euler = ModelBuilder().add_body("top", joint=joints.EulerZYX(), inertia=BALL).build()
    angles = np.zeros((3, 3))
    angles[2, 1] = np.pi / 2
    rod = ModelBuilder().add_body("rod", joint=joints.Revolute(), inertia=RigidInertia(1.0, POINT, inertia=np.eye(3)))
    assert_fields(
        MultibodyError,
        ("q", lambda: inverse_dynamics(model, q[..., 1:], v, a)),
        ("v", lambda: inverse_dynamics(model, q, v[..., 1:], a)),
        ("f_ext", lambda: inverse_dynamics(model, q, v, a, f[..., 1:])),
        ("v", lambda: inverse_dynamics(model, q, v + 1j, a)),
        ("v", lambda: inverse_dynamics(model, q, "v", a)),
        ("threads", lambda: inverse_dynamics(model, q, v, a, threads=0)),
        ("a", lambda: inverse_dynamics(model, q, v, broken)),
        ("a", lambda: point_acceleration_6d(model, q, v, broken, name, POINT)),
        ("v", lambda: point_velocity_6d(model, q, None, name, POINT)),
        ("v", lambda: inverse_dynamics(model, q, None, a)),
        ("a", lambda: inverse_dynamics(model, q, v, None)),
        ("a", lambda: inverse_dynamics(model, q[0, 0], v[0, 0], None)),
        ("tau", lambda: forward_dynamics(model, q, v, None)),
        ("q", lambda: inverse_dynamics(model, None, v, a)),
        ("a", lambda: center_of_mass_acceleration(model, q, v, None)),
        ("body", lambda: point_velocity_6d(model, q, v, "nobody", POINT)),
        ("q", lambda: integrate(model, q, v, [0.1, 0.2])),
        ("dt", lambda: integrate(model, q, v, np.nan)),
        ("q", lambda: mass_matrix(ball, turned)),
    )
    assert_messages(
        MultibodyError,
        ("leading axes", lambda: inverse_dynamics(model, q, v[:, :2], a)),
        (r"instant \[1, 2\]: entry \[0\] is inf, not finite", lambda: inverse_dynamics(model, q, v, broken)),
        (r"instant \[1, 2\]: ", lambda: center_of_mass_acceleration(model, q, v, broken)),
        (r"instant \[1\]: .*1\.1", lambda: mass_matrix(ball, turned)),
        (r"instant \[2\]: .*singular", lambda: forward_dynamics(euler, angles, np.zeros(3), np.ones(3))),
        ("large", lambda: inverse_dynamics(rod.build(), np.zeros(1), np.full((2, 1), 1e300), [0.0])),
    )
