"""The gyroscopic torque of free bodies: by the midpoint rule, explicit, or left out."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.contact import Box, Material
from contactlab.simulation import TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia

# Dzhanibekov's wing nut: a spin about the middle axis, a trace of another beside it.
I = np.array([0.2, 0.3, 0.4])
START = np.array([1e-3, 5.0, 0.0])


def wing_nut(gyroscopic, h=1e-2, duration=30.0):
    """A body in free space with three different moments of inertia."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    inertia = RigidInertia(1.0, inertia=np.diag(I))
    builder.add_free_body("nut", inertia, Box.cube(0.1), Material(0.5), v=(0, 0, 0, *START))
    return simulate(builder.build(), TimeStepping(h, gyroscopic=gyroscopic), duration)


def turns_over(recording):
    """How often the spin about the middle axis changes its sign."""
    return int(np.count_nonzero(np.diff(np.sign(recording.v[:, 4]))))


def test_implicit_flips_and_keeps_the_energy():
    """The middle axis turns over every 10 s or so; energy and |L| stay to rounding."""
    recording = wing_nut("implicit")
    assert turns_over(recording) == 3
    np.testing.assert_allclose(recording.kinetic, recording.kinetic[0], rtol=1e-12)
    momentum = np.linalg.norm(I * recording.v[:, 3:], axis=1)
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-12)
    assert verify(recording, every=50).holds


def test_explicit_flips_and_gains_energy_in_every_step():
    """Of first order in h: by 3.6 % over 10 s at h = 10 ms, a tenth of it at 1 ms."""
    recording = wing_nut("explicit", duration=10.0)
    assert turns_over(recording) >= 1
    assert np.all(np.diff(recording.kinetic) >= 0.0)
    gained = recording.kinetic[-1] / recording.kinetic[0] - 1.0
    fine = wing_nut("explicit", h=1e-3, duration=10.0)
    assert gained > 0.01
    assert gained / (fine.kinetic[-1] / fine.kinetic[0] - 1.0) == pytest.approx(10.0, rel=0.5)
    assert verify(recording, every=50).holds


def test_off_keeps_the_angular_velocity_and_never_flips():
    """Bit for bit: what DART and Bullet do without their gyroscopic option."""
    recording = wing_nut("off")
    assert turns_over(recording) == 0
    np.testing.assert_allclose(recording.v, np.broadcast_to(recording.v[0], recording.v.shape), rtol=0, atol=1e-12)
    assert verify(recording, every=50).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12


def test_off_leaves_the_weight_of_a_link_beside_its_joint():
    """Only w x I w goes: a centre of mass off the origin still circles, and falls freely."""
    builder = WorldBuilder((0.0, 0.0, -9.81))
    inertia = RigidInertia(2.0, (0.1, 0.0, 0.05), inertia=np.diag(I))
    start = (0, 0, 0, 1, 0, 0, 0), (0.3, 0, 0, 0.5, 2.0, -1.0)
    builder.add_free_body("body", inertia, Box.cube(0.1), Material(0.5), *start)
    recording = simulate(builder.build(), TimeStepping(1e-3, gyroscopic="off"), steps=200)
    rotations, origins = recording.poses()
    com = origins[:, 0] + rotations[:, 0] @ inertia.com
    np.testing.assert_allclose(recording.v[:, 3:], np.broadcast_to(recording.v[0, 3:], (201, 3)), atol=1e-12)
    acceleration = np.diff(com, 2, axis=0) / 1e-6
    np.testing.assert_allclose(acceleration, np.broadcast_to((0, 0, -9.81), acceleration.shape), atol=5e-2)
    assert verify(recording).holds
