"""Contacts with meshes, terrain and half-spaces on bodies, left out of a record, are missed by its verification."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_shapes import flat, hull, notched_block, terrain
from test_verify_pairs import without

from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, HeightField, Material, Mesh, Sphere
from contactlab.simulation import TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia
from contactlab.verification.pair_coverage import mesh_excess
from contactlab.verification.proximity import ShapePose, core_of

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


SCENES = {"mesh": on_a_mesh, "notch": in_a_notch, "hulls": hulls, "half-space": on_a_slope, "hills": on_hills}


@pytest.mark.parametrize("name", SCENES)
def test_a_contact_deleted_from_a_record_is_missed(name):
    """Honest records hold; that the rows of one step of a pair of shapes are not there is found, of every pair."""
    recording = simulate(SCENES[name](), TimeStepping(2e-3), steps=90)
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
    """The pair is there, what moves the body is not."""
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


def lying(depth, x=0.3, turn=None):
    """A box of half extents 0.1 whose lower face lies ``depth`` below the plane z = 0."""
    R = np.eye(3) if turn is None else turn
    return ShapePose(R, np.array([x, 0.2, 0.1 - depth]), None, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("depth", [0.0, 1e-12, -1e-12, 1e-6, 1e-4, -5e-4])
def test_how_near_a_box_is_to_one_triangle(depth):
    """Excess over the margin, by hand: margin + depth; none behind the triangle, beyond the margin or deep inside."""
    one = Mesh([[-3, -3, 0], [3, -3, 0], [0, 4, 0]], [[0, 1, 2]])
    turned = Mesh(one.vertices, [[0, 2, 1]])
    at = ShapePose(np.eye(3), np.zeros(3), None, np.zeros(3), np.zeros(3))
    core = core_of(Box.cube(0.1))
    size = 1.0 + 0.3 + 0.2 + abs(0.1 - depth) + core.reach
    assert mesh_excess(one, at, core, lying(depth), 1e-3) * size == pytest.approx(1e-3 + depth, abs=4e-9)
    assert mesh_excess(one, at, core, lying(-1.1e-3), 1e-3) == 0.0
    assert mesh_excess(one, at, core, lying(0.1), 1e-3) == 0.0
    if depth < -1e-9:
        assert mesh_excess(turned, at, core, lying(depth), 1e-3) == 0.0
