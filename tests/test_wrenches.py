"""Wrenches on bodies while stepping: what they do to free bodies and links, in every way to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joint_scenes import busy, pendulum
from simulation_scenes import cube_at_rest, tumble

from contactlab.contact import Box, Material, Sphere
from contactlab.multibody import body_pose, point_jacobian, point_jacobian_6d
from contactlab.simulation import (
    Batch,
    EventDriven,
    Simulation,
    SimulationConfigError,
    TimeStepping,
    World,
    WorldBuilder,
    Wrench,
    rollout,
    simulate,
    verify,
)
from contactlab.spatial import RigidInertia

H = 0.01


def free(com: tuple[float, float, float] = (0.0, 0.0, 0.0), turned: float = 0.0, gravity: float = 0.0) -> World:
    """A cube of 2 kg in empty space."""
    builder = WorldBuilder((0.0, 0.0, gravity))
    inertia = RigidInertia(2.0, com, inertia=0.01 * np.eye(3))
    q = (0, 0, 0, np.cos(turned / 2), 0, 0, np.sin(turned / 2))
    builder.add_free_body("cube", inertia, Box.cube(0.1), Material(0.5), q)
    return builder.build()


def bodies(world: World) -> dict[str, Any]:
    """Wrenches of every form on the first bodies of a world."""
    forms = [
        (0.01, -0.02, 0.03, 0.4, 0.5, -0.6),
        Wrench((0.3, 0.2, -0.1), at=(0.02, 0.01, 0.03)),
        Wrench((0.3, 0.2, -0.1), (0.01, 0.0, 0.02), (0.02, 0.01, 0.03), "body"),
    ]
    return dict(zip(world.model.names, forms, strict=False))


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


@pytest.mark.parametrize("make", [tumble, busy])
def test_every_way_to_run_has_the_same_bits(make: Any) -> None:
    world, stepper = make(), TimeStepping(H)
    f_ext, tau, steps = bodies(world), 0.01 * np.arange(world.nv), 40
    run = Simulation(world, stepper, record=True)
    run.step(tau, f_ext=f_ext, n=steps)
    recording = simulate(world, stepper, steps=steps, tau=tau, f_ext=f_ext)
    law = simulate(world, stepper, steps=steps, tau=lambda t, q, v: tau, f_ext=lambda t, q, v: f_ext)
    state = world.initial_state()
    for _ in range(steps):
        state = stepper.step(world, state, tau, f_ext=f_ext).state
    for q in (recording.q[-1], law.q[-1], state.q):
        np.testing.assert_array_equal(q, run.q)
    np.testing.assert_array_equal(run.recording.rows["tau"], recording.rows["tau"])
    assert verify(run.recording).holds
    J = {name: point_jacobian_6d(world.model, run.recording.q[7], name, (0, 0, 0)) for name in f_ext}
    first = next(iter(f_ext))
    alone = stepper.step(world, recording.state(7), f_ext={first: f_ext[first]})
    by_hand = stepper.step(world, recording.state(7), J[first].T @ f_ext[first])
    np.testing.assert_allclose(alone.state.v, by_hand.state.v, rtol=0, atol=1e-10)


def test_a_rollout_under_wrenches_has_the_bits_of_steps() -> None:
    """Of every step its own, or one for all; arrays and values."""
    world, stepper, rng = tumble(), TimeStepping(H), np.random.default_rng(1)
    cube, ball, last = world.model.names[:3]
    rows, forces, constant = (0.05 * rng.normal(size=size) for size in ((2, 30, 6), (2, 30, 3), (2, 6)))
    taus, states = 0.05 * rng.normal(size=(2, 30, world.nv)), [world.initial_state()] * 2
    given = {cube: rows, ball: Wrench(forces, at=(0.01, 0.02, 0.0), axes="body"), last: constant}
    found = rollout(world, stepper, states, taus=taus, threads=1, f_ext=given)
    batch = Batch(world, stepper, states, threads=1)
    for k in range(30):
        of_step = Wrench(forces[:, k], at=(0.01, 0.02, 0.0), axes="body")
        batch.step(taus[:, k], f_ext={cube: rows[:, k], ball: of_step, last: constant})
        np.testing.assert_array_equal(found.q[:, k + 1], batch.q)
    np.testing.assert_array_equal(found.v[:, -1], batch.v)
    with pytest.raises(SimulationConfigError, match=r"shape \(2, 30, 6\), got \(2, 29, 6\)"):
        batch.rollout(taus, f_ext={cube: rows[:, 1:]})
    with pytest.raises(SimulationConfigError, match=r"force must have shape \(3,\) or \(2, 3\) or \(2, 30, 3\), got"):
        batch.rollout(taus, f_ext={cube: Wrench(forces[:, 1:])})


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


def test_a_wrench_moves_each_world_of_a_batch_by_its_own_mass() -> None:
    builder = WorldBuilder((0.0, 0.0, 0.0))
    builder.add_free_body(
        "cube", RigidInertia.solid_box(4.0, (0.1,) * 3), Box.cube(0.1), Material(0.5), (0, 0, 0, 1, 0, 0, 0)
    )
    batch = Batch([free(), builder.build()], TimeStepping(H), threads=1)
    batch.step(f_ext={"cube": Wrench((1.0, 0.0, 0.0))})
    np.testing.assert_allclose(batch.v[:, 0], [H / 2.0, H / 4.0], rtol=1e-14)


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
        lambda: stepper.step(world, run.state, f_ext=f_ext),
        lambda: simulate(world, stepper, steps=1, f_ext=f_ext),
        lambda: simulate(world, stepper, steps=1, f_ext=lambda t, q, v: f_ext),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            act()
    assert run.steps == 0


def test_wrenches_of_the_wrong_number_of_runs_are_refused() -> None:
    batch = Batch(free(), TimeStepping(H), [free().initial_state()] * 3, threads=1)
    for given, message in ((np.zeros(6), r"\(3, 6\), got \(6,\)"), (Wrench(np.zeros((2, 3))), r"got \(2, 3\)")):
        with pytest.raises(SimulationConfigError, match=message):
            batch.step(f_ext={"cube": given})
    assert not batch.steps.any()


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
