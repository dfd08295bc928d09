"""How far recorded forces are from the selected ones, by another method; and what a verification costs."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
import simulation_scenes as scenes
from test_selection import grasp

import lcp
from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia


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
    vertex = claimed(simulate(world, TimeStepping(2e-3, solver=lcp.Lemke(), warm_start=False), steps=20))
    assert verify(vertex, every=10).holds
    assert verify(vertex, every=10).selection.distance > 0.1


def test_where_there_is_no_choice_or_nothing_is_selected():
    """One contact each; a solver with a name; a cone; more contacts than are looked at."""
    recording = simulate(balls(6), TimeStepping(2e-3), steps=20)
    found = verify(recording).selection
    assert found.distance == 0.0
    assert found.islands == found.unique > 40
    for stepper in (TimeStepping(2e-3, solver=lcp.Lemke()), TimeStepping(2e-3, friction="cone")):
        assert verify(simulate(balls(2), stepper, steps=2)).selection is None
    report = verify(simulate(stack(7), TimeStepping(2e-3), steps=2))
    assert (report.selection.islands, report.selection.larger) == (0, 2)
    assert "2 larger ones not looked at" in str(report)
    assert "not compared" in str(report)


def test_what_is_not_found_anew_is_infinitely_far(monkeypatch):
    """No number is made up."""
    recording = simulate(scenes.cube_at_rest(), TimeStepping(2e-3), steps=2)
    real = lcp.solve
    monkeypatch.setattr(lcp, "solve", lambda *a, **k: dataclasses.replace(real(*a, **k), status=lcp.Status.STALLED))
    found = verify(recording).selection
    assert np.isinf(found.distance)
    assert "not selected" in str(found)


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
