"""Runs that are solved to rounding but implausible are warned of, and so are jams and gains of energy."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from contactlab.event_driven import EventDriven
from contactlab.multibody import JointLimits
from contactlab.multibody.joints import Revolute
from contactlab.simulation import (
    Box,
    ConstantVelocity,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    ImplausibleWarning,
    JointLimit,
    Material,
    ModelBuilder,
    PlacedShape,
    RigidInertia,
    Simulation,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    rollout,
    simulate,
    verify,
)

INERTIA = RigidInertia(1.0, inertia=0.01 * np.eye(3))


def cube_at(z: float, *, v: tuple[float, ...] = (0.0,) * 6, restitution: float = 0.0) -> World:
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5, restitution))
    builder.add_free_body("cube", INERTIA, Box.cube(0.1), Material(0.5, restitution), (0, 0, z, 1, 0, 0, 0), v)
    return builder.build()


def test_a_cube_that_begins_inside_the_floor() -> None:
    with pytest.warns(
        ImplausibleWarning, match=r"'cube' and 'floor' overlap from the start, 0\.4 m deep.*start them apart"
    ):
        recording = simulate(cube_at(-0.3), TimeStepping(h=0.01), steps=5)
    assert verify(recording).holds
    (overlap,) = recording.notices
    assert (overlap.kind, overlap.steps, overlap.step) == ("overlap", 5, 0)
    np.testing.assert_allclose(overlap.worst, 2.0, rtol=1e-9)


def test_a_cube_dropped_in_one_step() -> None:
    with pytest.warns(
        ImplausibleWarning,
        match=r"'cube' moves 9\.81 m, 49 times its length, and ends 9\.61 m inside 'floor', in step 0 .*h = 0\.01 s",
    ):
        recording = simulate(cube_at(0.3), TimeStepping(h=1.0, projection=False), steps=1)
    (notice,) = recording.notices
    np.testing.assert_allclose(notice.worst, 9.81 / 0.2, rtol=1e-6)
    # Looked for by v+, the floor is found.
    assert simulate(cube_at(0.3), TimeStepping(h=1.0), steps=1).q[1, 2] == pytest.approx(0.1)


def falling(shape: Any, v: tuple[float, ...], z: float = 0.2, **more: Any) -> World:
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    builder.add_free_body("body", INERTIA, shape, Material(0.5), (0, 0, z, 1, 0, 0, 0), v)
    for name, y in more.items():
        builder.add_free_body(name, INERTIA, shape, Material(0.5), (0, y, z, 1, 0, 0, 0), v)
    return builder.build()


def prism(sides: int) -> ConvexPoints:
    """Upright, its axis askew in no way; 0.1 m in radius and half length."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    return ConvexPoints([(0.1 * np.cos(a), 0.1 * np.sin(a), z) for a in angles for z in (-0.1, 0.1)])


@pytest.mark.parametrize(
    ("world", "doubted"),
    [
        # About an axis of symmetry nothing sweeps, however it is made and placed.
        (falling(Cylinder(0.1, 0.1), (0, 0, 0, 0, 0, 200.0), z=0.1), False),
        (falling(prism(24), (0, 0, 0, 0, 0, 200.0), z=0.1), False),
        (
            falling(PlacedShape(prism(24), Transform.rotation((0, 1, 0), 0.7)), (0, 0, 0, 128.8, 0, 153.0), z=0.1414),
            False,
        ),
        (falling(prism(5), (0, 0, 0, 0, 0, 200.0), z=0.1), True),
        (falling(Cylinder(0.1, 0.1), (0, 0, 0, 200.0, 0, 0), z=0.13), True),
        # A plane is the same everywhere: a body that falls onto it, or slides along it, has the right contact.
        (falling(Sphere(0.03), (0, 0, -7.5, 0, 0, 0)), False),
        (falling(Box.cube(0.1), (50.0, 0, 0, 0, 0, 0), z=0.1), False),
        # Bodies side by side pass nothing.
        (falling(Sphere(0.03), (20.0, 0, 0, 0, 0, 0), other=0.07), False),
    ],
)
def test_motion_is_judged_by_what_it_passes(world: World, doubted: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleWarning)
        kinds = [notice.kind for notice in simulate(world, TimeStepping(h=0.01), steps=4).notices]
    assert kinds == ["long step"] * doubted


def test_ordinary_runs_are_not_doubted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        for world in (cube_at(0.1), cube_at(0.3, v=(3.0, 0.0, 0.0, 5.0, 2.0, 1.0), restitution=0.5)):
            assert simulate(world, TimeStepping(h=0.005), duration=1.0).notices == ()
        # A ball that spins on the spot, or rolls, sweeps nothing by turning.
        builder = WorldBuilder()
        builder.add_half_space("floor", HalfSpace(), Material(0.5))
        ball = RigidInertia.solid_sphere(0.1, 0.05)
        builder.add_free_body("ball", ball, Sphere(0.05), Material(0.5), (0, 0, 0.05, 1, 0, 0, 0), (6, 0, 0, 0, 120, 0))
        assert simulate(builder.build(), TimeStepping(h=0.01), steps=20).notices == ()
        # Nothing is there to be missed.
        builder = WorldBuilder()
        builder.add_free_body("lone", INERTIA, Box.cube(0.1), Material(0.5), v=(1e6, 0, 0, 0, 0, 0))
        assert simulate(builder.build(), TimeStepping(h=1.0), steps=3).notices == ()


