"""Faces that lie on one another, tilted by a hair to either side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from contactlab.contact import Box, ConvexPoints, Cylinder
from contactlab.contact.detection import collide
from contactlab.contact.kernels.layout import CLOSEST_POINT_FEATURE
from contactlab.spatial import Transform

HERE = Transform()
CUBE = Box.cube(0.1)
HULL = ConvexPoints(0.1 * np.array(list(itertools.product((-1.0, 1.0), repeat=3))))
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


def test_the_least_gap_is_the_largest_separation():
    """Boxes that the separating axis theorem, here over directions drawn around, puts apart."""
    rng = np.random.default_rng(3)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    for _ in range(200):
        a, b = rng.uniform(0.05, 0.2, (2, 3))
        tilt, gap = 10.0 ** rng.uniform(-6, -3), rng.uniform(-2e-3, 2e-3)
        axis = np.array([*rng.normal(size=2), 0.0])
        turn = Transform.rotation(axis, tilt).R @ Transform.rotation((0, 0, 1), rng.uniform(0, 3)).R
        pose = Transform(turn, (*rng.uniform(-0.03, 0.03, 2), a[2] + b[2] + gap))
        other = corners * b @ turn.T + pose.p
        # In the plane of the two faces' normals, and of the edges, all axes are unit vectors near z.
        edges = np.cross(np.eye(3)[:2, None], turn.T[None, :2]).reshape(-1, 3)
        axes = np.vstack(([[0.0, 0.0, 1.0]], turn[:, 2], edges[np.linalg.norm(edges, axis=1) > 1e-4]))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        axes *= np.where(axes[:, 2] >= 0.0, 1.0, -1.0)[:, None]
        along = (other @ axes.T).min(axis=0) - (corners * a @ axes.T).max(axis=0)
        least = min(c.gap for c in collide(Box(a), HERE, Box(b), pose, margin=0.1))
        assert least == pytest.approx(along.max(), abs=1e-12)
