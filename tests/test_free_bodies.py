from __future__ import annotations

import math

import numpy as np
import pytest

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    Transform,
    factorize_ltl,
    forward_dynamics,
    integrate,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    solve_mass_matrix,
)
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.joints import Fixed, FloatingBase, Spherical
from contactlab.multibody.kernels.ltl import branch_times, solve_vector_l, solve_vector_lt
from contactlab.multibody.packing import structure
from contactlab.simulation import TimeStepping, World, WorldBuilder, simulate
from contactlab.spatial import RigidInertia, quaternion
from contactlab.stepping import world_arrays

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


def free_bodies(*inertias: RigidInertia, gravity=GRAVITY) -> Model:
    """Model of free bodies."""
    builder = ModelBuilder(gravity)
    for name, inertia in zip("abcdefgh", inertias, strict=False):
        builder.add_body(name, joint=FloatingBase(), inertia=inertia)
    return builder.build()


def alone(model: Model) -> World:
    """World of the model and nothing to touch."""
    builder = WorldBuilder(model.gravity)
    builder.add_model(model)
    return builder.build()


def free_velocity(model: Model, q, v, tau, h: float) -> np.ndarray:
    """Velocity after h without contacts, by the stage of the compiled step; unlike the step it takes any h."""
    from contactlab.multibody.kernels.codes import CUSTOM_ROW, NOTHING, VELOCITIES
    from contactlab.multibody.kernels.kinematics import fill_frames
    from contactlab.stepping.kernels.free_motion import free_motion
    from contactlab.stepping.kernels.layout import FAILURE_NONE, Parameters
    from contactlab.stepping.memory import new_work
    from contactlab.stepping.packing import new_record

    world = alone(model)
    packed, work = world_arrays(world).packed, new_work(world, 1, 4)
    work.q[:], work.v[:], work.tau[:] = q, v, tau
    fill_frames(packed.ints, packed.floats, work.q, work.v, np.zeros((0, CUSTOM_ROW)), NOTHING, VELOCITIES, work.W)
    assert free_motion(packed, work, None, h, new_record(Parameters)) == FAILURE_NONE
    return work.v_free


def free_acceleration(model: Model, q, v, tau) -> np.ndarray:
    """Its derivative at h = 0, by central differences: the step is a symmetric function of h up to second order."""
    d = 1e-5
    return (free_velocity(model, q, v, tau, d) - free_velocity(model, q, v, tau, -d)) / (2.0 * d)


def momenta(body: RigidInertia, q, v) -> np.ndarray:
    """Linear momentum, and angular momentum about the world origin, from the com's own motion (world axes)."""
    R = quaternion.to_matrix(q[3:])
    linear = body.mass * (v[:3] + R @ np.cross(v[3:], body.com))
    return np.concatenate((linear, np.cross(q[:3] + R @ body.com, linear) + R @ (body.inertia @ v[3:])))


