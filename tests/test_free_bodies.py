from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from contactlab.multibody import FreeBodies, MultibodyError
from contactlab.multibody.kernels.free_body import (
    apply_inertia,
    body_energy,
    free_momentum,
    integrate_body,
    rotation,
    solve_inertia_row,
)
from contactlab.spatial import RigidInertia, quaternion

GRAVITY = np.array([0.3, -0.2, -9.81])


def lopsided(seed: int, *, offset: float = 0.4) -> RigidInertia:
    """Body of a random mass distribution: the inertia of a cloud of point masses about its own centre."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(8, 3)) * [0.2, 0.3, 0.5]
    points -= points.mean(axis=0)
    second = points.T @ points / 8.0
    return RigidInertia(1.7, offset * rng.normal(size=3), inertia=1.7 * (np.trace(second) * np.eye(3) - second))


def random_state(seed: int, nb: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Any configuration and velocity of nb bodies."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(nb, 7))
    q[:, 3:] = quaternion.normalize(q[:, 3:])
    return q.ravel(), rng.normal(size=6 * nb)


def free_velocity(bodies: FreeBodies, q, v, tau, h: float) -> np.ndarray:
    """Velocity of one body after h without contacts, by the kernels: M^-1 free_momentum."""
    pack, Mv, R = bodies.packed, np.empty(6), np.empty((3, 3))
    rotation(q, R)
    free_momentum(pack.mass[0], pack.com[0], pack.inertia[0], pack.gravity, q, v, tau, h, Mv)
    solve_inertia_row(pack.mass[0], pack.com[0], pack.inertia_inv[0], R, Mv, Mv)
    return Mv


def free_acceleration(bodies: FreeBodies, q, v, tau) -> np.ndarray:
    """Its derivative at h = 0, by central differences: the step is a symmetric function of h up to second order."""
    d = 1e-5
    return (free_velocity(bodies, q, v, tau, d) - free_velocity(bodies, q, v, tau, -d)) / (2.0 * d)


def momenta(bodies: FreeBodies, q, v) -> np.ndarray:
    """Linear momentum, and angular momentum about the world origin, from the com's own motion (world axes)."""
    R, com, mass = quaternion.to_matrix(q[3:]), bodies.com[0], bodies.mass[0]
    linear = mass * (v[:3] + R @ np.cross(v[3:], com))
    return np.concatenate((linear, np.cross(q[:3] + R @ com, linear) + R @ (bodies.inertia[0] @ v[3:])))


def free_flight(bodies: FreeBodies, q, v, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """State after steps of the time stepper's own scheme, without contacts."""
    for _ in range(steps):
        v = free_velocity(bodies, q, v, np.zeros(6), h)
        after = np.empty(7)
        integrate_body(q, v, h, after)
        q = after
    return q, v


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_is_the_block_formula(seed):
    """M(q) column by column is [[m 1, -m R [c]x], [m [c]x R^T, I_o]], exactly symmetric and positive definite."""
    bodies = FreeBodies(["body"], [lopsided(seed)])
    q, _ = random_state(seed)
    R, m, (x, y, z) = quaternion.to_matrix(q[3:]), bodies.mass[0], bodies.com[0]
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    blocks = [[m * np.eye(3), -m * R @ skew], [m * skew @ R.T, bodies.inertia[0] - m * skew @ skew]]
    M = bodies.mass_matrix(q)
    np.testing.assert_allclose(M, np.block(blocks), atol=1e-14)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.nojit
def test_closed_form_inverse_undoes_the_mass_matrix():
    """M^-1 M = 1 over several bodies, for one vector, for columns, and in place."""
    bodies = FreeBodies(["a", "b", "c"], [lopsided(i) for i in range(3)])
    q, b = random_state(9, nb=3)
    M = bodies.mass_matrix(q)
    np.testing.assert_allclose(bodies.solve_mass_matrix(q, M), np.eye(18), atol=1e-12)
    x = bodies.solve_mass_matrix(q, b)
    np.testing.assert_allclose(M @ x, b, atol=1e-12)
    assert x.shape == b.shape
    assert bodies.solve_mass_matrix(q, np.zeros((18, 0))).shape == (18, 0)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(5))
