"""Simulation with Coulomb's exact cone: no direction is special, what rests stays, the record speaks of the cone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_scenes import G, ball, block, incline, one_body

import lcp
from contactlab import ConstraintSolver
from contactlab.certificate import CONE_FORMULAS
from contactlab.contact import Box
from contactlab.formulation.verdict import certify_cone_forces
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, World, simulate
from contactlab.simulation.contact_table import SLIDE, STICK
from contactlab.simulation.verification import verify
from contactlab.spatial import RigidInertia

CONE = TimeStepping(2e-3, friction="cone")
MU = 0.4


def sliding_brick(angle: float) -> World:
    """A flat brick that slides at 1 m/s along ``angle``; not turned, so that the edges of a pyramid would matter."""
    half = (0.2, 0.2, 0.04)
    return one_body(
        Box(half),
        RigidInertia.solid_box(2.0, half),
        mu=MU,
        q=(0, 0, 0.04, 1, 0, 0, 0),
        v=(math.cos(angle), math.sin(angle), 0, 0, 0, 0),
    )


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 8, 2.5])
def test_a_block_is_braked_alike_and_straight_in_every_direction(angle: float) -> None:
    recording = simulate(sliding_brick(angle), CONE, steps=40)
    v = recording.v[-1]
    along = np.array([math.cos(angle), math.sin(angle)])
    np.testing.assert_allclose(v[:2], (1.0 - MU * G * 40 * CONE.h) * along, atol=1e-9)
    np.testing.assert_allclose(v[2:], 0.0, atol=1e-9)
    contacts = recording.contacts
    assert (contacts.mode == SLIDE).all()
    # Opposite to the slip at the bound, contact by contact.
    tangential = np.linalg.norm(contacts.impulse[:, :2] + MU * contacts.impulse_normal[:, None] * along, axis=1)
    np.testing.assert_allclose(tangential, 0.0, atol=1e-9)


def test_a_block_on_a_slope_below_its_angle_does_not_creep() -> None:
    """20 degrees, mu = tan(20 deg) + 2 %: it stays where it is, and a little less lets it go."""
    theta = math.radians(20.0)
    recording = simulate(incline(theta, 1.02 * math.tan(theta)), CONE, steps=60)
    np.testing.assert_allclose(recording.q[-1], recording.q[0], atol=1e-12)
    np.testing.assert_allclose(recording.v[-1], 0.0, atol=1e-12)
    assert (recording.contacts.mode == STICK).all()
    mu = 0.9 * math.tan(theta)
    slides = simulate(incline(theta, mu), CONE, steps=60)
    speed = G * (math.sin(theta) - mu * math.cos(theta)) * 60 * CONE.h
    np.testing.assert_allclose(np.linalg.norm(slides.v[-1, :3]), speed, rtol=1e-6)


def test_a_ball_slides_then_rolls() -> None:
    """Rolling begins at 5/7 of the speed, whatever friction is."""
    speed, mu = 1.0, 0.3
    end = 2.0 * speed / (7.0 * mu * G)
    recording = simulate(ball(mu, speed), CONE, duration=1.5 * end)
    np.testing.assert_allclose(recording.v[-1, 0], 5.0 / 7.0 * speed, rtol=2e-3)


def test_record_problems_certificates_and_verification_speak_of_the_cone(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(sliding_brick(0.7), CONE, steps=20, path=path)
    recording = Recording.open(path)
    assert recording.stepper == CONE
    assert recording.certificates.mechanical.max() < 1e-8
    for i in (0, 7, 19):
        data = recording.problem(i)
        assert (data.r == 2).all()
        packed = recording.forces(i).packed()
        assert certify_cone_forces(data, CONE.h, packed, recording.v[i + 1]).holds(1e-8)
        solution = ConstraintSolver(friction="cone").solve_discretized_problem(data, CONE.h)
        assert solution.certificate.formulas is CONE_FORMULAS
        np.testing.assert_allclose(solution.v_plus, recording.v[i + 1], atol=1e-8)
    assert verify(recording).holds
    wrong = {name: array.copy() for name, array in recording.rows.items()}
    wrong["contact_z"][30, 1:5] *= 0.99
    assert not verify(Recording(recording.world, recording.stepper, wrong, {}, "")).holds


def test_the_public_step_is_the_one_of_the_run() -> None:
    world = block(MU, 0.5)
    recording = simulate(world, CONE, steps=5)
    state = world.initial_state()
    for i in range(5):
        state = CONE.step(world, state).state
        np.testing.assert_array_equal(state.q, recording.q[i + 1])


@pytest.mark.parametrize("solver", [lcp.NSGS(), lcp.ProximalPoint()], ids=lambda solver: type(solver).__name__)
def test_any_friction_solver_serves(solver: Any) -> None:
    recording = simulate(sliding_brick(1.0), TimeStepping(2e-3, solver, friction="cone"), steps=10)
    np.testing.assert_allclose(np.linalg.norm(recording.v[-1, :2]), 1.0 - MU * G * 10 * 2e-3, atol=1e-6)


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(SimulationConfigError, match="friction.*pyramid, cone"):
        TimeStepping(1e-3, friction="disc")
    with pytest.raises(SimulationConfigError, match='Lemke does not solve friction="cone"'):
        TimeStepping(1e-3, lcp.Lemke(), friction="cone")
    with pytest.raises(SimulationConfigError, match='write friction="cone"'):
        TimeStepping(1e-3, lcp.NSGS())
