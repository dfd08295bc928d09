"""Free motion: tumbling bodies, tops, chains and trees keep energy and momentum as their integrator should."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk
from simulation_scenes import G

from contactlab import multibody as mb
from contactlab.multibody.joints import FloatingBase, Spherical
from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.quaternion import to_matrix
from contactlab.simulation import (
    Box,
    Material,
    Model,
    ModelBuilder,
    Recording,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    StepperState,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)

GRAVITY = np.array([0.3, -0.2, -9.81])


def lopsided(seed: int, *, offset: float = 0.4) -> RigidInertia:
    """Body of a random mass distribution: the inertia of a cloud of point masses about its own centre."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(8, 3)) * [0.2, 0.3, 0.5]
    points -= points.mean(axis=0)
    second = points.T @ points / 8.0
    return RigidInertia(1.7, offset * rng.normal(size=3), inertia=1.7 * (np.trace(second) * np.eye(3) - second))


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
    """Velocity after one step of Euler's rule, without contacts."""
    stepper, state = TimeStepping(h, edges=4, integrator="euler"), StepperState(q, v)
    return simulate(alone(model), stepper, steps=1, state=state, tau=tau).v[-1]


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


# Dzhanibekov's wing nut: a spin about the middle axis, a trace of another beside it.
I = np.array([0.2, 0.3, 0.4])
START = np.array([1e-3, 5.0, 0.0])


