import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_fields
from trees import random_inertia, random_transform, random_tree, state

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
    point_velocity_6d,
    potential_energy,
    zero_moment_point,
)
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.errors import MultibodyError

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
def test_rates_are_derivatives(seed):
    """Central differences along the motion: of the com, its velocity, the angular momentum and both energies."""
    model = random_tree(seed)
    q, v, a = state(model, seed)
    h = 1e-4

    def moved(s):
        return integrate(model, q, v + 0.5 * s * a, s), v + s * a

    (q1, v1), (q0, v0) = moved(h), moved(-h)

    def slope(f):
        return (f(q1, v1) - f(q0, v0)) / (2 * h)

    near = {"rtol": 1e-5, "atol": 2e-5}
    com = slope(lambda q, v: center_of_mass(model, q))
    np.testing.assert_allclose(com, center_of_mass_velocity(model, q, v), **near)
    velocity = slope(lambda q, v: center_of_mass_velocity(model, q, v))
    np.testing.assert_allclose(velocity, center_of_mass_acceleration(model, q, v, a), **near)
    spin = slope(lambda q, v: angular_momentum(model, q, v))
    np.testing.assert_allclose(spin, angular_momentum_rate(model, q, v, a), **near)
    height = slope(lambda q, v: potential_energy(model, q))
    np.testing.assert_allclose(height, nonlinear_effects(model, q, 0 * v) @ v, rtol=1e-5, atol=1e-3)
    kinetic = slope(lambda q, v: kinetic_energy(model, q, v))
    power = (inverse_dynamics(model, q, v, a) - nonlinear_effects(model, q, 0 * v)) @ v
    np.testing.assert_allclose(kinetic, power, rtol=1e-5, atol=1e-3)


def flying(seed: int) -> Model:
    """A tree on a floating base, nothing fixed to the world."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(rng.uniform(-10.0, 10.0, 3))
    builder.add_body("base", joint=joints.FloatingBase(), inertia=random_inertia(rng))
    for i in range(4):
        parent = f"b{rng.integers(i)}" if i else "base"
        place = random_transform(rng)
        builder.add_body(
            f"b{i}", parent=parent, joint=joints.Revolute(rng.standard_normal(3)), placement=place,
            inertia=random_inertia(rng),
        )  # fmt: skip
    return builder.build()


@few
@given(seed=seeds)
def test_only_external_forces_change_the_momentum(seed):
    """Joint forces alone: the com falls freely and L stays; with external forces both rates are force and moment."""
    model = flying(seed)
    q, v, tau = state(model, seed)
    tau[:6] = 0.0
    a = forward_dynamics(model, q, v, tau)
    scale = float(np.max(np.abs(a)))
    np.testing.assert_allclose(center_of_mass_acceleration(model, q, v, a), model.gravity, atol=1e-11 * (1 + scale))
    np.testing.assert_allclose(angular_momentum_rate(model, q, v, a), np.zeros(3), atol=1e-10 * (1 + scale))
    f_ext = np.random.default_rng(seed).uniform(-1.0, 1.0, (model.nb, 6))
    a = forward_dynamics(model, q, v, tau, f_ext)
    scale = float(np.max(np.abs(a)))
    moment, force = np.split(f_ext.sum(axis=0), 2)
    expected = model.gravity + force / model.mass
    np.testing.assert_allclose(center_of_mass_acceleration(model, q, v, a), expected, atol=1e-11 * (1 + scale))
    about = moment - np.cross(center_of_mass(model, q), force)
    np.testing.assert_allclose(angular_momentum_rate(model, q, v, a), about, atol=1e-10 * (1 + scale))


@pytest.mark.parametrize("seed", range(10))
def test_against_pinocchio(seed):
    """Centroidal matrix, momentum, its rate, com and energies of random trees equal another library's."""
    pin = pytest.importorskip("pinocchio")
    model = random_tree(seed, 8, ("revolute", "prismatic", "spherical"), fixed=False, depth_first=True)
    theirs = pin.Model()
    theirs.gravity.linear = model.gravity
    ids = {"world": 0}
    for body in model.bodies:
        moves, own = body.joint, body.inertia
        assert own is not None
        if isinstance(moves, joints.Spherical):
            joint = pin.JointModelSpherical()
        elif isinstance(moves, joints.Revolute):
            joint = pin.JointModelRevoluteUnaligned(np.array(moves.axis))
        else:
            assert isinstance(moves, joints.Prismatic)
            joint = pin.JointModelPrismaticUnaligned(np.array(moves.axis))
        place = pin.SE3(np.array(body.placement.R), np.array(body.placement.p))
        ids[body.name] = theirs.addJoint(ids[body.parent], joint, place, body.name)
        mass = pin.Inertia(own.mass, np.array(own.com), np.array(own.inertia))
        theirs.appendBodyToJoint(ids[body.name], mass, pin.SE3.Identity())
    q, v, a = state(model, seed)
    q_theirs = q.copy()
    for body in model.bodies:
        if isinstance(body.joint, joints.Spherical):
            place = model.q_slice(body.name)
            q_theirs[place] = np.roll(q[place], -1)
    data = theirs.createData()
    near = {"rtol": 1e-10, "atol": 1e-10}
    pin.ccrba(theirs, data, q_theirs, v)
    swap = [3, 4, 5, 0, 1, 2]
    np.testing.assert_allclose(centroidal_momentum_matrix(model, q), data.Ag[swap], **near)
    pin.computeCentroidalMomentumTimeVariation(theirs, data, q_theirs, v, a)
    np.testing.assert_allclose(angular_momentum(model, q, v), data.hg.angular, **near)
    np.testing.assert_allclose(linear_momentum(model, q, v), data.hg.linear, **near)
    np.testing.assert_allclose(angular_momentum_rate(model, q, v, a), data.dhg.angular, **near)
    np.testing.assert_allclose(model.mass * center_of_mass_acceleration(model, q, v, a), data.dhg.linear, **near)
    np.testing.assert_allclose(center_of_mass(model, q), pin.centerOfMass(theirs, data, q_theirs), **near)
    np.testing.assert_allclose(kinetic_energy(model, q, v), pin.computeKineticEnergy(theirs, data, q_theirs, v), **near)
    np.testing.assert_allclose(potential_energy(model, q), pin.computePotentialEnergy(theirs, data, q_theirs), **near)


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
    for arguments, field in (((v, falling), "normal"), ((v, falling[1:]), "a"), ((v[1:], falling), "v")):
        with pytest.raises(MultibodyError) as error:
            zero_moment_point(model, q, *arguments)
        assert error.value.field == field
    assert_fields(
        MultibodyError,
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
