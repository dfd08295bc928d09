"""Contacts that a record does not list are missed by its verification, between bodies and on meshes."""

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
from mesh_shapes import flat, hull, notched_block, terrain

from contactlab.cli import main
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)

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
    """In no scene verification finds a pair within reach that the loop has not."""
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
        # Pairs within reach only by their approach are not required for rims, whose fastest point may have no row.
        if table.gap[pair].min() <= recording.stepper.margin:
            assert ("coverage", step) in found
        assert not report.holds or table.impulse_normal[pair].max() == 0.0


@pytest.mark.parametrize("reduce", [False, True])
def test_a_point_on_a_half_space_left_out_is_found(reduce):
    """Some of the eight points of a tilted slab are within reach; if four are kept, the deepest is one of them."""
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


ROUGH = Material(0.4)
CUBE = RigidInertia.solid_box(1.0, (0.1,) * 3)
BALL = RigidInertia.solid_sphere(0.5, 0.1)
HILLS = HeightField(0.02 * np.sin(np.arange(81)[:, None] / 6.0) * np.ones((81, 81)), 0.05)


def on_a_mesh():
    """A cube at rest on a flat mesh, its faces on the triangles; a ball and a capsule that land."""
    builder = WorldBuilder()
    builder.add_fixed_body("ground", flat(8), ROUGH)
    builder.add_free_body("cube", CUBE, Box.cube(0.1), ROUGH, (-0.5, 0.02, 0.1, 1, 0, 0, 0), (0.5, 0, 0, 0, 0, 1))
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, (0.5, 0.5, 0.11, 1, 0, 0, 0))
    builder.add_free_body("rod", BALL, Capsule(0.05, 0.1), ROUGH, (0.5, -0.5, 0.15, 0.8, 0.6, 0, 0))
    return builder.build()


def in_a_notch():
    """A mesh that moves, on a half-space; a ball on its step."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    inertia = RigidInertia(20.0, (-0.08, 0.0, 0.42), inertia=np.diag([3.0, 3.0, 2.5]))
    builder.add_free_body("block", inertia, notched_block(), ROUGH)
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, (0.2, 0.0, 0.6 + 1e-4, 1, 0, 0, 0), (-0.3, 0, 0, 0, 0, 0))
    return builder.build()


def hulls():
    """Cubes of triangles, taken as hulls, on one another and on a box."""
    mesh = hull(Box.cube(0.1).support_points()[0])
    builder = WorldBuilder()
    builder.add_fixed_body("table", Box.cube(0.1), ROUGH)
    for i in range(2):
        builder.add_free_body(f"cube {i}", CUBE, mesh, ROUGH, (0, 0, 0.2 * (i + 1), 1, 0, 0, 0))
    return builder.build()


def on_a_slope():
    """A half-space that is the shape of a fixed body: a cylinder that stands on it, a mesh that is not convex."""
    builder = WorldBuilder()
    builder.add_fixed_body("slope", HalfSpace(), ROUGH)
    builder.add_free_body("can", BALL, Cylinder(0.1, 0.1), ROUGH, (0, 0, 0.1, 1, 0, 0, 0))
    builder.add_free_body("block", CUBE, notched_block(), ROUGH, (2, 0, 1e-4, 1, 0, 0, 0))
    return builder.build()


def on_hills():
    """Terrain by its heights: a ball, a hull, and a mesh that is not convex."""
    builder = WorldBuilder()
    builder.add_fixed_body("hills", HILLS, ROUGH)
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, (1.0, 1.0, 0.15, 1, 0, 0, 0))
    points = ConvexPoints(0.12 * np.concatenate((np.eye(3), -np.eye(3))))
    builder.add_free_body("hull", BALL, points, ROUGH, (2.0, 2.0, 0.18, 1, 0, 0, 0))
    builder.add_free_body("block", CUBE, notched_block(), ROUGH, (3.0, 1.0, 0.05, 1, 0, 0, 0))
    return builder.build()


SCENES_MESHES = {"mesh": on_a_mesh, "notch": in_a_notch, "hulls": hulls, "half-space": on_a_slope, "hills": on_hills}


@pytest.mark.parametrize("name", SCENES_MESHES)
def test_a_contact_deleted_from_a_record_is_missed(name):
    """Honest records hold; that the rows of one step of a pair of shapes are not there is found, of every pair."""
    recording = simulate(SCENES_MESHES[name](), TimeStepping(2e-3), steps=90)
    report = verify(recording, every=10)
    assert report.holds, str(report)
    table = recording.contacts
    between = table.body_a >= 0
    pairs = {(int(a), int(b)) for a, b in zip(table.shape_a[between], table.shape_b[between], strict=True)}
    assert pairs
    for a, b in pairs:
        own = (table.shape_a == a) & (table.shape_b == b) & (table.gap <= recording.stepper.margin)
        step = int(table.step[own].max())
        gone = np.flatnonzero((table.shape_a == a) & (table.shape_b == b) & (table.step == step))
        report = verify(without(recording, gone).first(step + 1), every=step + 1)
        assert ("coverage", step) in {(one.condition, one.step) for one in report.failures}, (a, b)


def test_one_deleted_row_of_several_fails_too():
    """The pair exists; the force that moves the body does not."""
    recording = simulate(on_a_mesh(), TimeStepping(2e-3), steps=20)
    table = recording.contacts
    gone = np.flatnonzero((table.body_b == 1) & (table.impulse_normal > 0.0))[-1:]
    assert not verify(without(recording, gone)).holds


@pytest.mark.slow
def test_nothing_is_missed_where_bodies_tumble_over_rough_triangles():
    """Bodies of all kinds on hills of triangles with edges that stand out: no false alarm."""
    rough = terrain(12, 1.0, lambda x, y: 0.05 * np.sin(7 * x) * np.cos(5 * y))
    builder = WorldBuilder()
    builder.add_fixed_body("ground", rough, ROUGH)
    octahedron = ConvexPoints(0.1 * np.concatenate((np.eye(3), -np.eye(3))))
    shapes = (Box.cube(0.06), Sphere(0.08), Capsule(0.05, 0.08), Cylinder(0.07, 0.06), octahedron)
    for i, shape in enumerate(shapes):
        start, turning = (-0.6 + 0.3 * i, 0.1 * i, 0.25, 0.8, 0.6, 0, 0), (0.5, 0.3, 0, 3, 2, 1)
        builder.add_free_body(f"body {i}", BALL, shape, ROUGH, start, turning)
    recording = simulate(builder.build(), TimeStepping(2e-3), steps=400)
    assert (recording.contacts.body_a == 0).sum() > 500
    report = verify(recording, every=8)
    assert report.holds, str(report)
