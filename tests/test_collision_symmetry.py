from __future__ import annotations

import itertools

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, random_pose, random_shape, sorted_rows

from contactlab.contact.detection import collide, distance
from contactlab.spatial import Transform

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


def test_features_persist_while_the_same_corners_touch():
    """A box that slides and sinks a little keeps the numbers of its contacts."""
    from contactlab.contact import Box

    seen = set()
    for x in np.linspace(0.0, 0.3, 7):
        pose = Transform(p=(x, 0.1, 1.499 - 0.001 * x))
        seen.add(tuple(c.feature for c in collide(Box((2, 2, 1)), Transform(), Box((1, 1, 0.5)), pose)))
    assert len(seen) == 1