@pytest.mark.parametrize(("beside", "turn", "doubted"), [(0.0, 0.0, True), (0.9, 0.0, False), (0.9, 0.5, True)])
def test_what_falls_through_a_plate_in_one_step(beside: float, turn: float, doubted: bool) -> None:
    """From rest, so that the step does not expect it there; it is where free fall would have it."""
    builder = WorldBuilder()
    pose = Transform.rotation((0, 0, 1), turn)
    builder.add_fixed_body("plate", PlacedShape(Box((0.9, 0.7, 0.005)), pose), Material(0.5))
    builder.add_free_body("ball", INERTIA, Sphere(0.05), Material(0.5), (0, beside, 1, 1, 0, 0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleWarning)
        recording = simulate(builder.build(), TimeStepping(h=0.5), steps=1)
    assert recording.q[1, 2] < -1.0
    assert [str(notice)[:36] for notice in recording.notices] == ["'ball' moves 2.45 m, 25 times its le"] * doubted


def arm_at(angle: float, **more: Any) -> World:
    """A hinge of the range -0.5 to 0.5 without gravity."""
    arm = ModelBuilder((0, 0, 0))
    arm.add_body("arm", joint=Revolute((0, 1, 0)), inertia=INERTIA, limits=JointLimits(-0.5, 0.5))
    builder = WorldBuilder(gravity=(0, 0, 0))
    builder.add_model(arm.build(), q=[angle], **more)
    return builder.build()


def test_a_joint_that_begins_beyond_its_stop() -> None:
    """It stays there where nothing brings it back, and every kind of run says so; else none does."""
    told = r"'arm' above 0\.5 by 0\.7 \(50 such steps\): start inside, or set `erp`"
    world, stepper = arm_at(1.2), TimeStepping(h=0.01, projection=False)
    with pytest.warns(ImplausibleWarning, match=told):
        recording = simulate(world, stepper, steps=50)
    (notice,) = recording.notices
    assert (notice.kind, notice.step, recording.q[-1, 0]) == ("stop", 0, 1.2)
    np.testing.assert_allclose(notice.worst, 0.7)
    run = Simulation(world, stepper)
    with pytest.warns(ImplausibleWarning, match=r"by 0\.7"):
        run.step()
    with pytest.warns(ImplausibleWarning, match=r"step 0 of run 1.*'arm' below -0\.5 by 0\.1 "):
        rollout(world, stepper, [world.initial_state(q=[q]) for q in (0.0, -0.6, 0.5)], steps=3)
    soft = JointLimit("arm", -0.5, 0.5, stiffness=100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        run.step(n=3)
        assert abs(simulate(world, TimeStepping(h=0.01, erp=0.2), steps=50).q[-1, 0]) < 0.5 + 1e-4
        simulate(arm_at(1.2, limits=[soft]), stepper, steps=2)
        simulate(arm_at(0.5), stepper, steps=2)


def rod_on_an_end() -> World:
    """Kane's example turned to a rod: Newton's law with friction, struck while it slides and turns."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5, 0.9))
    rod = RigidInertia(1.0, inertia=np.diag([0.02, 1.0 / 3.0, 1.0 / 3.0]))
    half, angle = 1.0, 1.0
    points = ConvexPoints([(-half, 0, 0), (half, 0, 0)])
    q = (0, 0, half * np.sin(angle) + 1e-9, np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    builder.add_free_body("rod", rod, points, Material(0.5, 0.9), q, v=(1.0, 0, -0.2, 0, -2.0, 0))
    return builder.build()


def test_impacts_that_gain_energy() -> None:
    """Newton's law with friction may return more than it took (Kane and Levinson 1985); the record says so."""
    recordings = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleWarning)
        rng = np.random.default_rng(3)
        world = rod_on_an_end()
        for _ in range(60):
            v = rng.normal(size=6) * (2.0, 0.0, 1.0, 0.0, 4.0, 0.0)
            state = world.initial_state(v=v)
            recordings.append(simulate(world, TimeStepping(h=1e-4), steps=1, state=state))
    gains = [r for r in recordings if np.diff(r.kinetic + r.potential)[0] > 1e-3 * r.kinetic[0]]
    assert gains
    for recording in recordings:
        kinds = [notice.kind for notice in recording.notices]
        assert ("energy" in kinds) == (recording in gains)
    notice = next(n for n in gains[0].notices if n.kind == "energy")
    np.testing.assert_allclose(notice.worst, np.diff(gains[0].kinetic)[0], rtol=1e-2)


def two_balls(apart: float, v: float) -> World:
    builder = WorldBuilder(gravity=(0, 0, 0))
    for name, x, u in (("left", 0.0, v), ("right", apart, 0.0)):
        builder.add_free_body(name, INERTIA, Sphere(0.05), Material(0.5), (x, 0, 0, 1, 0, 0, 0), (u, 0, 0, 0, 0, 0))
    return builder.build()


def test_event_driven_runs_say_theirs() -> None:
    with pytest.warns(ImplausibleWarning, match=r"right on left: 0\.04 m deep from the start"):
        recording = EventDriven().run(two_balls(0.06, 0.0), 0.1)
    assert len(recording.notices) == 1
    with pytest.warns(ImplausibleWarning, match="right on left: they pass through one another.*lower `max_step`"):
        EventDriven(max_step=1.0).run(two_balls(1.0, 10.0), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        recording = EventDriven(max_step=1e-3).run(two_balls(1.0, 10.0), 0.2)
    assert recording.notices == ()
    assert recording.events


SMOOTH = Material(0.0)


def wedge(angle: float) -> World:
    """A piston comes down at 1 m/s on a ball upon a smooth floor that falls off at an angle: it leaves at V / sin."""
    builder = WorldBuilder()
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    builder.add_half_space("floor", HalfSpace(normal), SMOOTH)
    ball = normal * 0.05
    builder.add_free_body("ball", RigidInertia.solid_sphere(0.2, 0.05), Sphere(0.05), SMOOTH, q=(*ball, 1, 0, 0, 0))
    top = Transform(p=(0, 0, ball[2] + 0.05 + 0.01 + 1e-4))
    motion = ConstantVelocity(top, np.array([0, 0, -1.0]), np.zeros(3))
    builder.add_kinematic_body("piston", Box((0.3, 0.3, 0.01)), SMOOTH, motion)
    return builder.build()


def test_a_jam_is_warned_of_by_the_names_of_its_bodies() -> None:
    """A piston that shoots a ball out of a wedge of one degree, by certified steps, is a jam of both in the warning."""
    world = wedge(math.radians(1.0))
    with pytest.warns(ImplausibleWarning, match=r"'piston' jams 'ball', .* J, .* times the kinetic energy"):
        run = simulate(world, TimeStepping(1e-3), steps=3)
    (jam,) = [notice for notice in run.notices if notice.kind == "jam"]
    assert jam.worst == pytest.approx(run.ledger.kinematic.max())
    assert jam.step == int(np.argmax(run.ledger.kinematic))
    sim = Simulation(world, TimeStepping(1e-3))
    with pytest.warns(ImplausibleWarning, match="'piston' jams 'ball'"):
        sim.step(n=3)


@pytest.mark.filterwarnings("error::contactlab.simulation.recording.notices.ImplausibleWarning")
def test_a_wide_wedge_and_a_lift_are_none() -> None:
    """A ball that leaves a wedge of 30 degrees is not a jam, nor are boxes on slow and fast lifts."""
    run = simulate(wedge(math.radians(30.0)), TimeStepping(1e-3), steps=3)
    assert run.ledger.kinematic.max() > 0.0
    for speed in (1e-4, 1e-2, 1.0):
        builder = WorldBuilder()
        lift = ConstantVelocity(Transform(), np.array([0, 0, speed]), np.zeros(3))
        builder.add_kinematic_body("lift", Box((0.5, 0.5, 0.05)), Material(0.5), lift)
        box = Box((0.1, 0.1, 0.1))
        for i in range(3):
            place = (0, 0, 0.15 + 0.2 * i, 1, 0, 0, 0)
            builder.add_free_body(f"box {i}", RigidInertia.solid_box(2.0, (0.1, 0.1, 0.1)), box, Material(0.5), q=place)
        run = simulate(builder.build(), TimeStepping(2e-3), 0.2)
        assert run.ledger.kinematic.max() > 0.0


def test_a_rule_that_gives_a_chain_energy_is_warned_of() -> None:
    """Euler's rule gives sixteen rods energy at 2 ms, and the warning names them; the Runge-Kutta method gives none."""
    builder, rod = ModelBuilder(), RigidInertia(0.05, (0.05, 0, 0), np.diag([4e-6, 4.5e-5, 4.5e-5]))
    for i in range(16):
        place = Transform(p=(0.1 if i else 0.0, 0, 0))
        hinge = joints.Revolute((0, 1, 0))
        builder.add_body(f"rod {i}", parent=f"rod {i - 1}" if i else "world", joint=hinge, placement=place, inertia=rod)
    whole = WorldBuilder()
    whole.add_model(builder.build())
    world = whole.build()
    with pytest.warns(ImplausibleWarning, match=r"J to the tree of 'rod 0', 'rod 1', .* and 10 more, which has .* J"):
        run = simulate(world, TimeStepping(2e-3, integrator="euler"), 2.0)
    (notice,) = run.notices
    assert notice.kind == "integration"
    assert notice.worst > 0.01 * run.kinetic[notice.step]
    assert simulate(world, TimeStepping(2e-3), 2.0).notices == ()
