"""Runs that keep their memory, and rollouts: the same bits as `simulate`, whatever came before."""

from __future__ import annotations

import copy
import gc
import math
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from body_contact_scenes import heap
from joint_scenes import busy, pendulum
from simulation_scenes import Outside, dropped_ball, tumble
from test_custom_loops import Together, carts
from test_moments import rolling_world
from test_simulation_adaptive import FirstTries
from test_simulation_kinematic import PLATE, accelerated, brick, world_with
from test_simulation_planar import world_of
from test_simulation_sleep import piles

from contactlab.contact import Material
from contactlab.simulation import (
    Batch,
    EventDriven,
    PositionDrive,
    Simulation,
    SimulationConfigError,
    SimulationError,
    Sleep,
    StepperState,
    TimeStepping,
    World,
    rollout,
    simulate,
)

H = 0.01


def driven() -> World:
    """A pendulum that a servo holds."""
    builder = pendulum(0.3)
    builder.add_drive(PositionDrive("rod", 0.0, 50.0, 5.0, name="servo"))
    return builder.build()


@pytest.mark.parametrize("make", [tumble, driven])
def test_steps_one_by_one_are_those_of_simulate(make) -> None:
    world, stepper = make(), TimeStepping(H)
    recording = simulate(world, stepper, steps=30)
    run = Simulation(world, stepper)
    for _ in range(30):
        run.step()
    np.testing.assert_array_equal(run.q, recording.q[-1])
    np.testing.assert_array_equal(run.v, recording.v[-1])
    assert run.time == recording.time[-1]
    assert run.steps == 30
    run.reset()
    assert run.steps == 0
    run.step(n=30)
    np.testing.assert_array_equal(run.q, recording.q[-1])


def test_a_run_goes_on_from_any_state_and_gives_its_own_back() -> None:
    world, stepper = tumble(), TimeStepping(H)
    recording = simulate(world, stepper, steps=40)
    run = Simulation(world, stepper, recording.state(25))
    run.step(n=15)
    np.testing.assert_array_equal(run.q, recording.q[-1])
    again = stepper.step(world, run.state)
    run.step()
    np.testing.assert_array_equal(run.q, again.state.q)
    run.reset(recording.state(10))
    run.step(n=30)
    np.testing.assert_array_equal(run.q, recording.q[-1])


def test_tables_are_those_of_the_last_step() -> None:
    world, stepper = tumble(), TimeStepping(H)
    run = Simulation(world, stepper)
    assert len(run.contacts) == 0
    run.step(n=60)
    step = stepper.step(world, simulate(world, stepper, steps=59).state(59))
    np.testing.assert_array_equal(run.contacts.impulse, step.contacts.impulse)
    np.testing.assert_array_equal(run.contacts.id, step.contacts.id)
    np.testing.assert_array_equal(run.certificate.scaled, step.certificate.scaled)
    assert run.contacts.scope.bodies == world.model.names
    with pytest.raises(SimulationConfigError, match="TimeStepping.step"):
        run.certificate.selection(int(run.certificate.step[0]), 0)


