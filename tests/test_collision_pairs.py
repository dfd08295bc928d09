"""Contacts between pairs of convex shapes: closed forms, features, parallel faces."""

import itertools
import math

import numpy as np
import pytest

from contactlab.collision.detection import collide, distance
from contactlab.collision.detection.kernels.gjk import triangle_weights
from contactlab.collision.kernels import CLOSEST_POINT_FEATURE
from contactlab.simulation import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, PlacedShape, Sphere, Transform

HERE = Transform()
QUARTER = Transform.rotation((0.0, 1.0, 0.0), math.pi / 2)
CUBE = Box.cube(0.1)
HULL = ConvexPoints(0.1 * np.array(list(itertools.product((-1.0, 1.0), repeat=3))))


def at(x=0.0, y=0.0, z=0.0, turn=HERE):
    return Transform(turn.R, (x, y, z))


def points(contacts):
    return np.array(sorted(tuple(np.round(c.point, 9) + 0.0) for c in contacts))


@pytest.mark.nojit
def test_margin_decides_which_gaps_are_reported():
    """A contact exactly at the margin is reported, one beyond is not."""
    assert len(collide(Sphere(1.0), HERE, Sphere(1.0), at(x=2.25), margin=0.25)) == 1
    assert collide(Sphere(1.0), HERE, Sphere(1.0), at(x=2.25), margin=0.2499) == ()
    assert len(collide(Sphere(1.0), HERE, Sphere(1.0), at(x=2.0))) == 1


@pytest.mark.nojit
def test_parallel_capsules_touch_at_both_ends_of_what_they_share():
    """Two contacts, at the ends of the common stretch, whichever way the axes point."""
    for turn in (HERE, Transform.rotation((1, 0, 0), math.pi)):
        contacts = collide(Capsule(0.5, 1.0), HERE, Capsule(0.5, 1.0), at(x=0.9, z=0.5, turn=turn))
        np.testing.assert_allclose(points(contacts), [[0.45, 0.0, -0.5], [0.45, 0.0, 1.0]], atol=1e-12)
        assert [c.gap for c in contacts] == pytest.approx([-0.1, -0.1], abs=1e-12)
        assert len({c.feature for c in contacts}) == 2


@pytest.mark.nojit
def test_closest_point_of_a_degenerate_triangle():
    """A triangle can be a segment."""
    for corners in itertools.permutations(((-1.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.5, 1.0, 0.0))):
        weights = np.array(triangle_weights(*corners))
        assert weights.min() >= 0.0
        np.testing.assert_allclose([weights.sum(), *weights @ np.array(corners)], [1.0, 0.0, 1.0, 0.0], atol=1e-15)


def test_capsule_lies_on_a_box_with_two_contacts():
    """A lying capsule rests on both ends, where the box is wide enough on the box's edge."""
    contacts = collide(Capsule(0.5, 1.0), at(z=1.4, turn=QUARTER), Box((3.0, 3.0, 1.0)), HERE)
    np.testing.assert_allclose(points(contacts), [[-1, 0, 0.95], [1, 0, 0.95]], atol=1e-12)
    contacts = collide(Capsule(0.5, 1.0), at(z=1.4, turn=QUARTER), Box((0.25, 3.0, 1.0)), HERE)
    np.testing.assert_allclose(points(contacts), [[-0.25, 0, 0.95], [0.25, 0, 0.95]], atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 1e-17, -3e-13, 1e-10])
def test_equal_boxes_stacked_touch_in_their_four_corners(turn):
    """Coinciding faces give the four corners, for any last digits of the pose."""
    pose = Transform(Transform.rotation((1.0, 2.0, 3.0), turn).R, (0.0, 0.0, 1.99))
    contacts = collide(Box.cube(1.0), HERE, Box.cube(1.0), pose)
    expected = [[x, y, 0.995] for x in (-1, 1) for y in (-1, 1)]
    np.testing.assert_allclose(points(contacts), expected, atol=1e-8)
    np.testing.assert_allclose([c.gap for c in contacts], -0.01, atol=1e-8)
    assert len({c.feature for c in contacts}) == 4


