"""Derivatives of one step: beside differences of it, closed forms, and what they are where the piece ends."""

import itertools
import math
from dataclasses import replace

import joint_scenes
import numpy as np
import pytest
import simulation_scenes as scenes
from derivative_scenes import MOTIONS, bounded_drives
from linearization_worlds import (
    HALF,
    TOLERANCE,
    TOLERANCES,
    G,
    H,
    assert_agrees,
    cube,
    later,
    slider,
    whys,
)
from step_differences import moved

import lcp
from contactlab.derivatives import linearize
from contactlab.multibody import point_position
from contactlab.multibody.constraints import DistanceConstraint
from contactlab.simulation import (
    Box,
    Conveyor,
    HalfSpace,
    JointLimit,
    Material,
    Oscillation,
    RigidInertia,
    Simulation,
    SimulationError,
    Sleep,
    TimeStepping,
    Transform,
    WorldBuilder,
    step,
)


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("name", MOTIONS)
def test_scenes_agree_with_differences(name, friction):
    """A, B and the columns of targets of a few states of every scene agree with differences, where no kink is near."""
    motion = MOTIONS[name]()
    if friction not in motion.frictions:
        pytest.skip("without contacts there is no friction to choose")
    stepper = motion.stepper(friction)
    checked = 0
    for state in motion.states(stepper, 4):
        targets = motion.targets_at(state.time)
        found = linearize(motion.world, stepper, state, None, targets)
        if all(kink.state_distance > 1e-5 for kink in found.kinks):
            tolerance = TOLERANCES.get((name, friction), TOLERANCE[friction])
            assert_agrees(motion.world, stepper, state, targets, steps=(1e-6, 1e-7, 1e-8), tolerance=tolerance)
            checked += 1
    # Boxes of one size, one on the other, stand on kinks of their faces.
    assert checked or name == "stack", f"{name}: each of four states stands on a kink"


@pytest.mark.nojit
def test_a_pendulum_in_a_soft_stop_has_its_closed_form():
    """(I + h C + h^2 K) v+ = I v - h m g l sin q - h K (q - U), differentiated by hand."""
    stop, K, C, q, v = 0.3, 50.0, 2.0, 0.32, 0.4
    builder = joint_scenes.pendulum(q, v)
    builder.add_joint_limit(JointLimit("rod", -1.0, stop, stiffness=K, dissipation=C))
    world = builder.build()
    found = linearize(world, TimeStepping(H), world.initial_state())
    inertia = 1.0 + 1e-9
    softened = inertia + H * C + H * H * K
    by_q, by_v = (-H * G * math.cos(q) - H * K) / softened, inertia / softened
    np.testing.assert_allclose(found.A, [[1.0 + H * by_q, H * by_v], [by_q, by_v]], rtol=1e-9)
    np.testing.assert_allclose(found.B, [[H * H / softened], [H / softened]], rtol=1e-9)
    # Of a stop away from it.
    np.testing.assert_allclose(found.joint_forces[0, :2], [K, 0.0] + (C + H * K) * found.A[1], rtol=1e-9)


@pytest.mark.parametrize(("name", "friction"), [("cube", "pyramid"), ("two spheres", "cone"), ("quadruped", "pyramid")])
def test_forces_agree_with_differences_of_the_steps_contacts(name, friction):
    """The derivatives of contact forces and of joint row forces equal those of impulses over h, and of forces."""
    motion = MOTIONS[name]()
    world, stepper, nv = motion.world, motion.stepper(friction), motion.world.nv
    for state in motion.states(stepper, 30):
        found = linearize(world, stepper, state)
        if found.forces.any() and all(kink.state_distance > 1e-5 for kink in found.kinks):
            break

    def acting(change):
        made = step(world, stepper, moved(world, state, change[: 2 * nv]), change[2 * nv :])
        return made.contacts.impulse / stepper.h, made.joint_rows.force

    for column in np.random.default_rng(0).choice(3 * nv, 12, replace=False):
        change = 1e-7 * (np.arange(3 * nv) == column)
        for own, ahead, behind in zip((found.forces, found.joint_forces), acting(change), acting(-change), strict=True):
            expected = (ahead - behind) / 2e-7
            # How contacts share a force is known to rounding over the compliance, 5e-5.
            assert np.abs(own[..., column] - expected).max(initial=0.0) < 1e-4 * max(
                1.0, np.abs(expected).max(initial=0)
            )


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("depth", [3e-5, 1e-3, 0.05])
def test_what_is_moved_out_of_the_floor_ends_where_it_is_moved_to(depth, friction):
    """A cube deep in the floor with one corner: its displacement corrects the depth, up to its largest speed."""
    world = cube(0.0, (0.4, 0.1, -0.2, 1.0, 2.0, 0.5), turn=(0.9, 0.25, 0.15, 0.1))
    start, stepper = world.initial_state(), TimeStepping(H, friction=friction, max_depenetration_velocity=1.0)
    corners = [point_position(world.model, start.q, "cube", x) for x in itertools.product((-0.1, 0.1), repeat=3)]
    state = replace(start, q=start.q - np.eye(7)[2] * (min(x[2] for x in corners) + depth))
    found = assert_agrees(world, stepper, state, tolerance=TOLERANCE[friction])
    assert {why for why, _ in whys(found)} == {"depth is undone in the positions"}
    free = linearize(world, replace(stepper, projection=False), state)
    rises = found.next.q[2] - free.next.q[2]
    assert rises == pytest.approx(min(depth, H), rel=0.7)
    assert found.A[2, 2] == pytest.approx(0.0 if depth < H else free.A[2, 2], abs=1e-9)


