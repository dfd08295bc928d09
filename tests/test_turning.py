"""A run that goes on in another world: friction, masses, gravity, gains and sizes changed on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
from simulation_scenes import G, incline, tumble
from test_batch import crate, driven
from test_simulation_sleep import SLEEPY, piles

from contactlab.contact import Box, HalfSpace, Material
from contactlab.simulation import Simulation, SimulationConfigError, TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia

H = 0.01


def lying(gravity: float) -> World:
    """Two cubes, one on the other."""
    builder = WorldBuilder((0.0, 0.0, gravity))
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    for i, z in enumerate((0.1, 0.3)):
        inertia = RigidInertia.solid_box(1.0, (0.1,) * 3)
        builder.add_free_body(f"cube {i}", inertia, Box.cube(0.1), Material(0.5), (0, 0, z, 1, 0, 0, 0))
    return builder.build()


def test_a_block_on_a_slope_begins_to_slide_where_friction_is_lowered() -> None:
    """As a run begun there, and as fast as mechanics says."""
    theta, low, stepper = 0.4, 0.2, TimeStepping(H)
    run = Simulation(incline(theta, 0.8), stepper)
    run.step(n=30)
    assert np.abs(run.v).max() < 1e-9
    slippery, state = incline(theta, low), run.state
    run.switch_world(slippery)
    assert run.world is slippery
    assert run.time == state.time == pytest.approx(0.3)
    begun = Simulation(slippery, stepper, state)
    run.step(n=20)
    begun.step(n=20)
    np.testing.assert_array_equal(run.q, begun.q)
    np.testing.assert_array_equal(run.v, begun.v)
    speed = 0.2 * G * (np.sin(theta) - low * np.cos(theta))
    np.testing.assert_allclose(np.linalg.norm(run.v[:3]), speed, rtol=1e-6)
    run.switch_world(incline(theta, 0.8))
    run.step(n=60)
    assert np.abs(run.v).max() < 1e-9


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (crate, lambda: crate(gravity=-1.6)),
        (crate, lambda: crate(mass=5.0)),
        (crate, lambda: crate(mu=0.05)),
        (crate, lambda: crate(half=0.12)),
        (lambda: driven(50.0), lambda: driven(5.0, 0.1)),
    ],
    ids=["gravity", "mass", "friction", "size", "gains"],
)
def test_from_a_turn_on_bits_are_those_of_a_run_begun_there(
    before: Callable[[], World], after: Callable[[], World]
) -> None:
    """Also of one that turns back and forth."""
    first, second, stepper = before(), after(), TimeStepping(H)
    run, unturned = Simulation(first, stepper), Simulation(first, stepper)
    tau = 0.3 * np.ones(first.nv)
    for world, steps in ((first, 12), (second, 20), (first, 10), (second, 10)):
        if world is not run.world:
            run.switch_world(world)
        begun = Simulation(world, stepper, run.state)
        for one in (run, begun):
            one.step(tau, n=steps)
        np.testing.assert_array_equal(run.q, begun.q)
        np.testing.assert_array_equal(run.v, begun.v)
        np.testing.assert_array_equal(run.contacts.impulse, begun.contacts.impulse)
    unturned.step(tau, n=52)
    assert np.abs(unturned.q - run.q).max() > 1e-6


def test_weight_and_inertia_are_those_of_the_new_world() -> None:
    run = Simulation(lying(-9.81), TimeStepping(H))
    run.step(n=5)
    for gravity in (-9.81, -1.6, -20.0):
        run.switch_world(lying(gravity))
        run.step(n=3)
        force = run.contacts.between("cube 0", "ground").force_on("cube 0")
        np.testing.assert_allclose(np.ravel(force), (0, 0, -2.0 * gravity), atol=1e-8)


def test_what_sleeps_wakes() -> None:
    """In a world without friction to hold it, or with another weight."""
    run = Simulation(piles(1), SLEEPY)
    run.step(n=40)
    assert run.state.rest.min() > 0.02
    run.switch_world(piles(1))
    run.step()
    assert len(run.contacts) > 0


def test_a_record_begins_anew_and_is_of_the_new_world() -> None:
    first, second, stepper = crate(), crate(mass=3.0, gravity=-5.0), TimeStepping(H)
    run = Simulation(first, stepper, record=True)
    run.step(n=30)
    before, state = run.recording, run.state
    run.switch_world(second)
    assert run.steps == run.recording.n_steps == 0
    run.step(n=30)
    assert before.n_steps == run.recording.n_steps == 30
    assert run.recording.world is second
    np.testing.assert_array_equal(run.recording.q, simulate(second, stepper, steps=30, state=state).q)
    assert verify(before).holds
    assert verify(run.recording).holds


def test_reset_copies_and_notices_follow() -> None:
    first, second = crate(), crate(mass=3.0, half=0.12)
    run = Simulation(first, TimeStepping(H))
    run.step(n=20)
    run.switch_world(second)
    twin = copy.deepcopy(run)
    for one in (run, twin):
        one.step(n=20)
    np.testing.assert_array_equal(run.q, twin.q)
    run.reset()
    np.testing.assert_array_equal(run.q, second.initial_state().q)
    assert run.time == 0.0


def test_another_layout_is_refused_by_what_differs_and_the_run_goes_on() -> None:
    run, twin = (Simulation(crate(), TimeStepping(H)) for _ in range(2))
    run.step(n=10)
    twin.step(n=20)
    for other, message in ((tumble(), "other bodies"), (driven(), "other bodies")):
        with pytest.raises(SimulationConfigError, match=message):
            run.switch_world(other)
    with pytest.raises(SimulationConfigError, match="world.*must be a World, got str"):
        run.switch_world("world")  # type: ignore[arg-type]
    assert run.steps == 10
    run.step(n=10)
    np.testing.assert_array_equal(run.q, twin.q)
