"""Forces, ranges, friction and sensors of MuJoCo files: MuJoCo's numbers and MuJoCo's motion."""

import itertools

import mjcf_texts as texts
import numpy as np
import pytest

from contactlab.collision import combine
from contactlab.simulation import Simulation, TimeStepping, Transform, WorldBuilder, sensors, simulate
from contactlab.simulation.recording.world_io import world_from_json, world_to_json
from contactlab.simulation.world.mjcf import MjcfError, MjcfWarning, load_mjcf

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
    """For an arm and a free body that tendons connect to each other and to the world; all of it is in tau."""
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


TEXT_RANGES = """<mujoco><option timestep="0.001" gravity="0 0 0" {option}/><worldbody>
  <body><joint name="j" axis="0 0 1" {joint}/><geom type="box" size="0.2 0.2 0.2" density="43"/></body>
  <body pos="1 0 0"><joint name="k" axis="0 0 1"/><geom type="box" size="0.2 0.2 0.2" density="43"/></body>
</worldbody><tendon><fixed name="t" {tendon}><joint joint="j" coef="1"/><joint joint="k" coef="0.5"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""
RANGE = 'actuatorfrcrange="-1 1"'
SERVO = '<position name="p" joint="j" kp="50"/>'


def scene_and_mujoco_of_ranges(tmp_path, actuators, joint="", tendon="", option=""):
    """The file as a scene here, and as a model there."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT_RANGES.format(actuators=actuators, joint=joint, tendon=tendon, option=option))
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
    """Alone or together, by servos or motors: actuators that are not drives are named, because they need tau."""
    scene, m = scene_and_mujoco_of_ranges(tmp_path, actuators, joint, tendon)
    ctrl, d = np.full(m.nu, 2.0), mujoco.MjData(m)
    d.ctrl[:] = ctrl
    mujoco.mj_step(m, d, 50)
    recording = simulate(scene.world, TimeStepping(0.001), steps=50, **scene.robot.inputs(scene.world, ctrl))
    assert recording.v[-1] == pytest.approx(np.array(d.qvel), rel=1e-9, abs=1e-12)
    assert [drive.name for drive in scene.world.joint_actions.drives] == drives
    waits = "'p'" in actuators.replace('"', "'") and not drives
    assert any("'p'" in note and "actuatorfrcrange" in note for note in scene.notes) == waits


def test_groups_that_are_switched_off_do_nothing(tmp_path):
    """They act neither as drives nor as forces."""
    text = '<position joint="j" kp="50" group="2"/><motor name="on" joint="j"/><motor name="off" joint="k" group="2"/>'
    scene, m = scene_and_mujoco_of_ranges(tmp_path, text, option='actuatorgroupdisable="2"')
    d = mujoco.MjData(m)
    d.ctrl[:] = 2.0
    mujoco.mj_forward(m, d)
    world, robot = scene.world, scene.robot
    tau = robot.tau(world, np.full(3, 2.0), world.initial_q, world.initial_v)
    assert (tau.tolist(), np.array(d.qfrc_actuator).tolist()) == ([2.0, 0.0], [2.0, 0.0])
    assert (world.joint_actions.drives, scene.notes) == ((), ())


TEXT_FRICTION = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="9 9 1" {floor}/>
  <body name="box" pos="0 0 0.1"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1" {box}/></body>
</worldbody><keyframe><key name="sliding" qpos="0 0 0.1 1 0 0 0" qvel="2 0 0 0 0 0"/></keyframe></mujoco>"""


@pytest.mark.parametrize(("floor", "box", "speed"), [("1", "1", 2.0), ("3", "1", 0.038), ("1", "3", 0.038)])
def test_two_frictionless_geoms_slide_on(tmp_path, floor, box, speed):
    """After 0.2 s a box keeps its 2 m/s, unless one of the two geoms has friction."""
    file = tmp_path / "model.xml"
    file.write_text(TEXT_FRICTION.format(floor=f'condim="{floor}"', box=f'condim="{box}"'))
    scene = load_mjcf(file, keyframe="sliding")
    recording = simulate(scene.world, TimeStepping(0.002), steps=100)
    assert recording.v[-1, 0] == pytest.approx(speed, abs=1e-9)


def test_pairs_mix_as_in_mujoco(tmp_path):
    """For all condims and priorities, if both geoms have one friction or the priority decides."""
    kinds = [(condim, priority) for condim in (1, 3) for priority in (-1, 0, 1)]
    for (condim, priority), (other, higher) in itertools.product(kinds, kinds):
        mu = 0.5 if priority == higher else 0.8
        file = tmp_path / "model.xml"
        floor = f'condim="{condim}" priority="{priority}" friction="0.5"'
        file.write_text(TEXT_FRICTION.format(floor=floor, box=f'condim="{other}" priority="{higher}" friction="{mu}"'))
        m = mujoco.MjModel.from_xml_path(str(file))
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        theirs = 0.0 if d.contact[0].dim == 1 else float(d.contact[0].friction[0])
        world = load_mjcf(file).world
        found, _ = combine(world.half_space_materials[0], world.surfaces[0].material)
        assert found == pytest.approx(theirs), (condim, priority, other, higher)
    kept = world_from_json(world_to_json(world))
    assert (kept.half_space_materials, kept.surfaces[0].material) == (
        world.half_space_materials,
        world.surfaces[0].material,
    )


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
    """For every moving body, with several joints in a body, inertias off the frames, and an uncounted rotor."""
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
    """A box on four corners: zones around all, around two, above the ground, below it, of every form."""
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