def wing_nut(gyroscopic, h=1e-2, duration=30.0, spin=START):
    """A body in free space with three different moments of inertia."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    inertia = RigidInertia(1.0, inertia=np.diag(I))
    builder.add_free_body("nut", inertia, Box.cube(0.1), Material(0.5), v=(0, 0, 0, *spin))
    return simulate(builder.build(), TimeStepping(h, gyroscopic=gyroscopic), duration)


def turns_over(recording):
    """How often the spin about the middle axis changes its sign."""
    return int(np.count_nonzero(np.diff(np.sign(recording.v[:, 4]))))


def test_explicit_flips_and_gains_energy_in_every_step():
    """The gain is of first order in h: 3.6 % over 10 s at h = 10 ms, a tenth of it at 1 ms."""
    recording = wing_nut("explicit", duration=10.0)
    assert turns_over(recording) >= 1
    assert np.all(np.diff(recording.kinetic) >= 0.0)
    gained = recording.kinetic[-1] / recording.kinetic[0] - 1.0
    fine = wing_nut("explicit", h=1e-3, duration=10.0)
    assert gained > 0.01
    assert gained / (fine.kinetic[-1] / fine.kinetic[0] - 1.0) == pytest.approx(10.0, rel=0.5)
    assert verify(recording, every=50).holds


def test_off_keeps_the_angular_velocity_and_never_flips():
    """Without the gyroscopic term the motion equals DART's and Bullet's default to the bit."""
    recording = wing_nut("off")
    assert turns_over(recording) == 0
    np.testing.assert_allclose(recording.v, np.broadcast_to(recording.v[0], recording.v.shape), rtol=0, atol=1e-12)
    assert verify(recording, every=50).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12


def test_off_leaves_the_weight_of_a_link_beside_its_joint():
    """Only w x I w goes: a centre of mass off the origin still circles, and falls freely."""
    builder = WorldBuilder((0.0, 0.0, -9.81))
    inertia = RigidInertia(2.0, (0.1, 0.0, 0.05), inertia=np.diag(I))
    start = (0, 0, 0, 1, 0, 0, 0), (0.3, 0, 0, 0.5, 2.0, -1.0)
    builder.add_free_body("body", inertia, Box.cube(0.1), Material(0.5), *start)
    recording = simulate(builder.build(), TimeStepping(1e-3, gyroscopic="off"), steps=200)
    rotations, origins = recording.poses()
    com = origins[:, 0] + rotations[:, 0] @ inertia.com
    np.testing.assert_allclose(recording.v[:, 3:], np.broadcast_to(recording.v[0, 3:], (201, 3)), atol=1e-12)
    acceleration = np.diff(com, 2, axis=0) / 1e-6
    np.testing.assert_allclose(acceleration, np.broadcast_to((0, 0, -9.81), acceleration.shape), atol=5e-2)
    assert verify(recording).holds


LENGTH = 0.066


def chain(links: int, first: object, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> World:
    """A chain on ball joints."""
    builder = ModelBuilder(gravity=gravity)
    inertia = RigidInertia.solid_box(1.0, (LENGTH, 0.3 * LENGTH, 0.2 * LENGTH))
    for i in range(links):
        if i == 0:
            builder.add_body("l0", joint=first, inertia=inertia)
        else:
            place = Transform(p=(1.9 * LENGTH, 0.0, 0.0))
            builder.add_body(f"l{i}", parent=f"l{i - 1}", joint=joints.Spherical(), inertia=inertia, placement=place)
    world = WorldBuilder(gravity=gravity)
    world.add_model(builder.build())
    return world.build()


def run(
    world: World, v: np.ndarray, h: float, steps: int, gyroscopic: str = "implicit", integrator: str = "euler"
) -> Recording:
    """From the neutral configuration."""
    stepper = TimeStepping(h, gyroscopic=gyroscopic, integrator=integrator)
    return simulate(world, stepper, steps=steps, state=StepperState(world.model.neutral, v))


# Free motion by Runge and Kutta is verified in plain numpy, which takes seconds.
SLOW_SPEEDS = [pytest.param(speed, 10, marks=pytest.mark.slow) for speed in (20.0, 60.0, 200.0)]


@pytest.mark.parametrize(("speed", "every"), [(5.0, 10), (200.0, 100), *SLOW_SPEEDS])
@pytest.mark.parametrize("first", [joints.FloatingBase(), joints.Spherical()], ids=["free", "hung"])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_fast_chains_keep_their_energy_within_bounds(integrator: str, first: object, speed: float, every: int) -> None:
    world = chain(10, first)
    rng = np.random.default_rng(0)
    recording = run(world, speed * rng.standard_normal(world.nv), 0.01, 300, integrator=integrator)
    kinetic = np.asarray(recording.ledger.kinetic)
    assert kinetic.max() < 50.0 * kinetic[0]
    assert verify(recording, every=every).holds


ROD = RigidInertia(0.05, (0.05, 0, 0), np.diag([4e-6, 4.5e-5, 4.5e-5]))


def hinged_chain(n: int, joint: joints.Joint, base: joints.Joint | None = None) -> Model:
    """Rods of 0.1 m in a chain, the first on ``base``, by default a joint as all the others."""
    builder = ModelBuilder()
    for i in range(n):
        place = Transform(p=(0.1 if i else 0.0, 0, 0))
        own = base if base is not None and i == 0 else joint
        builder.add_body(f"rod {i}", parent=f"rod {i - 1}" if i else "world", joint=own, placement=place, inertia=ROD)
    return builder.build()


def world_of(model: Model, *, surface: bool = False) -> World:
    """The model alone; with a ``surface``, which nothing can touch, other things may act on it."""
    builder = WorldBuilder(gravity=model.gravity)
    builder.add_model(model, mb.neutral(model))
    if surface:
        builder.add_shape(model.names[-1], Sphere(0.01), Material(0.3))
    return builder.build()


KINDS: dict[str, joints.Joint] = {"ball": joints.Spherical(), "hinge": joints.Revolute((0, 1, 0))}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whipping_chain_keeps_its_energy(kind: str) -> None:
    """Eight links that fall from horizontal keep their energy to a thousandth, at 5 and 2 ms."""
    world = world_of(hinged_chain(8, KINDS[kind]))
    for h in (5e-3, 2e-3):
        run = simulate(world, TimeStepping(h), 1.0)
        energy = run.kinetic + run.potential
        assert np.abs(energy - energy[0]).max() < 1e-3 * np.ptp(run.potential)
        assert np.abs(run.ledger.residual).max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_that_may_touch_keeps_the_energy_of_its_scheme(kind: str) -> None:
    """Where contacts may act, the energy is off by the half step of the weights alone, m g . v h / 2."""
    world = world_of(hinged_chain(8, KINDS[kind]), surface=True)
    for h in (5e-3, 2e-3):
        run = simulate(world, TimeStepping(h), 1.0)
        energy = run.kinetic + run.potential
        rate = np.append(np.diff(run.potential) / h, 0.0)
        assert np.abs(energy - energy[0]).max() < 0.02 * np.ptp(run.potential)
        assert np.abs(energy - energy[0] - 0.5 * h * rate)[1:-1].max() < 0.3 * np.abs(0.5 * h * rate).max()
        assert np.abs(run.ledger.residual).max() < 1e-12
        assert verify(run).holds


def test_a_double_pendulum_is_that_of_another_integrator() -> None:
    """A double pendulum is after a second where scipy's eighth-order method has it, to 1e-5 rad."""
    model = hinged_chain(2, joints.Revolute((0, 1, 0)))
    run = simulate(world_of(model), TimeStepping(2e-3), 1.0)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        q, v = np.split(state, 2)
        return np.concatenate((v, mb.forward_dynamics(model, q, v, np.zeros(2))))

    begin = np.concatenate((run.q[0], run.v[0]))
    exact = solve_ivp(rates, (0.0, run.time[-1]), begin, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    assert np.abs(run.q[-1] - exact[:2]).max() < 1e-5
    assert np.abs(run.v[-1] - exact[2:]).max() < 1e-4


@pytest.mark.parametrize("surface", [False, True])
def test_a_tumbling_chain_keeps_its_momenta(surface: bool) -> None:
    """A free chain without weight keeps momentum, angular momentum and kinetic energy to 1e-5 of their size."""
    model = dataclasses.replace(hinged_chain(5, joints.Spherical(), joints.FloatingBase()), gravity=np.zeros(3))
    world = world_of(model, surface=surface)
    v = np.random.default_rng(3).normal(0.0, 6.0, model.nv)
    run = simulate(world, TimeStepping(2e-3), 1.0, state=StepperState(world.model.neutral, v))
    states = zip(run.q[::50], run.v[::50], strict=True)
    momenta = np.array([mb.centroidal_momentum_matrix(model, q) @ v for q, v in states])
    for part in (momenta[:, :3], momenta[:, 3:]):
        assert np.abs(part - part[0]).max() < 1e-5 * np.abs(part[0]).max()
    assert np.ptp(run.kinetic) < 1e-4 * run.kinetic[0]
    assert verify(run).holds


def test_records_say_how_they_moved(tmp_path: Path) -> None:
    """A saved run verifies again, and one of Euler's rule stays that."""
    world = world_of(hinged_chain(3, joints.Revolute((0, 1, 0))))
    for way in ("rk4", "euler"):
        run = simulate(world, TimeStepping(2e-3, integrator=way), 0.2)
        run.save(tmp_path / "run.npz")
        again = Recording.open(tmp_path / "run.npz")
        assert again.stepper.integrator == way
        assert verify(again).holds
    with pytest.raises(SimulationConfigError, match="integrator"):
        TimeStepping(1e-3, integrator="rk")


def test_verify_refuses_another_motion() -> None:
    """A run of Euler's rule that claims the method, and one whose end is moved a little, do not verify."""
    world = world_of(hinged_chain(3, joints.Revolute((0, 1, 0))))
    run = simulate(world, TimeStepping(2e-3, integrator="euler"), 0.1)
    claimed = dataclasses.replace(run, stepper=dataclasses.replace(run.stepper, integrator="rk4"))
    assert not verify(claimed).holds


def order(steps, errors):
    """Slope of the error over h in logarithms."""
    return np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0]


