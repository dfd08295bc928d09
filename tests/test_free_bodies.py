from __future__ import annotations

import math

import numpy as np
import pytest

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    Transform,
    forward_dynamics,
    kinetic_energy,
    potential_energy,
)
from contactlab.multibody.joints import Fixed, FloatingBase, Spherical
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
