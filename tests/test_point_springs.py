"""Springs between points of bodies: oscillators in closed form, energy, stability, and what records keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from joint_scenes import FAST
from simulation_scenes import G

from contactlab.constraints import check_constraint, constraint_jacobian, constraint_position_error
from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import (
    Batch,
    ConstantVelocity,
    PointSpring,
    Recording,
    Simulation,
    SimulationConfigError,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.spatial import RigidInertia

BALL, CUBE = Sphere(0.1), Box.cube(0.1)


def pair(stiffness: float, damping: float = 0.0, rest: float = 0.9) -> World:
    """Balls of 1 kg and 3 kg in empty space, 1 m apart."""
    builder = WorldBuilder((0.0, 0.0, 0.0), **FAST)
    for name, mass, x in (("a", 1.0, 0.0), ("b", 3.0, 1.0)):
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, BALL, Material(0.5), (x, 0, 0, 1, 0, 0, 0))
    builder.add_spring("coil", "a", (0, 0, 0), "b", (0, 0, 0), rest, stiffness, damping)
    return builder.build()


def test_two_balls_are_the_implicit_oscillator_of_their_reduced_mass() -> None:
    """Step by step x+ = x + h u+, m u+ = m u - h (K x+ + D u+); their momentum stays."""
    K, D, h, m = 300.0, 2.0, 1e-3, 0.75
    recording = simulate(pair(K, D), TimeStepping(h), steps=400)
    x, u = 0.1, 0.0
    for k in range(400):
        u = (m * u - h * K * x) / (m + h * D + h * h * K)
        x += h * u
        np.testing.assert_allclose(recording.q[k + 1, 7] - recording.q[k + 1, 0] - 0.9, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(recording.joint_rows.force[k], -(K * x + D * u), rtol=0, atol=1e-9)
    np.testing.assert_allclose(recording.v[:, 0] + 3.0 * recording.v[:, 6], 0.0, atol=1e-12)
    # And so the damped oscillation, to first order in h.
    decay, rate = D / (2 * m), np.sqrt(K / m - (D / (2 * m)) ** 2)
    t = recording.time
    exact = 0.1 * np.exp(-decay * t) * (np.cos(rate * t) + decay / rate * np.sin(rate * t))
    error = np.abs(recording.q[:, 7] - recording.q[:, 0] - 0.9 - exact).max()
    finer = simulate(pair(K, D), TimeStepping(h / 2), steps=800)
    assert error < 0.02
    assert np.abs((finer.q[:, 7] - finer.q[:, 0] - 0.9)[::2] - exact).max() < 0.6 * error
    assert verify(recording).holds
    ledger = recording.ledger
    np.testing.assert_allclose(ledger.drives, np.diff(recording.kinetic), atol=1e-12)
    np.testing.assert_allclose(ledger.residual, 0.0, atol=1e-12)


def test_any_stiffness_is_stable_along_the_spring() -> None:
    run = Simulation(pair(1e9, 1e3), TimeStepping(0.01))
    run.step(n=50)
    np.testing.assert_allclose(run.q[[0, 7]], [0.075, 0.975], atol=1e-6)


def test_a_pendulum_on_a_spring_hangs_at_its_length() -> None:
    """Of a link and the world: a bar on a hinge is held level by a spring from above, off the frames' origins."""
    model, builder = ModelBuilder((0, 0, -G)), WorldBuilder((0, 0, -G))
    bar = RigidInertia(2.0, (0.5, 0, 0), inertia=np.diag([0.01, 0.2, 0.2]))
    model.add_body("bar", joint=joints.Revolute((0, 1, 0)), inertia=bar)
    builder.add_model(model.build())
    stretch = 2.0 * G * 0.5 / 1.0 / 400.0
    builder.add_spring("rope", "world", (1.0, 0.1, 2.0), "bar", (1.0, 0.1, 0.0), 2.0 - stretch, 400.0, 30.0)
    world = builder.build()
    run = Simulation(world, TimeStepping(0.01))
    run.step(n=200)
    np.testing.assert_allclose(run.q, 0.0, atol=1e-10)
    assert check_constraint(world.model, world.joint_actions.loops[0].constraint, duration=0.0).ok
    free = pair(1.0)
    assert check_constraint(free.model, free.joint_actions.loops[0].constraint, duration=0.0).ok


