from __future__ import annotations

import itertools

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, corners, random_pose, random_shape

from contactlab.contact import Box, ConvexPoints, HeightField, Mesh, PlacedShape
from contactlab.contact.detection import collide, distance
from contactlab.spatial import Transform

PAIRS = list(itertools.combinations_with_replacement(ROUND_AND_FLAT, 2))


def overlap_of_boxes(a, pose_a, b, pose_b):
    """Least overlap of two boxes over the 15 axes, from their corners; negative when they are apart."""
    axes = [*pose_a.R.T, *pose_b.R.T]
    axes += [np.cross(u, v) for u in pose_a.R.T for v in pose_b.R.T]
    mine, others = corners(a, pose_a), corners(b, pose_b)
    overlaps = []
    for axis in axes:
        length = np.linalg.norm(axis)
        if length > 1e-6:
            p, q = mine @ axis / length, others @ axis / length
            overlaps.append(min(p.max() - q.min(), q.max() - p.min()))
    return min(overlaps)


def test_box_box_depth_is_the_least_overlap_of_the_fifteen_axes():
    """The kernel against an independent separating axis test on the corners."""
    rng = np.random.default_rng(11)
    deep = 0
    for _ in range(300):
        a, b = random_shape("box", rng), random_shape("box", rng)
        pose_a, pose_b = random_pose(rng, 0.8), random_pose(rng, 0.8)
        overlap = overlap_of_boxes(a, pose_a, b, pose_b)
        found = distance(a, pose_a, b, pose_b)
        if overlap > 0.0:
            deep += 1
            assert found.gap == pytest.approx(-overlap, abs=1e-8)
        else:
            assert found.gap >= -overlap - 1e-8
    assert deep > 50


@pytest.mark.parametrize("kinds", PAIRS)
def test_distance_is_that_of_the_closest_points(kinds):
    """For shapes apart: the points lie gap apart along the normal, and the normal separates the shapes there."""
    from contactlab.contact.detection.kernels.support import core_radius, support
    from contactlab.contact.shapes.shape import pack_shapes, pose_row

    rng = np.random.default_rng(21)
    for _ in range(60):
        a, b = (random_shape(kind, rng) for kind in kinds)
        pose_a, pose_b = random_pose(rng), random_pose(rng)
        found = distance(a, pose_a, b, pose_b)
        np.testing.assert_allclose(found.point_b - found.point_a, found.gap * found.normal, atol=1e-12)
        packed = pack_shapes([a, b])
        reach = 0.0
        for i, (pose, sign) in enumerate(((pose_a, 1.0), (pose_b, -1.0))):
            n = sign * found.normal
            posed = packed.posed(i, pose_row(pose))
            reach += np.dot(support(posed, tuple(n)), n) + core_radius(posed)
        # The supporting planes are gap apart: no direction does better when apart, none is claimed better in overlap.
        assert -reach == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("kinds", PAIRS)
def test_no_direction_has_a_smaller_overlap(kinds):
    """Brute force: among many directions none lets the shapes part by a shorter way than the depth reported."""
    from contactlab.contact.detection.kernels.support import core_radius, support
    from contactlab.contact.shapes.shape import pack_shapes, pose_row

    rng = np.random.default_rng(31)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    overlapping = 0
    while overlapping < 10:
        a, b = (random_shape(kind, rng) for kind in kinds)
        pose_a, pose_b = random_pose(rng, 0.5), random_pose(rng, 0.5)
        found = distance(a, pose_a, b, pose_b)
        if found.gap >= 0.0:
            continue
        overlapping += 1
        packed = pack_shapes([a, b])
        posed = [packed.posed(i, pose_row(pose)) for i, pose in enumerate((pose_a, pose_b))]
        near = found.normal + 0.05 * directions[:100]
        for n in [*directions, *(near / np.linalg.norm(near, axis=1)[:, None])]:
            reach = sum(core_radius(one) for one in posed)
            reach += np.dot(support(posed[0], tuple(n)), n)
            reach -= np.dot(support(posed[1], tuple(-n)), n)
            assert reach >= -found.gap - 1e-7


