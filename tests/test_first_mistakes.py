"""Mistakes of a first hour: the message has the fault, and the right code."""

import numpy as np
import pytest
from refusals import assert_messages

import lcp
from contactlab.cli import main
from contactlab.multibody import MultibodyError
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RecordWriteError,
    RigidInertia,
    SimulationConfigError,
    SimulationError,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    load_urdf_world,
    simulate,
)

STEPPER = TimeStepping(h=0.01)
INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
DOG = f"""<robot name="dog">
<link name="trunk">{INERTIAL}<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
<link name="leg">{INERTIAL}
<collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.02"/></geometry></collision></link>
<link name="imu"/>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="mount" type="fixed"><parent link="trunk"/><child link="imu"/></joint>
</robot>"""


def ground() -> WorldBuilder:
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    return builder


def box_at(z: float) -> World:
    builder = ground()
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=(0, 0, z, 1, 0, 0, 0))
    return builder.build()


def test_a_robot_stands_with_joints_at_angles() -> None:
    """Positions by joint leave the base to `pose` and `stand_on`; a whole q places it; errors list alternatives."""
    builder = ground()
    builder.add_urdf(DOG, floating_base=True, stand_on="floor", pose=Transform(p=(1, 0, 0)), q={"hip": np.pi / 3})
    start = builder.build().initial_q
    np.testing.assert_allclose(start, [1, 0, 0.3 * 0.5 + 0.02, 1, 0, 0, 0, np.pi / 3], atol=1e-12)
    np.testing.assert_array_equal(
        load_urdf_world(DOG, floating_base=True, q={"hip": np.pi / 3}).initial_q[1:], start[1:]
    )
    np.testing.assert_array_equal(load_urdf_world(DOG, q={"hip": 0.5}).initial_q, [0.5])
    assert_messages(
        SimulationConfigError,
        (
            "positions by joint, a dict, go with both",
            lambda: ground().add_urdf(DOG, floating_base=True, stand_on="floor", q=start),
        ),
        (r"stand_on: needs floating_base=True", lambda: ground().add_urdf(DOG, stand_on="floor")),
        (
            "stand_on: no half-space is called 'flor'; close: 'floor'",
            lambda: ground().add_urdf(DOG, floating_base=True, stand_on="flor"),
        ),
    )
    with pytest.raises(MultibodyError, match="no joint is called 'hop'; close: 'hip'"):
        ground().add_urdf(DOG, q={"hop": 0.1})
    assert_messages(
        SimulationConfigError,
        (r"q\['hip'\]: must be numbers, got text", lambda: ground().add_urdf(DOG, q={"hip": "0.1"})),
        (r"q\['trunk'\]: joint has 7 numbers", lambda: ground().add_urdf(DOG, floating_base=True, q={"trunk": 0.1})),
    )


def test_a_quaternion_is_told_its_order_or_has_none() -> None:
    """The error for another length names w, x, y, z; a `Transform` states a pose without an order."""
    inertia, turn = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1)), Transform.rotation((1, 0, 0), 0.2, p=(0, 0, 1))
    builder = ground()
    with pytest.raises(MultibodyError, match=r"the quaternion of 'box', have length 2, not 1: w, x, y, z"):
        builder.add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=(0, 0, 1, 0, 0, 0, 2))
    builder.add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=turn)
    np.testing.assert_allclose(builder.build().initial_q, [0, 0, 1, np.cos(0.1), np.sin(0.1), 0, 0], atol=1e-15)


def test_more_steps_than_can_be_kept_are_refused(tmp_path) -> None:
    """A step too short by orders of magnitude is an error before the first one, not silence."""
    assert_messages(
        SimulationConfigError,
        (
            r"h: at 1e-09 s these are 1e\+15 steps.* GB of memory: use",
            lambda: simulate(box_at(0.1), TimeStepping(h=1e-9), 1e6),
        ),
        (
            r"GB of disk: use a longer h",
            lambda: simulate(box_at(0.1), TimeStepping(h=1e-9, adaptive=True), 1e6, path=tmp_path / "new" / "run.npz"),
        ),
    )
    assert not (tmp_path / "new").exists()


def test_where_nothing_can_be_written_no_step_is_made(tmp_path, capsys) -> None:
    (tmp_path / "file").touch()
    steps: list[int] = []
    with pytest.raises(RecordWriteError, match="cannot be written"):
        simulate(
            box_at(0.1),
            STEPPER,
            steps=1,
            path=tmp_path / "file" / "run.npz",
            progress=lambda done, _: steps.append(done),
        )
    assert not steps
    assert main(["demo", "--out", str(tmp_path / "file" / "demo")]) == 2
    assert "bodies" not in capsys.readouterr().out


def test_a_step_that_fails_among_bodies_that_overlap_says_so(tmp_path) -> None:
    stepper = TimeStepping(h=0.01, solver=lcp.Lemke(max_pivots=1))
    with pytest.raises(SimulationError, match="'box' and 'floor' overlap, 0.05 m deep: start them apart"):
        simulate(box_at(0.05), stepper, steps=1, path=tmp_path / "deep.npz")
    with pytest.raises(SimulationError) as apart:
        simulate(box_at(0.1), stepper, steps=1, path=tmp_path / "apart.npz")
    assert "overlap" not in str(apart.value)
