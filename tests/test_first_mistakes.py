"""Mistakes of a first hour: what is wrong, and what to write instead, stands in the message."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import lcp
from contactlab import plotting, viewer
from contactlab.cli import main
from contactlab.contact import Box, HalfSpace, Material
from contactlab.formulation import PositionDrive
from contactlab.multibody import MultibodyError
from contactlab.multibody.urdf import UrdfError
from contactlab.simulation import (
    RecordWriteError,
    Simulation,
    SimulationConfigError,
    SimulationError,
    TimeStepping,
    World,
    WorldBuilder,
    rollout,
    simulate,
)
from contactlab.spatial import RigidInertia, Transform

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
    """Positions by joint leave the base to `pose` and `stand_on`; a whole q places it, and says what else there is."""
    builder = ground()
    builder.add_urdf(DOG, floating_base=True, stand_on="floor", pose=Transform(p=(1, 0, 0)), q={"hip": np.pi / 3})
    start = builder.build().initial_q
    np.testing.assert_allclose(start, [1, 0, 0.3 * 0.5 + 0.02, 1, 0, 0, 0, np.pi / 3], atol=1e-12)
    np.testing.assert_array_equal(
        World.from_urdf(DOG, floating_base=True, q={"hip": np.pi / 3}).initial_q[1:], start[1:]
    )
    np.testing.assert_array_equal(World.from_urdf(DOG, q={"hip": 0.5}).initial_q, [0.5])
    with pytest.raises(SimulationConfigError, match="positions by joint, a dict, go with both"):
        ground().add_urdf(DOG, floating_base=True, stand_on="floor", q=start)
    with pytest.raises(SimulationConfigError, match=r"stand_on: needs floating_base=True"):
        ground().add_urdf(DOG, stand_on="floor")
    with pytest.raises(SimulationConfigError, match="stand_on: no half-space is called 'flor'; close: 'floor'"):
        ground().add_urdf(DOG, floating_base=True, stand_on="flor")
    with pytest.raises(MultibodyError, match="no joint is called 'hop'; close: 'hip'"):
        ground().add_urdf(DOG, q={"hop": 0.1})
    with pytest.raises(SimulationConfigError, match=r"q\['hip'\]: must be numbers, got text"):
        ground().add_urdf(DOG, q={"hip": "0.1"})  # type: ignore[dict-item]
    with pytest.raises(SimulationConfigError, match=r"q\['trunk'\]: joint has 7 numbers"):
        ground().add_urdf(DOG, floating_base=True, q={"trunk": 0.1})


def test_a_q_of_another_length_says_its_order() -> None:
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    with pytest.raises(
        MultibodyError, match=r"\(7,\), got \(3,\); a free body .* x, y, z and the quaternion w, x, y, z"
    ):
        ground().add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=(0, 0, 1))
    with pytest.raises(MultibodyError, match=r"must have shape \(1,\), got \(2,\)$"):
        ground().add_urdf(DOG, q=[0, 0])


def test_a_quaternion_is_told_its_order_or_has_none() -> None:
    """What has another length is told w, x, y, z; a `Transform` says a pose without any order."""
    inertia, turn = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1)), Transform.rotation((1, 0, 0), 0.2, p=(0, 0, 1))
    builder = ground()
    with pytest.raises(MultibodyError, match=r"the quaternion of 'box', have length 2, not 1: w, x, y, z"):
        builder.add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=(0, 0, 1, 0, 0, 0, 2))
    builder.add_free_body("box", inertia, Box.cube(0.1), Material(0.5), q=turn)
    np.testing.assert_allclose(builder.build().initial_q, [0, 0, 1, np.cos(0.1), np.sin(0.1), 0, 0], atol=1e-15)


def test_more_steps_than_can_be_kept_are_refused(tmp_path) -> None:
    """A step too short by orders of magnitude is an error before the first one, not silence."""
    with pytest.raises(SimulationConfigError, match=r"h: at 1e-09 s these are 1e\+15 steps.* GB of memory: take"):
        simulate(box_at(0.1), TimeStepping(h=1e-9), 1e6)
    with pytest.raises(SimulationConfigError, match=r"GB of disk: take a longer h"):
        simulate(box_at(0.1), TimeStepping(h=1e-9, adaptive=True), 1e6, path=tmp_path / "new" / "run.npz")
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


def test_a_drive_on_a_joint_that_is_fixed() -> None:
    builder = ground()
    builder.add_urdf(DOG, name="dog")
    with pytest.raises(SimulationConfigError, match="joint 'dog/mount' is fixed"):
        builder.add_drive(PositionDrive("dog/mount", 0.0, 1.0, 1.0))


def test_a_package_that_is_not_found_is_named() -> None:
    text = DOG.replace('<box size="0.2 0.2 0.1"/>', '<mesh filename="package://dogs/meshes/trunk.stl"/>')
    with pytest.raises(SimulationConfigError, match="package_roots must name a folder that contains 'dogs'"):
        ground().add_urdf(text)
    with pytest.raises(UrdfError, match=r"begins with <mujoco>, must be <robot>; .*add_mjcf"):
        World.from_urdf("<mujoco/>")


def test_mujoco_reader_names_keyframes_and_the_other_reader(tmp_path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "file.xml"
    path.write_text(DOG.replace('<box size="0.2 0.2 0.1"/>', '<mesh filename="package://dogs/trunk.stl"/>'))
    with pytest.raises(ValueError, match=r"World\.from_urdf"):
        World.from_mjcf(path)
    path.write_text(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody>'
        '<keyframe><key name="up" qpos="0 0 1 1 0 0 0"/></keyframe></mujoco>'
    )
    with pytest.raises(ValueError, match="none called 'home'; there are 'up'"):
        World.from_mjcf(path, keyframe="home")


def test_states_of_another_kind_are_refused_by_name() -> None:
    world = box_at(0.1)
    with pytest.raises(SimulationConfigError, match="state: must be a StepperState"):
        Simulation(world, STEPPER).reset(np.zeros(7))  # type: ignore[arg-type]
    with pytest.raises(SimulationConfigError, match=r"states: must be a sequence .*\[world\.initial_state\(\)\] \* B"):
        rollout(world, STEPPER, world.initial_state(), steps=2)  # type: ignore[arg-type]
    with pytest.raises(SimulationConfigError, match="b: no body or half-space is called 'flor'; close: 'floor'"):
        simulate(world, STEPPER, steps=1).contacts.between("box", "flor")


def test_a_step_that_fails_among_bodies_that_overlap_says_so(tmp_path) -> None:
    stepper = TimeStepping(h=0.01, solver=lcp.Lemke(max_pivots=1))
    with pytest.raises(SimulationError, match="'box' and 'floor' overlap, 0.05 m deep: start them apart"):
        simulate(box_at(0.05), stepper, steps=1, path=tmp_path / "deep.npz")
    with pytest.raises(SimulationError) as apart:
        simulate(box_at(0.1), stepper, steps=1, path=tmp_path / "apart.npz")
    assert "overlap" not in str(apart.value)


def test_a_drawing_library_that_is_missing_is_named_with_its_extra(monkeypatch, tmp_path) -> None:
    recording = simulate(box_at(0.1), STEPPER, steps=1)
    for name in ("matplotlib", "matplotlib.figure", "viser"):
        monkeypatch.setitem(sys.modules, name, None)
    draw = (
        lambda: plotting.picture(recording),
        lambda: plotting.summary(recording),
        lambda: viewer.write_html_replay(recording, tmp_path / "run.html"),
    )
    for one in draw:
        with pytest.raises(ModuleNotFoundError, match=r"is not installed: pip install '\.\[viz\]'"):
            one()


def test_tables_are_printed_in_a_line() -> None:
    run = Simulation(box_at(0.1), STEPPER)
    assert repr(run.contacts) == "ContactTable(0 contacts: 0 open, 0 stick, 0 slide)"
    run.step()
    assert repr(run.contacts) == "ContactTable(4 contacts: 0 open, 4 stick, 0 slide)"
    assert re.fullmatch(r"CertificateTable\(1 islands, worst scaled residual \S+\)", repr(run.certificate))
    assert repr(run.joint_rows) == "JointTable(0 rows of joints)"


def test_an_unknown_name_is_told_those_that_there_are() -> None:
    """Close ones where there are any; else the first of all."""
    world = box_at(0.1)
    with pytest.raises(MultibodyError, match="no body is called 'bxo'; close: 'box'"):
        world.model.index("bxo")
    with pytest.raises(MultibodyError, match="no body is called 'gripper'; there are 'world', 'box'$"):
        world.model.index("gripper")
