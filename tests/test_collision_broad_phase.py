"""The broad phase of many shapes: every pair of overlapping boxes, whatever their sizes, order and places."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import Box, HalfSpace, HeightField, Sphere
from contactlab.contact.detection import bounds, candidate_pairs, pack_shapes
from contactlab.spatial import Transform


def scene(kind, n, seed):
    """Shapes and poses: alike in a cube, of all sizes in a layer, spread far and wide."""
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
    shapes, poses = scene(kind, n, n)
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


def test_the_last_order_has_no_influence():
    """The kernel gives the same pairs from any order to begin with."""
    from contactlab.contact.detection.kernels.support import all_bounds
    from contactlab.contact.detection.kernels.sweep_and_prune import candidates
    from contactlab.contact.shapes.shape import pose_row

    shapes, poses = scene("alike", 700, 3)
    packed, n = pack_shapes(shapes), len(shapes)
    world = np.array([pose_row(pose) for pose in poses])
    boxes, keys, bits = np.empty((n, 6)), np.empty(n), np.full(n, -1, dtype=np.int64)
    all_bounds(packed.kind, packed.size, world, packed.data, 0.0, boxes)
    answers = []
    for seed in range(3):
        order, pairs = np.random.default_rng(seed).permutation(n), np.zeros(20 * n, dtype=np.int64)
        body = np.arange(n)
        count = candidates(packed.kind, packed.size, world, boxes, 0.0, body, bits, bits, order, keys, pairs)
        answers.append(pairs[:count])
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])
