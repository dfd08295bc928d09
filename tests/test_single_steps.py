"""`TimeStepping.step` keeps the memory of the step before, which nobody sees but by the time it takes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import joint_scenes
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


def test_steps_in_a_row_and_from_anywhere_have_the_bits_of_a_run(world):
    """Whether a step goes on from the last one, from one before it or from a copy of its state, and with what tau."""
    stepper = TimeStepping(5e-3)
    tau = np.linspace(-0.1, 0.1, world.nv)
    recording = simulate(world, stepper, steps=60, tau=tau)
    states = ends(world, stepper, 60, tau=tau)
    np.testing.assert_array_equal([state.q for state in states], recording.q)
    np.testing.assert_array_equal([state.v for state in states], recording.v)
    for i in (40, 12, 59, 0):
        for state in (states[i], replace(states[i]), pickle.loads(pickle.dumps(states[i]))):
            again = stepper.step(world, state, tau).state
            np.testing.assert_array_equal(again.v, states[i + 1].v)
            np.testing.assert_array_equal(again.z, states[i + 1].z)
    # No force of the step before is left.
    np.testing.assert_array_equal(
        stepper.step(world, states[3]).state.v, simulate(world, stepper, steps=1, state=states[3]).v[-1]
    )


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


def test_forces_that_are_functions_and_wrenches_have_the_bits_of_a_run(world):
    """Each is asked once, at the start of the step."""
    stepper, asked = TimeStepping(5e-3), []

    def tau(time, q, v):
        asked.append(time)
        return -2.0 * v + np.sin(time)

    given = {"tau": tau, "f_ext": {"cube": (0, 0.1, 0, 2, 0, 1)}}
    recording = simulate(world, stepper, steps=40, **given)
    asked.clear()
    states = ends(world, stepper, 40, **given)
    np.testing.assert_array_equal([state.v for state in states], recording.v)
    assert asked == [state.time for state in states[:-1]]
    with pytest.raises(SimulationConfigError, match="tau at time 0: "):
        stepper.step(world, states[0], lambda time, q, v: None)


def test_targets_are_those_of_each_step():
    """Given once, they are not those of the next step."""
    world, stepper = joint_scenes.four_bar(speed=2.0), TimeStepping(2e-3)
    (name,) = [drive.name for drive in world.joint_actions.drives]
    state = world.initial_state()
    plain = stepper.step(world, state).state.v
    other = stepper.step(world, state, targets={name: -1.0}).state.v
    assert np.abs(other - plain).max() > 1e-3
    np.testing.assert_array_equal(stepper.step(world, state).state.v, plain)
    np.testing.assert_array_equal(stepper.step(world, state, targets=lambda t, q, v: {name: -1.0}).state.v, other)


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
