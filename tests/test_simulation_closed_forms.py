"""Scenes with a known answer: the error falls with h as a first-order stepper's must."""

from __future__ import annotations

import math

import numpy as np
import pytest
import simulation_scenes as scenes

from contactlab.simulation import SLIDE, STICK, TimeStepping, simulate

G = scenes.G
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)


def order(errors):
    """Return the slope of the error over h in logarithms."""
    return np.polyfit(np.log(STEPS), np.log(np.abs(errors)), 1)[0]


def run(world, h, duration, **options):
    recording = simulate(world, TimeStepping(h, **options), duration)
    assert recording.worst_certificate().scaled <= 1e-9
    assert recording.worst_certificate().mechanical <= 1e-9
    return recording


def test_sliding_block_stops_where_coulomb_says():
    """Distance v0^2 / (2 mu g), stop at v0 / (mu g), straight ahead."""
    mu, v0 = 0.3, 1.5
    errors = []
    for h in STEPS:
        recording = run(scenes.block(mu, v0), h, 1.2 * v0 / (mu * G))
        errors.append(recording.q[-1, 0] - v0**2 / (2 * mu * G))
        assert np.abs(recording.v[-1]).max() < 1e-12
        stopped = recording.time[np.argmax(recording.v[:, 0] < 1e-9)]
        assert abs(stopped - v0 / (mu * G)) <= h
        assert np.abs(recording.q[-1, 1]) < 1e-12
        assert recording.q[-1, 2] == pytest.approx(0.04, abs=1e-12)
        modes = recording.contacts.mode
        pressed = recording.contacts.impulse_normal > 0
        assert set(modes[pressed & (recording.contacts.step == 5)]) == {SLIDE}
        assert set(modes[pressed & (recording.contacts.step == recording.n_steps - 1)]) == {STICK}
    assert order(errors) >= 0.9
    assert abs(errors[-1]) < v0 * STEPS[-1]


def test_ball_slides_then_rolls():
    """It rolls at 5/7 v0 from t = 2 v0 / (7 mu g), x = 12 v0^2 / (49 mu g) on, with 5/7 of its energy."""
    mu, v0 = 0.2, 2.0
    rolling = 2 * v0 / (7 * mu * G)
    errors = []
    for h in STEPS:
        recording = run(scenes.ball(mu, v0), h, 2 * rolling)
        exact = 12 * v0**2 / (49 * mu * G) + 5 / 7 * v0 * (recording.time[-1] - rolling)
        errors.append(recording.q[-1, 0] - exact)
        assert recording.v[-1, 0] == pytest.approx(5 / 7 * v0, rel=1e-9)
        assert recording.kinetic[-1] == pytest.approx(5 / 7 * recording.kinetic[0], rel=1e-9)
        at_end = recording.contacts.step == recording.n_steps - 1
        assert recording.contacts.slip[at_end].max() < 1e-12
        assert recording.contacts.mode[5] == SLIDE
    assert order(errors) >= 0.9
    assert abs(errors[-1]) < v0 * STEPS[-1]


def test_a_bouncing_ball_comes_to_rest():
    """Bounces end after the Zeno time sqrt(2 h / g) (1 + e) / (1 - e)."""
    recording = run(scenes.dropped_ball(0.1, 0.5), 1e-3, 1.0)
    zeno = math.sqrt(2 * 0.1 / G) * 3.0
    late = recording.time > 1.1 * zeno
    assert np.abs(recording.v[late]).max() < 1e-12
    assert np.abs(recording.q[late, 2] - 0.1).max() < 1e-9
