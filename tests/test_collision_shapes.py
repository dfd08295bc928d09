from __future__ import annotations

import sys

import numpy as np
import pytest

from contactlab.contact import (
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


def test_meshes_say_what_they_need(monkeypatch):
    """Without coal the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(ContactError, match="collision") as caught:
        collide(TRIANGLE, HERE, TRIANGLE, HERE)
    assert caught.value.field == "shape_a"


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