@pytest.mark.parametrize("kinds", PAIRS)
def test_agrees_with_coal(kinds):
    """Distances, depths and normals of another library; coal meets cylinders to 1e-6 itself, their normals to 1e-3."""
    pytest.importorskip("coal")
    from contactlab.contact.detection.collide import distance_by_coal

    rng = np.random.default_rng(41)
    round_rim = "cylinder" in kinds
    for _ in range(60):
        a, b = (random_shape(kind, rng) for kind in kinds)
        pose_a, pose_b = random_pose(rng), random_pose(rng)
        found = distance(a, pose_a, b, pose_b)
        gap, normal, _, _ = distance_by_coal(a, pose_a, b, pose_b)
        if gap < 0.0 and round_rim:
            # Where the two differ, coal's expanding polytope has stopped at a longer way out.
            assert found.gap >= gap - 5e-6
            continue
        assert found.gap == pytest.approx(gap, abs=5e-6 if round_rim else 1e-9)
        if abs(gap) > 1e-2:
            np.testing.assert_allclose(found.normal, normal, atol=3e-3 if round_rim else 1e-6)


def test_pairs_of_open_meshes_go_through_coal():
    """Five sides of a cube over one another are as far apart as boxes are; contacts have no features."""
    pytest.importorskip("coal")
    vertices = corners(Box.cube(1.0), Transform())
    triangles = []
    for axis in range(3):
        for side in (-1, 1):
            face = [i for i in range(8) if vertices[i, axis] == side]
            triangles += [[face[0], face[1], face[3]], [face[0], face[3], face[2]]]
    mesh = Mesh(vertices, triangles[2:])
    apart = Transform(p=(0.0, 0.0, 2.5))
    assert distance(mesh, Transform(), Box.cube(1.0), apart).gap == pytest.approx(0.5, abs=1e-6)
    touching = collide(mesh, Transform(), PlacedShape(mesh, apart), Transform(p=(0.1, 0.0, -0.51)))
    assert touching
    assert all(c.feature == -1 for c in touching)
    assert all(c.gap <= 0.0 for c in touching)


def test_height_field_is_met_at_the_closest_triangle():
    """Signed distance of points from terrain against dense samples of its surface."""
    from contactlab.contact import Sphere

    rng = np.random.default_rng(51)
    heights = 0.4 * rng.normal(size=(6, 5))
    field = HeightField(heights, (0.5, 0.7))
    s, t = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41), indexing="ij")
    samples = []
    for i in range(5):
        for j in range(4):
            z00, z10, z01, z11 = heights[i, j], heights[i + 1, j], heights[i, j + 1], heights[i + 1, j + 1]
            z = np.where(s >= t, z00 + s * (z10 - z00) + t * (z11 - z10), z00 + t * (z01 - z00) + s * (z11 - z01))
            samples.append(np.stack([(i + s) * 0.5, (j + t) * 0.7, z], axis=-1).reshape(-1, 3))
    surface = np.concatenate(samples)
    for _ in range(60):
        center = np.array([rng.uniform(0.2, 2.3), rng.uniform(0.2, 2.6), rng.uniform(-0.3, 2.0)])
        found = distance(field, Transform(), Sphere(0.1), Transform(p=center))
        nearest = np.linalg.norm(surface - center, axis=1).min()
        assert abs(found.gap + 0.1) == pytest.approx(nearest, abs=5e-3)
        column = surface[np.argmin(np.linalg.norm(surface[:, :2] - center[:2], axis=1))]
        if abs(center[2] - column[2]) > 0.05:
            assert (found.gap + 0.1 > 0) == (center[2] > column[2])


def test_hull_of_many_points_is_apart_by_a_face():
    """A hull of points on a dome meets a box by its lowest point."""
    rng = np.random.default_rng(61)
    dome = rng.normal(size=(200, 3))
    dome /= np.linalg.norm(dome, axis=1)[:, None]
    found = distance(ConvexPoints(dome), Transform(p=(0, 0, 3.0)), Box((5, 5, 1)), Transform())
    assert found.gap == pytest.approx(2.0 + dome[:, 2].min(), abs=1e-12)
