"""Records of bodies that touch one another, checked by arithmetic of their own."""

from __future__ import annotations

import numpy as np
import pytest
from body_contact_scenes import ball_on_a_moving_box, collision_in_space, heap, pendulum_and_box, stack

from contactlab.simulation import Recording, TimeStepping, simulate, verify

SCENES = {
    "stack": lambda: stack(3),
    "ball on a box": ball_on_a_moving_box,
    "pendulum": pendulum_and_box,
    "collision": collision_in_space,
    "heap": lambda: heap(5, 1),
}


@pytest.mark.parametrize("name", SCENES)
def test_bodies_in_contact_hold(name):
    """Rows between two bodies, formed a second time, carry the recorded forces."""
    recording = simulate(SCENES[name](), TimeStepping(0.01, edges=4), steps=60)
    assert np.any(recording.contacts.body_a >= 0)
    report = verify(recording, every=3)
    assert report.holds, str(report)


@pytest.mark.parametrize("array", ["contact_z", "contact_gap", "contact_normal", "v"])
def test_a_changed_number_between_bodies_is_found(array):
    """As it is where a body touches the ground."""
    recording = simulate(ball_on_a_moving_box(), TimeStepping(0.01, edges=4), steps=40)
    rows = {name: np.array(value) for name, value in recording.rows.items()}
    between = np.flatnonzero((rows["contact_body_a"] >= 0) & (rows["contact_impulse_normal"] > 0.0))
    entry = (20, 0) if array == "v" else (int(between[-1]), *[0] * (rows[array].ndim - 1))
    rows[array][entry] += 1e-4
    assert not verify(Recording(recording.world, recording.stepper, rows)).holds
