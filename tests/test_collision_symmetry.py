from __future__ import annotations

import itertools

import numpy as np
import pytest
from collision_scenes import ROUND_AND_FLAT, random_pose, random_shape, sorted_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from contactlab.contact import HalfSpace
from contactlab.contact.detection import collide, distance
from contactlab.spatial import Transform

PAIRS = list(itertools.combinations_with_replacement(ROUND_AND_FLAT, 2))


def scene(kinds, seed, size=1.0):
    rng = np.random.default_rng(seed)
    a, b = (random_shape(kind, rng, size) for kind in kinds)
    poses = [random_pose(rng) for _ in range(2)]
    return a, Transform(poses[0].R, size * poses[0].p), b, Transform(poses[1].R, size * poses[1].p)


@pytest.mark.parametrize("kinds", PAIRS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_swapping_the_shapes_turns_the_normals_round(kinds, seed):
    """The same points and gaps, opposite normals."""
    a, pose_a, b, pose_b = scene(kinds, seed)
    one, two = distance(a, pose_a, b, pose_b), distance(b, pose_b, a, pose_a)
    assert one.gap == pytest.approx(two.gap, abs=1e-9 if "cylinder" in kinds else 1e-10)
    if abs(one.gap) > 1e-3 and one.gap > 0:
        np.testing.assert_allclose(one.normal, -two.normal, atol=1e-7 if "cylinder" in kinds else 1e-8)
        there, back = collide(a, pose_a, b, pose_b, margin=3), collide(b, pose_b, a, pose_a, margin=3)
        assert len(there) == len(back)
        if "cylinder" not in kinds:
            back_rows = sorted_rows(back)
            back_rows[:, 3:6] *= -1.0
            np.testing.assert_allclose(sorted_rows(there), back_rows, atol=1e-6)


@pytest.mark.parametrize("kinds", PAIRS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_rigid_motion_moves_contacts_along(kinds, seed):
    """Gaps do not depend on where the pair is, points and normals move with it."""
    a, pose_a, b, pose_b = scene(kinds, seed)
    rng = np.random.default_rng(seed + 1)
    motion = random_pose(rng, 5.0)
    here, there = distance(a, pose_a, b, pose_b), distance(a, motion @ pose_a, b, motion @ pose_b)
    slack = 1e-9 if "cylinder" in kinds else 1e-10
    assert there.gap == pytest.approx(here.gap, abs=slack)
    if here.gap > 1e-3:
        np.testing.assert_allclose(there.normal, motion.R @ here.normal, atol=1e-7 if "cylinder" in kinds else 1e-8)


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_gaps_scale_with_the_size(kinds, size):
    """Millimetres and kilometres: the same scene, the same relative gap."""
    for seed in range(15):
        unit, scaled = scene(kinds, seed), scene(kinds, seed, size)
        one, other = distance(*unit), distance(*scaled)
        assert other.gap == pytest.approx(size * one.gap, abs=1e-9 * size)


@pytest.mark.parametrize("kind", ROUND_AND_FLAT)
def test_half_space_from_either_side(kind):
    """A half-space may be A or B."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        shape, pose = random_shape(kind, rng), random_pose(rng)
        floor = HalfSpace(rng.normal(size=3), 0.1)
        there, back = collide(floor, Transform(), shape, pose), collide(shape, pose, floor, Transform())
        assert [c.feature for c in there] == [c.feature for c in back]
        for one, two in zip(there, back, strict=True):
            np.testing.assert_array_equal(one.normal, -two.normal)
            np.testing.assert_array_equal(one.point, two.point)
            assert one.gap == two.gap


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
