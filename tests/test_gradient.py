"""Gradients of costs over whole runs, compared with differences of the runs; and the refusals."""

import joint_scenes
import numpy as np
import pytest
from refusals import assert_fields
from step_differences import moved

from contactlab.derivatives import gradient, parameter
from contactlab.simulation import (
    Box,
    ExternalContact,
    HalfSpace,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    joints,
    simulate,
)

H = 2e-3
HALF = (0.1, 0.1, 0.1)


def falling_cube():
    """A cube that is thrown, lands on a corner, bounces and slides."""
    builder, material = WorldBuilder(), Material(0.3, 0.4)
    builder.add_half_space("floor", HalfSpace(), material)
    turn = np.array([0.9, 0.25, 0.15, 0.1]) / np.linalg.norm([0.9, 0.25, 0.15, 0.1])
    inertia = RigidInertia.solid_box(2.0, HALF)
    v = (0.4, 0.1, -1.0, 1.0, 2.0, 0.5)
    builder.add_free_body("cube", inertia, Box(HALF), material, (0, 0, 0.18, *turn), v)
    return builder.build()


def arm():
    """Two links with drives, one of them bounded, that turn freely."""
    model, link = ModelBuilder(), RigidInertia(0.5, (0.2, 0.0, 0.0), inertia=np.diag([1e-3, 8e-3, 8e-3]))
    model.add_body("upper", joint=joints.Revolute((0, 1, 0)), inertia=link)
    model.add_body("lower", parent="upper", joint=joints.Revolute((0, 1, 0)), inertia=link)
    builder = WorldBuilder(**joint_scenes.FAST)
    builder.add_model(model.build(), [0.2, 0.3], [0.0, 1.0])
    builder.add_joint_damping("upper", 0.3)
    builder.add_drive(PositionDrive("upper", 0.4, 20.0, 1.0, name="servo"))
    builder.add_drive(PositionDrive("lower", 0.1, 30.0, 2.0, max_force=50.0, name="bounded"))
    return builder.build()


def place(i, q, v):
    """Where the body is, and how fast."""
    return float(q[0] ** 2 + 2.0 * q[2] + 0.1 * v @ v)


def of_world(world, stepper, n, cost, *, state=None, tau=None, targets=None, at=None):
    """Return the cost of a run."""
    state = state or world.initial_state()
    run = simulate(world, stepper, steps=n, state=state, tau=tau, targets=targets)
    states = range(n + 1) if at is None else at
    return sum(cost(i, run.q[i], run.v[i]) for i in states)


def agrees(cost, value, steps, bound):
    """Of central differences with these steps the best is within the bound of the value."""
    assert min(abs((cost(s) - cost(-s)) / (2.0 * s) - value) for s in steps) < bound


def test_a_cube_from_the_air_by_its_start():
    """The cost of a run with a bounce and slides, by start and friction: as differences of the run, erp = 0."""
    world, stepper, n = falling_cube(), TimeStepping(H), 80
    run = simulate(world, stepper, steps=n)
    assert run.contacts.step.size > 5
    found = gradient(run, place, at=(-1,), wrt=["cube.mu", "floor.restitution", "cube.mass"])
    assert found.value == pytest.approx(place(n, run.q[n], run.v[n]), rel=1e-15)
    start = world.initial_state()
    for column, value in enumerate((*found.q, *found.v)):
        way = 1.0 * (np.arange(12) == column)
        agrees(
            lambda s, way=way: of_world(world, stepper, n, place, state=moved(world, start, s * way), at=(n,)),
            value,
            (1e-6, 1e-7, 1e-8),
            2e-6,
        )
    for name, value in found.parameters.items():
        one, bound = parameter(world, name), 1e-5 * max(1.0, abs(value))
        agrees(
            lambda s, one=one: of_world(one.world(one.value + s), stepper, n, place, at=(n,)),
            value,
            (1e-6, 1e-7),
            bound,
        )


def reach(i, q, v):
    """How far the arm is from a place, all along."""
    return float((q[0] - 0.5) ** 2 + (q[1] + 0.2) ** 2 + 0.01 * v @ v)


def test_an_arm_by_its_targets_forces_and_gains():
    """The cost of all states of a driven arm: by start, tau and targets of each step, and parameters."""
    world, stepper, n = arm(), TimeStepping(H), 40
    start = world.initial_state()
    taus = 0.5 * np.random.default_rng(0).normal(size=(n, 2))
    aims = 0.3 * np.random.default_rng(1).normal(size=(n, 2))

    def run(world=world, taus=taus, aims=aims, state=start):
        clock = lambda time: min(n - 1, round(time / H))  # noqa: E731
        return simulate(
            world,
            stepper,
            steps=n,
            state=state,
            tau=lambda time, q, v: taus[clock(time)],
            targets=lambda time, q, v: aims[clock(time)],
        )

    def cost(**given):
        one = run(**given)
        return sum(reach(i, one.q[i], one.v[i]) for i in range(n + 1))

    wrt = ["servo.stiffness", "servo.damping", "bounded.damping", "upper.damping", "lower.mass", "lower.com_x"]
    found = gradient(run(), reach, wrt=wrt)
    assert found.unique
    assert found.tau.shape == (n, 2)
    assert found.targets.shape == (n, 2)
    assert found.value == pytest.approx(cost(), rel=1e-14)
    for k in (0, 17, n - 1):
        for j in range(2):
            way = np.zeros((n, 2))
            way[k, j] = 1e-3
            by_tau = (cost(taus=taus + way) - cost(taus=taus - way)) / 2e-3
            by_target = (cost(aims=aims + way) - cost(aims=aims - way)) / 2e-3
            assert found.tau[k, j] == pytest.approx(by_tau, rel=1e-5, abs=1e-9)
            assert found.targets[k, j] == pytest.approx(by_target, rel=1e-5, abs=1e-9)
    for column, value in enumerate((*found.q, *found.v)):
        way = 1e-6 * (np.arange(4) == column)
        ends = [cost(state=moved(world, start, sign * way)) for sign in (1, -1)]
        assert value == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)
    for name, value in found.parameters.items():
        one = parameter(world, name)
        way = 1e-5 * one.scale
        ends = [cost(world=one.world(one.value + sign * way)) for sign in (1, -1)]
        assert value == pytest.approx((ends[0] - ends[1]) / (2 * way), rel=1e-5, abs=1e-9), name


