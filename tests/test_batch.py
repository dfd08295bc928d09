"""Batches: many runs in memory at once, each with the bits it would have alone."""

import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from joint_scenes import driven, pendulum
from simulation_scenes import block, tumble

from contactlab.multibody import MultibodyError
from contactlab.simulation import (
    Batch,
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    SimulationError,
    Sleep,
    TimeStepping,
    World,
    WorldBuilder,
    rollout,
    sensors,
    simulate,
)
from contactlab.simulation.stepping import step_buffers

H = 0.01


def crate(mass: float = 1.0, mu: float = 0.5, half: float = 0.1, gravity: float = -9.81) -> World:
    """A crate that falls on its edge."""
    builder, sides = WorldBuilder((0.0, 0.0, gravity)), (half, 0.1, 0.1)
    builder.add_half_space("floor", HalfSpace(), Material(mu))
    turned = (0.0, 0.0, 0.3, np.cos(0.2), 0.0, np.sin(0.2), 0.0)
    builder.add_free_body("crate", RigidInertia.solid_box(mass, sides), Box(sides), Material(mu), turned)
    return builder.build()


def alone(world: World, stepper: TimeStepping, taus: np.ndarray, targets: np.ndarray | None = None) -> Simulation:
    """A run of one's own under forces (steps, nv)."""
    run = Simulation(world, stepper)
    for k, tau in enumerate(taus):
        run.step(tau, targets=None if targets is None else targets[k])
    return run


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["masses and gravity", "friction", "sizes", "gains"])
def test_worlds_of_one_layout_run_together(kind: str, threads: int) -> None:
    worlds = {
        "masses and gravity": [crate(1.0), crate(3.0), crate(2.0, gravity=-1.6), crate(1.0, gravity=0.0)],
        "friction": [crate(mu=mu) for mu in (0.1, 0.5, 0.9, 0.0)],
        "sizes": [crate(half=half) for half in (0.1, 0.05, 0.2, 0.3)],
        "gains": [driven(k, aim) for k, aim in ((50.0, 0.0), (5.0, 0.1), (500.0, -0.1), (0.0, 0.0))],
    }[kind]
    rng, stepper = np.random.default_rng(1), TimeStepping(H)
    taus = rng.normal(size=(4, 60, worlds[0].nv))
    batch = Batch(worlds, stepper, threads=threads)
    for k in range(60):
        batch.step(taus[:, k])
    for i, world in enumerate(worlds):
        run = alone(world, stepper, taus[i])
        np.testing.assert_array_equal(batch.q[i], run.q)
        np.testing.assert_array_equal(batch.v[i], run.v)
    assert len({q.tobytes() for q in batch.q}) == 4
    found = rollout(worlds, stepper, [world.initial_state() for world in worlds], taus=taus, threads=threads)
    np.testing.assert_array_equal(found.q[:, -1], batch.q)


def test_a_step_after_a_rollout_has_its_own_inputs() -> None:
    """The tables of a rollout are not read any more."""
    world, stepper, taus = crate(), TimeStepping(H), np.zeros((2, 3, 6))
    taus[..., 0], last = 4.0, np.tile([0.0, -4.0, 0, 0, 0, 0], (2, 1))
    batch = Batch(world, stepper, [world.initial_state()] * 2, threads=2)
    batch.rollout(taus)
    batch.step(last)
    for q in batch.q:
        np.testing.assert_array_equal(q, alone(world, stepper, [*taus[0], last[0]]).q)


def test_a_run_that_fails_stops_alone_until_it_is_reset() -> None:
    world, stepper = driven(), TimeStepping(H)
    batch = Batch(world, stepper, [world.initial_state()] * 3, threads=2)
    batch.step(n=4)
    before, taus = batch.q[1].copy(), np.zeros((3, 1))
    taus[1] = 1e308
    batch.step(taus, n=2)
    assert batch.failed.tolist() == [False, True, False]
    error = batch.errors[1]
    assert isinstance(error, SimulationError)
    assert error.step == 4
    np.testing.assert_array_equal(batch.q[1], before)
    np.testing.assert_array_equal(error.recording.q, before[None])
    batch.step(n=4)
    assert batch.steps.tolist() == [10, 4, 10]
    np.testing.assert_array_equal(batch.q[[0, 2]], [simulate(world, stepper, steps=10).q[-1]] * 2)
    np.testing.assert_array_equal(batch.q[1], before)
    assert np.isnan(batch.rollout(steps=2).q[1, 1:]).all()
    batch.reset(batch.failed)
    assert not batch.failed.any()
    batch.step(n=10)
    np.testing.assert_array_equal(batch.q[1], batch.q[0] * 0 + simulate(world, stepper, steps=10).q[-1])
    assert batch.steps.tolist() == [22, 10, 22]


