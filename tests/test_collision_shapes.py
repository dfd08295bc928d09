"""Shapes as detection knows them: bounds, terrain, symmetry, the broad phase, and what is refused."""

import itertools
import math
import sys

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, random_pose, random_shape, sorted_rows
from refusals import assert_fields

from contactlab.collision import (
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    PlacedShape,
    Sphere,
    combine,
)
from contactlab.collision.detection import bounds, collide, distance, pack_shapes, world_bounds
from contactlab.collision.detection.kernels.sweep_and_prune import candidates
from contactlab.multibody.spatial import Transform

HERE = Transform()
TRIANGLE = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


BAD_MATERIALS = [
    ({"stiffness": 0.0}, "stiffness"),
    ({"stiffness": -1.0}, "stiffness"),
    ({"stiffness": math.nan}, "stiffness"),
    ({"stiffness": 1e3, "dissipation": -1.0}, "dissipation"),
    ({"dissipation": 1.0}, "dissipation"),  # a damper needs a spring
    ({"stiffness": 1e3, "restitution": 0.2}, "restitution"),  # a spring rebounds by itself
    ({"priority": 1.5}, "priority"),
    *(({length: value}, length) for length in ("torsional", "rolling") for value in (-1e-9, math.nan, math.inf)),
]


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
        (lambda: bounds(pack_shapes([Sphere(1.0)]), []), "poses"),
        (lambda: bounds(pack_shapes([Sphere(1.0)]), [None]), "poses"),
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
        *((lambda numbers=numbers: Material(0.5, **numbers), field) for numbers, field in BAD_MATERIALS),
    ],
)
def test_bad_values_raise_and_name_the_field(make, field):
    """Nothing ill-formed reaches a kernel."""
    assert_fields(
        ContactError,
        (field, make),
    )


def test_meshes_say_what_they_need(monkeypatch):
    """Without coal the error names the extra."""
    monkeypatch.setitem(sys.modules, "coal", None)
    assert_fields(ContactError, ("shape_a", lambda: collide(TRIANGLE, HERE, TRIANGLE, HERE)))


