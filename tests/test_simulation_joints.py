"""Joints in worlds against closed forms: stops, damping, dry friction, drives, followers, loops."""

import math

import joint_scenes as scenes
import numpy as np
import pytest

from contactlab.constraint_solver import problem_data_from
from contactlab.constraint_solver.model_problem.drives import DriveTerm, RowKind
from contactlab.multibody import load_urdf
from contactlab.multibody.constraints import LoopConstraint
from contactlab.simulation import (
    JointLimit,
    PositionDrive,
    Simulation,
    SimulationConfigError,
    SimulationError,
    TimeStepping,
    VelocityDrive,
    WorldBuilder,
    simulate,
    step,
    verify,
)

H = 1e-3


def position(recording):
    return recording.q[:, 0]


def speed(recording):
    return recording.v[:, 0]


@pytest.mark.nojit
def test_damping_takes_speed_by_the_implicit_rule():
    """v falls by 1 / (1 + h c / m) in every step, for any h: also far beyond the explicit bound 2 m / c."""
    for h, damping in ((1e-2, 3.0), (1.0, 500.0)):
        builder = scenes.cart(2.0, mass=0.5)
        builder.add_joint_damping("cart", damping)
        recording = simulate(builder.build(), TimeStepping(h), steps=20)
        expected = 2.0 / (1.0 + h * damping / 0.5) ** np.arange(21)
        np.testing.assert_allclose(speed(recording), expected, rtol=1e-12)
        assert np.all(recording.ledger.joint_damping <= 0.0)


@pytest.mark.nojit
def test_an_unbounded_drive_is_an_implicit_spring_and_damper():
    """(m + h d + h^2 k) v+ = m v - h k (q - target) + h d speed: to rounding, for gains that would burst a tau law."""
    m, k, d, target, wanted = 2.0, 1e6, 1e3, 0.3, 0.1
    builder = scenes.cart(1.0, mass=m)
    builder.add_drive(PositionDrive("cart", target, k, d, target_velocity=wanted))
    recording = simulate(builder.build(), TimeStepping(1e-2), steps=30)
    q, v, h = 0.0, 1.0, 1e-2
    for i in range(30):
        v = (m * v - h * k * (q - target) + h * d * wanted) / (m + h * d + h * h * k)
        q += h * v
        assert recording.v[i + 1, 0] == pytest.approx(v, rel=1e-12, abs=1e-12)
        assert recording.q[i + 1, 0] == pytest.approx(q, rel=1e-12, abs=1e-12)
    assert len(recording.joint_rows) == 0
    assert not recording.islands.any()


@pytest.mark.nojit
def test_a_stop_ends_the_motion():
    """A joint pushed against its stop ends there to rounding, and the stop carries the push."""
    builder = scenes.cart(1.0, gravity=(2.0, 0.0, 0.0))
    builder.add_joint_limit(JointLimit("cart", -1.0, 0.0205))
    recording = simulate(builder.build(), TimeStepping(H), steps=60)
    assert position(recording).max() == pytest.approx(0.0205, abs=1e-15)
    assert abs(speed(recording)[-1]) < 1e-15
    assert set(recording.joint_rows.row) == {1}
    assert recording.joint_rows.force[-1] == pytest.approx(2.0, rel=1e-12)
    assert recording.ledger.limits.sum() < -0.5
    assert recording.worst_certificate().mechanical < 1e-12


@pytest.mark.nojit
def test_a_stop_turns_the_motion():
    """With restitution the joint returns with e times its speed."""
    builder = scenes.cart(1.0)
    builder.add_joint_limit(JointLimit("cart", -1.0, 0.0205, restitution=0.5))
    recording = simulate(builder.build(), TimeStepping(H), steps=40)
    assert speed(recording)[-1] == pytest.approx(-0.5, abs=1e-12)
    assert position(recording).max() <= 0.0205