def test_runs_that_are_not_chosen_stay_where_they_are() -> None:
    """Their time and their steps stay; the other runs have the same bits as without them."""
    world, stepper, taus = crate(), TimeStepping(H), np.zeros((3, 6))
    batch = Batch(world, stepper, [world.initial_state()] * 3, threads=2)
    for mask in ([True, True, False], [False, True, False], [False, False, False], [True, True, True]):
        batch.step(taus, n=10, mask=mask)
    assert batch.steps.tolist() == [20, 30, 10]
    assert batch.time.tolist() == pytest.approx([0.2, 0.3, 0.1])
    recorded = simulate(world, stepper, steps=30)
    for i, made in enumerate((20, 30, 10)):
        np.testing.assert_array_equal(batch.q[i], recorded.q[made])
    for mask in ([1, 0, 0], [True, False], True):
        with pytest.raises(SimulationConfigError, match="mask: must be of bool"):
            batch.step(mask=mask)


def test_user_code_that_raises_stops_its_run_alone() -> None:
    class Solver:
        def solve(self, problem, *, z0, tolerance, trace):
            raise RuntimeError("not now")

    worlds = [crate(), crate(gravity=0.0)]
    batch = Batch(worlds, TimeStepping(H, solver=Solver(), warm_start=False), threads=1)
    batch.step(n=60)
    assert batch.failed.tolist() == [True, False]
    assert str(batch.errors[0]) == "not now"
    assert batch.steps[1] == 60


def test_reset_goes_to_states_as_if_nothing_had_run() -> None:
    world, stepper = tumble(), TimeStepping(H, sleep=Sleep(1e-2, 0.1))
    recording = simulate(world, stepper, steps=100)
    batch = Batch(world, stepper, [recording.state(k) for k in (0, 20, 40)], threads=1)
    batch.step(n=40)
    batch.reset([True, False, True], [recording.state(70), recording.state(10)])
    assert batch.time.tolist() == [recording.time[70], recording.time[60], recording.time[10]]
    batch.step(n=30)
    np.testing.assert_array_equal(batch.q, recording.q[[100, 90, 40]])
    batch.reset([False, True, True], recording.state(95))
    batch.step(n=5)
    np.testing.assert_array_equal(batch.q[1:], recording.q[[100, 100]])
    batch.reset()
    np.testing.assert_array_equal(batch.q, recording.q[[0, 20, 40]])
    batch.step(n=20)
    np.testing.assert_array_equal(batch.q, recording.q[[20, 40, 60]])


