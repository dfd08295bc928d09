from __future__ import annotations

import sys

import numpy as np
import pytest

from contactlab.contact import (
    BodyShape,
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    PlacedShape,
    Sphere,
)
from contactlab.contact.detection import bounds, candidate_pairs, collide, distance, pack_shapes
from contactlab.spatial import Transform

HERE = Transform()
TRIANGLE = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Capsule(0.0, 1.0), "radius"),
        (lambda: Capsule(1.0, -1.0), "half_length"),
        (lambda: Cylinder(float("nan"), 1.0), "radius"),
        (lambda: Cylinder(1.0, float("inf")), "half_length"),
        (lambda: HeightField([[0.0, 1.0]], 1.0), "heights"),
        (lambda: HeightField(np.zeros((3, 3)), 0.0), "spacing"),
        (lambda: HeightField(np.zeros((3, 3)), (1.0, -1.0)), "spacing"),
        (lambda: HeightField([[0.0, np.nan], [0.0, 0.0]], 1.0), "heights"),
        (lambda: Mesh(np.zeros((3, 3)), [[0, 1, 3]]), "triangles"),
        (lambda: Mesh(np.zeros((3, 3)), [[0, 1, 0.5]]), "triangles"),
        (lambda: Mesh(np.zeros((3, 3)), np.zeros((0, 3))), "triangles"),
        (lambda: Mesh(np.zeros((3, 2)), [[0, 1, 2]]), "vertices"),
        (lambda: PlacedShape("ball"), "shape"),
        (lambda: PlacedShape(Sphere(1.0), (0, 0, 1)), "pose"),
        (lambda: collide("ball", HERE, Sphere(1.0), HERE), "shape_a"),
        (lambda: collide(Sphere(1.0), HERE, 3, HERE), "shape_b"),
        (lambda: collide(Sphere(1.0), (0, 0, 0), Sphere(1.0), HERE), "pose_a"),
        (lambda: collide(Sphere(1.0), HERE, Sphere(1.0), None), "pose_b"),
        (lambda: collide(Sphere(1.0), HERE, Sphere(1.0), HERE, margin=-1e-9), "margin"),
        (lambda: collide(Sphere(1.0), HERE, Sphere(1.0), HERE, margin=float("inf")), "margin"),
        (lambda: distance(HalfSpace(), HERE, HalfSpace(), HERE), "shape_b"),
        (lambda: pack_shapes(["ball"]), "shapes"),
        (lambda: candidate_pairs(pack_shapes([Sphere(1.0)]), []), "poses"),
        (lambda: candidate_pairs(pack_shapes([Sphere(1.0)]), [None]), "poses"),
        (lambda: candidate_pairs(pack_shapes([Sphere(1.0)]), [HERE], margin=-1.0), "margin"),
        (lambda: candidate_pairs(pack_shapes([Sphere(1.0)]), [HERE], body=[0, 1]), "body"),
        (lambda: candidate_pairs(pack_shapes([Sphere(1.0)]), [HERE], mask=[0.5]), "mask"),
    ],
)
def test_bad_values_raise_and_name_the_field(make, field):
    """Nothing ill-formed reaches a kernel."""
    with pytest.raises(ContactError) as caught:
        make()
    assert caught.value.field == field


def test_a_face_too_large_is_named():
    """A hull whose face has more corners than the kernels take is refused, as an argument of its own name."""
    angles = np.linspace(0.0, 2.0 * np.pi, 100, endpoint=False)
    disc = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    with pytest.raises(ContactError, match="64") as caught:
        collide(Sphere(1.0), HERE, ConvexPoints(disc), HERE)
    assert caught.value.field == "shape_b"


