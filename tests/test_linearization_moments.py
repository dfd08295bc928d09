"""Derivatives of steps with torsional and rolling friction: beside differences, closed forms, kinks, lengths."""

from dataclasses import replace

import joint_scenes
import numpy as np
import pytest
from derivative_scenes import MOTIONS
from linearization_worlds import (
    G,
    H,
    assert_agrees,
    assert_one_sided,
    assert_parameters_agree,
    cube,
    later,
    signed,
    whys,
)

from contactlab.derivatives import gradient, linearize
from contactlab.simulation import (
    HalfSpace,
    Material,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
)

RADIUS, MASS, MU = 0.1, 2.0, 0.8
SPIN, ROLL = 0.004, 0.02
BOTH = Material(MU, torsional=SPIN, rolling=ROLL)
#: The ball rolls along x without slip, and braked it goes on by as much.
ROLLS = (0.4, 0, 0, 0, 4.0, 0)
BRAKED = 5.0 * G / (7.0 * RADIUS)
SPUN_DOWN = 5.0 * G / (2.0 * RADIUS**2)
STEPPER = TimeStepping(H, erp=1.0)
TURN = tuple(np.array([0.8, 0.2, -0.4, 0.4]))


def ball(material, v=(0, 0, 0, 0, 0, 0), *, turn=(1, 0, 0, 0), normal=(0, 0, 1), depth=0.0, floor=MU):
    """A ball on a floor."""
    normal = np.array(normal) / np.linalg.norm(normal)
    builder = WorldBuilder(**joint_scenes.FAST)
    builder.add_half_space("floor", HalfSpace(normal), Material(floor))
    inertia = RigidInertia.solid_sphere(MASS, RADIUS)
    start = (*((RADIUS - depth) * normal), *(np.array(turn) / np.linalg.norm(turn)))
    builder.add_free_body("ball", inertia, Sphere(RADIUS), material, start, v)
    return builder.build()


def wheel(v, slope=0.0):
    """A wheel in a plane, with the coordinates x, z and its turn."""
    builder = WorldBuilder(planar=(0, 1, 0), **joint_scenes.FAST)
    builder.add_half_space("floor", HalfSpace((-slope, 0, 1)), Material(MU))
    builder.add_free_body(
        "wheel", RigidInertia.solid_sphere(MASS, RADIUS), Sphere(RADIUS), BOTH, (0, RADIUS * np.hypot(1, slope), 0), v
    )
    return builder.build()


@pytest.mark.nojit
@pytest.mark.parametrize("edges", [4, 8])
@pytest.mark.parametrize(
    ("material", "v"),
    [
        (Material(MU, rolling=ROLL), (0.3, 0.1, 0, -1, 3, 0)),
        (Material(MU, torsional=SPIN), (0, 0, 0, 0, 0, 5.0)),
        (BOTH, (0.3, 0.1, 0, -1, 3, 5)),
        (Material(MU, torsional=SPIN, rolling=1e-3), (0.5, 0.1, 0, 3, -2, 5)),
        (BOTH, (0.002, 0.001, 0, 0.01, 0.02, -0.005)),
        (BOTH, (0, 0, 0, 0, 0, 0)),
    ],
    ids=["rolls", "spins", "rolls and spins", "slides", "is held", "rests"],
)
def test_a_ball_agrees_with_differences(material, v, edges):
    """Straight and rotated, on a floor and on a slope, A and B agree with centred differences of the step."""
    for turn, normal in (((1, 0, 0, 0), (0, 0, 1)), (TURN, (-0.1, 0.05, 1.0))):
        # A little in the floor, so that it is pressed on it, and no force is small.
        world = ball(material, v, turn=turn, normal=normal, depth=1e-5)
        found = assert_agrees(world, TimeStepping(H, erp=1.0, edges=edges), world.initial_state())
        assert found.unique