def test_what_sleeps_stands_still():
    """A sleeping body keeps its q and has no speed after the step, for any change before it; its neighbour moves on."""
    builder, material = WorldBuilder(), Material(0.3)
    builder.add_half_space("floor", HalfSpace(), material)
    inertia = RigidInertia.solid_box(2.0, HALF)
    builder.add_free_body("rests", inertia, Box(HALF), material, (0, 0, 0.1, 1, 0, 0, 0))
    builder.add_free_body("falls", inertia, Box(HALF), material, (3, 0, 9.0, 1, 0, 0, 0))
    world, stepper = builder.build(), TimeStepping(H, sleep=Sleep(time=0.02))
    state = later(world, stepper, 40)
    found = linearize(world, stepper, state)
    asleep = np.zeros((6, 24))
    asleep[:, :6] = np.eye(6)
    np.testing.assert_array_equal(found.A[:6], asleep)
    np.testing.assert_array_equal(found.A[12:18], 0.0)
    np.testing.assert_allclose(found.A[18:, 18:], np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(found.next.q[:7], state.q[:7])
    assert_agrees(world, stepper, state)


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("moves", ["belt", "shaker"])
def test_bodies_that_move_as_they_are_told(moves, friction):
    """A brick on a running belt that turns, and on a plate that rocks: as its differences."""
    builder, material = WorldBuilder(), Material(0.4)
    plate = Transform(p=(0, 0, -0.05))
    motion = Conveyor(plate, (0.5, 0.2, 0), (0, 0, 0.7))
    if moves == "shaker":
        motion = Oscillation(plate, (0.01, 0, 0.004), (0, 0.05, 0), 3.0)
    builder.add_kinematic_body("plate", Box((1, 1, 0.05)), material, motion)
    inertia = RigidInertia.solid_box(2.0, HALF)
    turn = np.array([0.99, 0.08, 0.06, 0.0]) / np.linalg.norm([0.99, 0.08, 0.06])
    builder.add_free_body("brick", inertia, Box(HALF), material, (0.1, 0.2, 0.13, *turn), (0, 0, -0.5, 0, 0, 0))
    world, stepper = builder.build(), TimeStepping(H, erp=1.0, friction=friction)
    checked = 0
    # At 34 to 52 steps the brick comes to rest on its face. Then steps agree only to the tolerance of the
    # forces, and their differences do not agree.
    for steps in (15, 22, 30, 56, 100):
        state = later(world, stepper, steps)
        found = linearize(world, stepper, state)
        if found.forces.any() and all(kink.state_distance > 1e-5 for kink in found.kinks):
            assert_agrees(world, stepper, state, steps=(1e-6, 1e-7, 1e-8), tolerance=TOLERANCE[friction])
            checked += 1
    assert checked > 2


def test_a_step_that_shrinks_is_differentiated_as_it_was_made():
    """If h must be halved twice, the derivative belongs to the step made, like differences of shrinking steps."""
    world = slider((0.3, 0.1, -0.2), height=1e-4)
    stepper = TimeStepping(4 * H, solver=scenes.UpTo(H, 1.0), edges=4, adaptive=True, warm_start=False, erp=1.0)
    found = assert_agrees(world, stepper, world.initial_state())
    assert found.next.time == H
    fixed = linearize(world, TimeStepping(H, solver=lcp.Lemke(), edges=4, erp=1.0), world.initial_state())
    np.testing.assert_array_equal(found.A, fixed.A)


@pytest.mark.parametrize("gyroscopic", ["implicit", "explicit", "off"])
def test_a_plate_that_tumbles_fast(gyroscopic):
    """0.4 rad a step, where the midpoint rule takes several parts: as differences, force and torque applied."""
    half = (0.2, 0.15, 0.02)
    box = RigidInertia.solid_box(1.5, half)
    inertia = RigidInertia(box.mass, (0.07, -0.04, 0.005), inertia=box.inertia)
    builder = WorldBuilder(**joint_scenes.FAST)
    builder.add_free_body("plate", inertia, Box(half), Material(0.3), (0, 0, 5, 0.8, 0.2, -0.4, 0.4))
    world, stepper = builder.build(), TimeStepping(H, gyroscopic=gyroscopic)
    for rates in ((3, 2, -4), (60, 45, -50), (150, 100, 120)):
        state = replace(world.initial_state(), v=np.array([1, 2, 3, *rates], float))
        assert_agrees(world, stepper, state, tau=np.array([1, -2, 3, 0.1, 0.2, -0.3]), tolerance=5e-6)


@pytest.mark.parametrize("erp", [0.0, 0.3])
def test_springs_rods_loops_and_followers(erp):
    """Bodies held by a spring with a damper, a rod, a four-bar, and an arm with everything: as differences."""
    builder = WorldBuilder(**joint_scenes.FAST)
    inertia = RigidInertia.solid_box(1.0, HALF)
    for name, x in (("left", -0.5), ("right", 0.5), ("third", 1.4)):
        turn = np.array([0.9, 0.2, -0.1, 0.3]) / np.linalg.norm([0.9, 0.2, -0.1, 0.3])
        builder.add_free_body(name, inertia, Box(HALF), Material(0.3), (x, 0, 3, *turn), (0.1, x, 0.2, 1, 2, -1))
    builder.add_spring("spring", "left", (0.1, 0, 0.05), "right", (-0.1, 0.05, 0), 0.5, 300.0, 2.0)
    builder.add_spring("hung", "world", (0, 0, 4), "left", (0, 0.1, 0), 0.8, 100.0, 1.0)
    a, b = np.array([0.1, 0.0, 0.1]), np.array([0.0, -0.1, 0.0])
    start = builder.build().initial_state()
    model = builder.build().model
    length = np.linalg.norm(point_position(model, start.q, "third", b) - point_position(model, start.q, "right", a))
    builder.add_loop(DistanceConstraint("right", a, "third", b, length))
    worlds = [builder.build(), joint_scenes.four_bar(erp=erp, speed=2.0), joint_scenes.four_bar(erp=erp, planar=False)]
    for world in (*worlds, joint_scenes.gripper(), joint_scenes.busy()):
        stepper = TimeStepping(H, erp=erp)
        for steps in (3, 40):
            state = later(world, stepper, steps)
            if all(kink.state_distance > 1e-5 for kink in linearize(world, stepper, state).kinks):
                assert_agrees(world, stepper, state, tolerance=2e-6)


@pytest.mark.parametrize("name", ["cube", "quadruped"])
def test_the_next_step_of_a_run_is_differentiated_and_not_made(name):
    """The derivative at a run's state has the next state of its step, and does not change the bits of the run."""
    motion = MOTIONS[name]()
    world, stepper = motion.world, motion.stepper("pyramid", 0.0)
    asked, plain = Simulation(world, stepper), Simulation(world, stepper)
    tau = np.random.default_rng(0).normal(size=world.nv)
    for _ in range(3):
        one = linearize(world, stepper, asked.state, tau)
        np.testing.assert_array_equal(one.next.v, step(world, stepper, asked.state, tau).state.v)
        for run in (asked, plain):
            run.step(tau, n=30)
        np.testing.assert_array_equal(asked.v, plain.v)


def test_several_states_have_the_bits_of_each_alone():
    """For a sequence, on threads: results in its order, tau one for each, targets one for each or for all, or none."""
    motion = bounded_drives()
    world, stepper = motion.world, motion.stepper()
    states = list(motion.states(stepper, 4))
    random = np.random.default_rng(0)
    taus, targets = random.normal(size=(4, 2)), random.normal(size=(4, 2))
    wrt = ["upper.mass"]
    for tau, target in ((taus, targets), (None, targets[0]), (taus, None), (None, {"drive of upper": 0.1})):
        found = linearize(world, stepper, states, tau, target, wrt)
        for i, (one, state) in enumerate(zip(found, states, strict=True)):
            own = target[i] if np.ndim(target) == 2 else target
            alone = linearize(world, stepper, state, None if tau is None else tau[i], own, wrt)
            np.testing.assert_array_equal(one.targets, alone.targets)
            np.testing.assert_array_equal(one.parameters["upper.mass"], alone.parameters["upper.mass"])
    assert linearize(world, stepper, []) == ()


def test_a_step_that_fails_says_why():
    """Velocities out of range: the error of the step, with its record."""
    world, stepper = cube(1.0), TimeStepping(H)
    with pytest.raises(SimulationError) as caught:
        linearize(world, stepper, replace(world.initial_state(), v=np.full(6, 1e200)))
    assert caught.value.recording.n_steps == 0
    with pytest.raises(SimulationError):
        linearize(world, stepper, world.initial_state(), np.full(6, 1e300))
    assert linearize(world, stepper, world.initial_state()).A.shape == (12, 12)