@pytest.mark.nojit
def test_a_stop_that_gives_way_carries_a_load_at_its_spring_length():
    """At rest the stop's spring is pressed in by weight over stiffness."""
    builder = scenes.cart(gravity=(5.0, 0.0, 0.0), mass=2.0)
    builder.add_joint_limit(JointLimit("cart", upper=0.0, stiffness=1e4, dissipation=200.0))
    recording = simulate(builder.build(), TimeStepping(1e-2), steps=60)
    assert position(recording)[-1] == pytest.approx(10.0 / 1e4, rel=1e-9)
    assert recording.joint_rows.force[-1] == pytest.approx(10.0, rel=1e-9)


@pytest.mark.nojit
def test_a_dry_joint_rests_below_its_breakaway_torque():
    """A pendulum held by friction alone does not creep: its speed is 0 to 1e-12; above the bound it falls."""
    torque = 9.81 * math.sin(0.3)
    builder = scenes.pendulum(0.3)
    builder.add_joint_friction("rod", 1.001 * torque)
    held = simulate(builder.build(), TimeStepping(H), steps=60)
    assert np.abs(held.v).max() <= 1e-12
    np.testing.assert_allclose(np.abs(held.joint_rows.force), torque, rtol=1e-9)
    builder = scenes.pendulum(0.3)
    builder.add_joint_friction("rod", 0.9 * torque)
    falling = simulate(builder.build(), TimeStepping(H), steps=60)
    assert speed(falling)[-1] == pytest.approx(-0.1 * torque * 0.06, rel=0.01)


@pytest.mark.nojit
def test_dry_friction_stops_a_cart_after_its_way():
    """It decelerates at F / m, stops after m v^2 / 2F up to order h, and then stands."""
    builder = scenes.cart(0.3, mass=2.0)
    builder.add_joint_friction("cart", 3.0)
    recording = simulate(builder.build(), TimeStepping(2e-3), steps=120)
    np.testing.assert_allclose(speed(recording)[:100], 0.3 - 1.5 * 2e-3 * np.arange(100), atol=1e-12)
    assert abs(speed(recording)[-1]) < 1e-15
    assert position(recording)[-1] == pytest.approx(2.0 * 0.09 / 6.0, abs=0.3 * 2e-3)
    assert np.all(recording.ledger.joint_friction <= 1e-18)


