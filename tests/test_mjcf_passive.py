"""Gravity compensation, springs and dampers of tendons of a file: MuJoCo's forces and MuJoCo's motion."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.spatial import Transform
from contactlab.world.mjcf import MjcfError, MjcfWarning, load_mjcf

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><compiler angle="radian" autolimits="true"/>
<option timestep="0.001" gravity="0.3 0 -9.81"><flag contact="disable" {flags}/></option><worldbody>
  <site name="hook" pos="0.1 0.2 1"/>
  <body name="arm" pos="0 0 0.5" gravcomp="{arm}"><joint name="a" axis="0 1 0.2" ref="0.3" damping="0.1"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.03"/><site name="wrist" pos="0.3 0 0.05"/>
    <body name="hand" pos="0.4 0 0.1" gravcomp="0.7"><joint name="b" axis="0 0 1"/>
      <joint name="c" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.05 0.03 0.02" pos="0.02 0 0"/><site name="tip" pos="0.05 0.01 0"/></body></body>
  <body name="ball" pos="0.5 0.5 0.5" gravcomp="1.5"><freejoint/><geom type="ellipsoid" size="0.06 0.05 0.04"/>
    <site name="eye" pos="0 0.02 0.05"/></body>
</worldbody><tendon>{tendons}</tendon>{more}
<keyframe><key name="moved" qpos="0.7 -0.2 0.05 0.5 0.6 0.4 0.9 0.1 0.3 -0.2"
  qvel="0.5 -0.3 0.2 0.1 0.3 -0.2 1 0.5 -0.4"/>
</keyframe></mujoco>"""
LINE = '<spatial name="line" {}><site site="hook"/><site site="wrist"/></spatial>'
PATH = '<spatial name="path" {}><site site="hook"/><site site="tip"/><site site="eye"/></spatial>'
SUM = '<fixed name="sum" {}><joint joint="a" coef="2"/><joint joint="c" coef="-3"/></fixed>'
CASES = {
    "gravcomp": "",
    "spring": LINE.format('stiffness="30" springlength="0.2"'),
    "slack": LINE.format('stiffness="30" springlength="0.1 2"'),
    "own length": LINE.format('stiffness="50" damping="0.4"'),
    "path": PATH.format('stiffness="8" damping="0.3" springlength="0.3"'),
    "sum": SUM.format('stiffness="3" damping="0.2"'),
    "sum with a length": SUM.format('stiffness="3" springlength="-0.1 0.2"'),
    "all": LINE.format('stiffness="20"') + PATH.format('damping="1"') + SUM.format('stiffness="3" damping="0.2"'),
}


def scene_and_mujoco(tmp_path, tendons="", flags="", arm="1", more=""):
    """The file as a scene here, and as a model there."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT.format(tendons=tendons, flags=flags, arm=arm, more=more))
    return load_mjcf(file, keyframe="moved"), mujoco.MjModel.from_xml_path(str(file))


def placed_data(m):
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    return d


@pytest.mark.parametrize("case", CASES)
def test_two_hundred_free_steps_are_mujocos(tmp_path, case):
    """Of an arm and a free body that tendons tie to each other and to the world; all of it is in tau."""
    scene, m = scene_and_mujoco(tmp_path, CASES[case])
    world, robot, d = scene.world, scene.robot, placed_data(m)
    mujoco.mj_forward(m, d)
    # MuJoCo's has the dampers of joints besides, which are the world's here.
    mine = robot.passive_tau(world, world.initial_q, world.initial_v)
    of_joints = np.array(d.qfrc_passive) + m.dof_damping * d.qvel
    np.testing.assert_allclose(mine, of_joints, rtol=1e-11, atol=1e-12)
    recording = simulate(world, TimeStepping(0.001, gyroscopic="explicit"), steps=200, **robot.inputs(world, []))
    mujoco.mj_step(m, d, 200)
    shift = np.r_[m.qpos0[:3], np.zeros(7)]
    np.testing.assert_allclose(recording.v[-1], d.qvel, rtol=0, atol=1e-9)
    np.testing.assert_allclose(recording.q[-1], d.qpos - shift, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "flags", ['gravity="disable"', 'spring="disable"', 'damper="disable"', 'spring="disable" damper="disable"']
)
def test_what_a_file_switches_off_is_off(tmp_path, flags):
    scene, m = scene_and_mujoco(tmp_path, CASES["all"], flags)
    d = placed_data(m)
    mujoco.mj_forward(m, d)
    mine = scene.robot.passive_tau(scene.world, scene.world.initial_q, scene.world.initial_v)
    damped = 0.0 if 'damper="disable"' in flags else m.dof_damping * d.qvel
    np.testing.assert_allclose(mine, np.array(d.qfrc_passive) + damped, rtol=1e-11, atol=1e-12)


def test_they_act_where_the_file_is_put_and_among_other_robots(tmp_path):
    """Turned about the vertical and shifted, twice: each has the forces of the other, and of the file."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT.format(tendons=CASES["all"], flags="", arm="1", more="").replace("0.3 0 -9.81", "0 0 -9.81"))
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    builder = WorldBuilder()
    with pytest.warns(MjcfWarning, match="MjcfRobot.tau"):
        robots = [
            builder.add_mjcf(file, name="one", keyframe="moved"),
            builder.add_mjcf(file, name="two", pose=Transform(turn, (1, 2, 3)), keyframe="moved"),
        ]
    world = builder.build()
    one, two = (robot.passive_tau(world, world.initial_q, world.initial_v) for robot in robots)
    alone = load_mjcf(file, keyframe="moved")
    wanted = alone.robot.passive_tau(alone.world, alone.world.initial_q, alone.world.initial_v)
    np.testing.assert_allclose(one[:9], wanted, atol=1e-12)
    assert not one[9:].any()
    assert not two[:9].any()
    wanted[3:6] = turn @ wanted[3:6]
    np.testing.assert_allclose(two[9:], wanted, atol=1e-11)
    with pytest.raises(MjcfError, match="two"):
        robots[1].passive_tau(alone.world, alone.world.initial_q, alone.world.initial_v)


def test_notes_say_what_waits_for_tau_and_what_is_left_out(tmp_path):
    """A spring along a path that goes round something is left out."""
    round_it = '<spatial name="round" stiffness="3"><site site="hook"/><geom geom="g"/><site site="tip"/></spatial>'
    text = TEXT.format(tendons=CASES["spring"] + round_it, flags="", arm="1", more="")
    file = tmp_path / "model.xml"
    file.write_text(text.replace('<site name="wrist"', '<geom name="g" type="sphere" size="0.1"/><site name="wrist"'))
    notes = load_mjcf(file).notes
    (waits,) = [note for note in notes if "MjcfRobot.tau" in note]
    assert all(name in waits for name in ("'arm'", "'hand'", "'ball'", "'line'"))
    assert "round" not in waits
    assert [note for note in notes if "'round'" in note] == [
        "tendons with a force or range of their own not taken: 'round'"
    ]
    assert any(note.startswith("q = qpos - ref") and note.endswith("'a'") for note in notes)
