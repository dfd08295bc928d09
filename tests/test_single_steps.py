"""`TimeStepping.step` keeps the memory of the step before, which nobody sees but by the time it takes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from linearization_worlds import cube

from contactlab.simulation import SimulationConfigError, TimeStepping, simulate


@pytest.fixture
def world():
    """A box that falls on a floor."""
    return cube(0.2, v=(0.5, 0, 0, 1, 2, 0))


def ends(world, stepper, steps, **given):
    """The states of so many steps in a row."""
    found = [world.initial_state()]
    for _ in range(steps):
        found.append(stepper.step(world, found[-1], **given).state)
    return found


def test_what_a_step_left_stays_when_others_are_made(world):
    """Rows are copied with the step, whenever they are read: those of a run, not those of the step after."""
    stepper = TimeStepping(5e-3)
    recording = simulate(world, stepper, steps=40)
    state, results = world.initial_state(), []
    for _ in range(40):
        results.append(stepper.step(world, state))
        state = results[-1].state
    assert any(len(result.contacts) for result in results)
    for i, result in enumerate(results):
        own = recording.contacts.rows(recording.contacts.step == i)
        np.testing.assert_array_equal(result.contacts.slip, own.slip)
        np.testing.assert_array_equal(result.contacts.gap, own.gap)
        assert (result.kinetic, result.potential) == (recording.kinetic[i + 1], recording.potential[i + 1])


def test_a_result_stays_what_it_was(world):
    """Its tables are read when somebody asks, also after further steps, and of the step that it is of."""
    stepper = TimeStepping(5e-3)
    state = ends(world, stepper, 80)[-1]
    first = stepper.step(world, state)
    for _ in range(3):
        stepper.step(world, state, np.full(world.nv, 3.0))
    again = stepper.step(world, state)
    assert len(first.contacts.id)
    np.testing.assert_array_equal(first.contacts.impulse, again.contacts.impulse)
    np.testing.assert_array_equal(first.certificate.scaled, again.certificate.scaled)
    assert first.kinetic == again.kinetic


def test_what_is_refused_leaves_the_next_step_as_it_would_be(world):
    """An argument that cannot be used, then a step with none."""
    stepper, state = TimeStepping(5e-3), world.initial_state()
    wanted = stepper.step(world, state).state.v
    with pytest.raises(SimulationConfigError, match="tau"):
        stepper.step(world, state, np.zeros(world.nv + 1))
    with pytest.raises(SimulationConfigError, match="targets"):
        stepper.step(world, state, targets={"nobody": 1.0})
    np.testing.assert_array_equal(stepper.step(world, state).state.v, wanted)


def test_threads_have_memory_of_their_own(world):
    """Four threads step four runs at once, each with the bits of one alone."""
    stepper = TimeStepping(5e-3)
    taus = [np.full(world.nv, 0.05 * k) for k in range(4)]
    alone = [ends(world, stepper, 50, tau=tau)[-1].v for tau in taus]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda tau: ends(world, stepper, 50, tau=tau)[-1].v, taus))
    np.testing.assert_array_equal(found, alone)