def test_free_step_is_newton_euler_about_the_com(seed):
    """The free step meets Euler's law by the midpoint rule and Newton's at the start, exactly, for any h."""
    bodies = FreeBodies(["body"], [lopsided(seed)], GRAVITY)
    q, v = random_state(seed)
    tau = np.random.default_rng(seed + 50).normal(size=6)
    R, m, c, inertia = quaternion.to_matrix(q[3:]), bodies.mass[0], bodies.com[0], bodies.inertia[0]
    omega = v[3:]
    torque_at_com = tau[3:] - np.cross(c, R.T @ tau[:3])
    for h in (0.0, 1e-3, 1.0):
        free = free_velocity(bodies, q, v, tau, h)
        change, mean = free[3:] - omega, 0.5 * (free[3:] + omega)
        np.testing.assert_allclose(inertia @ change, h * (torque_at_com - np.cross(mean, inertia @ mean)), atol=1e-12)
        origin = h * (tau[:3] / m + GRAVITY) - R @ (np.cross(change, c) + h * np.cross(omega, np.cross(omega, c)))
        np.testing.assert_allclose(free[:3] - v[:3], origin, atol=1e-11)
    alpha = np.linalg.solve(inertia, torque_at_com - np.cross(omega, inertia @ omega))
    np.testing.assert_allclose(free_acceleration(bodies, q, v, tau)[3:], alpha, atol=1e-7)


