"""Warnings of energy that no force should have given: jams against kinematic bodies, velocity products of chains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import ConstantVelocity, ImplausibleWarning, Simulation, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia, Transform
from contactlab.world import World

SMOOTH = Material(0.0)


def wedge(angle: float) -> World:
    """A piston comes down at 1 m/s on a ball upon a smooth floor that falls off at an angle: it leaves at V / sin."""
    builder = WorldBuilder()
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    builder.add_half_space("floor", HalfSpace(normal), SMOOTH)
    ball = normal * 0.05
    builder.add_free_body("ball", RigidInertia.solid_sphere(0.2, 0.05), Sphere(0.05), SMOOTH, q=(*ball, 1, 0, 0, 0))
    top = Transform(p=(0, 0, ball[2] + 0.05 + 0.01 + 1e-4))
    motion = ConstantVelocity(top, np.array([0, 0, -1.0]), np.zeros(3))
    builder.add_kinematic_body("piston", Box((0.3, 0.3, 0.01)), SMOOTH, motion)
    return builder.build()


def step_thrice(sim: Simulation) -> None:
    """Make three steps."""
    for _ in range(3):
        sim.step()


def test_a_jam_is_warned_of_by_the_names_of_its_bodies() -> None:
    """A piston that shoots a ball out of a wedge of one degree, by certified steps, is a jam of both in the warning."""
    world = wedge(math.radians(1.0))
    with pytest.warns(ImplausibleWarning, match=r"'piston' jams 'ball', .* J, .* times the kinetic energy"):
        run = simulate(world, TimeStepping(1e-3), steps=3)
    (jam,) = [notice for notice in run.notices if notice.kind == "jam"]
    assert jam.worst == pytest.approx(run.ledger.kinematic.max())
    assert jam.step == int(np.argmax(run.ledger.kinematic))
    sim = Simulation(world, TimeStepping(1e-3))
    with pytest.warns(ImplausibleWarning, match="'piston' jams 'ball'"):
        step_thrice(sim)


@pytest.mark.filterwarnings("error::contactlab.recording.ImplausibleWarning")
def test_a_wide_wedge_and_a_lift_are_none() -> None:
    """A ball that leaves a wedge of 30 degrees is no jam, nor are boxes on slow and fast lifts."""
    run = simulate(wedge(math.radians(30.0)), TimeStepping(1e-3), steps=3)
    assert run.ledger.kinematic.max() > 0.0
    for speed in (1e-4, 1e-2, 1.0):
        builder = WorldBuilder()
        lift = ConstantVelocity(Transform(), np.array([0, 0, speed]), np.zeros(3))
        builder.add_kinematic_body("lift", Box((0.5, 0.5, 0.05)), Material(0.5), lift)
        box = Box((0.1, 0.1, 0.1))
        for i in range(3):
            place = (0, 0, 0.15 + 0.2 * i, 1, 0, 0, 0)
            builder.add_free_body(f"box {i}", RigidInertia.solid_box(2.0, (0.1, 0.1, 0.1)), box, Material(0.5), q=place)
        run = simulate(builder.build(), TimeStepping(2e-3), 0.2)
        assert run.ledger.kinematic.max() > 0.0


def test_a_rule_that_gives_a_chain_energy_is_warned_of() -> None:
    """Euler's rule gives sixteen rods energy at 2 ms, and the warning names them; the Runge-Kutta method gives none."""
    builder, rod = ModelBuilder(), RigidInertia(0.05, (0.05, 0, 0), np.diag([4e-6, 4.5e-5, 4.5e-5]))
    for i in range(16):
        place = Transform(p=(0.1 if i else 0.0, 0, 0))
        hinge = joints.Revolute((0, 1, 0))
        builder.add_body(f"rod {i}", parent=f"rod {i - 1}" if i else "world", joint=hinge, placement=place, inertia=rod)
    whole = WorldBuilder()
    whole.add_model(builder.build())
    world = whole.build()
    with pytest.warns(ImplausibleWarning, match=r"gives 'rod 0', 'rod 1', .* and 10 more, one tree, .* J"):
        run = simulate(world, TimeStepping(2e-3, integrator="euler"), 2.0)
    (notice,) = run.notices
    assert notice.kind == "integration"
    assert notice.worst > 0.01 * run.kinetic[notice.step]
    assert simulate(world, TimeStepping(2e-3), 2.0).notices == ()
