"""Batches of runs on threads: the bits of each run alone, failures one by one."""

from __future__ import annotations

import numpy as np
import pytest
import simulation_scenes as scenes
from body_contact_scenes import pendulum_and_box, stack

from contactlab.simulation import Recording, SimulationConfigError, Sleep, TimeStepping, simulate, simulate_batch

STEPPER = TimeStepping(1e-3, edges=4)
STEPPERS = {
    "stabilised": TimeStepping(2e-3, edges=6, margin=5e-3, erp=0.2, cfm=1e-6),
    "projected": TimeStepping(2e-3, edges=4, projection=True, reduce_contacts=True),
    "adaptive, sleeping": TimeStepping(4e-3, edges=4, adaptive=True, sleep=Sleep(1e-2, 0.02)),
    "cold, a solver from outside": TimeStepping(2e-3, edges=4, warm_start=False, solver=scenes.Outside()),
}


def same(one: Recording | None, alone: Recording) -> None:
    """Every array of the two, bit for bit."""
    assert one is not None
    for name, rows in alone.rows.items():
        assert np.array_equal(rows, one.rows[name]), name


@pytest.mark.parametrize("name", STEPPERS)
def test_batches_of_all_kinds_have_the_bits_of_runs_alone(name):
    """Worlds by steppers: contacts of bodies, joints, impacts; on one thread, on two, and going on from a state."""
    worlds = [scenes.tumble(), stack(3), pendulum_and_box(), scenes.dropped_ball(0.02, 0.6)]
    alone = [simulate(world, STEPPERS[name], steps=60) for world in worlds]
    for threads in (1, 2):
        batch = simulate_batch(worlds * 2, STEPPERS[name], steps=60, threads=threads)
        batch.raise_for_errors()
        for recording, one in zip(batch.recordings, alone * 2, strict=True):
            same(recording, one)
    states = [(world, one.state(30)) for world, one in zip(worlds, alone, strict=True)]
    for recording, one in zip(simulate_batch(states, STEPPERS[name], steps=30).recordings, alone, strict=True):
        assert recording is not None
        assert np.array_equal(recording.q, one.q[30:])
        assert np.array_equal(recording.v, one.v[30:])


def test_every_run_of_a_batch_has_the_bits_of_the_run_alone():
    """Worlds of different kinds, more of them than threads, in the order asked for."""
    worlds = [scenes.ball(0.2, 1.0 + 0.1 * i) for i in range(5)] + [scenes.block(0.3, 1.0)]
    told: list[tuple[int, int]] = []
    batch = simulate_batch(worlds, STEPPER, steps=40, threads=2, progress=lambda done, of: told.append((done, of)))
    assert told == [(i + 1, 6) for i in range(6)]
    assert batch.failed == ()
    batch.raise_for_errors()
    for world, recording in zip(worlds, batch.recordings, strict=True):
        alone = simulate(world, STEPPER, steps=40)
        assert recording is not None
        for name, rows in alone.rows.items():
            assert np.array_equal(rows, recording.rows[name]), name


def test_a_batch_starts_from_states_and_takes_forces_one_by_one():
    """Two states of one world, each with its own push."""
    world = scenes.cube_at_rest()
    state = simulate(world, STEPPER, steps=3).state(3)
    pushes = [(0.0,) * 6, (8.0, 0.0, 0.0, 0.0, 0.0, 0.0)]
    batch = simulate_batch([(world, state)] * 2, STEPPER, steps=20, taus=pushes, threads=2)
    speeds = [recording.v[-1, 0] for recording in batch.recordings if recording is not None]
    assert abs(speeds[0]) < 1e-12
    assert speeds[1] > 0.01


def test_a_run_that_fails_takes_no_other_with_it():
    """Its error and the record up to it are in the result; raising them is the caller's choice."""

    def fails(time, q, v):
        raise RuntimeError("no force today")

    world = scenes.cube_at_rest()
    batch = simulate_batch([world] * 3, STEPPER, steps=5, taus=[None, fails, None], threads=2)
    assert batch.failed == (1,)
    assert len(batch) == 3
    assert batch.recordings[0] is not None
    assert batch.recordings[2] is not None
    assert batch.recordings[2].n_steps == 5
    with pytest.raises(ExceptionGroup, match="1 of 3 runs failed") as caught:
        batch.raise_for_errors()
    assert str(caught.value.exceptions[0]) == "no force today"


def test_bad_arguments_raise_before_any_run():
    """Named as everywhere."""
    world = scenes.cube_at_rest()
    with pytest.raises(SimulationConfigError, match=r"runs\[1\]"):
        simulate_batch([world, None], STEPPER, steps=1)  # type: ignore[list-item]
    with pytest.raises(SimulationConfigError, match="taus"):
        simulate_batch([world], STEPPER, steps=1, taus=[])
    with pytest.raises(SimulationConfigError, match="taus"):
        simulate_batch([world], STEPPER, steps=1, tau=(0.0,) * 6, taus=[None])
    with pytest.raises(SimulationConfigError, match="threads"):
        simulate_batch([world], STEPPER, steps=1, threads=0)
    with pytest.raises(SimulationConfigError, match="duration"):
        simulate_batch([world], STEPPER)
    assert len(simulate_batch([], STEPPER, steps=1)) == 0
