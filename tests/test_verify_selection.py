"""How far recorded forces are from the selected ones, by another method; and what a verification costs."""

import dataclasses
import time

import numpy as np
import pytest
import simulation_scenes as scenes
from test_moments import rolling_world
from test_selection import grasp

import lcp
from contactlab import ForceChoice
from contactlab.constraint_solver.certificate import SELECTED_WITHIN, VERIFIED_WITHIN
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    Oscillation,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    verify,
)


def claimed(recording: Recording) -> Recording:
    """The record as one of a step that selects."""
    return Recording(recording.world, dataclasses.replace(recording.stepper, solver=None), recording.rows)


def stack(boxes: int):
    """Boxes on one another."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    for i in range(boxes):
        inertia = RigidInertia.solid_box(1.0, (0.1,) * 3)
        builder.add_free_body(f"box {i}", inertia, Box.cube(0.1), Material(0.5), (0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return builder.build()


def balls(count: int):
    """Balls apart from one another, at rest, rolling, and falling."""
    builder, inertia = WorldBuilder(), RigidInertia.solid_sphere(1.0, 0.1)
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    for i in range(count):
        x, y = 0.4 * (i % 10), 0.4 * (i // 10)
        v = (0.0,) * 6 if i % 2 else (0.3, 0.1, 0, 0.5, 3.0, 0.2)
        q = (x, y, 0.1 if i % 3 else 0.15, 1, 0, 0, 0)
        builder.add_free_body(f"ball {i}", inertia, Sphere(0.1), Material(0.5), q=q, v=v)
    return builder.build()


@pytest.mark.parametrize(
    "world",
    [scenes.cube_at_rest(), scenes.block(0.3, 1.0), stack(2), grasp(1, 10.0), grasp(2, 1.5)],
    ids=["cube", "sliding", "stack", "grasp", "two in a grasp"],
)
def test_selected_forces_are_found_anew(world):
    """Rows of joints included; forces of a vertex, which solve the rigid problem too, are far off."""
    recording = simulate(world, TimeStepping(2e-3), steps=20)
    report = verify(recording, every=10)
    assert report.holds
    assert report.selection.islands == 3
    assert report.selection.unique + report.selection.lost == 0
    assert report.selection.distance < 1e-6
    assert recording.certificates.selection.max() < 1e-6
    vertex = claimed(simulate(world, TimeStepping(2e-3, solver=lcp.Lemke(), warm_start=False), steps=3))
    report = verify(vertex)
    assert report.holds
    assert report.selection.distance > 0.1
    far = vertex.certificates.selection
    assert report.selection.distance == pytest.approx(far[report.selection.step], rel=2e-6)
    assert report.selection.distance == pytest.approx(far.max(), rel=2e-6)


def test_where_there_is_no_choice_or_nothing_is_selected():
    """One contact each; a solver with a name; a cone; more contacts than are looked at."""
    recording = simulate(balls(6), TimeStepping(2e-3), steps=20)
    found = verify(recording).selection
    assert found.distance == 0.0
    assert found.islands == found.unique > 40
    assert not recording.certificates.selection.any()
    assert verify(simulate(balls(2), TimeStepping(2e-3, solver=lcp.Lemke()), steps=2)).selection is None
    cones = verify(simulate(balls(2), TimeStepping(2e-3, friction="cone"), steps=2)).selection
    assert cones.islands == cones.unique > 0
    report = verify(simulate(stack(7), TimeStepping(2e-3), steps=2))
    assert (report.selection.islands, report.selection.larger) == (0, 2)
    assert "2 larger ones not looked at" in str(report)
    assert "not compared" in str(report)


def test_a_vertex_is_far_from_the_forces_selected():
    """For a box on four corners that resist rolling; the forces of a ball are unique; a solver of cones has others."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5, rolling=0.01))
    inertia, rough = RigidInertia.solid_box(1.0, (0.1,) * 3), Material(0.5, rolling=0.01)
    builder.add_free_body("box", inertia, Box.cube(0.1), rough, (0, 0, 0.1, 1, 0, 0, 0))
    ball = rolling_world(Material(0.8, rolling=0.01), (0.3, 0.0, 0.0))
    for world, least, most in ((builder.build(), 0.4, np.inf), (ball, 0.0, 0.0)):
        recording = simulate(world, TimeStepping(1e-3, strategies=()), steps=1)
        assert recording.certificates.choice[0] == ForceChoice.OTHER_SOLUTION
        assert least <= recording.certificates.selection[0] <= most
    named = simulate(scenes.cube_at_rest(), TimeStepping(2e-3, friction="cone", solver=lcp.NSGS()), steps=2)
    assert np.all(named.certificates.choice == ForceChoice.ANY)
    assert np.all(np.isfinite(named.certificates.selection))