def top(spin, *, tilt=0.0, precession=0.0):
    """A symmetric top on a ball joint in its tip: mass 0.5, mass centre 0.1 m along its axis."""
    model = ModelBuilder((0.0, 0.0, -G))
    inertia = RigidInertia(0.5, (0.0, 0.0, 0.1), inertia=np.diag([1e-3, 1e-3, 8e-4]))
    model.add_body("top", joint=joints.Spherical(), inertia=inertia)
    builder = WorldBuilder((0.0, 0.0, -G))
    # Tilted about x; the precession about the vertical, in body axes.
    q = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    v = (0.0, precession * math.sin(tilt), spin)
    builder.add_model(model.build(), q, v)
    return builder.build()


MGL, I1, I3 = 0.5 * G * 0.1, 1e-3 + 0.5 * 0.1**2, 8e-4


def tilts(recording):
    """Angle of the axis to the vertical in every state."""
    return [math.acos(min(1.0, to_matrix(q)[2, 2])) for q in recording.q]


@pytest.mark.parametrize(("factor", "sleeps"), [(1.1, True), (0.9, False)])
def test_a_sleeping_top_wakes_below_its_least_spin(factor, sleeps):
    """Upright is stable where w3^2 > 4 m g l I1 / I3^2."""
    spin = factor * 2.0 * math.sqrt(MGL * I1) / I3
    recording = simulate(top(spin, tilt=1e-3), TimeStepping(2e-4), 1.5)
    assert (max(tilts(recording)) < 1e-2) is sleeps


