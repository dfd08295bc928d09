"""Logs that touch along a line: closed forms of their contacts, and of what rests on them."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import Cylinder, Material
from contactlab.contact.detection import collide
from contactlab.simulation import TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, Transform

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
    """With depths taken back by springs nothing lifts it above where it began."""
    recording = simulate(logs(0.02), TimeStepping(h=0.002, erp=0.2), duration=0.6)
    assert recording.q[:, 2].max() <= REST + 0.02 + 1e-12
    assert recording.q[-1, 2] == pytest.approx(REST, abs=1e-4)


GAPS = [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("turn", [0.0, 0.3, 2.0])
def test_parallel_cylinders_touch_at_the_ends_of_the_line_they_share(gap, tilt, turn):
    """Two contacts, whatever rounding does: gap, normal and points of the closed form, either way round."""
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
