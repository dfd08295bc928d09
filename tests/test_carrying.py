"""States carried by name into worlds with other bodies: what is common stays, to the bits that a step can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from joint_scenes import busy

from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import (
    Simulation,
    SimulationConfigError,
    TimeStepping,
    World,
    WorldBuilder,
    transfer_state,
)
from contactlab.spatial import RigidInertia, Transform

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


def test_ids_carried_are_those_that_the_new_world_finds() -> None:
    few, more = boxes(("low", "high")), boxes(("aside", "low", "high"), grounds=("pit", "floor"))
    there = transfer_state(stood(few).state, few, more)
    np.testing.assert_array_equal(np.setdiff1d(there.contact_ids, stood(more).state.contact_ids), [])
    # Those of a pair that changed places are forgotten, as its normals and features are other ones.
    turned = transfer_state(stood(few).state, few, boxes(("high", "low")))
    assert turned.contact_ids.size == 4
    assert (turned.contact_ids >= 0).all()


def test_a_tower_that_loses_its_neighbour_goes_on_as_if_it_had_never_been() -> None:
    """Bit for bit: the box aside touches nobody, and so the tower's next step has the same numbers to start from."""
    more, few = boxes(("low", "high", "aside")), boxes(("low", "high"))
    with_it, alone = stood(more), stood(few)
    carried = Simulation(few, STEPPER, transfer_state(with_it.state, more, few))
    for run in (carried, alone):
        run.step(f_ext={"high": (0, 0, 0, 3.0, 0, 0)}, n=10)
    np.testing.assert_array_equal(carried.q, alone.q)
    np.testing.assert_array_equal(carried.v, alone.v)
    assert carried.time == alone.time


def test_a_box_that_is_let_loose_begins_where_its_world_says() -> None:
    held, loose = boxes(("low", "high"), held=("low",)), boxes(("low", "high"))
    run = Simulation(held, STEPPER)
    run.step(f_ext={"high": (0, 0, 0, 12.0, 0, 0)}, n=20)
    state = transfer_state(run.state, held, loose)
    np.testing.assert_array_equal(state.q[:7], loose.initial_q[:7])
    np.testing.assert_array_equal(state.q[7:], run.q)
    np.testing.assert_array_equal(state.v, [0.0] * 6 + list(run.v))
    assert np.abs(run.v[0]) > 0.1
    Simulation(loose, STEPPER, state).step(n=5)


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
    with pytest.raises(SimulationConfigError, match=r"state.q.*none of old_world.*\(14,\)"):
        transfer_state(few.initial_state(), more, few)
    with pytest.raises(SimulationConfigError, match=r"state.*StepperState"):
        transfer_state(few, more, few)  # type: ignore[arg-type]
