"""MuJoCo files as worlds: dynamics and poses are MuJoCo's own, contacts are set up, files stay in their folder."""

from __future__ import annotations

import sys
from pathlib import Path

import mjcf_texts as texts
import numpy as np
import pytest

from contactlab.contact import ConvexPoints, HeightField
from contactlab.multibody import body_pose, mass_matrix, nonlinear_effects
from contactlab.simulation import TimeStepping, World, simulate
from contactlab.world.mjcf import MjcfError, MjcfWarning, load_mjcf


def bundled():
    """Files that come with mujoco."""
    try:
        import mujoco
    except ImportError:
        return {}
    folder = Path(mujoco.__file__).parent / "testdata"
    return {file.name: file.read_text() for file in sorted(folder.glob("model.xml"))}


MODELS = {"arm": texts.ARM, "flyer": texts.FLYER, "chain": texts.CHAIN, "terrain": texts.TERRAIN, **bundled()}


@pytest.fixture
def mujoco():
    """The library, or a skip."""
    return pytest.importorskip("mujoco")


def written(tmp_path, text, name="model.xml"):
    """A file of a text."""
    file = tmp_path / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", MODELS)
def test_dynamics_and_poses_are_mujocos(mujoco, tmp_path, name):
    """Mass matrix, bias forces and body poses agree to 1e-9 at random states; q and v have MuJoCo's order."""
    file = written(tmp_path, MODELS[name])
    model = load_mjcf(file).world.model
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(7)
    assert (model.nq, model.nv) == (m.nq, m.nv)
    for _ in range(5):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        q = np.array(d.qpos)
        for j in range(m.njnt):
            if m.jnt_type[j] in (2, 3):
                q[m.jnt_qposadr[j]] -= m.qpos0[m.jnt_qposadr[j]]
        wanted, unit = np.zeros((m.nv, m.nv)), np.eye(m.nv)
        for k in range(m.nv):
            mujoco.mj_mulM(m, d, wanted[k], unit[k])
        found = mass_matrix(model, q)
        assert found == pytest.approx(wanted, abs=1e-9)
        assert nonlinear_effects(model, q, np.array(d.qvel)) == pytest.approx(np.array(d.qfrc_bias), abs=1e-9)
        for i in range(1, m.nbody):
            label = m.body(i).name or f"body {i}"
            pose = body_pose(model, q, label)
            assert pose.p == pytest.approx(d.xpos[i], abs=1e-9)
            assert pose.R.ravel() == pytest.approx(d.xmat[i], abs=1e-9)


def test_what_is_left_out_is_named(mujoco, tmp_path):
    """In the notes, and in one warning."""
    file = written(tmp_path, texts.CHAIN)
    notes = "\n".join(load_mjcf(file).notes)
    for word in ("ref", "'first'", "'string'"):
        assert word in notes
    with pytest.warns(MjcfWarning, match="string"):
        World.from_mjcf(file)
    assert load_mjcf(written(tmp_path, texts.ARM, "arm.xml")).notes == ()


def test_shapes_frictions_and_filters(mujoco, tmp_path):
    """Meshes collide by their hulls, friction is each geom's, contype and conaffinity decide as in MuJoCo."""
    world = load_mjcf(written(tmp_path, texts.FLYER)).world
    hull = next(s for s in world.surfaces if isinstance(s.shape, ConvexPoints))
    others = [s for s in world.surfaces if s is not hull]
    assert len(hull.shape.points) == 6
    assert all(not (hull.category & s.mask and s.category & hull.mask) for s in others)
    assert sorted({s.material.mu for s in world.surfaces}) == [0.9, 1.0]
    names = world.model.names
    assert (names.index("wheel"), names.index("arm")) in world.excluded_pairs


ACTED = """<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="a">
      <joint name="j" axis="0 1 0" ref="0.1" range="-0.5 0.7" damping="0.3" frictionloss="0.2" stiffness="4"
        springref="0.2"/>
      <geom type="capsule" size="0.02 0.1" pos="0.1 0 0" euler="0 1.57 0"/></body>
    <body name="b" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
    <body name="c" pos="0 0.5 1"><freejoint/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <actuator><position name="servo" joint="j" kp="10" kv="2" gear="2" forcerange="-3 3"/>
    <velocity name="speed" joint="j" kv="5"/></actuator>
  <equality>
    <connect name="pin" body1="b" body2="c" anchor="0 0.25 0"/><weld name="glue" body1="b" body2="c"/>
  </equality>
</mujoco>
"""


