"""Runs stepped from Python that keep a record: that of `simulate`, which holds, is saved, shown and gone on with."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from joint_scenes import busy
from simulation_scenes import tumble
from test_simulation_running import driven
from test_simulation_sleep import piles

from contactlab.drawing import playback_of
from contactlab.simulation import (
    Recording,
    Simulation,
    SimulationConfigError,
    SimulationError,
    Sleep,
    TimeStepping,
    simulate,
    verify,
)

H = 0.01


def same(one: Recording, other: Recording) -> None:
    """Every array of the two, bit for bit."""
    for name, rows in one.rows.items():
        np.testing.assert_array_equal(rows, other.rows[name], name)


@pytest.mark.parametrize(
    ("make", "options"),
    [(tumble, {}), (busy, {}), (piles, {"sleep": Sleep(1e-3, 0.15)}), (tumble, {"adaptive": True})],
    ids=["contacts", "joints", "sleep", "adaptive"],
)
def test_the_record_is_that_of_simulate(make, options) -> None:
    """Also when it is asked for in between; more steps than are joined at once."""
    world, stepper = make(), TimeStepping(H, **options)
    tau = 0.1 * np.random.default_rng(0).normal(size=world.nv)
    run = Simulation(world, stepper, record=True)
    for n in (1, 20, 300):
        run.step(tau, n=n)
        assert run.recording.n_steps == run.steps
    whole = simulate(world, stepper, steps=321, tau=tau)
    same(whole, run.recording)
    assert verify(run.recording.first(60)).holds
    assert run.recording is run.recording


def test_forces_and_targets_that_change_are_recorded(tmp_path) -> None:
    """`verify` finds what moved it; a record that is saved is gone on with by `simulate`."""
    world, stepper = driven(), TimeStepping(H)
    run = Simulation(world, stepper, record=True)
    rng = np.random.default_rng(1)
    for _ in range(50):
        run.step(rng.normal(size=1), targets=rng.normal(size=1))
    run.step(targets={"servo": 0.1}, n=10)
    recording = run.recording
    assert verify(recording).holds
    assert recording.rows["drive_target"][-1] == 0.1
    run.recording.save(tmp_path / "run.npz")
    opened = Recording.open(tmp_path / "run.npz")
    same(recording, opened)
    longer = simulate(world, stepper, steps=70, path=tmp_path / "run.npz", resume=True, tau=np.zeros(1))
    run.step(n=10)
    same(longer, run.recording)


def test_a_reset_begins_a_record_of_its_own() -> None:
    world, stepper = tumble(), TimeStepping(H)
    run = Simulation(world, stepper, record=True)
    run.step(n=50)
    first, state = run.recording, run.state
    run.reset()
    assert run.recording.n_steps == 0
    run.step(n=10)
    run.reset(state)
    run.step(n=20)
    whole = simulate(world, stepper, steps=70)
    same(simulate(world, stepper, steps=20, state=whole.state(50), tau=np.zeros(world.nv)), run.recording)
    assert first.n_steps == 50
    assert verify(run.recording).holds


def test_a_step_that_fails_ends_with_the_record_and_is_not_in_it() -> None:
    run = Simulation(driven(), TimeStepping(H), record=True)
    run.step(n=5)
    with pytest.raises(SimulationError) as failure:
        run.step([1e308])
    assert failure.value.recording.n_steps == 5
    run.step(n=5)
    assert run.recording.n_steps == 10
    assert verify(run.recording).holds


def test_copies_record_from_where_they_begin() -> None:
    run = Simulation(tumble(), TimeStepping(H), record=True)
    run.step(n=30)
    other = copy.deepcopy(run)
    other.step(n=5)
    assert other.recording.n_steps == 5
    np.testing.assert_array_equal(other.recording.q[0], run.q)


def test_what_was_not_kept_is_said() -> None:
    run = Simulation(tumble(), TimeStepping(H))
    for asked in (lambda: run.recording, lambda: playback_of(run)):
        with pytest.raises(SimulationConfigError, match="record=True"):
            asked()


def test_a_run_is_shown_as_its_record() -> None:
    run = Simulation(tumble(), TimeStepping(H), record=True)
    run.step(n=30)
    film, of_record = playback_of(run), playback_of(run.recording)
    np.testing.assert_array_equal(film.time, of_record.time)
    assert str(film.readout(30)) == str(of_record.readout(30))
