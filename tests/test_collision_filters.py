"""Categories and masks: who meets whom, half-spaces included, in the step, in files and in the verification."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import Box, Capsule, Cylinder, HalfSpace, Material, Sphere
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia

ROUGH = Material(0.5)
BALL = RigidInertia.solid_sphere(1.0, 0.1)
ALL = 0xFFFFFFFF


def world(first=(1, ALL), second=(1, ALL), ground=(1, ALL), shape=None):
    """A ball above another on the ground."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH, category=ground[0], mask=ground[1])
    own = Sphere(0.1) if shape is None else shape
    for name, z, (category, mask) in (("low", 0.1, first), ("high", 0.3, second)):
        builder.add_free_body(name, BALL, own, ROUGH, (0, 0, z, 1, 0, 0, 0), category=category, mask=mask)
    return builder.build()


def heights(made, steps=60):
    """Where both are in the end."""
    recording = simulate(made, TimeStepping(1e-3), steps=steps)
    assert verify(recording, every=20).holds
    return recording.q[-1, [2, 9]]


FALLEN = 0.5 * 9.81 * 0.06**2


@pytest.mark.parametrize(
    ("first", "second", "ground", "expected"),
    [
        ((1, ALL), (1, ALL), (1, ALL), (0.1, 0.3)),
        ((1, ALL), (2, 4), (4, ALL), (0.1, 0.3 - FALLEN)),
        ((1, ALL & ~2), (2, ALL), (1, ALL), (0.1, 0.3 - FALLEN)),
        ((8, ALL), (1, ALL), (1, ALL & ~8), (0.1 - FALLEN, 0.3 - FALLEN)),
        ((1, 0), (1, ALL), (1, ALL), (0.1 - FALLEN, 0.3 - FALLEN)),
    ],
)
def test_a_pair_needs_both_masks(first, second, ground, expected):
    """Of bodies, and of a body and a half-space; what does not meet falls freely."""
    found = heights(world(first, second, ground))
    # The step is first order: a free fall is off by g h t / 2.
    assert found == pytest.approx(expected, abs=4e-4)


def test_shapes_that_meet_half_spaces_by_pairs_are_filtered_too():
    """A cylinder's contacts with the ground come from the narrow phase."""
    standing = Cylinder(0.1, 0.1)
    assert heights(world(shape=standing)) == pytest.approx((0.1, 0.3), abs=1e-9)
    filtered = world((1, ALL), (8, ALL & ~1), (1, ALL), shape=standing)
    assert heights(filtered) == pytest.approx((0.1, 0.3 - FALLEN), abs=4e-4)


def test_several_shapes_of_a_body_have_filters_of_their_own(tmp_path):
    """A body rests on the one of its shapes that may touch the ground; a file keeps that."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH, category=2, mask=2)
    builder.add_free_body("body", BALL, Sphere(0.2), ROUGH, (0, 0, 0.1, 1, 0, 0, 0))
    builder.add_shape("body", Capsule(0.05, 0.05), ROUGH, category=2, mask=2)
    made = builder.build()
    recording = simulate(made, TimeStepping(1e-3), steps=20)
    assert recording.q[-1, 2] == pytest.approx(0.1, abs=1e-9)
    recording.save(tmp_path / "filters.npz")
    opened = Recording.open(tmp_path / "filters.npz")
    assert opened.world.half_space_filters == ((2, 2),)
    assert [(s.category, s.mask) for s in opened.world.surfaces] == [(1, ALL), (2, 2)]
    assert np.array_equal(simulate(opened.world, opened.stepper, steps=20).q, recording.q)


@pytest.mark.parametrize(
    ("category", "mask", "field"), [(-1, 1, "category"), (1, 1 << 32, "mask"), (0.5, 1, "category")]
)
def test_filters_are_checked(category, mask, field):
    """32 bits, whole numbers."""
    builder = WorldBuilder()
    with pytest.raises(SimulationConfigError) as caught:
        builder.add_fixed_body("table", Box.cube(1.0), ROUGH, category=category, mask=mask)
    assert caught.value.field == field
    with pytest.raises(SimulationConfigError) as caught:
        builder.add_half_space("ground", HalfSpace(), ROUGH, category=category, mask=mask)
    assert caught.value.field == field
