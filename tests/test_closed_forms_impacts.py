"""Impacts in closed form: bounces, pairs, rows of balls, a rocking block."""

import math

import numpy as np
import pytest
from simulation_scenes import G, dropped_ball

from contactlab.simulation import Box, HalfSpace, Material, RigidInertia, Sphere, TimeStepping, WorldBuilder, simulate


def test_a_bouncing_ball_rises_to_its_apexes():
    """Bounce n ends at e^(2 n) of the drop, and all of the path is (1 + e^2) / (1 - e^2) of it, to first order."""
    drop, e = 0.5, 0.7
    fall = math.sqrt(2 * drop / G)
    zeno = fall * (1 + e) / (1 - e)
    errors = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        recording = simulate(dropped_ball(drop, e), TimeStepping(h), 1.1 * zeno)
        height = recording.q[:, 2] - 0.1
        hits = np.flatnonzero((recording.v[:-1, 2] < 0) & (recording.v[1:, 2] > 0))
        for n in range(1, 5):
            apex = height[hits[n - 1] : hits[n]].max()
            assert abs(apex - drop * e ** (2 * n)) <= 3 * h * math.sqrt(2 * G * drop)
        path = np.abs(np.diff(height)).sum()
        errors.append(abs(path - drop * (1 + e**2) / (1 - e**2)))
        assert errors[-1] <= 6 * h * math.sqrt(2 * G * drop)
        assert np.abs(recording.v[-1]).max() < 1e-12
        # At rest not long before or after the last bounce of infinitely many, and for good: of n bounces until nothing
        # faster than restitution_threshold, or than a step's fall, is left, each shifts those after it by its flight's
        # two roundings to whole steps; those left out would have taken 2 v / (g (1 - e)).
        rest = recording.time[np.flatnonzero(np.abs(recording.v[:, 2]) > 1e-12)[-1]]
        least = max(recording.stepper.restitution_threshold, G * h)
        n = 1.0 + math.log(math.sqrt(2 * G * drop) / least) / math.log(1.0 / e)
        assert rest == pytest.approx(zeno, abs=2 * n * h + 2 * least / (G * (1 - e)))


@pytest.mark.parametrize("e", [1.0, 0.6, 0.0])
def test_two_bodies_part_as_newton_says(e):
    """v1' = ((m1 - e m2) v1 + (1 + e) m2 v2) / (m1 + m2), and similarly for the other; momentum to rounding."""
    (m1, v1), (m2, v2) = (0.3, 1.5), (2.0, -0.4)
    builder, material = WorldBuilder((0.0, 0.0, 0.0)), Material(0.5, e)
    for name, mass, x, v in (("left", m1, -0.2, v1), ("right", m2, 0.1, v2)):
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, Sphere(0.1), material, (x, 0, 0, 1, 0, 0, 0), (v, 0, 0, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(1e-3), 0.2)
    after1 = ((m1 - e * m2) * v1 + (1 + e) * m2 * v2) / (m1 + m2)
    after2 = ((m2 - e * m1) * v2 + (1 + e) * m1 * v1) / (m1 + m2)
    assert recording.v[-1, 0] == pytest.approx(after1, abs=1e-13)
    assert recording.v[-1, 6] == pytest.approx(after2, abs=1e-13)
    assert np.ptp(m1 * recording.v[:, 0] + m2 * recording.v[:, 6]) < 1e-14


def row_of_balls(gap, count=3):
    """Balls in a row; the first flies in at 1 m/s."""
    builder, material = WorldBuilder((0.0, 0.0, 0.0)), Material(0.0, 1.0)
    ball = RigidInertia.solid_sphere(0.5, 0.1)
    for i in range(count):
        x = (0.2 + gap) * i if i else -0.02
        builder.add_free_body(
            f"ball {i}", ball, Sphere(0.1), material, (x, 0, 0, 1, 0, 0, 0), (float(i == 0), 0, 0, 0, 0, 0)
        )
    return builder.build()