def test_meshes_say_what_they_need(monkeypatch):
    """Without coal the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(ContactError, match="collision") as caught:
        collide(TRIANGLE, HERE, TRIANGLE, HERE)
    assert caught.value.field == "shape_a"


def test_a_capsule_is_a_body_shape():
    """It touches half-spaces with the centres of its half balls."""
    capsule = Capsule(0.2, 0.5)
    assert isinstance(capsule, BodyShape)
    points, radii = capsule.support_points()
    np.testing.assert_array_equal(points, [[0, 0, -0.5], [0, 0, 0.5]])
    np.testing.assert_array_equal(radii, [0.2, 0.2])


def test_values_are_frozen():
    """Arrays of shapes and contacts cannot be written through."""
    field = HeightField(np.zeros((2, 3)), (1.0, 2.0))
    assert field.spacing == (1.0, 2.0)
    for array in (field.heights, TRIANGLE.vertices, TRIANGLE.triangles):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    (contact,) = collide(Sphere(1.0), HERE, Sphere(1.0), HERE)
    with pytest.raises(ValueError, match="read-only"):
        contact.point[0] = 1.0


@pytest.mark.nojit
def test_bounding_boxes_are_tight():
    """The box of every shape touches it on all six sides: against its support points along the axes."""
    from contactlab.contact.detection.kernels.support import core_radius, support
    from contactlab.contact.shapes.shape import pose_row

    rng = np.random.default_rng(2)
    shapes = [Sphere(0.3), Capsule(0.2, 0.5), Box((1, 2, 3)), Cylinder(0.5, 0.7), ConvexPoints(rng.normal(size=(9, 3)))]
    packed = pack_shapes(shapes)
    for _ in range(10):
        poses = [Transform.rotation(rng.normal(size=3), rng.uniform(0, 3), rng.normal(size=3)) for _ in shapes]
        boxes = bounds(packed, poses)
        for i, pose in enumerate(poses):
            for k in range(3):
                for sign in (-1.0, 1.0):
                    d = sign * np.eye(3)[k]
                    posed = packed.posed(i, pose_row(pose))
                    core = support(posed, tuple(d))
                    expected = core[k] + sign * core_radius(posed)
                    assert boxes[i, k + (3 if sign > 0 else 0)] == pytest.approx(expected, abs=1e-12)


def brute_force(boxes, shapes, body):
    n = len(boxes)
    pairs = []
    for i in range(n):
        for j in range(i + 1, n):
            if body[i] == body[j] or (body[i] < 0 and body[j] < 0):
                continue
            if all(boxes[i, k] <= boxes[j, 3 + k] and boxes[j, k] <= boxes[i, 3 + k] for k in range(3)):
                pairs.append((i, j))
    return pairs


@pytest.mark.nojit
def test_broad_phase_finds_the_pairs_of_overlapping_boxes():
    """Sweep and prune against all pairs, in ascending order."""
    rng = np.random.default_rng(7)
    for n in (1, 2, 5, 60, 150):
        shapes = [Sphere(0.1) if i % 2 else Box(rng.uniform(0.05, 0.3, 3)) for i in range(n)]
        packed = pack_shapes(shapes)
        spread = np.array([1.0, 3.0, 1.0])
        poses = [Transform.rotation(rng.normal(size=3), 1.0, spread * rng.uniform(-1, 1, 3)) for _ in range(n)]
        body = rng.integers(-1, max(n // 2, 1), n)
        boxes = bounds(packed, poses)
        assert candidate_pairs(packed, poses, body=body) == brute_force(boxes, shapes, body)
        boxes[:, :3] -= 0.05
        boxes[:, 3:] += 0.05
        assert candidate_pairs(packed, poses, margin=0.1, body=body) == brute_force(boxes, shapes, body)


@pytest.mark.nojit
def test_broad_phase_does_not_depend_on_the_order_it_starts_from():
    """Any starting permutation gives the same pairs in the same order."""
    from contactlab.contact.detection.kernels.support import all_bounds
    from contactlab.contact.detection.kernels.sweep_and_prune import candidates
    from contactlab.contact.shapes.shape import pose_row

    rng = np.random.default_rng(8)
    n = 80
    packed = pack_shapes([Sphere(0.2)] * n)
    poses = np.array([pose_row(Transform(p=np.round(rng.uniform(-1, 1, 3), 1))) for _ in range(n)])
    boxes, keys, bits = np.empty((n, 6)), np.empty(n), np.full(n, -1, dtype=np.int64)
    all_bounds(packed.kind, packed.size, poses, packed.data, 0.0, boxes)
    results = []
    for order in (np.arange(n), np.arange(n)[::-1].copy(), rng.permutation(n)):
        pairs = np.empty(n * n, dtype=np.int64)
        body = np.arange(n)
        count = candidates(
            packed.kind, packed.size, poses, boxes, 0.0, body, bits, bits, order.astype(np.int64), keys, pairs
        )
        results.append(pairs[:count].tolist())
    assert results[0] == results[1] == results[2]
    assert results[0] == sorted(results[0])


@pytest.mark.nojit
def test_broad_phase_measures_half_spaces_and_obeys_masks():
    """A half-space pairs with what reaches it; bits and bodies exclude."""
    shapes = [HalfSpace(), Sphere(0.5), Sphere(0.5), HalfSpace((1, 0, 1), -5.0), Box.cube(0.5)]
    packed = pack_shapes(shapes)
    poses = [HERE, Transform(p=(0, 0, 0.4)), Transform(p=(0, 0.5, 0.9)), HERE, Transform(p=(0, 0, 5.0))]
    body = [-1, 0, 1, -1, 2]
    assert candidate_pairs(packed, poses, body=body) == [(0, 1), (1, 2)]
    assert candidate_pairs(packed, poses, body=body, margin=0.5) == [(0, 1), (0, 2), (1, 2)]
    assert candidate_pairs(packed, poses, body=[-1, 0, 0, -1, 2]) == [(0, 1)]
    masks = [1, 1, 2, 1, 1]
    assert candidate_pairs(packed, poses, body=body, category=masks, mask=masks, margin=0.5) == [(0, 1)]
