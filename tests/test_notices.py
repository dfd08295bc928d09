"""What no certificate says: runs that are solved to rounding, and that nobody should believe, are warned of."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from contactlab.contact import Box, ConvexPoints, Cylinder, HalfSpace, Material, Sphere
from contactlab.contact.shapes.shape import PlacedShape
from contactlab.formulation import JointLimit
from contactlab.multibody import JointLimits, ModelBuilder
from contactlab.multibody.joints import Prismatic, Revolute
from contactlab.simulation import (
    EventDriven,
    ImplausibleWarning,
    Simulation,
    SimulationConfigError,
    TimeStepping,
    World,
    WorldBuilder,
    rollout,
    simulate,
    verify,
)
from contactlab.spatial import RigidInertia, Transform

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


def carried(wall: float, floor: float = -9.0) -> World:
    """A ball that slides on its joint along x past a wall, and a cube that turns on its own beyond the wall."""
    arm = ModelBuilder((0, 0, 0))
    arm.add_body("slider", joint=Prismatic((1, 0, 0)), inertia=INERTIA)
    arm.add_body("wheel", joint=Revolute((1, 0, 0)), inertia=INERTIA, placement=Transform(p=(0, 5, 0)))
    builder = WorldBuilder(gravity=(0, 0, 0))
    builder.add_model(arm.build(), v=np.array([30.0, 0.0]))
    builder.add_half_space("floor", HalfSpace(offset=floor), Material(0.5))
    builder.add_fixed_body("wall", Box.cube(0.1), Material(0.5), Transform(p=(0.2, wall, 0)))
    builder.add_shape("slider", Sphere(0.1), Material(0.5))
    builder.add_shape("wheel", Box.cube(0.1), Material(0.5))
    return builder.build()


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
        # A plane is the same all along: what falls onto it, or slides along it, meets it where it should.
        (falling(Sphere(0.03), (0, 0, -7.5, 0, 0, 0)), False),
        (falling(Box.cube(0.1), (50.0, 0, 0, 0, 0, 0), z=0.1), False),
        # What goes side by side passes nothing.
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
    told = r"'arm' above 0\.5 by 0\.7 \(50 such steps\): start inside, or take `erp`"
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


def test_a_simulation_says_each_once() -> None:
    """As `simulate` does, without a record: at the first step and now and then; impacts in all."""
    world = cube_at(-0.3)
    run = Simulation(world, TimeStepping(h=0.01))
    with pytest.warns(ImplausibleWarning, match=r"'cube' and 'floor' overlap from the start, 0\.4 m deep"):
        run.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        run.step(n=200)
        run.reset()
        run.step(n=2)
    assert [notice.kind for notice in run.notices] == ["overlap"]
    run = Simulation(carried(0.22), TimeStepping(h=0.01))
    with pytest.warns(
        ImplausibleWarning, match=r"'slider' moves 0\.3 m, 1\.5 times its length, towards 'wall', in step 0"
    ):
        run.step()
    # Later, while it runs.
    run = Simulation(carried(1.0, floor=-0.15), TimeStepping(h=0.01))
    run.step(n=3)
    assert run.notices == ()
    state = replace(run.state, v=np.array([0.0, 130.0]), q=np.zeros(2))
    run.reset(state)
    with pytest.warns(ImplausibleWarning, match="turns by 1.3 rad beside 'floor', in step 0"):
        run.step()


def gaining() -> tuple[World, Any, Any]:
    """A state in which an impact gains energy, and what `simulate` says of it."""
    world, rng = rod_on_an_end(), np.random.default_rng(3)
    while True:
        state = world.initial_state(v=rng.normal(size=6) * (2.0, 0.0, 1.0, 0.0, 4.0, 0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImplausibleWarning)
            notices = simulate(world, TimeStepping(h=1e-4), steps=1, state=state).notices
        for notice in notices:
            if notice.kind == "energy":
                return world, state, notice


def test_impacts_that_gain_are_told_without_a_record() -> None:
    world, state, notice = gaining()
    run = Simulation(world, TimeStepping(h=1e-4), state)
    with pytest.warns(ImplausibleWarning, match="impacts of step 0 gain"):
        run.step()
    assert [one.worst for one in run.notices if one.kind == "energy"] == [notice.worst]
    with pytest.warns(ImplausibleWarning, match="impacts of step 0 of run 1 gain"):
        found = rollout(world, TimeStepping(h=1e-4), [world.initial_state(), state], steps=3)
    assert [one.worst for one in found.notices if one.kind == "energy"] == [notice.worst]


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


@pytest.mark.parametrize("run", [lambda *a: simulate(*a, steps=1), Simulation])
def test_arguments_of_other_types_are_named(run: Any) -> None:
    world, stepper = cube_at(0.3), TimeStepping(h=0.01)
    result = stepper.step(world, world.initial_state())
    for arguments, text in (
        ((3, stepper), r"world: must be a World, got int: `WorldBuilder.build\(\)` makes one"),
        ((WorldBuilder(), stepper), r"world: must be a World, got WorldBuilder: call its `build\(\)`"),
        ((world, 0.01), r"stepper: must be a TimeStepping, got float: `TimeStepping\(h=...\)` makes one"),
    ):
        with pytest.raises(SimulationConfigError, match=text):
            run(*arguments)
    for state, text in ((3, "got int: `World.initial_state"), (result, "got StepResult: take its `state`")):
        with pytest.raises(SimulationConfigError, match=f"state: must be a StepperState, {text}"):
            stepper.step(world, state)
        with pytest.raises(SimulationConfigError, match=f"state: must be a StepperState, {text}"):
            simulate(world, stepper, steps=1, state=state)