def test_what_contact_forces_cost():
    """The square of the normal forces of a landing, by its start and mass: as differences of the run."""
    world, stepper, n = falling_cube(), TimeStepping(H), 30
    run = simulate(world, stepper, steps=n)

    def push(k, forces):
        return 1e-4 * float((forces[:, 2] ** 2).sum() + forces[:, 0].sum())

    def exact(k, forces):
        by = np.zeros_like(forces)
        by[:, 2], by[:, 0] = 2e-4 * forces[:, 2], 1e-4
        return push(k, forces), by

    def no(i, q, v):
        return 0.0, np.zeros(6), np.zeros(6)

    def total(state=None, world=world):
        one = simulate(world, stepper, steps=n, state=state)
        return sum(push(k, one.contacts_at(k).impulse / one.h[k]) for k in range(n))

    found = gradient(run, no, force_cost=push, wrt=["cube.mass"])
    assert found.value == pytest.approx(total(), rel=1e-14)
    assert found.value > 0.0
    start = world.initial_state()
    for column, value in enumerate((*found.q, *found.v)):
        way, bound = 1.0 * (np.arange(12) == column), 1e-5 * max(1.0, abs(value))
        agrees(lambda s, way=way: total(moved(world, start, s * way)), value, (1e-6, 1e-7), bound)
    one, value = parameter(world, "cube.mass"), found.parameters["cube.mass"]
    agrees(lambda s: total(world=one.world(one.value + s)), value, (1e-6,), 1e-4 * abs(value))
    told = gradient(run, no, force_cost=exact)
    np.testing.assert_allclose(told.v, found.v, rtol=1e-5, atol=1e-6)
    assert told.value == found.value


@pytest.mark.nojit
def test_states_that_cost():
    """`at` names them, from either end; costs add, and a later force costs an earlier state nothing."""
    world, stepper, n = arm(), TimeStepping(H), 20
    run = simulate(world, stepper, steps=n)
    some = [gradient(run, reach, at=(i,)) for i in (0, 7, n)]
    every = gradient(run, reach, at=(7, -1, 0, n, -n - 1))
    assert every.value == pytest.approx(sum(one.value for one in some), rel=1e-14)
    np.testing.assert_allclose(every.q, sum(one.q for one in some), rtol=1e-12)
    np.testing.assert_allclose(every.tau, sum(one.tau for one in some), rtol=1e-12, atol=1e-18)
    assert not some[0].tau.any()
    assert some[1].tau[:7].any()
    assert not some[1].tau[7:].any()
    assert not gradient(run, reach, at=()).q.any()


def test_steps_on_kinks_are_named():
    """A cube that rests on its gap of zero stands on a kink in each step, with the contact's words."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.3))
    inertia = RigidInertia.solid_box(2.0, HALF)
    builder.add_free_body("cube", inertia, Box(HALF), Material(0.3), (0, 0, 0.1, 1, 0, 0, 0))
    run = simulate(builder.build(), TimeStepping(H), steps=5)
    found = gradient(run, place, at=(-1,))
    assert not found.unique
    assert [step for step, _ in found.kinks] == [0, 1, 2, 3, 4]
    assert {kink.label for _, kink in found.kinks} == {"cube on floor"}


def test_costs_and_records_that_cannot_be_used():
    """A cost that is not a number, gradients of another shape, missing states, and external contacts raise."""
    world, stepper = falling_cube(), TimeStepping(H)
    run = simulate(world, stepper, steps=25)
    assert_fields(
        SimulationConfigError,
        ("cost", lambda: gradient(run, lambda i, q, v: None)),
        ("cost", lambda: gradient(run, lambda i, q, v: np.nan)),
        ("cost", lambda: gradient(run, lambda i, q, v: (1.0, np.zeros(7), np.zeros(6)))),
        ("cost", lambda: gradient(run, lambda i, q, v: (1.0, np.zeros(6), np.full(6, np.inf)))),
        ("force_cost", lambda: gradient(run, place, force_cost=lambda k, f: (0.0, np.zeros(3)))),
        ("force_cost", lambda: gradient(run, place, force_cost=lambda k, f: "much")),
        ("cost", lambda: gradient(run, lambda i, q, v: (1.0, np.zeros(6)))),
        ("cost", lambda: gradient(run, lambda i, q, v: (np.nan, np.zeros(6), np.zeros(6)))),
        ("at", lambda: gradient(run, place, at=(26,))),
        ("at", lambda: gradient(run, place, at=(-27,))),
        ("wrt", lambda: gradient(run, place, wrt=["cub.mu"])),
        ("wrt", lambda: gradient(run, place, wrt="cube.mu")),
    )
    outside = ExternalContact("world", "cube", (0.0, 0.0, 0.1), (0, 0, 1), 0.0, 0.3)
    run = simulate(world, stepper, steps=5, contacts=lambda time, q, v: [outside])
    with pytest.raises(SimulationConfigError, match="from outside"):
        gradient(run, place)
