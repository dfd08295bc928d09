"""Velocity products of chains that turn fast give no energy, and what is taken out vanishes with the step."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import Recording, StepperState, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, Transform
from contactlab.world import World

LENGTH = 0.066


def chain(links: int, first: object, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> World:
    """A chain on ball joints."""
    builder = ModelBuilder(gravity=gravity)
    inertia = RigidInertia.solid_box(1.0, (LENGTH, 0.3 * LENGTH, 0.2 * LENGTH))
    for i in range(links):
        if i == 0:
            builder.add_body("l0", joint=first, inertia=inertia)
        else:
            place = Transform(p=(1.9 * LENGTH, 0.0, 0.0))
            builder.add_body(f"l{i}", parent=f"l{i - 1}", joint=joints.Spherical(), inertia=inertia, placement=place)
    world = WorldBuilder(gravity=gravity)
    world.add_model(builder.build())
    return world.build()


def run(
    world: World, v: np.ndarray, h: float, steps: int, gyroscopic: str = "implicit", integrator: str = "euler"
) -> Recording:
    """From the neutral configuration."""
    stepper = TimeStepping(h, gyroscopic=gyroscopic, integrator=integrator)
    return simulate(world, stepper, steps=steps, state=StepperState(world.model.neutral, v))


# Free motion by Runge and Kutta is verified in plain numpy, which takes seconds.
SLOW_SPEEDS = [pytest.param(speed, 10, marks=pytest.mark.slow) for speed in (20.0, 60.0, 200.0)]


@pytest.mark.parametrize(("speed", "every"), [(5.0, 10), (200.0, 100), *SLOW_SPEEDS])
@pytest.mark.parametrize("first", [joints.FloatingBase(), joints.Spherical()], ids=["free", "hung"])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_fast_chains_keep_their_energy_within_bounds(integrator: str, first: object, speed: float, every: int) -> None:
    world = chain(10, first)
    rng = np.random.default_rng(0)
    recording = run(world, speed * rng.standard_normal(world.nv), 0.01, 300, integrator=integrator)
    kinetic = np.asarray(recording.ledger.kinetic)
    assert kinetic.max() < 50.0 * kinetic[0]
    assert verify(recording, every=every).holds


def test_the_explicit_rule_blows_up() -> None:
    # What the rule is for; `gyroscopic="explicit"` has velocity products as textbooks do.
    world = chain(10, joints.FloatingBase())
    v = 20.0 * np.random.default_rng(0).standard_normal(world.nv)
    recording = run(world, v, 0.01, 8, gyroscopic="explicit")
    kinetic = np.asarray(recording.ledger.kinetic)
    assert kinetic[-1] > 100.0 * kinetic[0]
    assert verify(recording).holds


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_the_centre_of_mass_of_a_free_chain_flies_as_it_did(integrator: str) -> None:
    # A drift on top changes nothing of how the chain turns.
    world = chain(6, joints.FloatingBase())
    v = 25.0 * np.random.default_rng(1).standard_normal(world.nv)
    drift = np.zeros(world.nv)
    drift[:3] = 100.0, -50.0, 20.0
    slow, fast = (run(world, v + way, 0.005, 50, integrator=integrator) for way in (0.0, drift))
    np.testing.assert_allclose(np.asarray(fast.v)[-1] - drift, np.asarray(slow.v)[-1], rtol=0.0, atol=1e-6)


def test_it_vanishes_with_the_step() -> None:
    # The same order as the explicit rule, and of its size where both are small.
    world = chain(3, joints.Spherical(), (0.0, 0.0, -9.81))
    v = 15.0 * np.random.default_rng(2).standard_normal(world.nv)
    time = 0.02
    true = np.asarray(run(world, v, time / 40960, 40960, gyroscopic="explicit").v)[-1]
    errors = []
    for steps in (10, 20, 40):
        errors.append(np.abs(np.asarray(run(world, v, time / steps, steps).v)[-1] - true).max())
    assert errors[2] < 0.65 * errors[1] < 0.65 * 0.75 * errors[0]


def test_slow_chains_have_the_bits_of_the_explicit_rule() -> None:
    world = chain(5, joints.Spherical(), (0.0, 0.0, -9.81))
    v = 0.5 * np.random.default_rng(3).standard_normal(world.nv)
    ours, explicit = run(world, v, 0.002, 100), run(world, v, 0.002, 100, gyroscopic="explicit")
    np.testing.assert_array_equal(np.asarray(ours.v), np.asarray(explicit.v))
