"""Ranges of what actuators do to a joint or tendon together, against MuJoCo's own runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contactlab.simulation import TimeStepping, simulate
from contactlab.world.mjcf import MjcfError, load_mjcf

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><option timestep="0.001" gravity="0 0 0" {option}/><worldbody>
  <body><joint name="j" axis="0 0 1" {joint}/><geom type="box" size="0.2 0.2 0.2" density="43"/></body>
  <body pos="1 0 0"><joint name="k" axis="0 0 1"/><geom type="box" size="0.2 0.2 0.2" density="43"/></body>
</worldbody><tendon><fixed name="t" {tendon}><joint joint="j" coef="1"/><joint joint="k" coef="0.5"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""
RANGE = 'actuatorfrcrange="-1 1"'
SERVO = '<position name="p" joint="j" kp="50"/>'


def scene_and_mujoco(tmp_path, actuators, joint="", tendon="", option=""):
    """The file as a scene here, and as a model there."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT.format(actuators=actuators, joint=joint, tendon=tendon, option=option))
    return load_mjcf(file), mujoco.MjModel.from_xml_path(str(file))


@pytest.mark.parametrize(
    ("actuators", "joint", "tendon", "drives"),
    [
        (SERVO, RANGE, "", ["p"]),
        ('<position name="p" joint="j" kp="50" gear="3" forcerange="-0.2 0.2"/>', RANGE, "", ["p"]),
        (SERVO, 'actuatorfrcrange="-1 0.5"', "", []),
        ('<velocity name="p" joint="j" kv="5"/>', RANGE, "", []),
        ('<position name="p" joint="j" kp="50" kv="2"/><motor joint="j" gear="-0.3"/>', RANGE, "", []),
        ('<position tendon="t" kp="50"/>', RANGE, "", []),
        ('<position name="p" joint="j" kp="3"/><position tendon="t" kp="50"/>', RANGE, "", []),
        ('<position tendon="t" kp="50"/><motor tendon="t"/>', "", 'actuatorfrcrange="-1 2"', []),
    ],
)
def test_what_acts_on_a_joint_stays_within_its_range(tmp_path, actuators, joint, tendon, drives):
    """Alone or together, by servos or motors; what is no drive for that is named, since it waits for tau."""
    scene, m = scene_and_mujoco(tmp_path, actuators, joint, tendon)
    ctrl, d = np.full(m.nu, 2.0), mujoco.MjData(m)
    d.ctrl[:] = ctrl
    mujoco.mj_step(m, d, 50)
    recording = simulate(scene.world, TimeStepping(0.001), steps=50, **scene.robot.inputs(scene.world, ctrl))
    assert recording.v[-1] == pytest.approx(np.array(d.qvel), rel=1e-9, abs=1e-12)
    assert [drive.name for drive in scene.world.joint_actions.drives] == drives
    waits = "'p'" in actuators.replace('"', "'") and not drives
    assert any("'p'" in note and "actuatorfrcrange" in note for note in scene.notes) == waits


def test_groups_that_are_switched_off_do_nothing(tmp_path):
    """Neither as drives nor as forces."""
    text = '<position joint="j" kp="50" group="2"/><motor name="on" joint="j"/><motor name="off" joint="k" group="2"/>'
    scene, m = scene_and_mujoco(tmp_path, text, option='actuatorgroupdisable="2"')
    d = mujoco.MjData(m)
    d.ctrl[:] = 2.0
    mujoco.mj_forward(m, d)
    world, robot = scene.world, scene.robot
    tau = robot.tau(world, np.full(3, 2.0), world.initial_q, world.initial_v)
    assert (tau.tolist(), np.array(d.qfrc_actuator).tolist()) == ([2.0, 0.0], [2.0, 0.0])
    assert (world.joint_actions.drives, scene.notes) == ((), ())


def test_a_robot_of_another_world_is_named(tmp_path):
    """By the body that this world has not."""
    scene, _ = scene_and_mujoco(tmp_path, '<motor joint="k"/>')
    world, robot = scene.world, scene.robot
    strange = replace(robot, actuators=tuple(replace(one, terms=(("arm", 0, 1.0),)) for one in robot.actuators))
    with pytest.raises(MjcfError, match="'arm'"):
        strange.tau(world, [1.0], world.initial_q, world.initial_v)
