import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_fields
from trees import random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    angular_momentum,
    angular_momentum_rate,
    body_pose,
    center_of_mass,
    center_of_mass_acceleration,
    center_of_mass_jacobian,
    center_of_mass_velocity,
    centroidal_momentum_matrix,
    joints,
    kinematics,
    kinetic_energy,
    linear_momentum,
    mass_matrix,
    point_acceleration_6d,
    point_velocity_6d,
    potential_energy,
    zero_moment_point,
)
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError

seeds = st.integers(0, 10_000)
few = settings(max_examples=25)


def sums_over_bodies(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """The same quantities from the motion of every body's own centre of mass, in plain numpy."""
    total, moment, p, force = 0.0, np.zeros(3), np.zeros(3), np.zeros(3)
    spins, rates, energy = [], [], 0.0
    for body in model.bodies:
        own = body.inertia
        assert own is not None
        pose = body_pose(model, q, body.name)
        c = pose.apply(own.com)
        w, u = np.split(point_velocity_6d(model, q, v, body.name, own.com), 2)
        dw, du = np.split(point_acceleration_6d(model, q, v, a, body.name, own.com), 2)
        J = pose.R @ own.inertia @ pose.R.T
        total, moment, p, force = total + own.mass, moment + own.mass * c, p + own.mass * u, force + own.mass * du
        energy += 0.5 * own.mass * u @ u + 0.5 * w @ J @ w
        spins.append((c, own.mass * u, J @ w))
        rates.append((c, own.mass * du, J @ dw + np.cross(w, J @ w)))
    com = moment / total
    return {
        "com": com,
        "velocity": p / total,
        "acceleration": force / total,
        "momentum": p,
        "angular": sum(spin + np.cross(c - com, m) for c, m, spin in spins),
        "rate": sum(spin + np.cross(c - com, m) for c, m, spin in rates),
        "kinetic": np.array(energy),
        "potential": np.array(-model.gravity @ moment),
        "mass": np.array(total),
    }


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(8))
def test_sums_over_bodies(seed):
    """Every quantity equals its sum over bodies, bodies fixed to the world and to others included."""
    model = random_tree(seed)
    q, v, a = state(model, seed)
    expected = sums_over_bodies(model, q, v, a)
    kin = kinematics(model, q, v)
    for at, speed in ((q, v), (kin, None), (kin, v)):
        found = {
            "com": center_of_mass(model, at),
            "velocity": center_of_mass_velocity(model, at, speed),
            "acceleration": center_of_mass_acceleration(model, at, speed, a),
            "momentum": linear_momentum(model, at, speed),
            "angular": angular_momentum(model, at, speed),
            "rate": angular_momentum_rate(model, at, speed, a),
            "kinetic": kinetic_energy(model, at, speed),
            "potential": potential_energy(model, at),
            "mass": model.mass,
        }
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


@few
@given(seed=seeds)
def test_momentum_matrix(seed):
    """A v is the momentum, its linear part the mass times the com Jacobian, and v.M v / 2 the kinetic energy."""
    model = random_tree(seed)
    q, v, _ = state(model, seed)
    A = centroidal_momentum_matrix(model, q)
    assert A.shape == (6, model.nv)
    np.testing.assert_allclose(A[:3] @ v, angular_momentum(model, q, v), atol=1e-11)
    np.testing.assert_allclose(A[3:] @ v, linear_momentum(model, q, v), atol=1e-11)
    J = center_of_mass_jacobian(model, q)
    np.testing.assert_allclose(J @ v, center_of_mass_velocity(model, q, v), atol=1e-12)
    np.testing.assert_allclose(kinetic_energy(model, q, v), 0.5 * v @ mass_matrix(model, q) @ v, rtol=1e-11)


@few
@given(seed=seeds)
def test_zero_moment_point_has_no_moment_along_its_plane(seed):
    """The point lies in the plane, and about it the force has a moment along the normal alone."""
    model = random_tree(seed, fixed=False)
    q, v, a = state(model, seed)
    rng = np.random.default_rng(seed)
    normal, point = rng.standard_normal(3), rng.standard_normal(3)
    f = model.mass * (center_of_mass_acceleration(model, q, v, a) - model.gravity)
    if abs(normal @ f) < 0.1 * np.linalg.norm(normal) * np.linalg.norm(f):
        return
    z = zero_moment_point(model, q, v, a, normal=normal, point=point)
    assert abs(normal @ (z - point)) < 1e-11
    moment = angular_momentum_rate(model, q, v, a) + np.cross(center_of_mass(model, q) - z, f)
    np.testing.assert_allclose(np.cross(normal, moment), np.zeros(3), atol=1e-10 * (1.0 + np.linalg.norm(f)))


def test_refused_values():
    """No zero moment point in free fall or along no direction, no centre of nothing, no wrong lengths."""
    ball = RigidInertia.solid_sphere(1.0, 0.1)
    model = ModelBuilder((0.1, 0.2, -9.7)).add_body("ball", joint=joints.FloatingBase(), inertia=ball).build()
    q, v = model.neutral, np.ones(6)
    falling = np.concatenate([model.gravity, np.ones(3)])
    assert_fields(
        MultibodyError,
        ("normal", lambda: zero_moment_point(model, q, v, falling)),
        ("a", lambda: zero_moment_point(model, q, v, falling[1:])),
        ("v", lambda: zero_moment_point(model, q, v[1:], falling)),
        ("normal", lambda: zero_moment_point(model, q, v, v, normal=[0.0, 0.0, 0.0])),
        ("point", lambda: zero_moment_point(model, q, v, v, point=[0.0, np.nan, 0.0])),
        ("q", lambda: center_of_mass(model, q * np.nan)),
        ("v", lambda: kinetic_energy(model, q, v * np.inf)),
    )
    empty = ModelBuilder().build()
    assert_fields(
        MultibodyError,
        ("model", lambda: center_of_mass(empty, [])),
    )
    assert kinetic_energy(empty, [], []) == 0.0
    assert potential_energy(empty, []) == 0.0
    table = (
        ModelBuilder().add_body("table", joint=joints.Fixed(), placement=Transform(p=[1, 2, 3]), inertia=ball).build()
    )
    np.testing.assert_array_equal(center_of_mass(table, []), [1.0, 2.0, 3.0])
    assert potential_energy(table, []) == pytest.approx(29.43)