def said_of_choice(report):
    """Return the number of checked islands, of failures, and the first failure."""
    (found,) = [one for one in report.conditions if one.condition == "choice"]
    return found.checked, found.failed, [one for one in report.failures if one.condition == "choice"]


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_a_false_mark_is_refused(friction):
    """Forces of a vertex in place of those selected, in one step; without the mark they are forces like others."""
    stepper = TimeStepping(2e-3, friction=friction, edges=4)
    recording = simulate(scenes.cube_at_rest(), stepper, steps=6)
    report = verify(recording)
    assert report.holds
    assert said_of_choice(report)[:2] == (6, 0)
    # Two corners across carry all: the resultant and its moment are the same.
    rows = {name: np.array(array) for name, array in recording.rows.items()}
    own = np.flatnonzero(rows["contact_step"] == 3)
    place = rows["contact_point"][own, :2]
    across = (place[:, 0] * place[:, 1]) > 0.0
    for name in ("contact_z", "contact_impulse"):
        rows[name][own] *= np.where(across, 2.0, 0.0)[:, None]
    forged = Recording(recording.world, stepper, rows)
    refused = verify(forged)
    assert not refused.holds
    checked, failed, (failure,) = said_of_choice(refused)
    assert (checked, failed) == (6, 1)
    assert (failure.condition, failure.step, failure.island) == ("choice", 3, 0)
    assert failure.value == pytest.approx(0.5, rel=1e-3)
    assert failure.tolerance == VERIFIED_WITHIN
    rows["island_choice"][rows["island_step"] == 3] = ForceChoice.OTHER_SOLUTION
    honest = verify(Recording(recording.world, stepper, rows))
    assert said_of_choice(honest)[:2] == (5, 0)
    assert honest.selection.distance == pytest.approx(0.5, rel=1e-3)


def shaken(boxes, acceleration, motion=None):
    """Return boxes on one another, on a plate that shakes with this fraction of g at 4 Hz, or has a given motion."""
    plate = Transform(p=(0, 0, -0.02))
    swing = np.array(acceleration) * 9.81 / (8.0 * np.pi) ** 2
    if motion is None:
        motion = Oscillation(plate, translation=swing, frequency=4.0, phase=np.pi / 2)
    builder, material, z = WorldBuilder(), Material(0.4), 0.0
    builder.add_kinematic_body("plate", Box((0.5, 0.5, 0.02)), material, motion)
    for i, (half, mass) in enumerate(boxes):
        q = (swing[0], swing[1], swing[2] + z + half[2], 1, 0, 0, 0)
        builder.add_free_body(f"box {i}", RigidInertia.solid_box(mass, half), Box(half), material, q=q)
        z += 2.0 * half[2]
    return builder.build()


TWO = [((0.3, 0.28, 0.05), 5.0), ((0.22, 0.25, 0.06), 3.0)]
FOUR = [*TWO, ((0.2, 0.16, 0.04), 1.7), ((0.12, 0.14, 0.07), 0.9)]


@pytest.mark.parametrize(
    ("friction", "edges"),
    [
        ("pyramid", 4),
        ("cone", 8),
        pytest.param("pyramid", 8, marks=pytest.mark.slow),
        pytest.param("cone", 4, marks=pytest.mark.slow),
    ],
)
def test_boxes_on_a_shaken_plate_have_the_forces_that_their_record_says(friction, edges):
    """Sticking, warm started: loads turn, and forces of the step before are near to others than those selected."""
    recording = simulate(shaken(FOUR, (0.185, 0.0765, 0.3)), TimeStepping(1e-3, friction=friction, edges=edges), 0.3)
    assert (recording.certificates.choice == ForceChoice.EQUAL_COMPLIANCE).all()
    assert recording.certificates.selection.max() < 1e-5
    report = verify(recording, every=5)
    assert report.holds
    assert report.selection.distance < 1e-4


@pytest.mark.parametrize("friction", ["pyramid", pytest.param("cone", marks=pytest.mark.slow)])
def test_boxes_on_a_tilting_plate_have_the_forces_that_their_record_says(friction):
    """They slide, tip and stick at their bounds, where rates contradict one another."""
    plate = Transform(p=(0, 0, -0.02))
    tilting = Oscillation(plate, rotation=(0.0, 0.25, 0.075), frequency=1.5)
    recording = simulate(shaken(FOUR, (0, 0, 0), tilting), TimeStepping(2e-3, friction=friction), steps=150)
    marked = recording.certificates.choice == ForceChoice.EQUAL_COMPLIANCE
    assert marked.mean() > 0.9
    assert recording.certificates.selection[marked].max() < SELECTED_WITHIN
    assert verify(recording, every=5).holds


def test_the_kernels_mark_by_the_tolerance_that_is_stated():
    """One number, in two places: kernels do not import the certificate."""
    from lcp.contacts.kernels import active_set as kernels

    assert kernels.SELECTED_WITHIN == SELECTED_WITHIN


@pytest.mark.slow
def test_a_hundred_balls_are_verified_within_forty_times_their_run():
    """Every step of a second."""
    world, stepper = balls(100), TimeStepping(2e-3, edges=4)
    simulate(world, stepper, steps=2)
    begun = time.process_time()
    recording = simulate(world, stepper, 1.0)
    run = time.process_time() - begun
    begun = time.process_time()
    assert verify(recording).holds
    assert time.process_time() - begun < 40.0 * run