@pytest.mark.parametrize("name", ["two spheres", "spheres"])
def test_scenes_agree_with_differences(name):
    """Scenes whose surfaces resist turning: A, B and targets of some states, as differences, where no kink is near."""
    motion = MOTIONS[name]()
    surfaces = tuple(
        replace(one, material=replace(one.material, torsional=2e-3, rolling=1e-3)) for one in motion.world.surfaces
    )
    motion = replace(motion, world=replace(motion.world, surfaces=surfaces))
    stepper, checked = motion.stepper(), 0
    for state in motion.states(stepper, 24):
        found = linearize(motion.world, stepper, state)
        if found.forces.any() and all(kink.state_distance > 1.5e-6 for kink in found.kinks):
            assert_agrees(motion.world, stepper, state, steps=(1e-6, 1e-7, 1e-8))
            checked += 1
    assert checked


@pytest.mark.nojit
def test_moments_at_their_bounds_are_kinks_by_name():
    """A torque just at the bound, a spin or a rolling that just ends: named, and one-sided as differences."""
    rest, turning = ball(Material(MU, torsional=SPIN)), ball(Material(MU, torsional=SPIN), (0, 0, 0, 0, 0, 1.0))
    tau = np.array([0, 0, 0, 0, 0, SPIN * MASS * G])
    found = assert_one_sided(rest, STEPPER, rest.initial_state(), signed(12, 11), tau=tau)
    assert whys(found) & {("at the bound of its spin, may spin", 0), ("hardly spins, may stick", 0)}
    assert found.directional(np.zeros(12), np.eye(6)[5])[11] == pytest.approx(H / (0.4 * MASS * RADIUS**2), rel=1e-6)
    assert found.directional(np.zeros(12), -np.eye(6)[5])[11] == pytest.approx(0.0, abs=1e-9)
    ends = replace(turning.initial_state(), v=(H * SPUN_DOWN * SPIN + 1e-10) * np.eye(6)[5])
    found = linearize(turning, STEPPER, ends)
    assert whys(found) == {("hardly spins, may stick", 0)}
    assert found.directional(np.eye(12)[11])[11] == pytest.approx(1.0, rel=1e-6)
    assert found.directional(-np.eye(12)[11])[11] == pytest.approx(0.0, abs=1e-6)
    speed = H * BRAKED * ROLL + 1e-10
    world = wheel((speed, 0, speed / RADIUS))
    found = linearize(world, STEPPER, world.initial_state())
    assert whys(found) == {("hardly rolls, may stick", 0)}
    assert found.kinks[0].label == "wheel on floor"
    rolling = np.array([0, 0, 0, 1.0, 0, 1.0 / RADIUS])
    np.testing.assert_allclose(found.directional(rolling)[3:], rolling[3:], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.directional(-rolling)[3:], 0.0, atol=1e-5)
    held = linearize(world, STEPPER, replace(world.initial_state(), v=0.95 * world.initial_state().v))
    assert "at the bound of its rolling, may roll" in {kink.reason for kink in held.kinks}
    assert held.unique


@pytest.mark.nojit
def test_a_ball_driven_from_rest_has_axes_that_jump():
    """At rest no rolling defines the axes: a torque beyond the bound is reported as a kink; a smaller one is not."""
    world = ball(BOTH)
    torque = np.array([0, 0, 0, 0.3, 1.2, 0])
    driven = linearize(world, STEPPER, world.initial_state(), torque)
    assert ("hardly rolls, its axes of friction jump", 0) in whys(driven)
    assert linearize(world, STEPPER, world.initial_state(), 0.1 * torque).unique
    slow = replace(world.initial_state(), v=1e-5 * np.array([0.1, 0, 0, 0, 1.0, 0]))
    near = [kink for kink in linearize(world, STEPPER, slow, torque).kinks if "jump" in kink.reason]
    assert near[0].state_distance == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.nojit
