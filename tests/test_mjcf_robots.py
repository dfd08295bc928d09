"""Robots from MuJoCo files: collision filters, actuators, sites, keyframes, and a robot in a running world."""

import importlib.util
from pathlib import Path

import mjcf_texts as texts
import numpy as np
import pytest
from mjcf_pairs import may_touch_here, may_touch_in_mujoco
from mjcf_texts import written
from refusals import assert_messages
from test_mjcf_passive import q_here

from contactlab.multibody import body_pose, mass_matrix
from contactlab.multibody.constraints import ConstraintSet, constraint_position_error
from contactlab.multibody.spatial import quaternion
from contactlab.simulation import Box, HalfSpace, Material, RigidInertia, Transform, WorldBuilder
from contactlab.simulation.world.mjcf import MjcfError, MjcfWarning, load_mjcf

mujoco = pytest.importorskip("mujoco")

#: Files of other packages: package, folder, file.
STRANGERS = [
    *(("gymnasium", "envs/mujoco/assets", name) for name in ("humanoid", "humanoidstandup", "ant", "walker2d")),
    *(("dm_control", "suite", name) for name in ("humanoid", "quadruped", "cheetah")),
]


def controls(more=""):
    """The text with actuators, and how many it has."""
    count = 9 + more.count("name=")
    return texts.ACTUATORS.format(more=more, ctrl=" ".join("0.5" for _ in range(count))), count


@pytest.mark.parametrize("name", ["LEG", "STAND", "BITS", "FLYER", "CHAIN"])
def test_the_bodies_that_may_touch_are_mujocos(tmp_path, name):
    """Parents, welds, bodies fixed to the world, bits, exclusions, explicit pairs."""
    file = written(tmp_path, getattr(texts, name))
    assert may_touch_here(load_mjcf(file).world) == may_touch_in_mujoco(mujoco.MjModel.from_xml_path(str(file)))