@pytest.mark.nojit
@pytest.mark.parametrize("h", [1e-3, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize(
    ("extents", "omega"),
    [
        ((0.2, 0.2, 0.01), (5.0, 3.0, -30.0)),
        ((0.5, 0.01, 0.01), (50.0, 3.0, -8.0)),
        ((0.07, 0.11, 0.045), (20.0, -30.0, 14.0)),
    ],
)
def test_tumbling_keeps_its_energy_at_any_step(extents, omega, h):
    """Plate, rod and box, spun fast without gravity, keep energy and |angular momentum| over 400 steps of any size."""
    bodies = FreeBodies(["body"], [RigidInertia.solid_box(1.3, extents)], (0, 0, 0))
    v = np.concatenate((np.zeros(3), omega))
    inertia = bodies.inertia[0]
    energy, momentum = omega @ inertia @ np.array(omega), np.linalg.norm(inertia @ omega)
    _, v = free_flight(bodies, bodies.neutral(), v, h, 400)
    assert v[3:] @ inertia @ v[3:] == pytest.approx(energy, rel=1e-9)
    assert np.linalg.norm(inertia @ v[3:]) == pytest.approx(momentum, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_momentum_changes_at_the_rate_of_the_applied_wrench(seed):
    """Finite differences of both momenta along the motion are the force and moment about the world origin."""
    bodies = FreeBodies(["body"], [lopsided(seed)], GRAVITY)
    q, v = random_state(seed)
    tau = np.random.default_rng(seed + 80).normal(size=6)
    a = free_acceleration(bodies, q, v, tau)
    d = 1e-5
    after = momenta(bodies, bodies.integrate(q, v, d), v + d * a)
    before = momenta(bodies, bodies.integrate(q, v, -d), v - d * a)
    R = quaternion.to_matrix(q[3:])
    weight = bodies.mass[0] * GRAVITY
    moment = np.cross(q[:3], tau[:3]) + R @ tau[3:] + np.cross(q[:3] + R @ bodies.com[0], weight)
    np.testing.assert_allclose((after - before) / (2.0 * d), np.concatenate((tau[:3] + weight, moment)), atol=1e-8)


def test_power_is_force_times_velocity():
    """The generalized force is dual to v: the rate of the total energy is tau . v."""
    bodies = FreeBodies(["body"], [lopsided(3)], GRAVITY)
    q, v = random_state(3)
    tau = np.array([0.4, -1.0, 2.0, 0.3, 0.7, -0.5])
    a, d = free_acceleration(bodies, q, v, tau), 1e-5

    def energy(t):
        at = bodies.integrate(q, v, t)
        return bodies.kinetic_energy(at, v + t * a) + bodies.potential_energy(at)

    assert (energy(d) - energy(-d)) / (2.0 * d) == pytest.approx(tau @ v, abs=1e-7)


def test_energy_and_momentum_of_free_flight_are_kept_as_h_shrinks():
    """A tumbling lopsided body for one second: both errors fall in proportion to h."""
    bodies = FreeBodies(["body"], [lopsided(1)], GRAVITY)
    q0, v0 = random_state(1)
    start = bodies.kinetic_energy(q0, v0) + bodies.potential_energy(q0)
    com0 = q0[:3] + quaternion.to_matrix(q0[3:]) @ bodies.com[0]
    v_com = momenta(bodies, q0, v0)[:3] / bodies.mass[0]
    landing = com0 + v_com + 0.5 * GRAVITY
    errors = []
    for steps in (200, 400, 800):
        q, v = free_flight(bodies, q0, v0, 1.0 / steps, steps)
        energy = bodies.kinetic_energy(q, v) + bodies.potential_energy(q)
        com = q[:3] + quaternion.to_matrix(q[3:]) @ bodies.com[0]
        linear = momenta(bodies, q, v)[:3] / bodies.mass[0] - v_com - GRAVITY
        errors.append([abs(energy - start), np.linalg.norm(com - landing), np.linalg.norm(linear)])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.all((ratios > 1.8) & (ratios < 2.2)), errors
    assert errors[-1][0] < 2e-2 * abs(start)


def test_symmetric_top_precesses_at_its_closed_form_rate():
    """Without torque a symmetric body's omega turns about the axis, in body axes, at (I3 - I1)/I1 omega3."""
    bodies = FreeBodies(["top"], [RigidInertia(1.0, inertia=np.diag([1.0, 1.0, 1.6]))], (0, 0, 0))
    v0 = np.array([0.0, 0.0, 0.0, 0.5, 0.0, 2.0])
    angle = 0.6 * 2.0
    truth = np.array([0.5 * math.cos(angle), 0.5 * math.sin(angle), 2.0])
    errors = [np.linalg.norm(free_flight(bodies, bodies.neutral(), v0, 1.0 / n, n)[1][3:] - truth) for n in (200, 400)]
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_integration_follows_a_constant_velocity_exactly():
    """n small steps at a constant velocity are one large one, and quaternions stay unit over many."""
    bodies = FreeBodies(["body"], [lopsided(2)])
    q, v = random_state(2)
    stepped = q
    for _ in range(1000):
        stepped = bodies.integrate(stepped, v, 1e-3)
    np.testing.assert_allclose(stepped, bodies.integrate(q, v, 1.0), atol=1e-12)
    assert abs(np.linalg.norm(stepped[3:]) - 1.0) < 4e-16
    np.testing.assert_allclose(bodies.integrate(bodies.integrate(q, v, 0.7), v, -0.7), q, atol=1e-15)


@pytest.mark.nojit
def test_kinetic_energy_is_half_v_M_v():
    """Energies of several bodies add up; the potential is -m g . com."""
    bodies = FreeBodies(["a", "b"], [lopsided(4), lopsided(5)], GRAVITY)
    q, v = random_state(6, nb=2)
    assert bodies.kinetic_energy(q, v) == pytest.approx(0.5 * v @ bodies.mass_matrix(q) @ v, rel=1e-13)
    coms = [q[7 * i : 7 * i + 3] + quaternion.to_matrix(q[7 * i + 3 : 7 * i + 7]) @ bodies.com[i] for i in range(2)]
    assert bodies.potential_energy(q) == pytest.approx(-sum(bodies.mass * (coms @ GRAVITY)), rel=1e-13)


def test_kernels_may_write_over_their_input():
    """Output and input may be one array, as the compiled step does to save buffers."""
    body, (q, v) = lopsided(7), random_state(7)
    m, c, inertia = body.mass, body.com.copy(), body.inertia.copy()
    R, out = np.empty((3, 3)), np.empty(6)
    rotation(q, R)
    for kernel, matrix in ((apply_inertia, inertia), (solve_inertia_row, np.linalg.inv(inertia))):
        kernel(m, c, matrix, R, v, out)
        same = v.copy()
        kernel(m, c, matrix, R, same, same)
        np.testing.assert_array_equal(same, out)
    free_momentum(m, c, inertia, GRAVITY, q, v, v, 0.1, out)
    same = v.copy()
    free_momentum(m, c, inertia, GRAVITY, q, same, same, 0.1, same)
    np.testing.assert_array_equal(same, out)
    after, moved = np.empty(7), q.copy()
    integrate_body(q, v, 0.1, after)
    integrate_body(moved, v, 0.1, moved)
    np.testing.assert_array_equal(moved, after)


def test_public_energy_is_the_kernels_to_the_bit():
    """FreeBodies computes with the kernels of the compiled step."""
    body, (q, v) = lopsided(8), random_state(8)
    bodies, energy = FreeBodies(["body"], [body], GRAVITY), np.empty(2)
    body_energy(body.mass, body.com.copy(), body.inertia.copy(), GRAVITY, q, v, energy)
    assert (bodies.kinetic_energy(q, v), bodies.potential_energy(q)) == tuple(energy)


def test_slices_and_names():
    """Every body's share of q and v is found by name; a wrong name suggests close ones."""
    bodies = FreeBodies(["red cube", "blue cube", "ball"], [lopsided(i) for i in range(3)])
    assert (bodies.nb, bodies.nq, bodies.nv) == (3, 21, 18)
    assert bodies.q_slice("blue cube") == slice(7, 14)
    assert bodies.v_slice("ball") == slice(12, 18)
    with pytest.raises(MultibodyError, match="did you mean 'red cube'"):
        bodies.q_slice("red_cube")
    with pytest.raises(MultibodyError, match="bodies: red cube, blue cube, ball"):
        bodies.v_slice("xyz")


def test_states_that_do_not_fit_name_body_and_entry():
    """Non-unit quaternions, NaN entries and wrong lengths."""
    bodies = FreeBodies(["first", "second"], [lopsided(0), lopsided(1)])
    q = bodies.neutral()
    np.testing.assert_array_equal(bodies.check_q(q.tolist()), q)
    q[10] = 1.0 + 2e-6
    with pytest.raises(MultibodyError, match=r"body 'second' \(q\[10:14\]\) has norm 1\.000002"):
        bodies.check_q(q)
    q[10] = 0.0
    with pytest.raises(MultibodyError, match="norm 0.0"):
        bodies.check_q(q)
    q[8] = math.nan
    with pytest.raises(MultibodyError, match=r"entry \[8\] \(body 'second'\) is nan"):
        bodies.check_q(q)
    with pytest.raises(MultibodyError, match=r"v: must have shape \(12,\), got \(11,\)"):
        bodies.check_v(np.zeros(11))
    with pytest.raises(MultibodyError, match=r"entry \[2\] \(body 'first'\) is inf"):
        bodies.check_v([0, 0, math.inf] + 9 * [0])
    with pytest.raises(MultibodyError, match="dt"):
        bodies.integrate(bodies.neutral(), np.zeros(12), math.nan)


@pytest.mark.parametrize(
    ("names", "count", "gravity", "field"),
    [
        (["a", "a"], 2, (0, 0, 0), "names"),
        (["a", ""], 2, (0, 0, 0), "names"),
        (["a", 3], 2, (0, 0, 0), "names"),
        ("cube", 4, (0, 0, 0), "names"),
        (["a", "b"], 1, (0, 0, 0), "inertias"),
        (["a"], 1, (0, 0), "gravity"),
        (["a"], 1, (0, 0, math.nan), "gravity"),
    ],
)
def test_models_that_cannot_be_built_name_the_field(names, count, gravity, field):
    """Repeated or empty names, missing inertias, bad gravity."""
    with pytest.raises(MultibodyError) as info:
        FreeBodies(names, [lopsided(i) for i in range(count)], gravity)
    assert info.value.field == field


def test_model_is_immutable_but_its_packed_arrays_fit_the_kernels():
    """Public arrays are read-only; the packed ones have the one type the kernels are compiled for."""
    bodies = FreeBodies(["body"], [lopsided(0)])
    with pytest.raises(AttributeError):
        bodies.names = ()
    for field, packed in zip(bodies.packed._fields, bodies.packed, strict=True):
        assert not getattr(bodies, field).flags.writeable
        assert packed.flags.writeable
        assert packed.flags.c_contiguous
        assert packed.dtype == np.float64


def test_no_bodies_is_a_model_too():
    """Empty arrays keep their shapes."""
    bodies = FreeBodies([], [])
    assert bodies.neutral().shape == (0,)
    assert bodies.mass_matrix([]).shape == (0, 0)
    assert bodies.kinetic_energy([], []) == 0.0


def test_importing_the_model_packages_is_light():
    """Neither numba nor scipy is loaded before the first computation."""
    code = (
        "import sys, contactlab.spatial, contactlab.multibody, contactlab.contact\n"
        "sys.exit(', '.join({'numba', 'scipy', 'matplotlib'} & sys.modules.keys()) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
