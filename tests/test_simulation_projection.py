"""Position projection: penetrations are undone in q, by a small displacement in the metric of the masses."""

import math
from dataclasses import replace

import numpy as np
import pytest
import simulation_scenes as scenes
from test_simulation_two_drivers import check_public_path

import lcp
from contactlab.multibody.joints import Revolute
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    HalfSpace,
    ImplausibleWarning,
    JointLimit,
    Material,
    ModelBuilder,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    verify,
)

DEPTH = 3e-3
#: Depth that is left of extents of 80 mm: nine tenths of what is left alone.
LEFT = 0.9 * 1e-4 * 0.08


def sunk_box(depth=DEPTH):
    """A brick at rest, its lower face this deep below the ground."""
    half = (0.2, 0.15, 0.04)
    inertia = RigidInertia.solid_box(2.0, half)
    return scenes.one_body(Box(half), inertia, mu=0.5, q=(0, 0, 0.04 - depth, 1, 0, 0, 0))


def crossed_balls():
    """Two balls in space that share DEPTH of the line between them, the second of three times the first's mass."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    for name, mass, x in (("light", 1.0, -0.1), ("heavy", 3.0, 0.1 - DEPTH)):
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.3), (x, 0, 0, 1, 0, 0, 0))
    return builder.build()


def test_one_step_ends_a_penetration_and_brings_no_kinetic_energy():
    """The brick rests at nine tenths of the allowed depth; the lift is in the ledger."""
    recording = simulate(sunk_box(), TimeStepping(1e-3), steps=3)
    assert recording.q[1, 2] == pytest.approx(0.04 - LEFT, abs=0.05 * LEFT)
    assert np.abs(recording.v[1:]).max() < 1e-12
    np.testing.assert_allclose(recording.q[1:, 3:], np.broadcast_to((1, 0, 0, 0), (3, 4)), atol=1e-6)
    ledger = recording.ledger
    lift = recording.q[1, 2] - recording.q[0, 2]
    assert ledger.projection[0] == pytest.approx(2.0 * scenes.G * lift, rel=1e-7)
    assert not ledger.projection[1:].any()
    assert np.abs(ledger.residual).max() < 1e-14
    assert recording.contacts_at(0).projection_multiplier.sum() == pytest.approx(2.0 * lift, rel=1e-7)
    assert verify(recording).holds


def test_what_is_allowed_is_left_alone():
    """A brick that rests within the allowance stays where it is, to the last bit of its height."""
    recording = simulate(sunk_box(0.9e-4 * 0.08), TimeStepping(1e-3), steps=50)
    assert not recording.contacts.projection_multiplier.any()
    assert np.ptp(recording.q[:, 2]) < 1e-17
    told = simulate(sunk_box(), TimeStepping(1e-3, penetration_allowance=2 * DEPTH), steps=5)
    assert not told.contacts.projection_multiplier.any()
    exact = simulate(sunk_box(), TimeStepping(1e-3, penetration_allowance=0.0), steps=5)
    assert exact.q[-1, 2] == pytest.approx(0.04, abs=1e-8)
    assert verify(told).holds
    assert verify(exact).holds


def test_bodies_part_in_inverse_proportion_to_their_masses():
    """The displacement of least m dx^2: the light ball takes three quarters, the centre of mass stays."""
    recording = simulate(crossed_balls(), TimeStepping(1e-3, max_depenetration_velocity=100.0), steps=1)
    moved = (recording.q[1] - recording.q[0]).reshape(2, 7)
    parted = DEPTH - 0.9 * 1e-4 * 0.2
    np.testing.assert_allclose(moved[:, 0], [-0.75 * parted, 0.25 * parted], rtol=1e-7)
    assert not recording.v[1].any()
    assert np.abs(recording.ledger.residual).max() < 1e-15


def test_what_overlaps_at_the_start_parts_at_a_bounded_speed_and_is_told_once():
    """A brick half in the ground rises by ten times its length a second, or at the given speed."""
    with pytest.warns(ImplausibleWarning, match="overlap from the start") as told:
        recording = simulate(sunk_box(0.04), TimeStepping(1e-3), steps=20)
    assert len(told) == 1
    rise = np.diff(recording.q[:, 2])
    assert rise.max() == pytest.approx(10 * 0.4 * 1e-3, rel=1e-2)
    assert recording.q[-1, 2] == pytest.approx(0.04, abs=1e-5)
    assert np.abs(recording.v).max() < 1e-12
    with pytest.warns(ImplausibleWarning):
        slow = simulate(sunk_box(0.04), TimeStepping(1e-3, max_depenetration_velocity=0.5), steps=20)
    assert np.diff(slow.q[:, 2]).max() == pytest.approx(0.5e-3, rel=1e-2)


def test_friction_holds_what_is_pushed():
    """A wedge that has sunk a little between two bricks pushes them, and friction is part of what moves them."""
    found = {}
    for mu in (0.0, 0.8):
        builder, m = WorldBuilder(), Material(mu)
        builder.add_half_space("ground", HalfSpace(), m)
        half, apart, depth = (0.1, 0.1, 0.05), 0.05, 3e-5
        for name, side in (("left", -1.0), ("right", 1.0)):
            at = (side * (half[0] + apart), 0, half[2], 1, 0, 0, 0)
            builder.add_free_body(name, RigidInertia.solid_box(2.0, half), Box(half), m, at)
        wedge = ConvexPoints([(x, y, z) for y in (-0.1, 0.1) for x, z in ((0.0, 0.0), (-0.1, 0.1), (0.1, 0.1))])
        inertia = RigidInertia(2.0, (0, 0, 0.067), np.diag([0.02, 0.02, 0.02]))
        builder.add_free_body("wedge", inertia, wedge, m, (0, 0, 2 * half[2] - apart - depth, 1, 0, 0, 0))
        recording = simulate(builder.build(), TimeStepping(2e-3), steps=3)
        assert recording.contacts_at(1).gap.min() > -1.1e-5
        assert verify(recording).holds
        found[mu] = np.abs(recording.contacts.projection_multiplier_tangential).max()
    assert found[0.0] == 0.0
    assert found[0.8] > 0.0


def test_stops_are_not_passed_by_what_a_blow_does_to_another_joint():
    """A double pendulum whose tip is struck: the elbow, far from its stop before, ends at it; verify holds."""
    model = ModelBuilder()
    link = RigidInertia(1.0, (0, 0, -0.15), 1e-3 * np.eye(3))
    model.add_body("upper", joint=Revolute((0, 1, 0)), inertia=link)
    at = Transform(p=(0, 0, -0.3))
    model.add_body("lower", parent="upper", joint=Revolute((0, 1, 0)), placement=at, inertia=link)
    builder = WorldBuilder()
    builder.add_model(model.build())
    builder.add_shape("lower", Sphere(0.05), Material(0.2), placement=Transform(p=(0, 0, -0.3)))
    builder.add_joint_limit(JointLimit("lower", -0.1, 0.1))
    ball = RigidInertia.solid_sphere(5.0, 0.05)
    builder.add_free_body("ball", ball, Sphere(0.05), Material(0.2), (-0.11, 0, -0.6, 1, 0, 0, 0), (20, 0, 0, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(5e-3), steps=20)
    assert np.abs(recording.q[:, 1]).max() > 0.05
    assert np.abs(recording.q[:, 1]).max() < 0.1 + 2e-5
    assert verify(recording).holds
    sunk = simulate(builder.build(), TimeStepping(5e-3, projection=False), steps=20)
    assert np.abs(sunk.q[:, 1]).max() > 0.11


def test_a_joint_beyond_its_limit_is_pushed_back_and_verified():
    """A hinge that starts 0.01 rad beyond its limit ends at it; the record has the push, and verify knows limits."""
    model = ModelBuilder()
    model.add_body("arm", joint=Revolute((0, 0, 1)), inertia=RigidInertia.solid_box(1.0, (0.2, 0.05, 0.05)))
    builder = WorldBuilder()
    builder.add_model(model.build(), [0.11])
    builder.add_joint_limit(JointLimit("arm", -0.1, 0.1))
    recording = simulate(builder.build(), TimeStepping(1e-2), steps=5)
    assert recording.rows["joint_projection_multiplier"].max() > 0.0
    assert recording.q[-1, 0] == pytest.approx(0.1, abs=1e-5)
    report = verify(recording)
    assert report.holds, report


def test_a_tumble_with_projection_verifies_closes_its_ledger_and_resumes(tmp_path):
    """Impacts, rolling and sliding: no deep penetration; public path, ledger and restart to the bit."""
    world, stepper = scenes.tumble(), TimeStepping(5e-3, penetration_allowance=0.0)
    recording = simulate(world, stepper, 1.0, path=tmp_path / "run.npz")
    # Of what the step linearises, nothing stays; the turn of a body within a step is of second order.
    without = simulate(world, TimeStepping(5e-3, projection=False), 1.0)
    assert recording.contacts.gap.min() > 0.5 * without.contacts.gap.min()
    assert verify(recording, every=3).holds
    assert np.abs(recording.ledger.residual).max() < 1e-13
    assert np.abs(recording.ledger.projection).max() > 0.0
    assert check_public_path(recording, every=7) > 5
    opened = Recording.open(tmp_path / "run.npz")
    again = simulate(opened.world, opened.stepper, steps=20, state=opened.state(100))
    assert np.array_equal(again.q, recording.q[100:121])
    inside, outside = (
        simulate(world, replace(stepper, solver=solver), 1.0) for solver in (lcp.Lemke(), scenes.Outside())
    )
    assert np.array_equal(outside.q, inside.q)


def test_a_changed_push_does_not_verify():
    """Changed multipliers or displacements, pushes beyond friction, and pushes without projection are found."""
    recording = simulate(sunk_box(), TimeStepping(1e-3), steps=1)
    rows = {**recording.rows, "contact_projection_multiplier": 1.01 * recording.rows["contact_projection_multiplier"]}
    report = verify(Recording(recording.world, recording.stepper, rows))
    assert {failure.condition for failure in report.failures} == {"integration"}
    rows = {**recording.rows, "contact_projection_multiplier": -recording.rows["contact_projection_multiplier"]}
    report = verify(Recording(recording.world, recording.stepper, rows))
    assert {failure.condition for failure in report.failures} == {"integration", "projection"}
    aside = np.stack(
        (recording.rows["contact_projection_multiplier"], 0.0 * recording.rows["contact_projection_multiplier"]), axis=1
    )
    report = verify(
        Recording(
            recording.world, recording.stepper, {**recording.rows, "contact_projection_multiplier_tangential": aside}
        )
    )
    assert {failure.condition for failure in report.failures} == {"integration", "projection"}
    report = verify(Recording(recording.world, TimeStepping(1e-3, projection=False), recording.rows))
    assert {failure.condition for failure in report.failures} == {"projection"}
    lenient = TimeStepping(1e-3, penetration_allowance=1.0)
    report = verify(Recording(recording.world, lenient, recording.rows))
    assert {failure.condition for failure in report.failures} == {"projection"}


RADIUS, ARM, TURN = 0.012, 0.03, 0.2


def beside_a_turning_rod(gap, kind="sphere"):
    """A rod that turns about its middle by `TURN` in a step of 2 ms, towards a fixed ball beside it."""
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    rod, w = Capsule(RADIUS, 0.05), TURN / 2e-3
    inertia = RigidInertia(0.1, (0, 0, 0), np.diag([1e-4, 1e-4, 1e-5]))
    along_x = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)
    builder.add_free_body("rod", inertia, rod, Material(0.0), (0, 0, 0, *along_x), (0, 0, 0, -w, 0, 0))
    ball = Sphere(RADIUS) if kind == "sphere" else Box((RADIUS,) * 3)
    builder.add_fixed_body("ball", ball, Material(0.0), Transform(p=(ARM, 2 * RADIUS + gap, 0)))
    return builder.build()


def test_gaps_are_computed_where_a_turn_ends():
    """The rod ends at s cos a - x sin a - 2 r from the ball, and not at s - x a - 2 r; the difference is corrected."""
    gap = ARM * TURN + 0.1 * 2 * RADIUS * TURN**2
    recording = simulate(beside_a_turning_rod(gap), TimeStepping(2e-3), steps=2)
    across = 2 * RADIUS + gap
    (correction,) = recording.contacts.gap_correction[recording.contacts.step == 0]
    # The force is 0: the row sees no contact.
    assert recording.v[1] == pytest.approx(recording.v[0])
    assert correction == pytest.approx(across * (math.cos(TURN) - 1.0) - ARM * (math.sin(TURN) - TURN), abs=1e-12)
    after = recording.contacts.gap[recording.contacts.step == 1]
    assert after == pytest.approx(-0.9e-4 * 2 * RADIUS, abs=1e-2 * RADIUS)
    assert verify(recording).holds
    changed = {**recording.rows, "contact_gap_correction": -recording.rows["contact_gap_correction"]}
    report = verify(Recording(recording.world, recording.stepper, changed))
    assert {failure.condition for failure in report.failures} == {"projection"}


@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_what_turns_fast_is_not_deep(kind):
    """Wherever the obstacle stands; without the correction some are 2 % and more of the rod deep."""
    worst = 0.0
    for gap in np.linspace(1e-3, 1.2e-2, 12):
        recording = simulate(beside_a_turning_rod(gap, kind), TimeStepping(2e-3), steps=40)
        worst = min(worst, recording.contacts.gap.min(initial=0.0))
        assert verify(recording).holds
    assert worst > -0.02 * 2 * RADIUS