@pytest.mark.filterwarnings("ignore:compiler attribute")
@pytest.mark.parametrize(("package", "folder", "name"), STRANGERS)
def test_known_robots_touch_themselves_as_in_mujoco(package, folder, name):
    """The files of gymnasium and dm_control."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    root = Path(found.origin).parent / folder
    file = root / f"{name}.xml"
    world = load_mjcf(file, root=root).world
    assert may_touch_here(world) == may_touch_in_mujoco(mujoco.MjModel.from_xml_path(str(file)))


def test_filterparent_and_contacts_that_are_switched_off(tmp_path):
    """The first is named where it cannot be had, the second is taken, and so are gravity and limits."""
    text = texts.LEG.replace("<mujoco>", '<mujoco><option><flag filterparent="disable"/></option>')
    assert "filterparent" not in "".join(load_mjcf(written(tmp_path, text)).notes)
    text = texts.STAND.replace("<mujoco>", '<mujoco><option><flag filterparent="disable"/></option>')
    assert "filterparent" in "".join(load_mjcf(written(tmp_path, text)).notes)
    text = texts.CHAIN.replace(
        "<worldbody>", '<option><flag contact="disable" gravity="disable" limit="disable"/></option><worldbody>'
    )
    world = load_mjcf(written(tmp_path, text)).world
    assert (world.surfaces, world.half_spaces, world.joint_actions.limits) == ((), (), ())
    assert not world.model.gravity.any()


def servo_forces(world, q, v, targets):
    """Return the effect of the drives at a state."""
    tau = np.zeros(world.nv)
    for drive in world.joint_actions.drives:
        dof, at = world.place_of(drive.joint)
        force = drive.stiffness * (targets.get(drive.name, drive.target) - q[at]) - drive.damping * v[dof]
        tau[dof] += np.clip(force, -drive.max_force, drive.max_force)
    return tau


@pytest.mark.parametrize("more", ["", texts.STATES])
def test_actuators_do_what_mujocos_do(tmp_path, more):
    """Servos as drives, the others as forces: together qfrc_actuator, at random states and controls; states step on."""
    text, count = controls(more)
    file = written(tmp_path, text.replace('actuatorfrcrange="-4 5"', "") if more else text)
    scene = load_mjcf(file)
    robot, world = scene.robot, scene.world
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    assert [one.name for one in robot.actuators] == [m.actuator(a).name for a in range(m.nu)]
    assert len(robot.actuators) == count
    assert (robot.na, robot.ctrl_range[0].tolist()) == (m.na, [-1.0, 1.0])
    drives = {one.name for one in world.joint_actions.drives}
    assert drives == {"servo", "weak", "speed", *(("creep",) if more else ())}
    rng = np.random.default_rng(3)
    for _ in range(4):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.5)
        d.qvel[:], d.ctrl[:], d.act[:] = (rng.normal(size=n) for n in (m.nv, m.nu, m.na))
        mujoco.mj_forward(m, d)
        q, v, ctrl, act = q_here(m, d.qpos), np.array(d.qvel), np.array(d.ctrl), np.array(d.act)
        found = robot.tau(world, ctrl, q, v, act) + servo_forces(world, q, v, robot.targets(ctrl, act))
        assert found == pytest.approx(np.array(d.qfrc_actuator), abs=1e-9)
        mujoco.mj_step(m, d)
        assert robot.next_act(ctrl, act, scene.timestep) == pytest.approx(np.array(d.act), abs=1e-12)


def test_inputs_for_a_run_and_keyframes(tmp_path):
    """A control of time becomes tau and targets of that time; a keyframe is a start, with controls."""
    text, count = controls()
    scene = load_mjcf(written(tmp_path, text))
    robot, world = scene.robot, scene.world
    inputs = robot.inputs(world, lambda time: np.full(count, time))
    q, v = world.initial_q, world.initial_v
    assert inputs["tau"](0.3, q, v) == pytest.approx(robot.tau(world, np.full(count, 0.3), q, v))
    assert inputs["targets"]["weak"](0.3) == pytest.approx(0.3)
    assert set(inputs["targets"]) == {"servo", "weak"}
    frame = robot.keyframes["bent"]
    assert frame.ctrl.tolist() == [0.5] * count
    state = robot.state(world, "bent")
    assert state.q == pytest.approx([0, 0, 2, 0, 0, 0, 1, 0.3, 0.1, -0.2, 0.05, 1, 0, 0, 0])
    assert state.v == pytest.approx([1, 0, 0, 0, 0, 1, *[0] * 7])
    with pytest.raises(MjcfError, match="'bent'"):
        robot.state(world, "none")
    text, _ = controls(texts.STATES)
    lagging = load_mjcf(written(tmp_path, text))
    assert_messages(
        MjcfError,
        ("state", lambda: lagging.robot.inputs(lagging.world, np.zeros(12))),
        ("ctrl", lambda: robot.tau(world, np.zeros(2), q, v)),
    )


def test_sites_come_together_and_joints_follow(tmp_path):
    """Connect and weld of sites hold sites; a joint equality counts from the references."""
    scene = load_mjcf(written(tmp_path, texts.SITES))
    world, model = scene.world, scene.world.model
    loops = world.joint_actions.loops
    assert len(loops) == 9
    assert not any("equality" in note for note in scene.notes)
    place = {}
    for body, left in (("a", Transform(p=(-0.1, 0, 0))), ("b", None)):
        place[body] = body_pose(model, world.initial_q, body) @ (left or Transform())
    error = constraint_position_error(
        model, world.initial_q, ConstraintSet(model, [one.constraint for one in loops[:3]])
    )
    hook = Transform(quaternion.to_matrix((np.cos(np.pi / 36), np.sin(np.pi / 36), 0, 0)), (0, 0, 1.0))
    assert error == pytest.approx(hook.R.T @ (place["a"].p - hook.p), abs=1e-12)
    # Where b's site lies on a's, the weld is closed.
    turn = Transform(quaternion.to_matrix((np.cos(np.pi / 9), 0, 0, np.sin(np.pi / 9))), (0.1, 0.02, 0))
    end = Transform(quaternion.to_matrix((np.cos(np.pi / 72), np.sin(np.pi / 72), 0, 0)), (-0.1, 0, 0.03))
    b = body_pose(model, world.initial_q, "a") @ turn @ end.inverse()
    q = world.initial_q.copy()
    q[model.q_slice("b")] = [*b.p, *quaternion.from_matrix(b.R)]
    glue = ConstraintSet(model, [one.constraint for one in loops[3:]])
    assert constraint_position_error(model, q, glue) == pytest.approx(np.zeros(6), abs=1e-12)
    (follower,) = world.joint_actions.mimics
    assert (follower.body, follower.followed) == ("tail", "lead")
    assert (follower.multiplier, follower.offset) == (2.0, 0.1)


def test_files_may_lead_upwards_within_the_root(tmp_path):
    """And by no combination of folders and names out of it."""
    body = '<body name="b"><freejoint/><geom type="sphere" size="0.1"/></body>'
    written(tmp_path, f"<mujoco><worldbody>{body}</worldbody></mujoco>", "in/parts/part.xml")
    main = written(tmp_path, '<mujoco><include file="../parts/part.xml"/></mujoco>', "in/robots/main.xml")
    assert load_mjcf(main, root=tmp_path / "in").world.model.names == ("b",)
    with pytest.raises(MjcfError, match="leads upwards"):
        load_mjcf(main)
    mesh = '<asset><mesh file="../x.stl"/></asset>'
    written(tmp_path, f"<mujoco>{mesh}<worldbody>{body}</worldbody></mujoco>", "in/robots/part.xml")
    text = '<mujoco><compiler meshdir=".."/><include file="part.xml"/></mujoco>'
    with pytest.raises(MjcfError, match="leads upwards"):
        load_mjcf(written(tmp_path, text, "in/robots/two.xml"), root=tmp_path / "in")


@pytest.mark.parametrize("link", ["in/a/link.xml", "in/a"])
def test_links_lead_no_include_out_of_the_root(tmp_path, link):
    """mujoco goes up from a link by its name, wherever it leads."""
    written(tmp_path, "<mujoco><worldbody><body/></worldbody></mujoco>", "x.xml")
    real = written(tmp_path, '<mujoco><include file="../../x.xml"/></mujoco>', "in/b/c/link.xml")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(real if link.endswith(".xml") else real.parent)
    main = written(tmp_path, '<mujoco><include file="../../../a/link.xml"/></mujoco>', "in/d/e/f/main.xml")
    with pytest.raises(MjcfError, match="leads upwards"):
        load_mjcf(main, root=tmp_path / "in")


@pytest.mark.parametrize("last", ["main.xml", "one.xml", "two.xml", "link.xml"])
def test_includes_in_a_circle_are_refused(tmp_path, last):
    """On some of them mujoco 3.17 ends the process."""
    (tmp_path / "link.xml").symlink_to(tmp_path / "one.xml")
    written(tmp_path, '<mujoco><include file="two.xml"/></mujoco>', "one.xml")
    written(tmp_path, f'<mujoco><include file="{last}"/></mujoco>', "two.xml")
    main = written(tmp_path, '<mujoco><include file="one.xml"/></mujoco>', "main.xml")
    with pytest.raises(MjcfError, match=r"circle: .* -> .*two\.xml"):
        load_mjcf(main)


@pytest.mark.filterwarnings("ignore::contactlab.simulation.world.mjcf.MjcfWarning")
def test_robots_in_a_world_that_goes_on_growing(tmp_path):
    """Names and poses of their own, drives and loops where they belong, filters as if all were one file."""
    text, count = controls()
    file = written(tmp_path, text)
    alone = load_mjcf(file)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.8))
    pose = Transform(quaternion.to_matrix((np.sqrt(0.5), 0, 0, np.sqrt(0.5))), (1.0, 2.0, 0.5))
    one = builder.add_mjcf(file, name="one", pose=pose, keyframe="bent", surroundings=False)
    two = builder.add_mjcf(file, name="two")
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("crate", inertia, Box((0.1, 0.1, 0.1)), Material(0.5), q=(5, 0, 1, 1, 0, 0, 0))
    builder.exclude_collision("one/trunk", "crate")
    world = builder.build()
    assert world.half_space_names == ("ground", "two/floor")
    nv = alone.world.nv
    M = mass_matrix(world.model, world.initial_q)
    turn = np.eye(nv)
    turn[:3, :3] = pose.R
    mine = mass_matrix(alone.world.model, alone.robot.state(alone.world, "bent").q)
    assert M[:nv, :nv] == pytest.approx(turn @ mine @ turn.T, abs=1e-9)
    there = body_pose(world.model, world.initial_q, "one/three")
    here = pose @ body_pose(alone.world.model, alone.robot.state(alone.world, "bent").q, "three")
    assert np.c_[there.R, there.p] == pytest.approx(np.c_[here.R, here.p], abs=1e-12)
    assert world.initial_v[:3] == pytest.approx(pose.R @ (1, 0, 0))
    ctrl = np.linspace(-1, 1, count)
    tau = two.tau(world, ctrl, world.initial_q, world.initial_v)
    expected = alone.robot.tau(alone.world, ctrl, alone.world.initial_q, alone.world.initial_v)
    assert tau[nv : 2 * nv] == pytest.approx(expected)
    assert not np.delete(tau, np.s_[nv : 2 * nv]).any()
    assert set(one.targets(ctrl)) == {"one/servo", "one/weak"}
    assert two.joints["j4"] == "two/two"
    nq, q = alone.world.nq, two.state(world, "bent").q
    assert q[nq : 2 * nq] == pytest.approx(alone.robot.state(alone.world, "bent").q)
    assert np.array_equal(np.delete(q, np.s_[nq : 2 * nq]), np.delete(world.initial_q, np.s_[nq : 2 * nq]))


def test_two_files_meet_as_one_would_have_them(tmp_path):
    """Bits hold across files, and shapes without filters are plain geoms."""
    file = written(tmp_path, texts.BITS)
    builder = WorldBuilder()
    for name in ("x", "y"):
        builder.add_mjcf(file, name=name, pose=Transform(p=(0, 5.0 * (name == "y"), 0)))
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("crate", inertia, Box((0.1, 0.1, 0.1)), Material(0.5))
    pairs = may_touch_here(builder.build())
    for one, other, touch in (
        ("x/a", "x/b", True),
        ("x/a", "y/b", False),
        ("x/c", "y/d", True),
        ("x/c", "crate", True),
        ("y/ghost", "crate", False),
        ("y/ghost", "x/c", False),
        ("y/ghost", "plane x/floor", True),
        ("x/a", "plane y/floor", False),
        ("x/a", "plane x/floor", True),
        ("x/b", "plane x/floor", False),
        ("crate", "plane y/floor", True),
    ):
        assert (frozenset((one, other)) in pairs) is touch, (one, other)


def test_a_refused_file_leaves_the_builder_as_it_was(tmp_path):
    """Used names and a missing geom raise; omitted elements are warned of."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.8))
    file = written(tmp_path, texts.ARM)
    assert_messages(
        ValueError,
        ("used already", lambda: builder.add_mjcf(file)),
        ("at least one body", builder.build),
    )
    with pytest.warns(MjcfWarning, match="gravity"):
        builder.add_mjcf(file, name="arm")
    assert builder.build().half_space_names == ("floor", "arm/floor")
