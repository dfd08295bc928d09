from __future__ import annotations

import math

import numpy as np
import pytest

from contactlab.contact import BodyShape, Box, ContactError, ConvexPoints, HalfSpace, Material, Sphere, combine


@pytest.mark.parametrize("shape", [Sphere(0.2, (1, 2, 3)), Box((1, 2, 3)), ConvexPoints([[0, 0, 0], [1, 0, 0]])])
def test_body_shapes_are_points_with_radii(shape):
    """Every body shape gives new contiguous arrays: writing into them does not change the shape."""
    assert isinstance(shape, BodyShape)
    points, radii = shape.support_points()
    assert points.shape == (len(radii), 3)
    for array in (points, radii):
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.dtype == np.float64
    points[:] = -9.0
    assert not np.any(shape.support_points()[0] == -9.0)


def test_corners_of_a_box_come_in_the_documented_order():
    """Corner 4 i + 2 j + k: contact numbers depend on it."""
    points, radii = Box((1.0, 2.0, 3.0)).support_points()
    for i in (0, 1):
        for j in (0, 1):
            for k in (0, 1):
                np.testing.assert_array_equal(points[4 * i + 2 * j + k], [2 * i - 1, 4 * j - 2, 6 * k - 3])
    np.testing.assert_array_equal(radii, np.zeros(8))
    np.testing.assert_array_equal(Box.cube(0.5).half_extents, [0.5, 0.5, 0.5])


def test_half_space_normal_is_normalised_and_the_offset_is_a_distance():
    """The offset counts along the unit normal, whatever the length given."""
    plane = HalfSpace((0.0, 0.0, 2.0), 1.0)
    np.testing.assert_array_equal(plane.normal, [0.0, 0.0, 1.0])
    assert plane.offset == 1.0
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(HalfSpace((3.0 * size, 0.0, 4.0 * size)).normal, [0.6, 0.0, 0.8], rtol=1e-15)


def test_half_space_through_a_point():
    """The point lies on the surface."""
    plane = HalfSpace.through((1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    assert plane.offset == pytest.approx(6.0 / math.sqrt(3.0), rel=1e-15)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Sphere(-1.0), "radius"),
        (lambda: Sphere(0.0), "radius"),
        (lambda: Sphere(math.nan), "radius"),
        (lambda: Sphere(1.0, (0, math.inf, 0)), "center"),
        (lambda: Box((1.0, -1.0, 1.0)), "half_extents"),
        (lambda: Box((1.0, 0.0, 1.0)), "half_extents"),
        (lambda: Box((1.0, 1.0)), "half_extents"),
        (lambda: Box.cube(-0.1), "half_extents"),
        (lambda: ConvexPoints([]), "points"),
        (lambda: ConvexPoints(np.zeros((0, 3))), "points"),
        (lambda: ConvexPoints([[0.0, 0.0]]), "points"),
        (lambda: ConvexPoints([[0.0, 0.0, math.nan]]), "points"),
        (lambda: HalfSpace((0.0, 0.0, 0.0)), "normal"),
        (lambda: HalfSpace((0.0, math.nan, 1.0)), "normal"),
        (lambda: HalfSpace((0.0, 0.0, 1.0), math.inf), "offset"),
        (lambda: HalfSpace.through((0.0, 0.0), (0.0, 0.0, 1.0)), "point"),
        (lambda: Material(-0.1), "mu"),
        (lambda: Material(math.nan), "mu"),
        (lambda: Material("rough"), "mu"),
        (lambda: Material(0.5, 1.1), "restitution"),
        (lambda: Material(0.5, -0.1), "restitution"),
    ],
)
def test_degenerate_shapes_and_materials_name_the_field(make, field):
    """Every degenerate value is refused where it is given."""
    with pytest.raises(ContactError) as info:
        make()
    assert info.value.field == field
    assert isinstance(info.value, ValueError)


def test_materials_combine_by_geometric_mean_and_larger_restitution():
    """Either order gives the same; frictionless wins; equal materials keep their mu to the bit."""
    ice, rubber = Material(0.04, 0.1), Material(1.0, 0.8)
    assert combine(ice, rubber) == combine(rubber, ice) == (pytest.approx(0.2), 0.8)
    assert combine(Material(0.0), rubber)[0] == 0.0
    assert combine(Material(0.18), Material(0.18))[0] == 0.18
