"""Contacts of triangle meshes: against planes, hulls and coal; ridges, hollows and inner edges."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_shapes import flat, hull, notched_block, terrain

from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Mesh, PlacedShape, Sphere
from contactlab.contact.detection import collide
from contactlab.spatial import Transform
from contactlab.spatial.errors import ContactError

CUBE = Box.cube(0.1)
LYING = Transform.rotation((0, 1, 0), np.pi / 2)
BODIES = {
    "sphere": (Sphere(0.1), 0.1, 1),
    "capsule": (PlacedShape(Capsule(0.05, 0.2), LYING), 0.05, 2),
    "box": (CUBE, 0.1, 4),
    "cylinder": (Cylinder(0.1, 0.1), 0.1, 8),
    "hull": (ConvexPoints(CUBE.support_points()[0]), 0.1, 4),
}


@pytest.fixture(scope="module")
def floor():
    """The plane z = 0 in triangles of 0.1 m."""
    return flat()


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("gap", [-1e-6, 0.0, 2e-4])
def test_a_flat_mesh_is_a_plane(floor, body, gap):
    """Every body has the contacts of its outline alone, with the plane's normal and gap, wherever it stands."""
    shape, height, count = BODIES[body]
    for x, y, angle in ((0.013, 0.02, 0.0), (0.1, -0.2, 0.3), (0.05, 0.0, np.pi / 4)):
        pose = Transform(p=(x, y, height + gap)) @ Transform.rotation((0, 0, 1), angle)
        found = collide(floor, Transform(), shape, pose, margin=1e-3)
        assert len(found) == count
        for contact in found:
            assert contact.normal == pytest.approx((0, 0, 1), abs=1e-9)
            assert contact.gap == pytest.approx(gap, abs=1e-12)
        assert np.mean([c.point for c in found], axis=0)[:2] == pytest.approx((x, y), abs=1e-9)
        assert len({c.feature for c in found}) == len(found)


def test_a_tilted_box_has_the_gaps_of_its_corners(floor):
    """As over the half-space, far corners included."""
    pose = Transform(p=(0.013, 0.02, 0.1 + 1e-4)) @ Transform.rotation((1, 0.5, 0), 2e-3)
    found = collide(floor, Transform(), CUBE, pose, margin=1e-3)
    wanted = [c for c in collide(HalfSpace(), Transform(), CUBE, pose, margin=1e-3)]
    assert sorted(c.gap for c in found) == pytest.approx(sorted(c.gap for c in wanted), abs=1e-8)


def test_features_last_while_a_body_slides(floor):
    """A sliding box and ball keep their features over many triangles, and never meet an inner edge."""
    for shape, height in ((CUBE, 0.1), (Sphere(0.1), 0.1)):
        names = set()
        for x in np.linspace(-0.5, 0.5, 101):
            found = collide(
                floor, Transform(), shape, Transform(p=(x + 0.0037, 0.31 * x + 0.0021, height - 1e-7)), margin=1e-3
            )
            assert all(abs(c.normal[2] - 1.0) < 1e-12 for c in found)
            names.add(tuple(c.feature for c in found))
        assert len(names) == 1


def test_ridge_and_valley():
    """A box rests on a ridge with two points; a ball in a valley touches both sides, at the distance of either."""
    ridge = terrain(10, 1.0, lambda x, y: -np.abs(x))
    found = collide(ridge, Transform(), CUBE, Transform(p=(0.013, 0.02, 0.1 - 1e-6)), margin=1e-3)
    assert sorted(c.point[1] for c in found) == pytest.approx([-0.08, 0.12], abs=1e-9)
    assert all(c.normal == pytest.approx((0, 0, 1), abs=1e-9) for c in found)
    valley = terrain(10, 1.0, lambda x, y: np.abs(x))
    high = 0.1 * np.sqrt(2.0) + 1e-4
    found = collide(valley, Transform(), Sphere(0.1), Transform(p=(0.0, 0.03, high)), margin=1e-3)
    assert [c.gap for c in found] == pytest.approx([1e-4 / np.sqrt(2.0)] * 2, abs=1e-12)
    assert sum(c.normal for c in found) == pytest.approx((0, 0, np.sqrt(2.0)), abs=1e-9)


