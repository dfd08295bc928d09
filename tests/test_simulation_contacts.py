"""The contact table, contact entry and warm starts; logs that touch along a line."""

import numpy as np
import pytest
import simulation_scenes as scenes

from contactlab.collision import tangent_frame
from contactlab.collision.detection import collide
from contactlab.simulation import (
    OPEN,
    SLIDE,
    STICK,
    Box,
    Cylinder,
    HalfSpace,
    Material,
    RigidInertia,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    step,
    verify,
)


def test_the_contact_table_is_ordered_and_agrees_with_itself():
    """By body, half-space and point; impulses are sums of their parts, in the cone; modes follow from the slip."""
    tumble = simulate(scenes.tumble(), TimeStepping(1e-3), 1.0)
    for i in range(0, tumble.n_steps, 10):
        rows = tumble.contacts_at(i)
        keys = list(zip(rows.body_b, rows.half_space, rows.id, strict=True))
        assert keys == sorted(set(keys))
        assert np.all(np.diff(rows.id) > 0)
        assert np.all(rows.body_a == -1)
        # One body per island here, numbered by body.
        assert np.array_equal(rows.island, np.unique(rows.body_b, return_inverse=True)[1])
    rows = tumble.contacts
    for n in np.unique(rows.normal, axis=0):
        t1, t2 = tangent_frame(n)
        mask = np.all(rows.normal == n, axis=1)
        chosen = rows.rows(mask)
        rebuilt = chosen.impulse_normal[:, None] * n + chosen.impulse_tangential @ np.array([t1, t2])
        np.testing.assert_allclose(rebuilt, chosen.impulse, atol=1e-14)
        size = np.linalg.norm(chosen.impulse_tangential, axis=1)
        assert np.all(size <= chosen.mu * chosen.impulse_normal * (1 + 1e-9) + 1e-14)
    assert np.all(rows.impulse_normal[rows.mode == OPEN] == 0)
    assert np.all(rows.impulse_normal[rows.mode != OPEN] > 0)
    assert rows.slip[rows.mode == STICK].max() < 1e-7
    sliding = rows.rows(rows.mode == SLIDE)
    ratio = np.linalg.norm(sliding.impulse_tangential, axis=1) / (sliding.mu * sliding.impulse_normal)
    assert ratio.min() > np.cos(np.pi / 8) - 1e-9
    # Friction opposes the slip: no energy comes from it.
    assert len(sliding) > 10
    # Gaps stay above the error of one linearised step.
    assert rows.gap.min() > -1e-4


def test_margin_decides_who_takes_part():
    """A contact enters at gap <= margin + h max(0, -N v)."""
    stepper = TimeStepping(1e-2, margin=2e-3)
    for gap, speed, enters in [(1.9e-3, 0.0, True), (2.1e-3, 0.0, False), (2.1e-3, -0.1, True), (2.1e-3, 0.1, False)]:
        world = scenes.dropped_ball(gap)
        result = step(world, stepper, world.initial_state(v=(0, 0, speed, 0, 0, 0)))
        assert (len(result.contacts) == 1) is enters


def test_a_gap_is_closed_not_crossed():
    """A slow contact may close its gap within the step: it ends on the surface."""
    world = scenes.dropped_ball(1e-4)
    result = step(world, TimeStepping(1e-2), world.initial_state())
    assert result.state.q[2] == pytest.approx(0.1, abs=1e-15)
    assert result.contacts.mode[0] == STICK


def test_stabilisation_is_asked_for():
    """A penetration stays with erp = 0 and goes by the fraction erp per step otherwise, without projection."""
    sunk = scenes.dropped_ball(-1e-3)
    for erp, left in [(0.0, -1e-3), (0.25, -0.75e-3), (1.0, 0.0)]:
        result = step(sunk, TimeStepping(1e-2, erp=erp, projection=False), sunk.initial_state())
        assert result.state.q[2] - 0.1 == pytest.approx(left, abs=1e-12)


