import itertools

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, corners, random_pose, random_shape

from contactlab.collision.detection import collide, distance
from contactlab.simulation import Box, HeightField, Mesh, PlacedShape, Transform

PAIRS = list(itertools.combinations_with_replacement(ROUND_AND_FLAT, 2))


@pytest.mark.parametrize("kinds", PAIRS)
def test_agrees_with_coal(kinds):
    """Distances, depths and normals of another library; coal meets cylinders to 1e-6 itself, their normals to 1e-3."""
    pytest.importorskip("coal")
    from contactlab.collision.detection import distance_by_coal

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
    from contactlab.collision import Sphere

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