@pytest.mark.nojit
def test_a_drive_gives_what_it_has_and_then_holds_its_speed():
    """A bounded velocity drive accelerates at F / m up to its speed, and carries a load below its bound there."""
    builder = scenes.cart(mass=2.0, gravity=(-0.5, 0.0, 0.0))
    builder.add_drive(VelocityDrive("cart", 0.1, max_force=3.0))
    recording = simulate(builder.build(), TimeStepping(2e-3), steps=80)
    force = recording.joint_rows.force
    np.testing.assert_allclose(speed(recording)[:51], 1.0 * 2e-3 * np.arange(51), atol=1e-12)
    np.testing.assert_allclose(speed(recording)[51:], 0.1, atol=1e-12)
    np.testing.assert_allclose(force[:49], 3.0, atol=1e-12)
    np.testing.assert_allclose(force[52:], 1.0, atol=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize("bound", [math.inf, 2.0])
def test_a_drive_of_two_terms_has_a_dead_zone(bound, monkeypatch):
    """Two one-sided springs are free between their ends; step, ledger, `verify` and bridge follow from the terms."""
    m, k, d, zone, target, h = 2.0, 400.0, 1.5, 0.05, 0.1, 1e-3
    terms = (
        DriveTerm(RowKind.POSITION_DRIVE, -bound, 0.0, k, d, 0.0, zone),
        DriveTerm(RowKind.POSITION_DRIVE, 0.0, bound, k, d, 0.0, -zone),
    )
    monkeypatch.setattr(PositionDrive, "terms", lambda self: terms)
    builder = scenes.cart(1.0, mass=m)
    builder.add_drive(PositionDrive("cart", target, k))
    world = builder.build()
    recording = simulate(world, TimeStepping(h), steps=400)
    q, v = 0.0, 1.0
    for i in range(400):
        force = 0.0
        for side in (1.0, -1.0):
            off = q - target - side * zone
            after = (m * v - h * k * off) / (m + h * d + h * h * k)
            push = max(-bound, min(bound, -k * (off + h * after) - d * after))
            force += push if push * side < 0.0 else 0.0
        v += h * force / m
        q += h * v
        assert recording.v[i + 1, 0] == pytest.approx(v, rel=1e-9, abs=1e-12)
    assert np.count_nonzero(np.abs(position(recording) - target) < 0.5 * zone) > 20
    np.testing.assert_allclose(recording.ledger.drives, np.diff(recording.kinetic), atol=1e-9)
    assert verify(recording, every=7).holds
    drives = world.joint_actions.drives
    formed = problem_data_from(world.model, recording.q[300], recording.v[300], drives=drives, h=h).velocity
    for name in ("kB", "gammaB", "lo", "hi"):
        np.testing.assert_allclose(getattr(formed, name), getattr(recording.problem(300), name), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("adaptive", [False, True])
def test_targets_follow_a_law_of_feedback(by_name, adaptive):
    """A motor's target speed depends on the state: the record has the targets, and equals the run step by step."""
    builder = scenes.cart()
    builder.add_drive(VelocityDrive("cart", 0.0, 50.0, name="axis"))
    world, stepper, asked = builder.build(), TimeStepping(1e-2, adaptive=adaptive), []

    def law(time, q, v):
        asked.append(time)
        value = -2.0 * (q[0] - 0.3) + 0.1 * math.sin(time) - 0.5 * v[0]
        return {"axis": value} if by_name else [value]

    recording = simulate(world, stepper, steps=200, targets=law)
    assert asked == recording.time[:-1].tolist()
    states = zip(recording.time[:-1], recording.q[:-1], recording.v[:-1], strict=True)
    wanted = [-2.0 * (q[0] - 0.3) + 0.1 * math.sin(t) - 0.5 * v[0] for t, q, v in states]
    np.testing.assert_array_equal(recording.rows["drive_target"][:, 0], wanted)
    assert verify(recording, every=7).holds
    run, state = Simulation(world, stepper), world.initial_state()
    for _ in range(200):
        state = step(world, stepper, state, targets=law).state
        run.step(targets=law(run.time, run.q, run.v))
    np.testing.assert_array_equal(state.q, recording.q[-1])
    np.testing.assert_array_equal(run.q, recording.q[-1])


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda t, q, v: None, r"targets at time 0\.02.*got None"),
        (lambda t, q, v: [0.0, 1.0], r"targets at time 0\.02"),
        (lambda t, q, v: {"axi": 0.0}, "'axi'.*close: 'axis'"),
        (lambda t, q, v: {"axis": math.nan}, r"targets\['axis'\] at time 0\.02"),
    ],
)
def test_a_law_that_returns_no_targets_is_named(law, message):
    """The error has the time of the call; a world without drives has no targets."""
    builder = scenes.cart()
    builder.add_drive(PositionDrive("cart", 0.0, 50.0, 5.0, name="axis"))
    late = lambda t, q, v: law(t, q, v) if t > 0.015 else [0.0]  # noqa: E731
    with pytest.raises(SimulationConfigError, match=message):
        simulate(builder.build(), TimeStepping(1e-2), steps=5, targets=late)
    for given in (law, [0.0], {"axis": 0.0}):
        with pytest.raises(SimulationConfigError, match=r"targets: .*the world has none: WorldBuilder\.add_drive"):
            simulate(scenes.cart().build(), TimeStepping(1e-2), steps=5, targets=given)