def test_what_rests_on_one_another_sticks():
    """Bodies that fall together have no relative speed: slip by rounding is none; sliding bodies still slide."""
    builder, wood = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), wood)
    for i in range(3):
        box = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
        v = (0.3, 0, 0, 0, 0, 0) if i == 2 else None
        builder.add_free_body(f"box {i}", box, Box.cube(0.1), wood, q=(0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0), v=v)
    recording = simulate(builder.build(), TimeStepping(5e-3), steps=20)
    contacts = recording.contacts
    upper = contacts.body_b == 2
    first, last = contacts.step == 0, contacts.step == 19
    assert (contacts.mode[upper & first] == SLIDE).all()
    assert (contacts.mode[last] == STICK).all()
    assert (contacts.slip[last] < 1e-12).all()
    assert verify(recording).holds


R, HALF = 0.1, 0.3
LYING = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
# Where a log rests in the groove of two others whose axes are 0.22 m apart, and the normal there.
REST = np.sqrt(0.04 - 0.11**2)
NORMAL = np.array([0.55, 0.0, REST / 0.2])


def logs(lift):
    """A log over the groove between two that are fixed."""
    mass, s = 5.0, np.sqrt(0.5)
    across = mass * (3 * R * R + 4 * HALF * HALF) / 12
    inertia = RigidInertia(mass, (0, 0, 0), np.diag([across, across, 0.5 * mass * R * R]))
    builder, shape = WorldBuilder(), Cylinder(R, HALF)
    for name, x in (("left", -0.11), ("right", 0.11)):
        builder.add_fixed_body(name, shape, Material(0.3), Transform(LYING, (x, 0, 0)))
    builder.add_free_body("log", inertia, shape, Material(0.3), q=(0, 0, REST + lift, s, s, 0, 0))
    return builder.build()


@pytest.mark.parametrize(("h", "lift"), [(0.004, 0.0), (0.002, 0.02), (0.005, 0.004)])
def test_a_log_rests_in_the_groove_of_two(h, lift):
    """It stays where both others hold it, on both ends of each, along the normals of the closed form."""
    recording = simulate(logs(lift), TimeStepping(h=h), duration=0.6)
    table = recording.contacts
    assert recording.q[-1, 2] == pytest.approx(REST, abs=2e-4)
    assert table.gap.min() > -2e-4
    last = recording.contacts_at(recording.n_steps - 1)
    assert len(last) == 4
    for name, normal, point in zip(last.names_a, last.normal, last.point, strict=True):
        side = 1.0 if name == "left" else -1.0
        np.testing.assert_allclose(normal, NORMAL * (side, 1, 1), atol=1e-3)
        assert abs(point[1]) == pytest.approx(HALF, abs=1e-3)
    assert verify(recording, every=5).holds


def test_a_log_is_not_shot_out_of_the_groove():
    """With depths corrected by springs the log never rises above its start."""
    recording = simulate(logs(0.02), TimeStepping(h=0.002, erp=0.2), duration=0.6)
    assert recording.q[:, 2].max() <= REST + 0.02 + 1e-12
    assert recording.q[-1, 2] == pytest.approx(REST, abs=1e-4)


GAPS = [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("turn", [0.0, 0.3, 2.0])
def test_parallel_cylinders_touch_at_the_ends_of_the_line_they_share(gap, tilt, turn):
    """Two contacts, in spite of rounding: gap, normal and points of the closed form, in both orders."""
    normal = np.array([np.cos(turn), np.sin(turn), 0.0])
    tilted = Transform.rotation(normal, tilt).R
    pose = Transform(tilted, (R + 0.05 + gap) * normal + (0.0, 0.0, 0.1))
    a, b = Cylinder(R, HALF), Cylinder(0.05, HALF)
    for swapped in (False, True):
        order = (b, pose, a, Transform()) if swapped else (a, Transform(), b, pose)
        contacts = collide(*order, margin=2e-3)
        assert len(contacts) == 2
        assert sorted(c.point[2] for c in contacts) == pytest.approx([-0.2, 0.3], abs=1e-6)
        for contact in contacts:
            # Crossing at the tilt t, lines part by (s t)^2 over twice the radii's sum, s from where they cross.
            assert contact.gap == pytest.approx(gap, abs=1e-11 + 4.0 * tilt**2)
            # Axes that cross at so small an angle have a common normal that rounding of the poses decides.
            slack = 1e-10 if tilt <= 1e-12 else 1e-5
            np.testing.assert_allclose(contact.normal, -normal if swapped else normal, atol=slack)