def test_what_acts_on_joints(mujoco, tmp_path):
    """Ranges and springs count from the reference, servos have the joint's gains, connect and weld are loops."""
    scene = load_mjcf(written(tmp_path, ACTED))
    actions = scene.world.joint_actions
    (limit,) = actions.limits
    assert (limit.joint, limit.lower, limit.upper) == ("a", pytest.approx(-0.6), pytest.approx(0.6))
    assert [(one.body, one.value) for one in (*actions.damping, *actions.friction)] == [("a", 0.3), ("a", 0.2)]
    drives = {one.name: one for one in actions.drives}
    assert set(drives) == {"spring of j", "servo", "speed"}
    assert (drives["spring of j"].target, drives["spring of j"].stiffness) == (pytest.approx(0.1), 4.0)
    servo = drives["servo"]
    assert (servo.target, servo.stiffness, servo.damping, servo.max_force) == (-0.1, 40.0, 8.0, 6.0)
    assert (drives["speed"].stiffness, drives["speed"].damping) == (0.0, 5.0)
    assert len(actions.loops) == 9
    assert all("equality" not in note and "actuator" not in note for note in scene.notes)
    # Both loops are closed at the start.
    from contactlab.constraints import ConstraintSet, constraint_position_error

    model = scene.world.model
    loops = ConstraintSet(model, [one.constraint for one in actions.loops])
    assert constraint_position_error(model, scene.world.initial_q, loops) == pytest.approx(np.zeros(9), abs=1e-12)


def test_a_ball_comes_to_rest_on_the_height_field(mujoco, tmp_path):
    """At the height MuJoCo's own field has there; a keyframe is another start."""
    file = written(tmp_path, texts.TERRAIN)
    scene = load_mjcf(file)
    assert any(isinstance(s.shape, HeightField) for s in scene.world.surfaces)
    recording = simulate(scene.world, TimeStepping(scene.timestep), steps=200)
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    d.qpos[:] = recording.q[-1]
    mujoco.mj_forward(m, d)
    # MuJoCo touches within its own tolerance of the same place.
    assert abs(recording.contacts_at(recording.n_steps - 1).gap).max() < 1e-3
    assert d.ncon >= 1 or mujoco.mj_geomDistance(m, d, 0, 1, 0.1, None) < 2e-3
    aside = World.from_mjcf(file, keyframe="aside")
    assert aside.initial_q[:3] == pytest.approx((0.5, 0.2, 0.8))
    assert aside.initial_v[2] == -1.0
    with pytest.raises(MjcfError, match="'none'"):
        load_mjcf(file, keyframe="none")


BODY = '<body name="b"><freejoint/><geom type="sphere" size="0.1"/></body>'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f'<mujoco><include file="../other.xml"/><worldbody>{BODY}</worldbody></mujoco>', "leads upwards"),
        (f'<mujoco><include file="..\\out.xml"/><worldbody>{BODY}</worldbody></mujoco>', "leads upwards"),
        (f'<mujoco><compiler meshdir="a\\..\\.."/><worldbody>{BODY}</worldbody></mujoco>', "leads upwards"),
        (f'<mujoco><include file="\\out.xml"/><worldbody>{BODY}</worldbody></mujoco>', "absolute"),
        (f'<mujoco><include file="/etc/passwd"/><worldbody>{BODY}</worldbody></mujoco>', "absolute"),
        (f'<mujoco><compiler meshdir="/tmp"/><worldbody>{BODY}</worldbody></mujoco>', "absolute"),
        (f'<mujoco><asset><mesh file="a/../../b.stl"/></asset><worldbody>{BODY}</worldbody></mujoco>', "upwards"),
        (f'<mujoco><include file="link.xml"/><worldbody>{BODY}</worldbody></mujoco>', "leads out"),
        (f'<mujoco><extension><plugin plugin="x"/></extension><worldbody>{BODY}</worldbody></mujoco>', "plugin"),
        (f'<!DOCTYPE m [<!ENTITY a "b">]><mujoco><worldbody>{BODY}</worldbody></mujoco>', "DOCTYPE"),
        ("<mujoco><worldbody>", "XML"),
        ('<mujoco><worldbody><body name="b"><freejoint/></body></worldbody></mujoco>', "mass"),
    ],
)
def test_files_that_are_refused(mujoco, tmp_path, text, match):
    """What reaches outside its folder, loads code, or is no file mujoco takes."""
    folder = tmp_path / "in"
    folder.mkdir()
    written(tmp_path, f"<mujoco><worldbody>{BODY}</worldbody></mujoco>", "out.xml")
    (folder / "link.xml").symlink_to(tmp_path / "out.xml")
    with pytest.raises(MjcfError, match=match):
        load_mjcf(written(folder, text))


def test_includes_within_the_folder_are_read(mujoco, tmp_path):
    """An include in the file's own folder is followed."""
    written(tmp_path, f"<mujoco><worldbody>{BODY}</worldbody></mujoco>", "part.xml")
    file = written(tmp_path, '<mujoco><include file="part.xml"/></mujoco>')
    assert World.from_mjcf(file).model.names == ("b",)


def test_without_mujoco_the_error_names_the_extra(tmp_path, monkeypatch):
    """And nothing else of the package needs it."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MjcfError, match="mjcf"):
        load_mjcf(written(tmp_path, texts.ARM))
