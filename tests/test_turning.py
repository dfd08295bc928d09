"""Runs and states that continue in another world: other numbers, other bodies."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from joint_scenes import busy, driven
from refusals import assert_messages
from simulation_scenes import G, incline, tumble
from test_batch import crate
from test_simulation_sleep import SLEEPY, piles

from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    simulate,
    transfer_state,
    verify,
)

H = 0.01


def test_a_block_on_a_slope_begins_to_slide_where_friction_is_lowered() -> None:
    """It moves with the acceleration that mechanics gives, until friction is as before."""
    theta, low, stepper = 0.4, 0.2, TimeStepping(H)
    run = Simulation(incline(theta, 0.8), stepper)
    run.step(n=30)
    assert np.abs(run.v).max() < 1e-9
    slippery = incline(theta, low)
    run.switch_world(slippery)
    assert run.world is slippery
    assert run.time == pytest.approx(0.3)
    run.step(n=20)
    speed = 0.2 * G * (np.sin(theta) - low * np.cos(theta))
    np.testing.assert_allclose(np.linalg.norm(run.v[:3]), speed, rtol=1e-6)
    run.switch_world(incline(theta, 0.8))
    run.step(n=60)
    assert np.abs(run.v).max() < 1e-9


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (crate, lambda: crate(gravity=-1.6)),
        (crate, lambda: crate(mass=5.0)),
        (crate, lambda: crate(mu=0.05)),
        (crate, lambda: crate(half=0.12)),
        (lambda: driven(50.0), lambda: driven(5.0, 0.1)),
    ],
    ids=["gravity", "mass", "friction", "size", "gains"],
)
def test_from_a_turn_on_bits_are_those_of_a_run_begun_there(
    before: Callable[[], World], after: Callable[[], World]
) -> None:
    """Also of one that turns back and forth."""
    first, second, stepper = before(), after(), TimeStepping(H)
    run, unturned = Simulation(first, stepper), Simulation(first, stepper)
    tau = 0.3 * np.ones(first.nv)
    for world, steps in ((first, 12), (second, 20), (first, 10), (second, 10)):
        if world is not run.world:
            run.switch_world(world)
        begun = Simulation(world, stepper, run.state)
        for one in (run, begun):
            one.step(tau, n=steps)
        np.testing.assert_array_equal(run.q, begun.q)
        np.testing.assert_array_equal(run.v, begun.v)
        np.testing.assert_array_equal(run.contacts.impulse, begun.contacts.impulse)
    unturned.step(tau, n=52)
    assert np.abs(unturned.q - run.q).max() > 1e-6


def test_what_sleeps_wakes() -> None:
    """In a world without friction to hold it, or with another weight."""
    run = Simulation(piles(1), SLEEPY)
    run.step(n=40)
    assert run.state.rest.min() > 0.02
    run.switch_world(piles(1))
    run.step()
    assert len(run.contacts) > 0


def test_a_record_begins_anew_and_is_of_the_new_world() -> None:
    first, second, stepper = crate(), crate(mass=3.0, gravity=-5.0), TimeStepping(H)
    run = Simulation(first, stepper, record=True)
    run.step(n=30)
    before, state = run.recording, run.state
    run.switch_world(second)
    assert run.steps == run.recording.n_steps == 0
    run.step(n=30)
    assert before.n_steps == run.recording.n_steps == 30
    assert run.recording.world is second
    np.testing.assert_array_equal(run.recording.q, simulate(second, stepper, steps=30, state=state).q)
    assert verify(before).holds
    assert verify(run.recording).holds


def test_another_layout_is_refused_by_what_differs_and_the_run_goes_on() -> None:
    run, twin = (Simulation(crate(), TimeStepping(H)) for _ in range(2))
    run.step(n=10)
    twin.step(n=20)
    for other, message in ((tumble(), "other bodies"), (driven(), "other bodies")):
        with pytest.raises(SimulationConfigError, match=message):
            run.switch_world(other)
    with pytest.raises(SimulationConfigError, match="world.*must be a World, got str"):
        run.switch_world("world")  # type: ignore[arg-type]
    assert run.steps == 10
    run.step(n=10)
    np.testing.assert_array_equal(run.q, twin.q)


STEPPER = TimeStepping(0.01)
HALF = (0.1, 0.1, 0.1)
HEIGHTS = {"low": 0.1, "high": 0.3, "aside": 0.1}
PLACES = {"low": 0.0, "high": 0.02, "aside": 1.0}


def boxes(names: Sequence[str], *, grounds: Sequence[str] = ("floor",), held: Sequence[str] = ()) -> World:
    """Boxes on a floor, "high" upon "low"; those held are fixed."""
    builder = WorldBuilder()
    for k, ground in enumerate(grounds):
        builder.add_half_space(ground, HalfSpace((0, 0, 1), 0.0 if ground == "floor" else -5.0 - k), Material(0.5))
    for name in names:
        at = (PLACES[name], 0.0, HEIGHTS[name])
        if name in held:
            builder.add_fixed_body(name, Box(HALF), Material(0.5), Transform(p=at))
        else:
            inertia = RigidInertia.solid_box(2.0, HALF)
            builder.add_free_body(name, inertia, Box(HALF), Material(0.5), (*at, 1, 0, 0, 0))
    return builder.build()


def stood(world: World, steps: int = 20) -> Simulation:
    run = Simulation(world, STEPPER)
    run.step(n=steps)
    return run


def test_there_and_back_is_the_same_state() -> None:
    """A box more, in front of the others and with a ground more, renumbers everything; taken away again, nothing is."""
    few, more = boxes(("low", "high")), boxes(("aside", "low", "high"), grounds=("pit", "floor"))
    start = stood(few).state
    there = transfer_state(start, few, more)
    assert there.contact_ids.size == start.contact_ids.size == 8
    assert not np.array_equal(there.contact_ids, start.contact_ids)
    back = transfer_state(there, more, few)
    for name in ("q", "v", "time", "h", "contact_ids", "z", "row_ids", "row_z"):
        np.testing.assert_array_equal(getattr(back, name), getattr(start, name))


def test_rows_of_joints_keep_their_forces_behind_another_body() -> None:
    """Drives, stops and followers of a robot that stands last in the new world."""
    robot = busy()
    run = Simulation(robot, STEPPER)
    run.step(n=10)
    state = run.state
    other = transfer_state(state, robot, robot)
    np.testing.assert_array_equal(other.row_ids, state.row_ids)
    assert state.row_ids.size
    without = replace(robot, joint_actions=replace(robot.joint_actions, limits=()))
    carried = transfer_state(state, robot, without)
    labels = [robot.joint_rows[i].label for i in state.row_ids]
    kept = [without.joint_rows[i].label for i in carried.row_ids]
    assert kept == [label for label in labels if "limit of" not in label]
    for number, z in zip(carried.row_ids, carried.row_z, strict=True):
        at = labels.index(without.joint_rows[number].label)
        np.testing.assert_array_equal(z, state.row_z[at])


def test_contacts_of_another_shape_or_with_turning_friction_start_cold() -> None:
    one = boxes(("low", "aside"))
    state = stood(one).state
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    builder.add_free_body("low", RigidInertia.solid_sphere(2.0, 0.1), Sphere(0.1), Material(0.5))
    assert transfer_state(state, one, builder.build()).contact_ids.size == 0
    turning = replace(boxes(("low",)), half_space_materials=(Material(0.5, torsional=0.01),))
    carried = transfer_state(state, one, turning)
    assert carried.contact_ids.size == 0
    Simulation(turning, STEPPER, carried).step()


def test_a_state_of_another_world_is_refused() -> None:
    few, more = boxes(("low",)), boxes(("low", "high"))
    assert_messages(
        SimulationConfigError,
        (r"state.q.*none of old_world.*\(14,\)", lambda: transfer_state(few.initial_state(), more, few)),
        (r"state.*StepperState", lambda: transfer_state(few, more, few)),
    )
