"""Sensors of MuJoCo files read what MuJoCo's read; those that are not taken are named."""

from __future__ import annotations

import mjcf_texts as texts
import numpy as np
import pytest

from contactlab.simulation import Simulation, TimeStepping, WorldBuilder, sensors
from contactlab.spatial import Transform
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
    assert isinstance(robot.sensors["low_gyro"], sensors.Clipped)
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


def test_subtrees_are_mujocos(tmp_path):
    """Of every body that moves, with several joints in a body, inertias off the frames, and a rotor that counts not."""
    file = tmp_path / "arm.xml"
    kinds = ("com", "linvel", "angmom")
    with_them = "".join(
        f'<subtree{kind} name="{kind} {body}" body="{body}"/>' for body in ("base", "low", "up") for kind in kinds
    )
    file.write_text(
        f"""<mujoco><worldbody>
        <body name="base" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
          <body name="low" pos=".3 0 0"><joint axis="0 1 0" armature=".3"/><joint type="slide" axis="1 0 0"/>
            <geom type="capsule" fromto="0 0 0 .2 .1 .5" size=".05"/>
            <body name="up" pos=".2 .1 .5"><joint type="ball"/><geom type="box" size=".1 .02 .3"
              euler="20 30 40"/></body>
          </body></body>
        <body name="post"><geom type="sphere" size=".1"/><body name="vane" pos="0 0 1"><joint axis="0 0 1"/>
          <geom type="sphere" size=".1" pos=".1 0 0"/></body></body></worldbody>
        <sensor>{with_them}<subtreecom name="standing" body="post"/></sensor></mujoco>"""
    )
    scene, m = load_mjcf(file), mujoco.MjModel.from_xml_path(str(file))
    assert set(scene.robot.sensors) == {f"{kind} {body}" for kind in kinds for body in ("base", "low", "up")}
    assert any(one.startswith("sensors") and "'standing'" in one for one in scene.robot.notes)
    d, rng = mujoco.MjData(m), np.random.default_rng(3)
    for _ in range(3):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.5)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        view = sensors.StepView(scene.world, np.array(d.qpos), np.array(d.qvel))
        for name, sensor in scene.robot.sensors.items():
            wanted = d.sensor(name).data
            np.testing.assert_allclose(view.read(sensor), wanted, rtol=1e-12, atol=1e-12, err_msg=name)


def test_touch_counts_the_contacts_that_mujocos_counts(tmp_path):
    """A box on four corners: zones around all, around two, before the ground's surface, behind it, of every form."""
    zones = {
        "around": 'type="box" size=".2 .2 .2"',
        "half": 'type="box" size=".1 .2 .2" pos=".1 0 0"',
        "corner": 'type="sphere" size=".05" pos=".1 .1 -.1"',
        "under": 'type="box" size=".2 .2 .02" pos="0 0 -.2"',
        "above": 'type="box" size=".2 .2 .02" pos="0 0 .05"',
        "edge": 'type="capsule" size=".03 .1" pos=".1 0 -.1" euler="90 0 0"',
        "round": 'type="ellipsoid" size=".2 .2 .05" pos="0 0 -.1"',
        "tube": 'type="cylinder" size=".02 .3" pos="-.1 .1 0"',
    }
    sites = "".join(f'<site name="{name}" {form}/>' for name, form in zones.items())
    touch = "".join(f'<touch name="{name}" site="{name}"/>' for name in zones)
    file = tmp_path / "box.xml"
    file.write_text(
        f'<mujoco><worldbody><geom type="plane" size="0 0 1"/><body name="box" pos="0 0 .1"><freejoint/>'
        f'<geom type="box" size=".1 .1 .1"/>{sites}</body></worldbody><sensor>{touch}</sensor></mujoco>'
    )
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    for _ in range(1000):
        mujoco.mj_step(m, d)
    builder = WorldBuilder()
    robot = builder.add_mjcf(file, name="one", pose=Transform(p=(1, 2, 0)))
    run = Simulation(builder.build(), TimeStepping(H))
    run.step(n=5)
    assert list(robot.sensors) == [f"one/{name}" for name in zones]
    for name in zones:
        found = run.read(robot.sensors[f"one/{name}"])
        np.testing.assert_allclose(found, d.sensor(name).data, rtol=0.0, atol=1e-3 * 8 * 9.81, err_msg=name)


def test_touch_of_what_nothing_touches_is_in_the_notes(tmp_path):
    """A zone on a body whose only geom is seen alone: in mujoco it reads 0 for good."""
    file = tmp_path / "tool.xml"
    file.write_text(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/><site name="hand" size=".2"/><body pos="0 0 .2">'
        '<geom size=".01" contype="0" conaffinity="0"/><site name="tip" size=".2"/></body></body></worldbody>'
        '<sensor><touch name="hand" site="hand"/><touch name="tip" site="tip"/></sensor></mujoco>'
    )
    scene = load_mjcf(file)
    run = Simulation(scene.world, TimeStepping(H))
    run.step()
    assert [run.read(sensor).tolist() for sensor in scene.robot.sensors.values()] == [[0.0]]
    assert "sensors not taken: 'tip'" in scene.robot.notes