def test_a_top_precesses_steadily():
    """I1 W^2 cos - I3 w3 W + m g l = 0: the tilt stays, the axis goes round at W, to first order in h."""
    tilt, spin = 0.5, 250.0
    slow = (I3 * spin - math.sqrt((I3 * spin) ** 2 - 4 * I1 * math.cos(tilt) * MGL)) / (2 * I1 * math.cos(tilt))
    steps, errors = (4e-4, 2e-4, 1e-4), []
    for h in steps:
        recording = simulate(top(spin, tilt=tilt, precession=slow), TimeStepping(h), 0.5)
        assert np.ptp(tilts(recording)) < 30.0 * h
        axes = np.array([to_matrix(q)[:, 2] for q in recording.q])
        turned = np.unwrap(np.arctan2(axes[:, 0], -axes[:, 1]))
        errors.append(np.polyfit(recording.time, turned, 1)[0] / slow - 1.0)
    assert abs(errors[-1]) < 20.0 * steps[-1]
    assert order(steps, errors) >= 0.8


def test_a_hundred_flips_keep_energy_momentum_and_period():
    """The period is the elliptic integral's, to second order in h; the energy and |L| only round."""
    (a, b, c), spin = I, np.array([0.05, 2.0, 0.0])
    L2, E = np.sum((I * spin) ** 2), 0.5 * np.sum(I * spin**2)
    assert 2 * E * b > L2
    # L^2 < 2 E I2: the formula of the other case with the outer axes exchanged.
    k2 = (c - b) * (L2 - 2 * E * a) / ((b - a) * (2 * E * c - L2))
    period = 4 * ellipk(k2) * math.sqrt(a * b * c / ((b - a) * (2 * E * c - L2)))
    steps, errors = (0.04, 0.02, 0.01), []
    for h in steps:
        flips = 100 if h == steps[0] else 10
        recording = wing_nut("implicit", h, (flips / 2 + 0.3) * period, spin)
        w = recording.v[:, 4]
        before = np.flatnonzero(w[:-1] * w[1:] < 0)
        at = recording.time[before] + h * w[before] / (w[before] - w[before + 1])
        assert at.size >= flips
        errors.append(2 * (at[-1] - at[0]) / (at.size - 1) - period)
        size = np.linalg.norm(I * recording.v[:, 3:], axis=1)
        assert np.abs(recording.kinetic / E - 1.0).max() < 1e-11
        assert np.abs(size / math.sqrt(L2) - 1.0).max() < 1e-11
    assert order(steps, errors) >= 1.8
    assert abs(errors[-1]) < 1e-3 * period