def test_contacts_and_readings_are_those_of_every_run() -> None:
    worlds, stepper = [crate(), crate(2.0), crate(), crate(2.0)], TimeStepping(H)
    push = np.zeros((4, 6))
    push[:, 0] = (0.0, 1.0, 2.0, 3.0)
    mine = (
        sensors.ContactForce("crate", "floor"),
        sensors.Accelerometer("crate"),
        sensors.JointForce("crate"),
        sensors.FramePosition("crate"),
    )
    batch = Batch(worlds, stepper, threads=1)
    with pytest.raises(SimulationConfigError, match="none has been made"):
        batch.read(mine[0])
    assert len(batch.contacts) == 0
    batch.step(push, n=60)
    batch.reset([False, False, True, False])
    runs = [Simulation(world, stepper) for world in worlds]
    for run, tau in zip(runs, push, strict=True):
        run.step(tau, n=60)
    forces = batch.contacts.between("crate", "floor").force_on("crate")
    assert forces.shape == (4, 3)
    for i in (0, 1, 3):
        np.testing.assert_array_equal(forces[i], runs[i].read(mine[0]))
        assert len(batch.contacts.rows(batch.contacts.step == i)) == len(runs[i].contacts) > 0
        for one in mine:
            np.testing.assert_array_equal(batch.read(one)[i], runs[i].read(one))
    # One that has made no step has no forces yet, but it is somewhere.
    assert np.isnan(batch.read(mine[1])[2]).all()
    assert not forces[2].any()
    np.testing.assert_array_equal(batch.read(mine[3])[2], (0.0, 0.0, 0.3))
    with pytest.raises(MultibodyError, match="'crat'"):
        batch.read(sensors.FramePosition("crat"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"taus": np.zeros(3)}, "taus"),
        ({"taus": np.zeros((3, 1))}, "taus"),
        ({"taus": np.full((2, 1), np.nan)}, "taus"),
        ({"targets": np.zeros((2, 2))}, "targets"),
        ({"n": -1}, "n"),
        ({"n": 1.5}, "n"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_moves(arguments: dict[str, Any], message: str) -> None:
    batch = Batch(driven(), TimeStepping(H), [driven().initial_state()] * 2)
    with pytest.raises(SimulationConfigError, match=message):
        batch.step(**arguments)
    np.testing.assert_array_equal(batch.q, [[0.3], [0.3]])
    assert not batch.steps.any()


def test_wrong_batches_and_resets_are_refused() -> None:
    world, stepper = driven(), TimeStepping(H)
    state = world.initial_state()
    for worlds, states, message in (
        ([], None, "worlds"),
        ([world] * 2, [state] * 3, "one for each of 3 states"),
        (world, state, "sequence of B states"),
        (world, [state, 3], r"states\[1\]"),
        ([world, crate()], None, r"worlds\[1\].*other bodies"),
        ([crate(), tumble()], None, r"worlds\[1\]"),
        ([crate(), block(0.5, 0.0)], None, r"worlds\[1\]"),
        ([world, pendulum(0.3).build()], None, r"worlds\[1\].*drives"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            Batch(worlds, stepper, states)
    batch = Batch(world, stepper, [state] * 2)
    batch.step(n=3)
    q = batch.q.copy()
    for mask, states, message in (
        ([True], None, "mask"),
        ([0, 1], None, "mask"),
        (None, [state], "one for each of 2 runs"),
        ([True, False], [crate().initial_state()], r"states\[0\]"),
        (None, [state, crate().initial_state()], r"states\[1\]"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            batch.reset(mask, states)
    np.testing.assert_array_equal(batch.q, q)
    with pytest.raises(ValueError, match="read-only"):
        batch.q[0] = 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_that_is_interrupted_goes_on(threads: int) -> None:
    """Each run stands at a state that a run alone has passed, and continues in its own world."""
    worlds, stepper = [crate(mu=mu) for mu in (0.1, 0.5, 0.9)], TimeStepping(1e-3)
    push = np.tile([4.0, 0, 0, 0, 0, 0], (3, 1))
    batch = Batch(worlds, stepper, threads=threads)
    batch.step(push)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    clock = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        batch.step(push, n=3_000_000)
    assert time.perf_counter() - clock < 2.0
    batch.step(push, n=299)
    for world, q in zip(worlds, batch.q, strict=True):
        np.testing.assert_array_equal(q, simulate(world, stepper, steps=300, tau=push[0]).q[-1])


def test_ctrl_c_between_two_worlds_leaves_none_in_the_others_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run would have continued with the friction of another one."""
    worlds, stepper, taus = [crate(mu=mu) for mu in (0.1, 0.9)], TimeStepping(H), np.zeros((2, 6))
    taus[:, 0] = 4.0
    batch = Batch(worlds, stepper, threads=1)
    batch.step(taus)

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # So is every call into which Ctrl-C may come, while a worker turns from one world to the other.
        patch.setattr(step_buffers, "StepCallbacks", interrupted)
        batch._runs._workers[0]._driver._others.clear()
        with pytest.raises(KeyboardInterrupt):
            batch.step(taus, n=70)
    batch.step(taus, n=70)
    for i, world in enumerate(worlds):
        np.testing.assert_array_equal(batch.q[i], alone(world, stepper, [taus[i]] * int(batch.steps[i])).q)