def test_a_turned_box_on_a_box_touches_in_an_octagon():
    """Eight corners where two squares at 45 degrees overlap; a reduced manifold has four of them that spread."""
    pose = Transform.rotation((0, 0, 1), math.pi / 4, (0, 0, 2.0))
    contacts = collide(Box.cube(1.0), HERE, Box.cube(1.0), pose)
    assert len(contacts) == 8
    t = math.tan(math.pi / 8)
    expected = {(s, u * t) for s in (-1, 1) for u in (-1, 1)} | {(u * t, s) for s in (-1, 1) for u in (-1, 1)}
    found = {(round(float(c.point[0]), 9) + 0.0, round(float(c.point[1]), 9) + 0.0) for c in contacts}
    assert found == {(round(x, 9), round(y, 9)) for x, y in expected}
    reduced = collide(Box.cube(1.0), HERE, Box.cube(1.0), pose, reduce=True)
    assert len(reduced) == 4
    assert {c.feature for c in reduced} <= {c.feature for c in contacts}
    spread = np.array([c.point for c in reduced])
    np.testing.assert_allclose(spread.mean(axis=0)[:2], 0.0, atol=0.35)


@pytest.mark.nojit
def test_cylinder_stands_on_three_points_and_lies_on_two():
    """A resting shape has enough contacts: a triangle around the axis, or both ends of a line."""
    floor, cylinder = HalfSpace(), Cylinder(0.5, 1.0)
    standing = collide(floor, HERE, cylinder, at(z=0.99))
    assert len(standing) == 3
    np.testing.assert_allclose(np.mean([c.point for c in standing], axis=0)[:2], 0.0, atol=1e-12)
    lying = collide(floor, HERE, cylinder, at(z=0.49, turn=QUARTER))
    np.testing.assert_allclose(points(lying), [[-1, 0, -0.005], [1, 0, -0.005]], atol=1e-12)
    assert [c.gap for c in lying] == pytest.approx([-0.01, -0.01])


@pytest.mark.nojit
def test_half_space_contacts_are_numbered_as_the_shape_numbers_its_points():
    """Features of a box, a capsule and a hull over a half-space are the numbers of their support points."""
    box = Box((0.5, 0.5, 0.5))
    contacts = collide(HalfSpace(), HERE, box, at(z=0.5))
    corners = box.support_points()[0]
    for contact in contacts:
        np.testing.assert_allclose(contact.point_b, corners[contact.feature] + [0, 0, 0.5], atol=1e-15)
    hull = ConvexPoints(corners)
    assert [c.feature for c in collide(HalfSpace(), HERE, hull, at(z=0.5))] == [c.feature for c in contacts]
    assert [c.feature for c in collide(HalfSpace(), HERE, Capsule(0.5, 1), at(z=0.499, turn=QUARTER))] == [0, 1]


def test_cylinder_stands_on_a_box():
    """A cap on a face gives points around the rim, cut where the face ends."""
    contacts = collide(Cylinder(0.5, 1.0), at(z=1.99), Box((2, 2, 1)), HERE)
    assert len(contacts) == 8
    np.testing.assert_allclose([c.gap for c in contacts], -0.01, atol=1e-12)
    np.testing.assert_allclose([np.hypot(*c.point[:2]) for c in contacts], 0.5, atol=1e-12)
    assert len(collide(Cylinder(0.5, 1.0), at(z=1.99), Box((2, 2, 1)), HERE, reduce=True)) == 4
    for c in collide(Cylinder(0.5, 1.0), at(x=2.0, z=1.99), Box((2, 2, 1)), HERE):
        assert c.point[0] <= 2.0 + 1e-9


@pytest.mark.nojit
def test_placed_shapes_stand_at_their_pose_in_the_body():
    """A placed shape on a turned body is the bare shape at the product of the poses."""
    rng = np.random.default_rng(1)
    body = Transform.rotation(rng.normal(size=3), 1.0, rng.normal(size=3))
    place = Transform.rotation(rng.normal(size=3), 2.0, rng.normal(size=3))
    a = distance(PlacedShape(Box((0.1, 0.2, 0.3)), place), body, Sphere(0.1), HERE)
    b = distance(Box((0.1, 0.2, 0.3)), body @ place, Sphere(0.1), HERE)
    assert a.gap == pytest.approx(b.gap, abs=1e-14)
    np.testing.assert_allclose(a.point_b, b.point_b, atol=1e-14)
    c = distance(Sphere(0.1, (1.0, 2.0, 3.0)), HERE, Sphere(0.1), HERE)
    assert c.gap == pytest.approx(math.sqrt(14.0) - 0.2, abs=1e-15)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("make", [Sphere, lambda s: Capsule(s, s), Box.cube, lambda s: Cylinder(s, s)])