def test_a_touch_without_load_brings_moments_with_it():
    """Without gravity a spinning ball at the floor slows only if pressed on: derivatives are one-sided."""
    builder = WorldBuilder((0, 0, 0), **joint_scenes.FAST)
    builder.add_half_space("floor", HalfSpace(), Material(MU))
    start = (0, 0, RADIUS, 1, 0, 0, 0)
    builder.add_free_body("ball", RigidInertia.solid_sphere(MASS, RADIUS), Sphere(RADIUS), BOTH, start, (*ROLLS[:5], 3))
    world = builder.build()
    found = assert_one_sided(world, STEPPER, world.initial_state(), signed(12, 2, 8))
    assert whys(found) == {("touches without load", 0)}
    pressed = found.directional(-np.eye(12)[8])
    assert pressed[11] == pytest.approx(-2.5 * SPIN / RADIUS**2, rel=1e-6)
    assert pressed[6] == pytest.approx(-5.0 * ROLL / (7.0 * RADIUS), rel=1e-6)


@pytest.mark.nojit
def test_rolling_friction_of_a_face_gives_way_to_a_tilt():
    """A box at rest: its corners determine its tilt, as in differences, and the jump of its moments is reported."""
    world = cube(-1e-6, material=Material(0.3, rolling=0.01))
    found = assert_agrees(world, STEPPER, world.initial_state())
    assert ("friction gives way to a motion that normal forces ask for", 0) in whys(found)
    plain = cube(-1e-6)
    np.testing.assert_allclose(found.A, linearize(plain, STEPPER, plain.initial_state()).A, atol=1e-6)
    for stepper in (STEPPER, TimeStepping(H)):
        state = later(world, stepper, 5)
        ways = np.random.default_rng(0).normal(size=(4, 12))
        assert_one_sided(world, stepper, state, ways, step=1e-7, tolerance=2e-4)


@pytest.mark.nojit
def test_lengths_of_a_pair_of_surfaces_are_parameters():
    """Derivatives by lengths, mu and mass agree with differences of worlds; at 0, the end of the range, one-sided."""
    for v in ((0.3, 0.1, 0, -1, 3, 2), (0.5, 0.1, 0, 3, -2, 5), (0.002, 0.001, 0, 0.01, 0.02, -0.005)):
        for turn, normal in (((1, 0, 0, 0), (0, 0, 1)), (TURN, (-0.1, 0.05, 1.0))):
            world = ball(BOTH, v, turn=turn, normal=normal, depth=1e-5)
            wrt = ["ball.torsional", "ball.rolling", "*.mu", "ball.mass", "ball.com_y"]
            assert_parameters_agree(world, STEPPER, world.initial_state(), wrt)
    world = ball(Material(MU, rolling=ROLL), (*ROLLS[:5], 5.0))
    found = linearize(world, STEPPER, world.initial_state(), wrt=["ball.torsional"])
    np.testing.assert_allclose(found.parameters["ball.torsional"][11], -H * SPUN_DOWN, rtol=1e-6)
    world = ball(Material(MU, torsional=SPIN), ROLLS)
    found = linearize(world, STEPPER, world.initial_state(), wrt=["ball.rolling"])
    np.testing.assert_allclose(found.parameters["ball.rolling"][6], -H * BRAKED, rtol=1e-6)
    plain = ball(Material(MU), ROLLS)
    with pytest.raises(SimulationConfigError, match="other torsional and rolling friction"):
        linearize(plain, STEPPER, plain.initial_state(), wrt=["ball.rolling"])


def test_a_run_until_it_stops_has_its_gradient():
    """Where a ball ends that rolls out, v^2 / (2 a): by its speed v / a, by the length -v^2 / (2 a rho)."""
    world = ball(Material(MU, rolling=ROLL), ROLLS)
    slower = BRAKED * ROLL
    recording = simulate(world, TimeStepping(H), 0.5)
    assert np.abs(recording.v[-1]).max() < 1e-9
    found = gradient(recording, lambda _, q, v: float(q[0]), at=(-1,), wrt=["ball.rolling"])
    assert found.v @ np.array([1.0, 0, 0, 0, 1.0 / RADIUS, 0]) == pytest.approx(0.4 / slower, rel=0.02)
    assert found.parameters["ball.rolling"] == pytest.approx(-0.16 / (2.0 * slower * ROLL), rel=0.02)
