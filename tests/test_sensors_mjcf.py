"""Sensors of MuJoCo files read what MuJoCo's read; those that are not taken are named."""

from __future__ import annotations

import mjcf_texts as texts
import numpy as np
import pytest

from contactlab.simulation import Simulation, TimeStepping, sensors
from contactlab.world.mjcf import load_mjcf

mujoco = pytest.importorskip("mujoco")

H = 1e-3


def q_here(m, qpos):
    """The world's q of a qpos."""
    q = np.array(qpos)
    for j in np.flatnonzero(m.jnt_type >= 2):
        q[m.jnt_qposadr[j]] -= m.qpos0[m.jnt_qposadr[j]]
    return q


def test_of_motion_they_read_what_mujocos_read(tmp_path):
    """At random states: free, ball, hinge and slide joints, several in a body; frames of bodies, geoms and sites."""
    file = tmp_path / "arm.xml"
    file.write_text(texts.SENSORS)
    scene = load_mjcf(file)
    world, robot = scene.world, scene.robot
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    left = {"low_axis", "swing_force", "low_from_up", "clock", "ray", "on_camera"}
    assert set(robot.sensors) == {m.sensor(s).name for s in range(m.nsensor)} - left
    (note,) = (one for one in robot.notes if one.startswith("sensors"))
    assert all(repr(name) in note for name in left)
    assert any("cutoffs" in one and "'low_gyro'" in one for one in robot.notes)
    rng = np.random.default_rng(2)
    nothing = Simulation(world, TimeStepping(H)).contacts
    for _ in range(4):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.5)
        d.qvel[:], d.qfrc_applied[:] = rng.normal(size=(2, m.nv))
        mujoco.mj_forward(m, d)
        q, v = q_here(m, d.qpos), np.array(d.qvel)
        of_step = (sensors.Accelerometer, sensors.JointForce, sensors.JointTorque)
        for name, sensor in robot.sensors.items():
            after = v + H * np.array(d.qacc) if isinstance(sensor, of_step) else v
            found = sensors.StepView(world, q, after, (q, v), H, lambda: nothing).read(sensor)
            wanted = np.array(d.sensor(name).data)
            if isinstance(sensor, sensors.FrameOrientation):
                wanted *= np.sign(wanted[0])
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=name)