@pytest.mark.parametrize("other", [Sphere, lambda s: Capsule(s, s), Box.cube, lambda s: Cylinder(s, s)])
def test_coinciding_shapes_of_any_size_have_a_finite_depth_and_a_unit_normal(make, other, size):
    """Concentric, aligned, tiny or huge: every pair has a result."""
    for factor in (1.0, 1e-3, 1e3):
        for contact in collide(make(size), HERE, other(size * factor), HERE):
            assert math.isfinite(contact.gap)
            assert contact.gap < 0.0
            assert np.isfinite(contact.point).all()
            assert np.linalg.norm(contact.normal) == pytest.approx(1.0, abs=1e-12)
        assert collide(make(size), HERE, other(size * factor), HERE)


@pytest.mark.parametrize("tilt", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("direction", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("shape", [CUBE, HULL])
def test_faces_deep_in_one_another_are_held_at_more_than_a_point(shape, tilt, direction):
    """Nearly face on face the way out is often across two edges; faces held at one point turn about it, ever deeper."""
    turn = Transform.rotation((math.cos(direction), math.sin(direction), 0.3), tilt)
    contacts = collide(shape, HERE, shape, at(0.012, 0.02, 0.17, turn))
    normals = np.array([contact.normal for contact in contacts])
    gaps = np.array([contact.gap for contact in contacts])
    assert len(contacts) >= 4
    np.testing.assert_allclose(normals, normals[:1].repeat(len(normals), 0), atol=1e-12)
    assert gaps.min() == pytest.approx(distance(shape, HERE, shape, at(0.012, 0.02, 0.17, turn)).gap, abs=1e-9)
    assert (gaps < 0.0).all()


# The first shape, the second, and where its middle is: level with, or to the side of, the first one's.
PAIRS = {
    "equal cubes, one aside": (CUBE, CUBE, (0.03, 0.02, 0.2)),
    "a small box on a large one": (Box((0.4, 0.4, 0.1)), CUBE, (0.1, -0.05, 0.2)),
    "a large box on a small one": (CUBE, Box((0.4, 0.4, 0.1)), (0.1, -0.05, 0.2)),
    "beams laid crosswise": (Box((0.5, 0.04, 0.1)), Box((0.04, 0.5, 0.1)), (0.01, 0.02, 0.2)),
    "a hull on a cube": (CUBE, HULL, (0.03, 0.02, 0.2)),
    "hulls": (HULL, HULL, (-0.03, 0.02, 0.2)),
    "a cylinder on a box": (Box((0.3, 0.2, 0.1)), Cylinder(0.05, 0.1), (0.02, 0.03, 0.2)),
}
AXES = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.8, 0.0), (-0.8, 0.6, 0.0)]


def tilted(pair, gap, axis, tilt):
    """Contacts with the second shape tilted about a point of the shared plane, under the middle of both."""
    first, second, (x, y, z) = PAIRS[pair]
    turn = Transform.rotation(axis, tilt).R
    foot = np.array((0.5 * x, 0.5 * y, 0.1 + gap))
    return collide(first, HERE, second, Transform(turn, foot + turn @ ((x, y, z + gap) - foot)), margin=0.01)


@pytest.mark.parametrize("gap", [-1e-3, -1e-9, 0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("pair", PAIRS)
def test_both_sides_of_the_parallel_state_have_one_normal_and_the_same_features(pair, axis, gap):
    """Tilts of either sign, from rounding to a milliradian: no farther from a face's normal; the ids at no tilt."""
    level = tilted(pair, gap, axis, 0.0)
    for tilt in (1e-12, 1e-9, 1e-6, 1e-4, 1e-3):
        for sign in (1.0, -1.0):
            contacts = own(tilted(pair, gap, axis, sign * tilt))
            assert [c.feature for c in contacts] == [c.feature for c in level]
            of_second = Transform.rotation(axis, sign * tilt).R[:, 2]
            for contact in contacts:
                np.testing.assert_array_equal(contact.normal, contacts[0].normal)
                off = min(np.abs(contact.normal - face).max() for face in (np.array([0.0, 0.0, 1.0]), of_second))
                # Where two edges touch, the normal is across these.
                assert off <= tilt + 1e-15


def own(contacts):
    """Contacts but the lowest point of a cylinder's rim, where it is none of the corners of its cap."""
    return [c for c in contacts if c.feature != CLOSEST_POINT_FEATURE]
