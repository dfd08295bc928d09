"""Fixed bodies that follow a motion: mocap bodies of files, and motions changed during a run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contactlab.simulation import (
    Box,
    ConstantVelocity,
    Conveyor,
    HalfSpace,
    HeightField,
    Material,
    ModelBuilder,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)

PUSH = ConstantVelocity(Transform(p=(-0.3, 0, 0.1)), velocity=np.array((0.5, 0, 0)))


def paddle(by_hand: bool) -> World:
    """A paddle that comes towards a cube on the ground: fixed, then moved; or kinematic at once."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.3))
    builder.add_free_body(
        "cube", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.3), (0, 0, 0.1, 1, 0, 0, 0)
    )
    if by_hand:
        builder.add_fixed_body("paddle", Box.cube(0.1), Material(0.3), Transform(p=(5, 5, 5)))
        builder.move_body("paddle", PUSH)
    else:
        builder.add_kinematic_body("paddle", Box.cube(0.1), Material(0.3), PUSH)
    return builder.build()


def test_a_fixed_body_that_is_moved_is_a_kinematic_one() -> None:
    one, other = (simulate(paddle(by_hand), TimeStepping(0.005), 0.6) for by_hand in (True, False))
    np.testing.assert_array_equal(one.q, other.q)
    assert one.v[-1, 0] == pytest.approx(0.5, abs=1e-6)
    assert verify(one).holds


def test_another_motion_is_taken_under_way() -> None:
    """The paddle stops: the cube slides on and stops."""
    run = Simulation(paddle(True), TimeStepping(0.005))
    run.step(n=100)
    ((number, motion),) = run.world.motions
    run.switch_world(replace(run.world, motions=((number, Conveyor(motion.pose(run.time))),)))
    run.step(n=100)
    place = run.q[0]
    run.step(n=20)
    assert abs(run.v[0]) < 1e-12
    assert run.q[0] == pytest.approx(place, abs=1e-12)
    assert place - 0.1 > motion.pose(0.5).p[0] + 0.1 - 1e-6


def test_mocap_bodies_of_a_file_push(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "mocap.xml"
    file.write_text("""<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1" friction=".3"/>
        <body name="cube" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" friction=".3"/></body>
        <body name="paddle" mocap="true" pos="-.3 0 .1"><geom type="box" size=".1 .1 .1" friction=".3"/></body>
        </worldbody></mujoco>""")
    builder = WorldBuilder()
    with pytest.warns(match="'paddle'"):
        builder.add_mjcf(file)
    builder.move_body("paddle", PUSH)
    run = Simulation(builder.build(), TimeStepping(0.005))
    run.step(n=120)
    assert run.v[0] == pytest.approx(0.5, abs=1e-6)
    assert run.q[0] == pytest.approx(PUSH.pose(0.6).p[0] + 0.2, abs=1e-5)


def test_what_cannot_be_moved_is_refused() -> None:
    builder, model = WorldBuilder(), ModelBuilder()
    model.add_body("post", joint=joints.Fixed())
    model.add_body("vane", parent="post", joint=joints.Revolute((0, 0, 1)), inertia=RigidInertia.solid_sphere(1.0, 0.1))
    builder.add_model(model.build())
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    builder.add_fixed_body("land", HeightField(np.zeros((3, 3)), (1.0, 1.0)), Material(0.5))
    for body, message in (
        ("pots", "no body is called 'pots'"),
        ("ball", "'ball' does not stand fixed"),
        ("vane", "'vane' does not stand fixed"),
        ("post", "'vane' hangs on 'post'"),
        ("land", "HeightField must stand still"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            builder.move_body(body, PUSH)
    with pytest.raises(SimulationConfigError, match="motion.*must offer pose"):
        builder.move_body("land", "north")  # type: ignore[arg-type]
