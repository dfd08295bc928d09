"""Simulation with Coulomb's exact cone: no direction is special, resting bodies stay, the record has the cone."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_scenes import G, incline, one_body

import lcp
from contactlab import ConstraintSolver
from contactlab.constraint_solver.certificate import CONE_FORMULAS
from contactlab.constraint_solver.forces import certify_forces
from contactlab.simulation import (
    SLIDE,
    STICK,
    Box,
    HalfSpace,
    Material,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)

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


def test_record_problems_certificates_and_verification_speak_of_the_cone(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(sliding_brick(0.7), CONE, steps=20, path=path)
    recording = Recording.open(path)
    assert recording.stepper == CONE.in_world(recording.world)
    assert recording.certificates.mechanical.max() < 1e-8
    for i in (0, 7, 19):
        data = recording.problem(i)
        assert (data.r == 2).all()
        packed = recording.forces(i).packed()
        assert certify_forces(data, CONE.h, packed, packed, recording.v[i + 1], formulas=CONE_FORMULAS).holds(1e-8)
        solution = ConstraintSolver(friction="cone").solve_discretized_problem(data, CONE.h)
        assert solution.certificate.formulas is CONE_FORMULAS
        np.testing.assert_allclose(solution.v_plus, recording.v[i + 1], atol=1e-8)
    assert verify(recording).holds
    wrong = {name: array.copy() for name, array in recording.rows.items()}
    wrong["contact_z"][30, 1:5] *= 0.99
    assert not verify(Recording(recording.world, recording.stepper, wrong, {}, "")).holds


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_balls_that_touch_as_they_fall_are_solved(mu: float) -> None:
    """Bodies side by side with equal speed: pressure between them would be rounding, and no force results."""
    builder, away = WorldBuilder((0.0, 0.0, -G)), 0.199 * np.array([0.48, 0.6, 0.64])
    for name, mass, at in (("left", 1.0, np.zeros(3)), ("right", 2.0, away)):
        inertia, v = RigidInertia.solid_sphere(mass, 0.1), (0.1, 0.2, 0.3, 0, 0, 0)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(mu), (*at, 1, 0, 0, 0), v)
    recording = simulate(builder.build(), CONE, steps=60)
    assert len(recording.contacts) == 60
    assert recording.contacts.impulse_normal.max() == 0.0
    report = verify(recording)
    assert report.holds, str(report)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_forces_of_a_cone_that_miss_by_a_millionth_are_refused(mu: float) -> None:
    """Each force of a resting brick 1e-6 larger: all is rounded, and rounding does not excuse it."""
    half = (0.2, 0.2, 0.04)
    world = one_body(Box(half), RigidInertia.solid_box(2.0, half), mu=mu, q=(0, 0, 0.04, 1, 0, 0, 0))
    recording = simulate(world, CONE, steps=3)
    assert verify(recording).holds
    wrong = {name: array.copy() for name, array in recording.rows.items()}
    wrong["contact_z"][4:8] *= 1.0 + 1e-6
    failed = verify(Recording(recording.world, recording.stepper, wrong, {}, "")).failures
    assert "lcp" in {one.condition for one in failed}


@pytest.mark.parametrize(
    "solver", [lcp.NSGS(), lcp.SemismoothNewton(alpha=1.0)], ids=lambda solver: type(solver).__name__
)
def test_any_friction_solver_serves(solver: Any) -> None:
    recording = simulate(sliding_brick(1.0), TimeStepping(2e-3, solver, friction="cone"), steps=10)
    np.testing.assert_allclose(np.linalg.norm(recording.v[-1, :2]), 1.0 - MU * G * 10 * 2e-3, atol=1e-6)


def test_a_planar_world_slides_as_with_its_pyramid() -> None:
    """In the plane cone and pyramid are the same law."""
    half = (0.2, 0.1, 0.05)
    builder = WorldBuilder((0.0, 0.0, -G), planar=(0.0, 1.0, 0.0))
    builder.add_half_space("ground", HalfSpace(), Material(MU))
    builder.add_free_body("brick", RigidInertia.solid_box(2.0, half), Box(half), Material(MU), (0, 0.05, 0), (1, 0, 0))
    world = builder.build()
    cone, pyramid = simulate(world, CONE, steps=30), simulate(world, TimeStepping(CONE.h), steps=30)
    np.testing.assert_allclose(cone.v, pyramid.v, atol=1e-10)
    assert verify(cone).holds
