from __future__ import annotations

import math

import numpy as np
import pytest

from contactlab.contact import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, HeightField, Sphere
from contactlab.contact.detection import collide
from contactlab.spatial import Transform

FLAT = HeightField(np.zeros((5, 6)), 1.0)


@pytest.mark.nojit
@pytest.mark.parametrize(
    "shape", [Sphere(0.5), Capsule(0.5, 0.7), Box((0.4, 0.5, 0.6)), ConvexPoints([[0, 0, -0.5], [1, 0, 0], [0, 1, 0]])]
)
def test_flat_terrain_is_a_half_space(shape):
    """Over a flat grid every shape has the contacts of a floor, and grid points under a box besides."""
    for tilt in (0.0, 0.3):
        pose = Transform.rotation((1.0, 0.5, 0.0), tilt, (2.1, 2.2, 0.45))
        floor = collide(HalfSpace(), Transform(), shape, pose, margin=0.05)
        found = collide(FLAT, Transform(), shape, pose, margin=0.05)
        corners = [c for c in found if c.feature < 2**21]
        assert [c.feature for c in corners] == [c.feature for c in floor]
        for one, two in zip(corners, floor, strict=True):
            assert one.gap == pytest.approx(two.gap, abs=1e-12)
            np.testing.assert_allclose(one.normal, [0, 0, 1], atol=1e-9)
            np.testing.assert_allclose(one.point, two.point, atol=1e-9)


@pytest.mark.nojit
def test_a_ridge_meets_the_middle_of_a_capsule_and_the_underside_of_a_box():
    """What stands out of the terrain touches between the ends of a capsule, and inside the face of a box."""
    heights = np.zeros((5, 5))
    heights[2, 2] = 1.0
    field = HeightField(heights, 1.0)
    lying = Transform.rotation((0, 1, 0), math.pi / 2, (2.0, 2.0, 1.25))
    (contact,) = collide(field, Transform(), Capsule(0.3, 1.5), lying)
    assert contact.gap == pytest.approx(-0.05, abs=1e-9)
    np.testing.assert_allclose(contact.normal, [0, 0, 1], atol=1e-6)
    (contact,) = collide(field, Transform(), Box((1.5, 1.5, 0.5)), Transform(p=(2.0, 2.0, 1.45)))
    assert contact.gap == pytest.approx(-0.05, abs=1e-12)
    np.testing.assert_allclose(contact.normal, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(contact.point_b, [2.0, 2.0, 0.95], atol=1e-12)


@pytest.mark.nojit
def test_nothing_beyond_the_edges_and_a_cylinder_by_its_rims():
    """Outside the grid there is no ground; a cylinder stands on points of its rim."""
    assert collide(FLAT, Transform(), Sphere(0.5), Transform(p=(-2.0, 1.0, -0.2))) == ()
    standing = collide(FLAT, Transform(), Cylinder(0.4, 0.5), Transform(p=(2.0, 2.0, 0.49)))
    assert len(standing) == 8
    assert len(collide(FLAT, Transform(), Cylinder(0.4, 0.5), Transform(p=(2, 2, 0.49)), reduce=True)) == 4
