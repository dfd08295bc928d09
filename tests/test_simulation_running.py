"""Runs that keep their memory, rollouts, single steps and wrenches: the same bits as `simulate`."""

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
from joint_scenes import busy, driven, pendulum
from refusals import assert_messages
from simulation_scenes import Outside, cube_at_rest, dropped_ball, tumble
from test_custom_loops import Together, carts
from test_moments import rolling_world
from test_simulation_adaptive import FirstTries
from test_simulation_kinematic import PLATE, accelerated, brick, world_with
from test_simulation_planar import world_of
from test_simulation_sleep import piles

from contactlab.event_driven import EventDriven
from contactlab.multibody import body_pose, point_jacobian
from contactlab.simulation import (
    Batch,
    Box,
    Material,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    SimulationError,
    Sleep,
    Sphere,
    StepperState,
    TimeStepping,
    World,
    WorldBuilder,
    Wrench,
    rollout,
    simulate,
    step,
)

H = 0.01


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
    assert_messages(
        SimulationConfigError,
        ("TimeStepping", lambda: Simulation(dropped_ball(1.0), 0.01)),
        ("World", lambda: Simulation(3, TimeStepping(H))),
        (r"stepper\.run", lambda: Simulation(dropped_ball(1.0), EventDriven())),
    )


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
    assert_messages(
        SimulationConfigError,
        (rf"state\.{bad}", lambda: run.reset(other)),
        (rf"states\[1\]\.{bad}", lambda: rollout(world, stepper, [state, other], steps=2)),
    )
    run.step()
    np.testing.assert_array_equal(run.q, step(world, stepper, state).state.q)


class Tired:
    """A function that raises on request."""

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
            state = step(world, of_run, state, tau, targets=targets if k % 2 else by_name).state
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
        ({}, "must be given"),
        ({"taus": np.zeros((1, 5, 2))}, "taus"),
        ({"targets": np.zeros((2, 5, 1))}, "targets"),
        ({"taus": np.zeros((1, 5, 1)), "steps": 6}, "taus"),
        ({"taus": np.zeros((1, 5, 1)), "targets": np.zeros((1, 6, 1))}, "targets"),
        ({"taus": [[[0.0], [0.0, 0.0]]]}, "taus"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            rollout(world, stepper, [state], **arguments)
    assert_messages(
        SimulationConfigError,
        (r"states\[0\]", lambda: rollout(world, stepper, [3], steps=2)),
        (r"stepper\.run", lambda: rollout(world, EventDriven(), [state], steps=2)),
    )
    assert rollout(world, stepper, [], steps=2).q.shape == (0, 3, 1)


def free(com: tuple[float, float, float] = (0.0, 0.0, 0.0), turned: float = 0.0, gravity: float = 0.0) -> World:
    """A cube of 2 kg in empty space."""
    builder = WorldBuilder((0.0, 0.0, gravity))
    inertia = RigidInertia(2.0, com, inertia=0.01 * np.eye(3))
    q = (0, 0, 0, np.cos(turned / 2), 0, 0, np.sin(turned / 2))
    builder.add_free_body("cube", inertia, Box.cube(0.1), Material(0.5), q)
    return builder.build()


def test_a_constant_force_gives_a_free_body_its_gain_in_every_step() -> None:
    force = np.array((1.0, -2.0, 3.0))
    run = Simulation(free(), TimeStepping(H))
    for k in range(1, 51):
        run.step(f_ext={"cube": (0, 0, 0, *force)})
        np.testing.assert_allclose(run.v[:3], k * H * force / 2.0, rtol=1e-12)
    np.testing.assert_allclose(run.v[3:], 0.0, atol=1e-15)


def test_a_moment_turns_a_free_body_about_its_axis_in_the_world() -> None:
    """A ball's inertia: no precession, so that the turning in the world is the moment's."""
    moment, run = np.array((0.02, -0.01, 0.03)), Simulation(free(turned=1.0), TimeStepping(H))
    for k in range(1, 41):
        R = body_pose(run.world.model, run.q, "cube").R
        before = R @ run.v[3:]
        run.step(f_ext={"cube": (*moment, 0, 0, 0)})
        np.testing.assert_allclose(R @ run.v[3:] - before, H * moment / 0.01, rtol=1e-10, atol=1e-13)
        assert run.steps == k
    np.testing.assert_allclose(run.v[:3], 0.0, atol=1e-15)


def test_a_wrench_on_a_link_is_the_torque_by_hand() -> None:
    """That of every step's start, also where it is given for many steps."""
    world, stepper = pendulum(0.3).build(), TimeStepping(H)
    force, at = np.array((2.0, 0.5, -1.0)), (0.1, 0.0, -0.2)
    by_hand, run = Simulation(world, stepper), Simulation(world, stepper)
    run.step(0.2 * np.ones(world.nv), f_ext={"rod": Wrench(force, at=at)}, n=40)
    for _ in range(40):
        by_hand.step(0.2 + point_jacobian(world.model, by_hand.q, "rod", at).T @ force)
    np.testing.assert_allclose(run.q, by_hand.q, rtol=0, atol=1e-13)
    assert abs(run.q[0] - world.initial_state().q[0]) > 0.01


def test_event_driven_motion_feels_wrenches_at_every_instant() -> None:
    """A force that turns with a spinning cube: twice integrated, in closed form."""
    builder, rate, force, end = WorldBuilder((0.0, 0.0, 0.0)), 3.0, 4.0, 0.7
    inertia = RigidInertia(2.0, (0, 0, 0), inertia=0.01 * np.eye(3))
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.5), v=(0, 0, 0, 0, 0, rate))
    f_ext = {"ball": Wrench((force, 0.0, 0.0), axes="body")}
    recording = EventDriven().run(builder.build(), end, f_ext=f_ext)
    turned, gain = rate * end, force / 2.0 / rate
    np.testing.assert_allclose(recording.v[-1, :2], gain * np.array((np.sin(turned), 1 - np.cos(turned))), atol=1e-8)
    np.testing.assert_allclose(
        recording.q[-1, :2], gain / rate * np.array((1 - np.cos(turned), turned - np.sin(turned))), atol=1e-8
    )