def test_a_step_has_a_tread_and_a_riser():
    """A box in the corner of a notched block touches both with a face; beside the block nothing is touched."""
    block = notched_block()
    assert not block.convex
    pose = Transform(p=(0.1 + 1e-5, 0.0, 0.6 + 2e-5))
    found = collide(block, Transform(), CUBE, pose, margin=1e-3)
    up = [c for c in found if c.normal[2] > 0.9]
    out = [c for c in found if c.normal[0] > 0.9]
    assert len(up) == len(out) == 4
    assert len(found) == 8
    assert [c.gap for c in up] == pytest.approx([2e-5] * 4, abs=1e-9)
    assert [c.gap for c in out] == pytest.approx([1e-5] * 4, abs=1e-9)
    assert collide(block, Transform(), CUBE, Transform(p=(0.3, 0.0, 0.8)), margin=1e-3) == ()
    # On the upper edge: the wall below says nothing of its own.
    over = collide(block, Transform(), CUBE, Transform(p=(0.0, 0.0, 1.1 - 1e-6)), margin=1e-3)
    assert all(c.normal == pytest.approx((0, 0, 1), abs=1e-6) for c in over)
    assert [c.gap for c in over] == pytest.approx([-1e-6] * len(over), abs=1e-9)


def test_a_convex_mesh_is_its_hull():
    """The same contacts, to the bit, as the hull's; a mesh with a hole or a notch is none."""
    points = np.random.default_rng(3).normal(size=(30, 3))
    mesh = hull(points)
    assert mesh.convex
    corners = ConvexPoints(mesh.support_points()[0])
    pose = Transform(p=(0.0, 0.0, 2.0 + 1e-4))
    top = float(points[:, 2].max())
    pose = Transform(p=(*points[points[:, 2].argmax(), :2], top + 0.1))
    one, other = (collide(shape, Transform(), CUBE, pose, margin=1e-3) for shape in (mesh, corners))
    assert [(*c.point, *c.normal, c.gap, c.feature) for c in one] == [
        (*c.point, *c.normal, c.gap, c.feature) for c in other
    ]
    assert one
    assert not Mesh(mesh.vertices, mesh.triangles[1:]).convex


def test_gaps_agree_with_coal():
    """Over waves, the smallest gap of a ball, a box and a hull is coal's distance."""
    coal = pytest.importorskip("coal")
    assert coal
    from contactlab.contact.detection import distance

    waves = terrain(24, 1.0, lambda x, y: 0.1 * np.sin(4.0 * x) * np.cos(3.0 * y))
    rng = np.random.default_rng(5)
    dome = rng.normal(size=(12, 3))
    dome *= 0.15 / np.linalg.norm(dome, axis=1)[:, None]
    compared = 0
    for _ in range(120):
        for shape in (Sphere(0.1), Box((0.1, 0.06, 0.15)), ConvexPoints(dome)):
            turn = Transform.rotation(rng.normal(size=3), rng.uniform(0, 3))
            pose = Transform(turn.R, (*rng.uniform(-0.6, 0.6, 2), rng.uniform(0.1, 0.35)))
            by_coal = distance(waves, Transform(), shape, pose)
            if not 1e-4 < by_coal.gap < 0.05:
                continue
            found = collide(waves, Transform(), shape, pose, margin=0.06)
            assert min(c.gap for c in found) == pytest.approx(by_coal.gap, abs=2e-6)
            compared += 1
    assert compared > 60


def test_meshes_move_and_turn():
    """A mesh at a pose of its own, on either side of the call, gives the same contacts in its frame."""
    block = notched_block()
    turn = Transform.rotation((1, 2, 3), 0.7)
    frame = Transform(turn.R, (0.3, -0.2, 0.5))
    pose = Transform(p=(0.1 + 1e-5, 0.0, 0.6 + 2e-5))
    still = collide(block, Transform(), CUBE, pose, margin=1e-3)
    moved = collide(CUBE, frame @ pose, PlacedShape(block, Transform()), frame, margin=1e-3)
    assert [c.gap for c in moved] == pytest.approx([c.gap for c in still], abs=1e-9)
    for a, b in zip(still, moved, strict=True):
        assert b.point == pytest.approx(frame.apply(a.point), abs=1e-9)
        assert b.normal == pytest.approx(-frame.R @ a.normal, abs=1e-9)


def test_a_mesh_without_area_is_refused():
    """Degenerate triangles are passed over; where there is nothing else the error says so."""
    with pytest.raises(ContactError, match="no area"):
        collide(Mesh(np.zeros((3, 3)), [[0, 1, 2]]), Transform(), CUBE, Transform())
