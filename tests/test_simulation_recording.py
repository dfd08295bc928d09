"""Runs that keep a record, and arrays formed when they are read: of `simulate` and of files."""

import copy
import pickle

import numpy as np
import pytest
from joint_scenes import busy, driven
from record_runs import same
from simulation_scenes import tumble
from test_simulation_sleep import piles

from contactlab.simulation import (
    Recording,
    Simulation,
    SimulationConfigError,
    Sleep,
    TimeStepping,
    World,
    simulate,
    verify,
)
from contactlab.simulation.stepping.record_schema import FIELDS
from contactlab.view.drawing import playback_of

H = 0.01


@pytest.mark.parametrize(
    ("make", "options"),
    [(tumble, {}), (busy, {}), (piles, {"sleep": Sleep(1e-3, 0.15)}), (tumble, {"adaptive": True})],
    ids=["contacts", "joints", "sleep", "adaptive"],
)
def test_the_record_is_that_of_simulate(make, options) -> None:
    """Also if it is read in between; with more steps than are joined together."""
    world, stepper = make(), TimeStepping(H, **options)
    tau = 0.1 * np.random.default_rng(0).normal(size=world.nv)
    run = Simulation(world, stepper, record=True)
    for n in (1, 20, 300):
        run.step(tau, n=n)
        assert run.recording.n_steps == run.steps
    whole = simulate(world, stepper, steps=321, tau=tau)
    assert same(whole, run.recording)
    assert verify(run.recording.first(60)).holds
    assert run.recording is run.recording


def test_forces_and_targets_that_change_are_recorded(tmp_path) -> None:
    """`verify` finds the changed entry; `simulate` resumes a saved record."""
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
    assert same(recording, opened)
    longer = simulate(world, stepper, steps=70, path=tmp_path / "run.npz", resume=True, tau=np.zeros(1))
    run.step(n=10)
    assert same(longer, run.recording)


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
    assert same(simulate(world, stepper, steps=20, state=whole.state(50), tau=np.zeros(world.nv)), run.recording)
    assert first.n_steps == 50
    assert verify(run.recording).holds


def test_what_was_not_kept_is_said() -> None:
    run = Simulation(tumble(), TimeStepping(H))
    for asked in (lambda: run.recording, lambda: playback_of(run)):
        with pytest.raises(SimulationConfigError, match="record=True"):
            asked()


H_ROWS, STEPS = 0.01, 40


def run_of(world: World, steps: int = STEPS) -> Recording:
    """A run from which only `simulate` has read values."""
    return simulate(world, TimeStepping(H_ROWS), steps=steps)


@pytest.mark.parametrize("make", [tumble, busy], ids=["contacts", "joints"])
def test_whatever_is_read_first_the_arrays_are_those_of_a_file(make, tmp_path) -> None:
    """In the order of the fields and against it, as a copy, from a pickle, and in chunks of a few steps."""
    world = make()
    run = run_of(world)
    simulate(world, TimeStepping(H_ROWS), steps=STEPS, path=tmp_path / "run.npz")
    filed = Recording.open(tmp_path / "run.npz")
    whole = run_of(world)
    names = list(FIELDS)
    in_pieces = simulate(world, TimeStepping(H_ROWS), steps=STEPS, chunk_steps=7)
    unread = run_of(world)
    for rows, order in (
        (run.rows, names),
        (whole.rows, names[::-1]),
        (copy.deepcopy(unread).rows, names),
        (pickle.loads(pickle.dumps(unread)).rows, names[::-1]),
        (in_pieces.rows, names),
    ):
        for name in order:
            found = rows[name]
            assert found.dtype == FIELDS[name].dtype, name
            np.testing.assert_array_equal(found, filed.rows[name], name)
    run.save(tmp_path / "saved.npz")
    for name, array in Recording.open(tmp_path / "saved.npz").rows.items():
        np.testing.assert_array_equal(array, filed.rows[name], name)


def test_a_run_leaves_nothing_to_the_next_one() -> None:
    """Runs of one world and stepper in turn, with forces, functions, other lengths, and one given up in between."""
    world, stepper = busy(), TimeStepping(H_ROWS)
    push = np.full(world.nv, 0.3)

    def stopped(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if time > 5 * H_ROWS:
            raise KeyError("given up")
        return push

    plans = [
        {"steps": 30},
        {"steps": 20, "tau": push},
        {"steps": 25, "tau": lambda time, q, v: time * push},
        {"duration": 0.1},
        {"steps": 30, "state": simulate(world, stepper, steps=7).state(7)},
    ]
    first = [simulate(world, TimeStepping(H_ROWS), **plan) for plan in plans]
    for plan, alone in [*zip(plans, first, strict=True), *zip(plans[::-1], first[::-1], strict=True)]:
        with pytest.raises(KeyError):
            simulate(world, stepper, steps=30, tau=stopped)
        simulate(world, stepper, steps=3)
        again = simulate(world, stepper, **plan)
        for name in FIELDS:
            np.testing.assert_array_equal(again.rows[name], alone.rows[name], name)