def free_flight(model: Model, q, v, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """State after steps of the time stepper, without contacts."""
    world = alone(model)
    recording = simulate(world, TimeStepping(h, edges=4), steps=steps, state=world.initial_state(q=q, v=v))
    return recording.q[-1], recording.v[-1]


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_is_the_block_formula(seed):
    """M(q) column by column is [[m 1, -m R [c]x], [m [c]x R^T, I_o]], exactly symmetric and positive definite."""
    body = lopsided(seed)
    q, _ = random_state(seed)
    R, m, (x, y, z) = quaternion.to_matrix(q[3:]), body.mass, body.com
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    blocks = [[m * np.eye(3), -m * R @ skew], [m * skew @ R.T, body.inertia - m * skew @ skew]]
    M = mass_matrix(free_bodies(body), q)
    np.testing.assert_allclose(M, np.block(blocks), atol=1e-14)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.nojit
def test_inverse_undoes_the_mass_matrix():
    """M^-1 M = 1 over several bodies, for one vector and for columns, and the kernels of the step say the same."""
    model = free_bodies(*(lopsided(i) for i in range(3)))
    q, b = random_state(9, nb=3)
    M = mass_matrix(model, q)
    np.testing.assert_allclose(solve_mass_matrix(model, q, M), np.eye(18), atol=1e-12)
    x = solve_mass_matrix(model, q, b)
    np.testing.assert_allclose(M @ x, b, atol=1e-12)
    assert x.shape == b.shape
    factor = factorize_ltl(model, M)
    np.testing.assert_allclose(factor.solve(b), x, atol=1e-12)
    row, product = b.copy(), np.empty(18)
    solve_vector_lt(structure(model).dof_parent, 0, factor.L.copy(), row)
    solve_vector_l(structure(model).dof_parent, 0, factor.L.copy(), row)
    np.testing.assert_allclose(row, x, atol=1e-12)
    branch_times(structure(model).dof_parent, M, x, product)
    np.testing.assert_allclose(product, b, atol=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(5))
def test_free_step_is_newton_euler_about_the_com(seed):
    """The free step meets Euler's law by the midpoint rule and Newton's at the start, exactly, for any h."""
    body, model = lopsided(seed), free_bodies(lopsided(seed))
    q, v = random_state(seed)
    tau = np.random.default_rng(seed + 50).normal(size=6)
    R, m, c, inertia = quaternion.to_matrix(q[3:]), body.mass, body.com, body.inertia
    omega = v[3:]
    torque_at_com = tau[3:] - np.cross(c, R.T @ tau[:3])
    for h in (0.0, 1e-3, 1.0):
        free = free_velocity(model, q, v, tau, h)
        change, mean = free[3:] - omega, 0.5 * (free[3:] + omega)
        np.testing.assert_allclose(inertia @ change, h * (torque_at_com - np.cross(mean, inertia @ mean)), atol=1e-12)
        origin = h * (tau[:3] / m + GRAVITY) - R @ (np.cross(change, c) + h * np.cross(omega, np.cross(omega, c)))
        np.testing.assert_allclose(free[:3] - v[:3], origin, atol=1e-11)
    alpha = np.linalg.solve(inertia, torque_at_com - np.cross(omega, inertia @ omega))
    np.testing.assert_allclose(free_acceleration(model, q, v, tau)[3:], alpha, atol=1e-7)


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
    body = RigidInertia.solid_box(1.3, extents)
    v = np.concatenate((np.zeros(3), omega))
    inertia = body.inertia
    energy, momentum = omega @ inertia @ np.array(omega), np.linalg.norm(inertia @ omega)
    model = free_bodies(body, gravity=(0, 0, 0))
    _, v = free_flight(model, model.neutral, v, h, 400)
    assert v[3:] @ inertia @ v[3:] == pytest.approx(energy, rel=1e-9)
    assert np.linalg.norm(inertia @ v[3:]) == pytest.approx(momentum, rel=1e-9)


@pytest.mark.parametrize("turn", [3.0, 6.0, 20.0])
@pytest.mark.parametrize("seed", range(12))
def test_several_turns_in_one_step_keep_the_energy(seed, turn):
    """Bodies that turn by more than a radian per step, without torque: Newton's method may need smaller parts."""
    rng = np.random.default_rng(seed)
    body = lopsided(seed, offset=0.0)
    omega = rng.normal(size=3)
    omega *= turn / np.linalg.norm(omega)
    model = free_bodies(body, gravity=(0, 0, 0))
    _, v = free_flight(model, model.neutral, np.concatenate((np.zeros(3), omega)), 1.0, 20)
    assert v[3:] @ body.inertia @ v[3:] == pytest.approx(omega @ body.inertia @ omega, rel=1e-7)
    assert np.linalg.norm(body.inertia @ v[3:]) == pytest.approx(np.linalg.norm(body.inertia @ omega), rel=1e-7)


def test_a_thin_body_sped_up_within_one_step():
    """Great torque about any axis of a needle: no more energy than torque and speed can give within the step."""
    inertia = np.diag([1e-4, 1.0, 1.0])
    model = free_bodies(RigidInertia(1.0, inertia=inertia), gravity=(0, 0, 0))
    rng = np.random.default_rng(0)
    for _ in range(40):
        torque, omega = 10.0 * rng.normal(size=3), rng.normal(size=3)
        start = np.concatenate((np.zeros(3), omega))
        after = free_velocity(model, model.neutral, start, np.concatenate((np.zeros(3), torque)), 0.01)[3:]
        assert np.isfinite(after).all()
        gained = 0.5 * (after @ inertia @ after - omega @ inertia @ omega)
        assert gained > -1e-9 * (omega @ inertia @ omega) - 0.01 * np.linalg.norm(torque) * np.linalg.norm(
            omega + after
        )


@pytest.mark.parametrize("seed", range(5))
def test_momentum_changes_at_the_rate_of_the_applied_wrench(seed):
    """Finite differences of both momenta along the motion are the force and moment about the world origin."""
    body, model = lopsided(seed), free_bodies(lopsided(seed))
    q, v = random_state(seed)
    tau = np.random.default_rng(seed + 80).normal(size=6)
    a = free_acceleration(model, q, v, tau)
    d = 1e-5
    after = momenta(body, integrate(model, q, v, d), v + d * a)
    before = momenta(body, integrate(model, q, v, -d), v - d * a)
    R = quaternion.to_matrix(q[3:])
    weight = body.mass * GRAVITY
    moment = np.cross(q[:3], tau[:3]) + R @ tau[3:] + np.cross(q[:3] + R @ body.com, weight)
    np.testing.assert_allclose((after - before) / (2.0 * d), np.concatenate((tau[:3] + weight, moment)), atol=1e-8)


def test_power_is_force_times_velocity():
    """The generalized force is dual to v: the rate of the total energy is tau . v."""
    model = free_bodies(lopsided(3))
    q, v = random_state(3)
    tau = np.array([0.4, -1.0, 2.0, 0.3, 0.7, -0.5])
    a, d = free_acceleration(model, q, v, tau), 1e-5

    def energy(t):
        at = integrate(model, q, v, t)
        return kinetic_energy(model, at, v + t * a) + potential_energy(model, at)

    assert (energy(d) - energy(-d)) / (2.0 * d) == pytest.approx(tau @ v, abs=1e-7)


def test_energy_and_momentum_of_free_flight_are_kept_as_h_shrinks():
    """A tumbling lopsided body for one second: both errors fall in proportion to h."""
    body, model = lopsided(1), free_bodies(lopsided(1))
    q0, v0 = random_state(1)
    start = kinetic_energy(model, q0, v0) + potential_energy(model, q0)
    com0 = q0[:3] + quaternion.to_matrix(q0[3:]) @ body.com
    v_com = momenta(body, q0, v0)[:3] / body.mass
    landing = com0 + v_com + 0.5 * GRAVITY
    errors = []
    for steps in (200, 400, 800):
        q, v = free_flight(model, q0, v0, 1.0 / steps, steps)
        energy = kinetic_energy(model, q, v) + potential_energy(model, q)
        com = q[:3] + quaternion.to_matrix(q[3:]) @ body.com
        linear = momenta(body, q, v)[:3] / body.mass - v_com - GRAVITY
        errors.append([abs(energy - start), np.linalg.norm(com - landing), np.linalg.norm(linear)])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.all((ratios > 1.8) & (ratios < 2.2)), errors
    assert errors[-1][0] < 2e-2 * abs(start)


def test_symmetric_top_precesses_at_its_closed_form_rate():
    """Without torque a symmetric body's omega turns about the axis, in body axes, at (I3 - I1)/I1 omega3."""
    model = free_bodies(RigidInertia(1.0, inertia=np.diag([1.0, 1.0, 1.6])), gravity=(0, 0, 0))
    v0 = np.array([0.0, 0.0, 0.0, 0.5, 0.0, 2.0])
    angle = 0.6 * 2.0
    truth = np.array([0.5 * math.cos(angle), 0.5 * math.sin(angle), 2.0])
    errors = [np.linalg.norm(free_flight(model, model.neutral, v0, 1.0 / n, n)[1][3:] - truth) for n in (200, 400)]
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_integration_follows_a_constant_velocity_exactly():
    """n small steps at a constant velocity are one large one, and quaternions stay unit over many."""
    model = free_bodies(lopsided(2))
    q, v = random_state(2)
    stepped = q
    for _ in range(1000):
        stepped = integrate(model, stepped, v, 1e-3)
    np.testing.assert_allclose(stepped, integrate(model, q, v, 1.0), atol=1e-12)
    assert abs(np.linalg.norm(stepped[3:]) - 1.0) < 4e-16
    np.testing.assert_allclose(integrate(model, integrate(model, q, v, 0.7), v, -0.7), q, atol=1e-15)


@pytest.mark.nojit
def test_kinetic_energy_is_half_v_M_v():
    """Energies of several bodies add up; the potential is -m g . com."""
    own = (lopsided(4), lopsided(5))
    model = free_bodies(*own)
    q, v = random_state(6, nb=2)
    assert kinetic_energy(model, q, v) == pytest.approx(0.5 * v @ mass_matrix(model, q) @ v, rel=1e-13)
    places = [q[7 * i : 7 * i + 3] + quaternion.to_matrix(q[7 * i + 3 : 7 * i + 7]) @ own[i].com for i in range(2)]
    weight = -sum(body.mass * GRAVITY @ com for body, com in zip(own, places, strict=True))
    assert potential_energy(model, q) == pytest.approx(weight, rel=1e-13)


def test_public_numbers_are_the_steps_to_the_bit():
    """Energies and configurations of a record are those of the public functions of its model."""
    model = free_bodies(lopsided(8), lopsided(9))
    world = alone(model)
    q, v = random_state(8, nb=2)
    recording = simulate(world, TimeStepping(1e-2, edges=4), steps=20, state=world.initial_state(q=q, v=v))
    for i, (at, moving) in enumerate(zip(recording.q, recording.v, strict=True)):
        energies = (kinetic_energy(model, at, moving), potential_energy(model, at))
        assert energies == (recording.kinetic[i], recording.potential[i])
        if i:
            np.testing.assert_array_equal(at, integrate(model, recording.q[i - 1], moving, recording.h[i - 1]))


@pytest.mark.nojit
def test_one_body_is_one_body_however_it_is_put_together():
    """A tilted joint frame, and a load fixed to the body, move as the plain body of the same mass distribution does."""
    body, h = lopsided(4), 0.1
    q, v = random_state(4)
    tau = np.array([0.4, -1.0, 2.0, 0.3, 0.7, -0.5])
    plain = free_velocity(free_bodies(body), q, v, tau, h)

    frame = Transform.rotation((1, -2, 0.5), 0.8, (0.3, 0.1, -2.0))
    builder = ModelBuilder(GRAVITY)
    builder.add_body("body", joint=FloatingBase(), placement=frame, inertia=body)
    start = frame.inverse() @ Transform(quaternion.to_matrix(q[3:]), q[:3])
    tilted = np.concatenate((start.p, quaternion.from_matrix(start.R)))
    back = frame.R.T
    moved = free_velocity(
        builder.build(), tilted, np.append(back @ v[:3], v[3:]), np.append(back @ tau[:3], tau[3:]), h
    )
    np.testing.assert_allclose(np.append(frame.R @ moved[:3], moved[3:]), plain, atol=1e-12)

    half = RigidInertia(0.5 * body.mass, inertia=0.5 * body.inertia)
    loaded = ModelBuilder(GRAVITY)
    loaded.add_body("carrier", joint=FloatingBase(), inertia=RigidInertia(half.mass, body.com, inertia=half.inertia))
    loaded.add_body("load", parent="carrier", joint=Fixed(), placement=Transform(p=body.com), inertia=half)
    np.testing.assert_allclose(free_velocity(loaded.build(), q, v, tau, h), plain, atol=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("h", [1e-3, 0.1, 1.0])
def test_a_body_on_a_ball_joint_keeps_its_energy_at_any_step(h):
    """Spun without gravity about a fixed point off its centre, energy and |angular momentum| about it stay."""
    body = lopsided(6)
    builder = ModelBuilder((0, 0, 0))
    model = builder.add_body("top", joint=Spherical(), inertia=body).build()
    c = body.com
    inertia = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    omega = np.array([5.0, -8.0, 12.0])
    _, v = free_flight(model, model.neutral, omega, h, 60)
    assert v @ inertia @ v == pytest.approx(omega @ inertia @ omega, rel=1e-9)
    assert np.linalg.norm(inertia @ v) == pytest.approx(np.linalg.norm(inertia @ omega), rel=1e-9)


@pytest.mark.nojit
def test_a_top_under_gravity_obeys_eulers_law_about_its_joint():
    """The step on a ball joint is the midpoint rule with the torques of weight and drive about the joint."""
    body, h = lopsided(7), 0.05
    model = ModelBuilder(GRAVITY).add_body("top", joint=Spherical(), inertia=body).build()
    q = quaternion.normalize([0.3, -0.5, 0.2, 0.7])
    omega, tau = np.array([1.0, -2.0, 3.0]), np.array([0.2, 0.1, -0.4])
    free = free_velocity(model, q, omega, tau, h)
    c, mean = body.com, 0.5 * (free + omega)
    inertia = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    torque = tau + np.cross(c, quaternion.to_matrix(q).T @ (body.mass * GRAVITY))
    np.testing.assert_allclose(inertia @ (free - omega), h * (torque - np.cross(mean, inertia @ mean)), atol=1e-12)


def test_slices_and_names():
    """Every body's share of q and v is found by name; a wrong name suggests close ones."""
    builder = ModelBuilder()
    for i, name in enumerate(("red cube", "blue cube", "ball")):
        builder.add_body(name, joint=FloatingBase(), inertia=lopsided(i))
    model = builder.build()
    assert (model.nb, model.nq, model.nv) == (3, 21, 18)
    assert model.q_slice("blue cube") == slice(7, 14)
    assert model.v_slice("ball") == slice(12, 18)
    with pytest.raises(MultibodyError, match="close: 'red cube'"):
        model.q_slice("red_cube")
    with pytest.raises(MultibodyError, match="no body is called 'xyz'"):
        model.v_slice("xyz")


def test_states_that_do_not_fit_name_body_and_entry():
    """Non-unit quaternions, NaN entries and wrong lengths."""
    model = free_bodies(lopsided(0), lopsided(1))
    q = model.neutral
    np.testing.assert_array_equal(check_configuration(model, q.tolist()), q)
    q[10] = 1.0 + 2e-6
    with pytest.raises(MultibodyError, match=r"entries \[10:14\], the quaternion of 'b', have length 1\.000002, not 1"):
        check_configuration(model, q)
    q[10] = 0.0
    with pytest.raises(MultibodyError, match="length 0"):
        check_configuration(model, q)
    q[8] = math.nan
    with pytest.raises(MultibodyError, match=r"entry \[8\] \(body 'b'\) is nan"):
        check_configuration(model, q)
    with pytest.raises(MultibodyError, match=r"v: must have shape \(12,\), got \(11,\)"):
        check_velocity(model, np.zeros(11))
    with pytest.raises(MultibodyError, match=r"entry \[2\] \(body 'a'\) is inf"):
        check_velocity(model, [0, 0, math.inf] + 9 * [0])
    with pytest.raises(MultibodyError, match="dt"):
        integrate(model, model.neutral, np.zeros(12), math.nan)


@pytest.mark.parametrize(
    ("names", "gravity", "field"),
    [
        (["a", "a"], (0, 0, 0), "name"),
        (["a", ""], (0, 0, 0), "name"),
        (["a", 3], (0, 0, 0), "name"),
        (["a"], (0, 0), "gravity"),
        (["a"], (0, 0, math.nan), "gravity"),
    ],
)
def test_models_that_cannot_be_built_name_the_field(names, gravity, field):
    """Repeated or empty names, bad gravity."""

    def build():
        builder = ModelBuilder(gravity)
        for i, name in enumerate(names):
            builder.add_body(name, joint=FloatingBase(), inertia=lopsided(i))

    with pytest.raises(MultibodyError) as info:
        build()
    assert info.value.field == field


def test_a_free_body_without_mass_is_refused_by_what_solves() -> None:
    """Not by the builder: a constraint may hold what moves no mass."""
    model = ModelBuilder().add_body("a", joint=FloatingBase()).build()
    with pytest.raises(MultibodyError, match="'a'"):
        forward_dynamics(model, model.neutral, np.zeros(6), np.zeros(6))


def test_model_is_immutable_but_its_packed_arrays_fit_the_kernels():
    """Public arrays are read-only; the packed ones have the one type the kernels are compiled for."""
    model = free_bodies(lopsided(0))
    with pytest.raises(AttributeError):
        model.bodies = ()
    assert not model.gravity.flags.writeable
    assert not model.bodies[0].inertia.com.flags.writeable
    for packed in world_arrays(alone(model)).packed:
        assert packed.flags.writeable
        assert packed.flags.c_contiguous
        assert packed.dtype in (np.float64, np.int64)


def test_no_bodies_is_a_model_too():
    """Empty arrays keep their shapes."""
    model = ModelBuilder().build()
    assert model.neutral.shape == (0,)
    assert mass_matrix(model, []).shape == (0, 0)
    assert kinetic_energy(model, [], []) == 0.0
