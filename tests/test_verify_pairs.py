"""Contacts between bodies that a record does not list are missed by its verification; distances in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from body_contact_scenes import (
    ball_on_a_moving_box,
    capsule_on_a_cylinder,
    heap,
    pendulum_and_box,
    stack,
    tree_that_folds,
)

from contactlab.cli import main
from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Material, Sphere
from contactlab.contact.detection import distance
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, Transform
from contactlab.verification.proximity import core_of, nearest

SCENES = {
    "stack": lambda: stack(3),
    "ball on a box": ball_on_a_moving_box,
    "capsule on a cylinder": capsule_on_a_cylinder,
    "pendulum": pendulum_and_box,
    "folding tree": tree_that_folds,
    "heap": lambda: heap(5, 1),
}


def without(recording, gone):
    """The record without some rows of its contact table, and islands counted accordingly."""
    rows = {name: np.array(array) for name, array in recording.rows.items()}
    for name in [name for name in rows if name.startswith("contact_")]:
        rows[name] = np.delete(rows[name], gone, axis=0)
    for k in np.atleast_1d(gone):
        step, island = recording.contacts.step[k], recording.contacts.island[k]
        rows["island_contacts"][(rows["island_step"] == step) & (rows["island_index"] == island)] -= 1
    return Recording(recording.world, recording.stepper, rows)


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_honest_records_miss_none(name, reduce):
    """Of no scene a pair within reach is found that the loop has not."""
    recording = simulate(SCENES[name](), TimeStepping(0.01, edges=4, reduce_contacts=reduce), steps=80)
    report = verify(recording, every=5)
    assert report.holds, report


@pytest.mark.parametrize("name", ["ball on a box", "capsule on a cylinder", "heap"])
def test_a_pair_left_out_is_found_by_its_distance(name):
    """All rows of two bodies that touch without a force on each other, or with one, taken off the table."""
    recording = simulate(SCENES[name](), TimeStepping(0.01, edges=4), steps=60)
    table = recording.contacts
    between = np.flatnonzero(table.body_a >= 0)
    for k in between[[0, between.size // 2, -1]]:
        pair = (table.step == table.step[k]) & (table.shape_a == table.shape_a[k]) & (table.shape_b == table.shape_b[k])
        step = int(table.step[k])
        report = verify(without(recording, np.flatnonzero(pair)).first(step + 1), every=step + 1)
        found = {(failure.condition, failure.step) for failure in report.failures}
        # What was within reach by its approach alone is not asked of rims, whose fastest point may be no row.
        if table.gap[pair].min() <= recording.stepper.margin:
            assert ("coverage", step) in found
        assert not report.holds or table.impulse_normal[pair].max() == 0.0


@pytest.mark.parametrize("reduce", [False, True])
def test_a_point_on_a_half_space_left_out_is_found(reduce):
    """Of eight points of a tilted slab some are in reach; where four are kept, the deepest is one of them."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    inertia = RigidInertia.solid_box(1.0, (0.2, 0.2, 0.01))
    places = [(0.2 * x, 0.2 * y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-0.01, 0.01)]
    q = (0, 0, 0.03, np.cos(0.02), np.sin(0.02), 0, 0)
    builder.add_free_body("slab", inertia, ConvexPoints(places), Material(0.5), q, (0, 0, -2, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(0.02, edges=4, reduce_contacts=reduce), steps=1)
    assert verify(recording).holds
    gap = recording.contacts.gap
    assert gap.size == 4 if reduce else gap.size > 8
    gone = np.flatnonzero(gap < gap.min() + 1e-6)
    assert [one.condition for one in verify(without(recording, gone)).failures].count("coverage") == 1


def test_the_command_tells(tmp_path, capsys):
    """Status 1, the step, and what should be there."""
    recording = simulate(ball_on_a_moving_box(), TimeStepping(0.01, edges=4), steps=60)
    between = np.flatnonzero(recording.contacts.body_a >= 0)
    without(recording, between[:1]).save(tmp_path / "a.npz")
    assert main(["verify", str(tmp_path / "a.npz")]) == 1
    printed = capsys.readouterr().out
    assert f"failed: step {recording.contacts.step[between[0]]}: coverage" in printed
    assert "every pair of shapes within reach" in printed


@pytest.mark.nojit
def test_distances_are_those_of_collision_detection():
    """Two ways to the same number, for all pairs of convex shapes, apart and overlapping."""
    random = np.random.default_rng(3)
    shapes = (
        Sphere(0.1, (0.02, 0.0, 0.01)),
        Box((0.1, 0.08, 0.06)),
        Capsule(0.05, 0.1),
        Cylinder(0.08, 0.1),
        ConvexPoints(0.12 * np.concatenate((np.eye(3), -np.eye(3)))),
    )
    overlaps = 0
    for a in shapes:
        for b in shapes:
            for scale in (0.05, 0.3, 0.6):
                poses = []
                for _ in range(2):
                    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
                    turn *= np.sign(np.linalg.det(turn))
                    poses.append(Transform(turn, scale * random.normal(size=3)))
                known = distance(a, poses[0], b, poses[1]).gap
                cores = [core_of(shape) for shape in (a, b)]
                supports = [
                    lambda d, core=core, pose=pose: pose.R @ core.support(pose.R.T @ d) + pose.p
                    for core, pose in zip(cores, poses, strict=True)
                ]
                pa, pb = nearest(*supports, poses[1].p - poses[0].p)
                found = float(np.linalg.norm(pb - pa)) - cores[0].radius - cores[1].radius
                overlaps += known <= 0.0
                assert found == pytest.approx(known, abs=1e-7) if known > 0.0 else found <= 1e-7
    assert overlaps > 5


def test_rims_are_no_more_work_than_corners():
    """Ends of cylinders have no corners: few points are asked for, and no plane between the shapes is farther."""
    random = np.random.default_rng(4)
    cylinder = core_of(Cylinder(0.3, 1.0))
    for other in (Cylinder(0.3, 1e-5), Cylinder(0.1, 0.5), ConvexPoints(random.normal(size=(12, 3)) * (1, 1, 1e-9))):
        for _ in range(20):
            turn, asked = np.linalg.qr(random.normal(size=(3, 3)))[0], []
            place, core = random.normal(size=3) * random.choice((0.1, 1.0, 5.0)), core_of(other)

            def far(d, core=core, turn=turn, place=place, asked=asked):
                asked.append(d)
                return turn @ core.support(turn.T @ d) + place

            pa, pb = nearest(cylinder.support, far, place)
            apart = float(np.linalg.norm(pb - pa))
            between = 0.0 if apart == 0.0 else (pb - pa) @ (far(pa - pb) - cylinder.support(pb - pa)) / apart
            assert apart - max(0.0, between) < 1e-8 * (1.0 + apart)
            assert len(asked) < 60
