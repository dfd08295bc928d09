"""Scenes of SimBenchmark, small: rolling, bouncing and collapsing as closed forms and invariants have it."""

from dataclasses import replace

import numpy as np
import pytest
from simbenchmark_scenes import (
    DIRECTIONS,
    block_of_spheres,
    bouncing,
    energy_error,
    midstep_energy_error,
    penetrations,
    push,
    rolling,
    rolling_accelerations,
    rolling_accelerations_of_pyramid,
    rolling_error,
)

from contactlab.simulation import TimeStepping, World, simulate

ROLLING = TimeStepping(1e-2)
ELASTIC = TimeStepping(1e-2, edges=4, restitution_threshold=0.0, margin=0.0)
INELASTIC = TimeStepping(1e-2, edges=4, restitution_threshold=1e3, margin=5e-3)


@pytest.fixture(scope="module")
def plate() -> World:
    """A plate with 25 balls that touch it without overlap."""
    return rolling(overlap=0.0)


@pytest.mark.parametrize(("name", "edges"), [("y", 4), ("y", 8), ("y", 16), ("oblique", 12)])
def test_plate_and_balls_roll_exactly_where_an_edge_points_along_the_force(plate: World, name: str, edges: int) -> None:
    """Accelerations are 0.7385 and 0.2110 m/s^2 from the first step, to rounding, with every step certified."""
    direction = DIRECTIONS[name]
    recording = simulate(plate, replace(ROLLING, edges=edges), steps=4, tau=push(plate, direction))
    np.testing.assert_allclose(rolling_accelerations(), (0.7385, 0.2110), rtol=1e-12)
    assert rolling_error(recording.time, recording.v, direction).max() < 1e-26
    assert recording.worst_certificate().scaled < 1e-12


@pytest.mark.parametrize("edges", [4, 8, 16])
def test_facets_bend_the_motion_by_their_closed_form(plate: World, edges: int) -> None:
    """An oblique force moves the plate along the normal of a facet, held back by cos(pi / k) of the cone's friction."""
    direction = DIRECTIONS["oblique"]
    recording = simulate(plate, replace(ROLLING, edges=edges), steps=4, tau=push(plate, direction))
    for at, acceleration in zip((0, 6), rolling_accelerations_of_pyramid(direction, edges), strict=True):
        np.testing.assert_allclose(recording.v[-1, at : at + 2] / recording.time[-1], acceleration, rtol=1e-9)
    exact = np.linalg.norm(rolling_accelerations_of_pyramid(direction, edges)[0]) - rolling_accelerations()[0]
    # The force's angle to the nearest edge, 15 or 7.5 degrees here, decides; never more than the height of a facet.
    assert 0.0 < exact < 137.34 * (1.0 - np.cos(np.pi / edges)) / (10.0 + 50.0 / 7.0)


def test_elastic_balls_keep_their_energy_read_at_one_time() -> None:
    """No bounce adds energy: with v and q read at one time the error is the constant m g^2 h^2 / 8 of the start."""
    world = bouncing(3)
    plain = {}
    for h in (1e-2, 2.5e-3):
        recording = simulate(world, replace(ELASTIC, h=h), duration=3.0)
        assert np.diff(np.sign(recording.v[:, 2])).max() == 2.0, "bounced"
        start = recording.kinetic[0] + recording.potential[0]
        offset = 3 * 10.0 * 9.81**2 * h**2 / 8.0
        np.testing.assert_allclose(midstep_energy_error(recording, start), offset**2, rtol=1e-6)
        plain[h] = energy_error(recording, start).mean()
    # The errors in the step's v and q are of first order in h.
    np.testing.assert_allclose(plain[1e-2] / plain[2.5e-3], 16.0, rtol=0.05)


def test_a_collapsing_block_does_not_penetrate_nor_gain_energy() -> None:
    """27 spheres fall apart without friction: penetration comes only from contacts closed in a step; energy falls."""
    world = block_of_spheres(0, side=3)
    recording = simulate(world, INELASTIC, steps=120)
    centres = recording.q.reshape(121, -1, 7)[:, :, :3]
    assert np.ptp(centres[-1, :, 0]) > np.ptp(centres[0, :, 0]) + 0.1, "collapsed"
    assert penetrations(centres).mean() < 1e-6
    energy = recording.kinetic + recording.potential
    assert np.diff(energy).max() < 1e-9 * energy[0]
    assert recording.worst_certificate().scaled < 1e-12