def test_a_crate_on_the_ground_is_pulled_when_the_spring_beats_friction() -> None:
    """Contacts and springs are one problem: it stays under 0.5 m g, and the record is verified."""
    for stretch, moves in ((0.02, False), (0.06, True)):
        builder = WorldBuilder((0.0, 0.0, -G))
        builder.add_half_space("floor", HalfSpace(), Material(0.5))
        crate = RigidInertia.solid_box(2.0, (0.1,) * 3)
        builder.add_free_body("crate", crate, CUBE, Material(0.5), (0, 0, 0.1, 1, 0, 0, 0))
        builder.add_spring("rope", "world", (1.0 + stretch, 0, 0), "crate", (0, 0, -0.1), 1.0, 200.0)
        recording = simulate(builder.build(), TimeStepping(0.005), steps=20)
        assert bool(abs(recording.v[-1, 0]) > 0.01) is moves
        assert verify(recording).holds


def test_batches_have_the_bits_of_single_runs_and_records_keep_springs(tmp_path: Path) -> None:
    worlds, stepper = [pair(300.0), pair(500.0, 1.0)], TimeStepping(0.002)
    batch = Batch(worlds, stepper, threads=2)
    batch.step(n=30)
    for world, q in zip(worlds, batch.q, strict=True):
        recording = simulate(world, stepper, steps=30)
        np.testing.assert_array_equal(recording.q[-1], q)
    recording.save(tmp_path / "run.npz")
    again = Recording.open(tmp_path / "run.npz").world.joint_actions.loops[0].constraint
    assert isinstance(again, PointSpring)
    assert (again.name, again.body_a, again.stiffness, again.damping) == ("coil", "a", 500.0, 1.0)


def test_its_law_is_that_of_mujocos_tendons_through_two_sites() -> None:
    """Of turned bodies in motion, off their origins: the forces on all coordinates."""
    mujoco = pytest.importorskip("mujoco")
    body = (
        '<body name="{0}" pos="{1} 0 0"><freejoint/><geom type="sphere" size=".1"/><site name="{0}" pos="{2}"/></body>'
    )
    m = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 0"/><worldbody>
        {body.format("a", 0, ".1 .2 .3")}{body.format("b", 1, "0 -.1 .2")}
        </worldbody><tendon><spatial stiffness="70" damping="3" springlength=".4">
        <site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    )
    builder = WorldBuilder()
    for name in ("a", "b"):
        builder.add_free_body(name, RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5))
    builder.add_spring("coil", "a", (0.1, 0.2, 0.3), "b", (0, -0.1, 0.2), 0.4, 70.0, 3.0)
    world = builder.build()
    d, rng = mujoco.MjData(m), np.random.default_rng(1)
    for _ in range(3):
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.5)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        G = constraint_jacobian(world.model, d.qpos, world.loops)
        force = -70.0 * constraint_position_error(world.model, d.qpos, world.loops) - 3.0 * G @ d.qvel
        np.testing.assert_allclose(G.T @ force, d.qfrc_passive, rtol=0, atol=1e-11)


def test_a_spring_to_a_body_that_moves_as_told_is_refused() -> None:
    """Rows see such a body where it began: the spring would pull towards there."""
    builder = WorldBuilder()
    builder.add_kinematic_body("hand", BALL, Material(0.5), ConstantVelocity(velocity=np.array((1.0, 0, 0))))
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5), (1, 0, 0, 1, 0, 0, 0))
    builder.add_spring("rope", "hand", (0, 0, 0), "ball", (0, 0, 0), 1.0, 10.0)
    with pytest.raises(SimulationConfigError, match="loop.*joins 'hand', whose motion it would not see"):
        builder.build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"body_b": "c"}, "no body is called 'c'"),
        ({"body_b": "a"}, "body_b.*is body_a too"),
        ({"point_a": (0, 0)}, r"point_a.*\(3,\), got \(2,\)"),
        ({"rest_length": -1.0}, "rest_length.*must not be negative, got -1.0"),
        ({"stiffness": 0.0}, "stiffness.*both 0"),
        ({"name": "coil"}, "name.*'coil' is the name of another spring"),
    ],
)
def test_springs_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    builder = WorldBuilder()
    for name in ("a", "b"):
        builder.add_free_body(name, RigidInertia.solid_sphere(1.0, 0.1), BALL, Material(0.5))
    good = {"name": "new", "body_a": "a", "point_a": (0, 0, 0), "body_b": "b", "point_b": (0, 0, 0)}
    good |= {"rest_length": 1.0, "stiffness": 1.0}
    builder.add_spring(**(good | {"name": "coil"}))  # type: ignore[arg-type]
    with pytest.raises(SimulationConfigError, match=message):
        builder.add_spring(**(good | arguments))  # type: ignore[arg-type]