def test_a_four_bar_keeps_its_loop_and_its_drive():
    """The crank turns at the drive's speed, the loop stays closed to a micrometre, redundant rows change nothing."""
    plane = simulate(scenes.four_bar(speed=3.0), TimeStepping(H), 1.0)
    space = simulate(scenes.four_bar(speed=3.0, planar=False), TimeStepping(H), 1.0)
    np.testing.assert_allclose(speed(plane)[1:], 3.0, rtol=1e-12)
    assert np.abs(plane.joint_rows.error).max() < 2e-5
    np.testing.assert_allclose(space.q, plane.q, atol=1e-9)
    assert space.problem(5).nb == 6
    assert np.abs(plane.ledger.residual).max() < 1e-12
    assert verify(space, every=97).holds


def test_a_gripper_holds_its_cube():
    """The fingers mirror each other, press with half the drive each, and friction carries the weight."""
    world = scenes.gripper()
    recording = simulate(world, TimeStepping(H), 0.3)
    np.testing.assert_allclose(recording.q[:, 0], recording.q[:, 1], atol=1e-12)
    assert np.abs(recording.v[-1]).max() < 1e-9
    on_cube = recording.force_on("cube")[-1]
    assert on_cube[2] == pytest.approx(0.2 * 9.81, rel=1e-6)
    pressing = recording.contacts_at(recording.n_steps - 1).impulse_normal.sum() / H
    assert pressing == pytest.approx(8.0, abs=0.21)  # less the dry friction of the driven finger
    assert verify(recording, every=50).holds


def test_contradicting_drives_stop_the_run_with_the_problem():
    """Two drives that nothing stops, at different speeds: an error that carries the problem, not a motion."""
    builder = scenes.cart()
    builder.add_drive(VelocityDrive("cart", 0.1))
    builder.add_drive(VelocityDrive("cart", 0.2))
    with pytest.raises(SimulationError, match="contradict") as caught:
        simulate(builder.build(), TimeStepping(H), steps=3)
    assert caught.value.problem.nb == 2
    assert caught.value.step == 0
    caught.value.problem_path.unlink()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda b: b.add_joint_limit(JointLimit("rud", 0, 1)), "no joint is called 'rud'; close: 'rod'"),
        (lambda b: b.add_joint_limit("rod"), "must be a JointLimit"),
        (lambda b: b.add_joint_damping("rod", -1.0), "damping: must not be negative"),
        (lambda b: b.add_joint_friction("rod", math.nan), "friction"),
        (lambda b: b.add_joint_friction("rod", 1.0, coordinate=1), "coordinates 0 to 0"),
        (lambda b: b.add_drive(3), "must be a VelocityDrive or PositionDrive"),
        (lambda b: b.add_loop(LoopConstraint("rod", "bar", axis=np.eye(6)[3])), "no body is called 'bar'"),
        (lambda b: b.add_loop(LoopConstraint("rod", "world", axis=np.eye(6)[3], baumgarte=0.1)), "Baumgarte"),
        (lambda b: b.add_loop(LoopConstraint("rod", "world", axis=np.eye(6)[3]), erp=2.0), "erp"),
    ],
)
def test_what_cannot_act_is_refused_by_name(call, match):
    """Errors name the field, the joint and close names; the builder stays as it was."""
    builder = scenes.pendulum()
    with pytest.raises(SimulationConfigError, match=match):
        call(builder)
    assert builder.build().joint_actions.is_empty
    with pytest.raises(SimulationConfigError, match="'rod'; there are none: add the model or the bodies first"):
        WorldBuilder().add_drive(PositionDrive("rod", 0.0, 1.0))


def test_a_follower_off_its_place_is_refused():
    """A start that contradicts the description names the joint, and changes nothing."""
    builder = WorldBuilder()
    with pytest.raises(SimulationConfigError, match="'follow' deviates by 0.01"):
        builder.add_model(load_urdf(scenes.GRIPPER), [0.0, 0.01])
    builder.add_model(load_urdf(scenes.GRIPPER))