def test_touching_balls_part_as_one_impact():
    """Newton's law for all contacts at once (Moreau): -1/3, 2/3, 2/3 of the speed; momentum and energy are kept."""
    recording = simulate(row_of_balls(0.0), TimeStepping(1e-3, margin=1e-4), 0.1)
    np.testing.assert_allclose(recording.v[-1, [0, 6, 12]], (-1 / 3, 2 / 3, 2 / 3), atol=1e-12)


def test_balls_with_gaps_pass_the_blow_on():
    """Apart by more than the margin they collide one after the other: the last one leaves alone."""
    recording = simulate(row_of_balls(5e-3), TimeStepping(1e-3, margin=1e-4), 0.2)
    np.testing.assert_allclose(recording.v[-1, [0, 6, 12]], (0.0, 0.0, 1.0), atol=1e-12)


def rocking_block(b, h, *, gravity=G, angle=0.0, rate=0.0):
    """A block (half-width b, half-height h) standing on its left lower edge, turned by ``angle`` towards it."""
    builder, material, half = WorldBuilder((0.0, 0.0, -gravity)), Material(5.0), (b, 0.2, h)
    builder.add_half_space("ground", HalfSpace(), material)
    # About -y the block tips towards -x, over its left edge, from which its centre is at (b, h) in body axes.
    c, s = math.cos(angle), math.sin(angle)
    x, z = c * b - s * h, s * b + c * h
    q = (x, 0.0, z, math.cos(angle / 2), 0.0, -math.sin(angle / 2), 0.0)
    v = (-rate * z, 0.0, rate * x, 0.0, -rate, 0.0)
    builder.add_free_body("block", RigidInertia.solid_box(1.0, half), Box(half), material, q, v)
    return builder.build()


@pytest.mark.parametrize(("b", "h"), [(0.1, 0.5), (0.1, 0.3), (0.1, 0.15)])
def test_a_rocking_block_changes_corners_as_housner_says(b, h):
    """It continues about the other corner at 1 - 3/2 sin^2 alpha of its rate, to rounding."""
    eta = 1 - 1.5 * math.sin(math.atan(b / h)) ** 2
    world = rocking_block(b, h, gravity=0.0, rate=-0.5)
    result = TimeStepping(1e-4).step(world, world.initial_state())
    assert result.state.v[4] == pytest.approx(0.5 * eta, rel=1e-12)
    # About the right lower edge, which stays where it is.
    np.testing.assert_allclose(result.state.v[[0, 2]], (0.5 * eta * h, 0.5 * eta * b), rtol=1e-12)


def test_a_rocking_block_takes_its_time():
    """A slender one, let go at theta0, lands after arccosh(1 / (1 - theta0 / alpha)) / p."""
    b, h = 0.02, 0.4
    alpha, p = math.atan(b / h), math.sqrt(3 * G / (4 * math.hypot(b, h)))
    quarter = math.acosh(1 / (1 - 0.4)) / p
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        recording = simulate(rocking_block(b, h, angle=0.4 * alpha), TimeStepping(step), 1.3 * quarter)
        landed = recording.time[np.argmax(recording.q[:, 5] >= -1e-9)]
        errors.append(abs(landed - quarter))
    assert errors[-1] < 5e-3 * quarter
    assert errors[-1] < errors[0]


@pytest.mark.parametrize(("factor", "rocks"), [(0.98, False), (1.02, True)])
def test_a_block_starts_to_rock_at_its_threshold(factor, rocks):
    """Pushed at its centre by more than m g b / h; the same as ground that accelerates at g b / h."""
    b, h = 0.1, 0.3
    recording = simulate(rocking_block(b, h), TimeStepping(1e-3), 0.2, tau=[factor * G * b / h, 0, 0, 0, 0, 0])
    assert (abs(float(recording.v[-1, 4])) > 1e-3) is rocks
    if not rocks:
        assert np.abs(recording.v).max() < 1e-9