def test_forces_and_targets_hold_for_the_steps_they_are_given_for() -> None:
    world, stepper = driven(), TimeStepping(H)
    run = Simulation(world, stepper)
    run.step([0.5], targets={"servo": 0.2}, n=10)
    run.step(targets=[0.1], n=10)
    run.step(n=10)
    state = world.initial_state()
    for targets, tau in (({"servo": 0.2}, [0.5]), ({"servo": 0.1}, None), (None, None)):
        state = simulate(world, stepper, steps=10, state=state, tau=tau, targets=targets).state(10)
    np.testing.assert_array_equal(run.q, state.q)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tau": np.zeros(3)}, "shape"),
        ({"tau": [math.nan]}, "tau"),
        ({"tau": np.array([math.inf])}, "tau"),
        ({"targets": {"serv": 1.0}}, "servo"),
        ({"targets": {"servo": math.nan}}, "servo"),
        ({"targets": [1.0, 2.0]}, "shape"),
        ({"n": -1}, "n"),
        ({"n": 1.5}, "n"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_moves(arguments, message) -> None:
    run = Simulation(driven(), TimeStepping(H))
    with pytest.raises(SimulationConfigError, match=message):
        run.step(**arguments)
    np.testing.assert_array_equal(run.q, [0.3])
    assert run.steps == 0


def test_what_is_no_world_and_no_stepper_is_refused() -> None:
    for message, call in (
        ("TimeStepping", lambda: Simulation(dropped_ball(1.0), 0.01)),
        ("World", lambda: Simulation(3, TimeStepping(H))),
        (r"stepper\.run", lambda: Simulation(dropped_ball(1.0), EventDriven())),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            call()


def test_a_step_that_fails_leaves_the_run_where_it_was() -> None:
    run = Simulation(driven(), TimeStepping(H))
    run.step(n=2)
    q = run.q.copy()
    with pytest.raises(SimulationError, match="finite"):
        run.step([1e308], n=3)
    np.testing.assert_array_equal(run.q, q)
    assert run.steps == 2
    run.step()
    assert abs(run.q[0] - q[0]) < 0.1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_copies_are_runs_of_their_own(copied: Callable[[Simulation], Simulation]) -> None:
    world, stepper = tumble(), TimeStepping(H)
    run = Simulation(world, stepper)
    run.step(n=30)
    other, q = copied(run), run.q.copy()
    other.step(n=30)
    np.testing.assert_array_equal(run.q, q)
    del run
    gc.collect()
    other.step(n=10)
    np.testing.assert_array_equal(other.q, simulate(world, stepper, steps=70).q[-1])


@pytest.mark.parametrize("bad", ["q", "v", "z", "rest", "row_ids"])
def test_a_state_that_does_not_fit_is_named_and_the_run_goes_on(bad: str) -> None:
    world, stepper = (driven() if bad == "row_ids" else tumble()), TimeStepping(H, sleep=Sleep())
    run = Simulation(world, stepper)
    run.step(n=40)
    state, wrong = run.state, np.zeros((run.state.contact_ids.size, 3)) if bad == "z" else np.zeros(2)
    changes: dict[str, Any] = {"row_ids": [-1], "row_z": np.zeros((1, 2))} if bad == "row_ids" else {bad: wrong}
    other = replace(state.without_warm_start() if bad != "z" else state, **{"q": world.initial_state().q, **changes})
    with pytest.raises(SimulationConfigError, match=rf"state\.{bad}"):
        run.reset(other)
    with pytest.raises(SimulationConfigError, match=rf"states\[1\]\.{bad}"):
        rollout(world, stepper, [state, other], steps=2)
    run.step()
    np.testing.assert_array_equal(run.q, stepper.step(world, state).state.q)


class Tired:
    """What raises when it is told to."""

    tired = False

    def rest(self) -> None:
        if self.tired:
            raise RuntimeError("not now")


class Swinging(Tired, Together):
    """A distance that changes with time."""

    def velocity_error(self, model, q, v, t=0.0):
        self.rest()
        return super().velocity_error(model, q, v, t) - math.sin(3.0 * t)


class Slow(Tired, Outside):
    """A solver outside the loop."""

    def solve(self, problem, *, z0, tolerance, trace):
        self.rest()
        return super().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


@pytest.mark.parametrize("users", [Swinging("a", "c"), Slow()])
def test_a_step_that_user_code_breaks_off_begins_anew(users: Tired) -> None:
    if isinstance(users, Slow):
        world, stepper = tumble(), TimeStepping(H, solver=users)
    else:
        builder = carts()
        builder.add_loop(users, bodies=["a", "c"])
        world, stepper = builder.build(), TimeStepping(H)
    recording = simulate(world, stepper, steps=60)
    run = Simulation(world, stepper)
    run.step(n=40)
    users.tired = True
    with pytest.raises(RuntimeError, match="not now"):
        run.step(n=20)
    users.tired = False
    run.step(n=60 - run.steps)
    np.testing.assert_array_equal(run.q, recording.q[-1])


def swinging() -> World:
    builder = carts()
    builder.add_loop(Swinging("a", "c"), bodies=["a", "c"])
    return builder.build()


KINDS: dict[str, tuple[Callable[[], World], dict[str, Any]]] = {
    "adaptive": (tumble, {"adaptive": True, "solver": lambda: FirstTries(2, 7)}),
    "cone": (tumble, {"friction": "cone"}),
    "projection": (tumble, {"projection": True}),
    "solver outside": (tumble, {"solver": Outside}),
    "sleep": (piles, {"sleep": lambda: Sleep(1e-3, 0.15)}),
    "kinematic": (lambda: world_with(PLATE, accelerated(2.0), brick((0.1, 0.1, 0.05))), {}),
    "planar": (lambda: world_of((0.2, 0.1, 0.05), 0.4, (0.0, 0.05, 0.1), (1.0, 0.0, 0.0)), {}),
    "moments": (lambda: rolling_world(Material(0.4, torsional=0.01, rolling=0.01), (1.0, 0.2, 0.0)), {}),
    "joints": (busy, {}),
    "rows of the user's own": (swinging, {}),
    "buffers that grow": (lambda: heap(12, 1), {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_ways_to_run_give_the_same_bits(kind: str) -> None:
    make, options = KINDS[kind]
    world, rng = make(), np.random.default_rng(2)
    names, wanted = [drive.name for drive in world.joint_actions.drives], [d.target for d in world.joint_actions.drives]
    portions = []
    for steps, force in ((60, 0.0), (10, 0.1), (70, 0.0)):
        targets = rng.normal(wanted, force)
        portions.append((steps, force * rng.normal(size=world.nv), targets, dict(zip(names, targets, strict=True))))

    def stepper() -> TimeStepping:
        return TimeStepping(H, **{name: value() if callable(value) else value for name, value in options.items()})

    def states(run: Callable[..., StepperState]) -> list[StepperState]:
        found, of_run = [world.initial_state()], stepper()
        for steps, tau, targets, by_name in portions:
            found.append(run(of_run, found[-1], steps, tau if tau.any() else None, targets, by_name))
        return found

    def recorded(of_run, state, steps, tau, targets, by_name) -> StepperState:
        recording = simulate(world, of_run, steps=steps, state=state, tau=tau, targets=by_name)
        return recording.state(steps)

    def stepped(of_run, state, steps, tau, targets, by_name) -> StepperState:
        for k in range(steps):
            state = of_run.step(world, state, tau, targets=targets if k % 2 else by_name).state
        return state

    def batched(of_run, state, steps, tau, targets, by_name) -> StepperState:
        """Beside another run, which is elsewhere."""
        batch = Batch(world, of_run, [world.initial_state(), state], threads=1)
        batch.step(n=7)
        batch.reset([False, True], state)
        for n in (1, steps - 1):
            given = None if tau is None else np.array([np.zeros(world.nv), tau])
            batch.step(given, np.array([wanted, targets]).reshape(2, -1), n=n)
        return batch.states[1]

    run = Simulation(world, stepper())
    q, v = run.q, run.v
    kept = [run.state]
    for steps, tau, targets, by_name in portions:
        for k in range(steps):
            run.step(tau, targets=targets if k % 2 else by_name)
        kept.append(run.state)
        np.testing.assert_array_equal(q, kept[-1].q)
        np.testing.assert_array_equal(v, kept[-1].v)
    # A solver that counts what it is asked is of one run.
    for others in (states(recorded), states(stepped), *([] if kind == "adaptive" else [states(batched)])):
        for state, other in zip(kept[1:], others[1:], strict=True):
            for field in fields(StepperState):
                np.testing.assert_array_equal(getattr(state, field.name), getattr(other, field.name), field.name)
    tables = [np.concatenate([[row[i]] * row[0] for row in portions]) for i in (1, 2)]
    found = rollout(world, stepper(), kept[:1], taus=tables[:1], targets=tables[1][None])
    ends = np.cumsum([0, *(portion[0] for portion in portions)])
    np.testing.assert_array_equal(found.q[0, ends], [state.q for state in kept])
    assert any(state.contact_ids.size + state.row_ids.size > 0 for state in kept)


def test_runs_of_a_rollout_fail_alone() -> None:
    world, stepper = driven(), TimeStepping(H)
    taus = np.zeros((3, 20, 1))
    taus[1, 7] = 1e308
    found = rollout(world, stepper, [world.initial_state()] * 3, taus=taus)
    assert found.failed.tolist() == [False, True, False]
    assert isinstance(found.errors[1], SimulationError)
    assert found.errors[1].step == 7
    np.testing.assert_array_equal(found.errors[1].recording.q, found.q[1, 7:8])
    assert np.isfinite(found.q[1, :8]).all()
    assert np.isnan(found.q[1, 8:]).all()
    np.testing.assert_array_equal(found.q[0], found.q[2])


def test_wrong_rollouts_are_refused_before_they_run() -> None:
    world, stepper, state = driven(), TimeStepping(H), driven().initial_state()
    for arguments, message in (
        ({}, "how many"),
        ({"taus": np.zeros((1, 5, 2))}, "taus"),
        ({"targets": np.zeros((2, 5, 1))}, "targets"),
        ({"taus": np.zeros((1, 5, 1)), "steps": 6}, "taus"),
        ({"taus": np.zeros((1, 5, 1)), "targets": np.zeros((1, 6, 1))}, "targets"),
        ({"taus": [[[0.0], [0.0, 0.0]]]}, "taus"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            rollout(world, stepper, [state], **arguments)
    with pytest.raises(SimulationConfigError, match=r"states\[0\]"):
        rollout(world, stepper, [3], steps=2)
    with pytest.raises(SimulationConfigError, match=r"stepper\.run"):
        rollout(world, EventDriven(), [state], steps=2)
    assert rollout(world, stepper, [], steps=2).q.shape == (0, 3, 1)
