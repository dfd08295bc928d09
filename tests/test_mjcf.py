"""MuJoCo files as worlds: dynamics and poses are MuJoCo's own, files stay in their folder, attributes are named."""

import re
import sys
from pathlib import Path

import mjcf_texts as texts
import numpy as np
import pytest
from mjcf_texts import written

from contactlab.multibody import body_pose, mass_matrix, nonlinear_effects
from contactlab.simulation import HeightField, TimeStepping, load_mjcf_world, simulate
from contactlab.simulation.world.mjcf import MjcfError, MjcfWarning, load_mjcf
from contactlab.simulation.world.mjcf.source import TABLE, AttributeSupport, row_of


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
        load_mjcf_world(file)
    assert load_mjcf(written(tmp_path, texts.ARM, "arm.xml")).notes == ()


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
    from contactlab.multibody.constraints import ConstraintSet, constraint_position_error

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
    aside = load_mjcf_world(file, keyframe="aside")
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
    """Files that leave their folder, load code, or are refused by mujoco raise."""
    folder = tmp_path / "in"
    folder.mkdir()
    written(tmp_path, f"<mujoco><worldbody>{BODY}</worldbody></mujoco>", "out.xml")
    (folder / "link.xml").symlink_to(tmp_path / "out.xml")
    with pytest.raises(MjcfError, match=match):
        load_mjcf(written(folder, text))


def test_without_mujoco_the_error_names_the_extra(tmp_path, monkeypatch):
    """And nothing else of the package needs it."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MjcfError, match="mjcf"):
        load_mjcf(written(tmp_path, texts.ARM))


def words(one: str) -> list[str]:
    """The attributes of a column of the table."""
    return [word.split("=")[0] for word in one.split()]


def schema(mujoco):
    """Section, tag and attributes of every element that mujoco reads."""
    found, stack = [], list[str]()
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"( *)(?:\(world\))?(\w+) \([!*?R]\) *(.*)", line)
        if head:
            stack[len(head[1]) // 3 :] = [head[2]]
            section = {"body": "worldbody"}.get(stack[1], stack[1]) if len(stack) > 2 else ""
            found.append((section, stack[-1], head[3].split()))
        else:
            found[-1][2].extend(line.split())
    return found


def test_the_table_is_mujocos_schema():
    """Nothing that mujoco reads is missing in it, and it invents nothing."""
    mujoco = pytest.importorskip("mujoco")
    if int(mujoco.__version__.split(".")[0]) != 4:
        pytest.skip(f"the table is of mujoco 4, this is {mujoco.__version__}: what it does not know it names")
    elements = schema(mujoco)
    assert len(elements) > 150
    known: dict[int, set[str]] = {}
    for section, tag, attributes in elements:
        row = row_of(section, tag)
        assert row != AttributeSupport(), tag
        if row is not None:
            assert set(attributes) <= {word for column in row for word in words(column)}, (section, tag)
            known.setdefault(id(row), set()).update(attributes)
    # That one is of mujoco 3.
    invented = {
        word for row in TABLE.values() for column in row for word in words(column) if word not in known[id(row)]
    }
    assert invented == {"passive"}


TEXT = """<mujoco><option o_friction="2 2 0 0 0" o_margin="0.1"><flag override="enable"/></option>
  <default><geom solref="0.01 1"/></default>
  <worldbody><geom name="floor" type="plane" size="1 1 1" margin="0.01" priority="2"/>
    <body pos="0 0 1"><freejoint/><geom name="a" size="0.1" condim="6" gap="0"/></body>
    <body pos="1 0 1"><joint margin="0.1" solreflimit="0.1 1"/><geom name="b" size="0.1" adhesion="3"/></body>
  </worldbody><contact><pair geom1="a" geom2="b" condim="1" friction="2 2 0 0 0"/></contact></mujoco>"""


def test_a_file_names_what_it_says_in_vain(tmp_path):
    """Included files are covered, too; supported attributes are not reported."""
    pytest.importorskip("mujoco")
    (tmp_path / "part.xml").write_text(TEXT)
    (tmp_path / "main.xml").write_text('<mujoco><include file="part.xml"/><statistic extent="2"/></mujoco>')
    notes = load_mjcf(tmp_path / "main.xml").notes
    listed = next(note for note in notes if note.startswith("attributes not taken: ")).split(": ")[1].split(", ")
    assert sorted(listed) == sorted(
        [
            "geom solref",
            "geom margin",
            "joint margin",
            "joint solreflimit",
            "geom adhesion",
            "pair condim",
            "pair friction",
        ]
    )
    assert any("o_friction" in note for note in notes)
    assert any("condim" in note and note.endswith("'a'") for note in notes)
    assert not any("priority" in note for note in notes)