def candidate_pairs(shapes, poses, *, body, margin=0.0, category=-1, mask=-1):
    """Pairs (i, j), i < j, of shapes with bounding boxes within ``margin``, found by the kernel of the step."""
    n = len(shapes.kind)
    world = np.array([np.concatenate([pose.R.ravel(), pose.p]) for pose in poses])
    boxes = world_bounds(shapes, world, 0.5 * margin)
    order, keys = np.argsort(boxes[:, 0], kind="stable").astype(np.int64), np.empty(n)
    owner, bits, masks = (np.full(n, given, dtype=np.int64) for given in (body, category, mask))
    pairs = np.empty(n * n, dtype=np.int64)
    count = candidates(shapes.kind, shapes.size, world, boxes, 0.5 * margin, owner, bits, masks, order, keys, pairs)
    return [(int(pair) // n, int(pair) % n) for pair in pairs[:count]]


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


def test_half_space_normal_is_normalised_and_the_offset_is_a_distance():
    """The offset is along the unit normal, for a given normal of any length."""
    plane = HalfSpace((0.0, 0.0, 2.0), 1.0)
    np.testing.assert_array_equal(plane.normal, [0.0, 0.0, 1.0])
    assert plane.offset == 1.0
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(HalfSpace((3.0 * size, 0.0, 4.0 * size)).normal, [0.6, 0.0, 0.8], rtol=1e-15)


def test_materials_combine_by_geometric_mean_and_larger_restitution():
    """Either order gives the same; priority and zero friction win; equal materials keep their mu to the bit."""
    ice, rubber = Material(0.04, 0.1), Material(1.0, 0.8)
    assert combine(ice, rubber) == combine(rubber, ice) == (pytest.approx(0.2), 0.8)
    first = Material(0.02, priority=1)
    assert combine(first, rubber) == combine(rubber, first) == (0.02, 0.8)
    assert combine(Material(0.0), rubber)[0] == 0.0
    assert combine(Material(0.18), Material(0.18))[0] == 0.18


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
    """Terrain that rises between the ends of a capsule, or inside the face of a box, touches it."""
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
    """Outside the grid there is no ground; a cylinder rests on points of its rim."""
    assert collide(FLAT, Transform(), Sphere(0.5), Transform(p=(-2.0, 1.0, -0.2))) == ()
    standing = collide(FLAT, Transform(), Cylinder(0.4, 0.5), Transform(p=(2.0, 2.0, 0.49)))
    assert len(standing) == 8
    assert len(collide(FLAT, Transform(), Cylinder(0.4, 0.5), Transform(p=(2, 2, 0.49)), reduce=True)) == 4


PAIRS = list(itertools.combinations_with_replacement(ROUND_AND_FLAT, 2))


def scene(kinds, seed, size=1.0):
    rng = np.random.default_rng(seed)
    a, b = (random_shape(kind, rng, size) for kind in kinds)
    poses = [random_pose(rng) for _ in range(2)]
    return a, Transform(poses[0].R, size * poses[0].p), b, Transform(poses[1].R, size * poses[1].p)


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_gaps_scale_with_the_size(kinds, size):
    """Millimetres and kilometres: the same scene, the same relative gap."""
    for seed in range(15):
        unit, scaled = scene(kinds, seed), scene(kinds, seed, size)
        one, other = distance(*unit), distance(*scaled)
        assert other.gap == pytest.approx(size * one.gap, abs=1e-9 * size)


@pytest.mark.parametrize("kinds", PAIRS)
def test_contacts_come_in_a_fixed_order_with_distinct_features(kinds):
    """Features ascend strictly, and the same call gives the same bits."""
    for seed in range(40):
        contacts = collide(*scene(kinds, seed), margin=0.2)
        features = [c.feature for c in contacts]
        assert features == sorted(set(features))
        assert all(0 <= feature < 2**31 for feature in features)
        again = collide(*scene(kinds, seed), margin=0.2)
        np.testing.assert_array_equal(sorted_rows(contacts), sorted_rows(again))


def scattered_shapes(kind, n, seed):
    """Shapes and poses: equal ones in a cube, of all sizes in a layer, widely spread."""
    rng = np.random.default_rng(seed)
    if kind == "alike":
        shapes, places = [Box.cube(0.5)] * n, rng.uniform(0.0, 1.3 * n ** (1 / 3), (n, 3))
    elif kind == "sizes":
        shapes = [Box(rng.uniform(0.05, 1.0, 3) * rng.choice([0.2, 1.0, 8.0])) for _ in range(n)]
        places = rng.uniform(-1.0, 1.0, (n, 3)) * (30.0, 20.0, 2.0)
    else:
        shapes, places = [Sphere(0.5)] * n, rng.standard_cauchy((n, 3)) * 5.0
        places[: n // 2] = np.round(places[: n // 2])
    shapes, poses = list(shapes), [Transform(p=place) for place in places]
    if kind == "sizes":
        shapes += [HeightField(np.zeros((3, 3)), 10.0), HalfSpace((0, 0, 1), -1.0)]
        poses += [Transform(p=(-10.0, -10.0, -1.5)), Transform()]
    return shapes, poses


@pytest.mark.parametrize("kind", ["alike", "sizes", "far"])
@pytest.mark.parametrize("n", [40, 300, 900])
def test_every_overlap_is_found(kind, n):
    """Against all pairs of boxes, with filters."""
    shapes, poses = scattered_shapes(kind, n, n)
    packed = pack_shapes(shapes)
    rng = np.random.default_rng(1)
    body = rng.integers(-1, n, len(shapes))
    category = rng.integers(1, 8, len(shapes))
    mask = rng.integers(1, 8, len(shapes))
    found = candidate_pairs(packed, poses, margin=0.02, body=body, category=category, mask=mask)
    boxes = bounds(packed, poses) + np.repeat([-0.01, 0.01], 3)
    low, high = boxes[:, :3], boxes[:, 3:]
    wanted = []
    ground = len(shapes) - 1 if kind == "sizes" else -1
    for i in range(len(shapes)):
        meets = np.all((low[i] <= high) & (high[i] >= low), axis=1)
        meets &= (body[i] != body) & ((body[i] >= 0) | (body >= 0))
        meets &= (category[i] & mask != 0) & (category & mask[i] != 0)
        wanted += [(i, int(j)) for j in np.flatnonzero(meets) if j > i]
    # A half-space is measured against, not boxed.
    assert [pair for pair in found if ground not in pair] == [pair for pair in wanted if ground not in pair]
    assert {pair for pair in found if ground in pair} <= {pair for pair in wanted if ground in pair}
    assert len(found) > 3 or n < 100