def test_a_push_beyond_friction_slides_a_cube_and_one_within_does_not() -> None:
    for push, speed in ((4.0, 0.0), (6.0, (6.0 - 0.5 * 9.81) * 0.1)):
        run = Simulation(cube_at_rest(), TimeStepping(H))
        run.step(f_ext={"body": Wrench((push, 0, 0), at=(0, 0, -0.1))}, n=10)
        np.testing.assert_allclose(run.v[0], speed, atol=1e-9)


@pytest.mark.parametrize(
    ("f_ext", "message"),
    [
        ({"cub": np.zeros(6)}, r"f_ext\['cub'\].*no body is called 'cub'.*cube"),
        ({"cube": np.zeros(5)}, r"f_ext\['cube'\].*shape \(6,\), got \(5,\)"),
        ({"cube": [0, 0, np.nan, 0, 0, 0]}, r"f_ext\['cube'\].*nan"),
        ({"cube": Wrench(np.zeros((2, 3)))}, r"force must have shape \(3,\), got \(2, 3\)"),
        ([0.0] * 6, "must map names of bodies to wrenches, got list"),
    ],
)
def test_wrong_wrenches_are_named_and_nothing_moves(f_ext: Any, message: str) -> None:
    world, stepper = free(), TimeStepping(H)
    run = Simulation(world, stepper)
    for act in (
        lambda: run.step(f_ext=f_ext),
        lambda: step(world, stepper, run.state, f_ext=f_ext),
        lambda: simulate(world, stepper, steps=1, f_ext=f_ext),
        lambda: simulate(world, stepper, steps=1, f_ext=lambda t, q, v: f_ext),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            act()
    assert run.steps == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"force": (1, 2)}, r"Wrench.force.*\(2,\)"),
        ({"moment": (1, np.inf, 2)}, "Wrench.moment.*inf"),
        ({"axes": "link"}, "Wrench.axes.*'link'"),
    ],
)
def test_a_wrench_says_what_is_wrong_with_it(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationConfigError, match=message):
        Wrench(**arguments)
