"""Contacts of every pair of shapes, each result proved; the whole campaign is `benchmarks/geometry_campaign.py`."""

import numpy as np
import pytest
from geometry_campaign import PAIRS, campaign, one_case
from geometry_proofs import Body, least_overlap, off_triangles, prove

from contactlab.collision.detection import CollisionPoint, collide
from contactlab.simulation import (
    Box,
    Cylinder,
    Material,
    RigidInertia,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    verify,
)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_gaps_normals_and_points_are_proved(names):
    """Apart to 1e-9 of the smaller shape, overlapping to 1e-6; none deeper, none missing, none false."""
    tally = campaign(names, 36, 7)
    assert not tally.broken, tally.broken[:3]
    assert tally.apart + tally.overlapping > 15


@pytest.mark.campaign
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_gaps_normals_and_points_are_proved_by_the_ten_thousand(names):
    """The same of 10 000 random and 10 000 degenerate placements."""
    tally = campaign(names, 10000, 0)
    assert not tally.broken, tally.broken[:10]


@pytest.mark.parametrize(
    ("names", "number", "seed"),
    [
        (("box", "cylinder"), 6993, 0),  # the rim beside a face, at an angle of 1e-9
        (("box", "cylinder"), 7122, 0),  # one in the other: rounding opens the polytope
        (("box", "box"), 9548, 0),  # a corner over an edge, 1e-3 from the normal of a face
        (("box", "hull"), 4116, 0),  # a sharp corner in the band about clipped edges
        (("capsule", "capsule"), 1692, 1),  # axes cross at 1e-12
        (("capsule", "flat hull"), 362, 0),  # an end as close as the closest pair, beside it
        (("cylinder", "cylinder"), 263, 0),  # rims side by side
        (("cylinder", "cylinder"), 1781, 0),  # apart, the axis along the search of the proof
        (("cylinder", "cylinder"), 7162, 0),  # caps in one plane, overlapping at their rims
        (("cylinder", "flat hull"), 7908, 0),  # an end that the normal takes off the cylinder
        (("hull", "hull"), 671, 1),  # a cone in a cone, their bases in one plane
    ],
)
def test_placements_that_once_failed(names, number, seed):
    """One of each cause."""
    a, b, margin = one_case(names, "degenerate", number, seed)
    verdict = prove(a, b, margin, collide(a.shape, a.pose, b.shape, b.pose, margin=margin))
    assert verdict.holds, verdict


def test_a_proof_finds_what_is_wrong():
    """Each wrong result is found: a wrong gap, normal or point, a missing contact, a false contact."""
    a, b = (Body.of(Box((1.0, 2.0, 0.5)), np.eye(3), np.array([0.0, 0.0, z])) for z in (0.0, 1.0 + 1e-4))
    found = collide(a.shape, a.pose, b.shape, b.pose, margin=0.01)
    assert prove(a, b, 0.01, found).holds
    assert prove(a, b, 0.01, ()).missing
    assert prove(a, b, 1e-5, found).false
    one = found[0]
    turned = Transform.rotation((1, 0, 0), 1e-4).R @ one.normal
    for wrong in (
        CollisionPoint(one.point, one.normal, one.gap - 1e-7, 0),
        CollisionPoint(one.point, turned, one.gap, 0),
        CollisionPoint(one.point + (3.0, 0.0, 0.0), one.normal, one.gap, 0),
    ):
        assert not prove(a, b, 0.01, (wrong,)).holds


def test_least_overlaps_are_those_of_closed_forms():
    """A box in a box, a cylinder beside a cylinder and one in a box; distances from triangles."""
    box = Body.of(Box((1.0, 2.0, 3.0)), np.eye(3), np.zeros(3))
    assert least_overlap(box, box.moved(np.eye(3), np.array([0.5, 0.0, 0.0]))) == pytest.approx(1.5, abs=1e-15)
    one = Body.of(Cylinder(0.5, 2.0), np.eye(3), np.zeros(3))
    other = one.moved(np.eye(3), np.array([0.6, 0.3, 0.2]))
    assert least_overlap(one, other) == pytest.approx(1.0 - np.hypot(0.6, 0.3), abs=1e-12)
    assert least_overlap(box, one) == pytest.approx(1.5, abs=1e-12)
    triangle = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    assert off_triangles(np.array([0.2, 0.2, 0.3]), triangle) == pytest.approx(0.3, abs=1e-15)
    assert off_triangles(np.array([1.0, 1.0, 0.0]), triangle) == pytest.approx(np.sqrt(0.5), abs=1e-15)


def test_no_corner_is_nearer_than_the_closest_points():
    """Two boxes a micrometre apart, near a corner of each: their shared faces give no contact with another normal."""
    halves = (
        (0.10492856984324858, 0.17862026159963246, 0.10034219549718833),
        (0.10435202492568009, 0.09587229612669647, 0.10197993108376346),
    )
    places = (
        (0.01789476619002523, 0.6212740967794594, 0.21637184952124278, 0.07403920567914966, 0.0003084651245909358,
         0.8765655596807764, 0.4755532782488151),
        (-0.008106141925642773, 0.6542996528998128, 0.5890299845983299, 0.03420071493737195, 0.5662567488302515,
         0.6385861511442835, -0.5199916663454297),
    )  # fmt: skip
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    for i in range(2):
        shape, inertia = Box(halves[i]), RigidInertia.solid_box(1.0, halves[i])
        # They approach fast, so that corners are looked for.
        way = (0.0, 0.0, 0.0, 0.0, 0.0, (2.0, -2.0)[i])
        builder.add_free_body(f"box{i}", inertia, shape, Material(1.0), places[i], way)
    recording = simulate(builder.build(), TimeStepping(2e-3), steps=1)
    assert verify(recording).holds
    assert np.asarray(recording.contacts.gap).min() == pytest.approx(1.1222908e-6, abs=1e-12)
