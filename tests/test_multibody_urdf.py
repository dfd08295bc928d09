"""Robot descriptions: the model they make, the data they keep, odd inertias, and bad input by line and name."""

import math
import re
import warnings

import numpy as np
import pytest
from refusals import assert_messages
from urdf_texts import FIVE, inertial, joint, link, pair, robot, rpy, turn

from contactlab.multibody import (
    ModelBuilder,
    body_pose,
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    load_urdf,
    mass_matrix,
    nonlinear_effects,
    random_configuration,
)
from contactlab.multibody.joint_data import (
    Mimic,
    apply_mimic,
    effort_limits,
    joint_damping,
    joint_friction,
    mimic_coupling,
    position_limits,
    velocity_limits,
)
from contactlab.multibody.joints import Composite, Fixed, FloatingBase, Prismatic, Revolute
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError
from contactlab.multibody.urdf import (
    UrdfBox,
    UrdfCapsule,
    UrdfCylinder,
    UrdfError,
    UrdfMesh,
    UrdfModel,
    UrdfSphere,
    UrdfWarning,
)


def by_hand(root_joint, gravity=(0.0, 0.0, -9.81)):
    """`five_joints.urdf`, body by body; the principal frames are turned by hand."""
    builder = ModelBuilder(gravity)
    builder.add_body("base", joint=root_joint, inertia=RigidInertia(4.0, inertia=0.1 * np.eye(3)))
    R = rpy(0.3, -0.5, 0.7)
    about = np.array([[0.03, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.05]])
    builder.add_body(
        "upper",
        parent="base",
        joint=Revolute([0, 0, 1]),
        placement=Transform(rpy(0.1, 0.2, 0.3), [0.1, 0.2, 0.3]),
        inertia=RigidInertia(2.0, [0.1, -0.2, 0.3], inertia=R @ about @ R.T),
    )
    builder.add_body(
        "wheel",
        parent="upper",
        joint=Revolute([1, 2, 3]),
        placement=Transform(p=[0, 0, 0.5]),
        inertia=RigidInertia(0.5, inertia=np.diag([0.001, 0.0018, 0.001])),
    )
    builder.add_body(
        "slide",
        parent="base",
        joint=Prismatic([0, -1, 0]),
        placement=Transform(turn([0, 0, 1], -0.6), [-0.2, 0, 0.1]),
        inertia=RigidInertia(0.7, [0, 0.05, 0], inertia=np.diag([0.002, 0.003, 0.004])),
    )
    builder.add_body(
        "finger", parent="slide", joint=Revolute([1, 0, 0]), inertia=RigidInertia(0.2, inertia=0.0002 * np.eye(3))
    )
    builder.add_body("tip", parent="finger", joint=Fixed(), placement=Transform(turn([0, 1, 0], 0.4), [0, 0, 0.05]))
    return builder.build()


def same_dynamics(model, other, seed=0, tolerance=1e-13):
    rng = np.random.default_rng(seed)
    q = random_configuration(other, rng)
    v, a = rng.standard_normal((2, other.nv))
    np.testing.assert_allclose(mass_matrix(model, q), mass_matrix(other, q), atol=tolerance)
    np.testing.assert_allclose(nonlinear_effects(model, q, v), nonlinear_effects(other, q, v), atol=50 * tolerance)
    np.testing.assert_allclose(inverse_dynamics(model, q, v, a), inverse_dynamics(other, q, v, a), atol=50 * tolerance)


@pytest.mark.parametrize(("floating", "root_joint"), [(False, Fixed()), (True, FloatingBase())])
def test_a_description_makes_the_model_built_by_hand(floating, root_joint):
    """Revolute, continuous, prismatic and fixed joints, turned frames and turned inertias, on either kind of base."""
    model, other = load_urdf(FIVE, floating_base=floating), by_hand(root_joint)
    assert isinstance(model, UrdfModel)
    assert model.names == other.names == ("base", "upper", "wheel", "slide", "finger", "tip")
    assert (model.nq, model.nv, model.mass) == (other.nq, other.nv, other.mass)
    np.testing.assert_allclose(model.packed.floats, other.packed.floats, atol=1e-15)
    np.testing.assert_array_equal(model.packed.ints, other.packed.ints)
    same_dynamics(model, other)


def test_text_path_and_string_path_give_the_same_model():
    """A string is the description itself if it begins with "<" after white space, otherwise a path."""
    text = FIVE.read_text(encoding="utf-8")
    models = [load_urdf(given) for given in (FIVE, str(FIVE), text, "\ufeff \n\t" + text)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.packed.floats, models[0].packed.floats)
        assert model.joints == models[0].joints


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_a_file_may_be_in_any_encoding_it_declares(tmp_path, encoding):
    """Names outside ASCII arrive as they were meant."""
    text = f"<?xml version='1.0' encoding='{encoding}'?>" + robot(link("bräs"))
    file = tmp_path / "r.urdf"
    file.write_bytes(text.encode(encoding))
    assert load_urdf(file).names == ("bräs",)


def test_a_root_called_world_is_the_world():
    """It is not a body, and its children are fixed to the world."""
    text = robot(link("world", ""), link("b"), joint(parent="world", inside="<origin xyz='1 2 3'/>"))
    model = load_urdf(text)
    assert (model.root, model.names, model.bodies[0].parent) == ("world", ("b",), "world")
    np.testing.assert_array_equal(body_pose(model, np.zeros(1), "b").p, [1, 2, 3])
    assert_messages(
        UrdfError,
        ("cannot float", lambda: load_urdf(text, floating_base=True)),
        ("must be the root", lambda: load_urdf(robot(link("a"), link("world"), joint(child="world")))),
    )


def test_a_floating_joint_is_a_floating_base_anywhere():
    """Also below a link that moves itself."""
    model = load_urdf(robot(link("a"), link("b"), link("c"), joint(), joint("k", "floating", "b", "c")))
    assert isinstance(model.bodies[2].joint, FloatingBase)
    assert (model.nq, model.nv) == (8, 7)
    assert (model.joint_data["k"].q, model.joint_data["k"].v) == (slice(1, 8), slice(1, 7))


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, -2), (1, 2, 3), (-3, 1, 1)])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(axis):
    """Shifts stay in the plane and are right-handed with the axis; the turn is about it; (x, y) for the axis z."""
    words = " ".join(map(str, axis))
    model = load_urdf(pair("planar", f"<axis xyz='{words}'/>"))
    n = np.array(axis) / np.linalg.norm(axis)
    first, second = (body_pose(model, q, "b").p for q in ([1.0, 0, 0], [0, 1.0, 0]))
    np.testing.assert_allclose(np.cross(first, second), n, atol=1e-15)
    np.testing.assert_allclose([first @ n, second @ n, first @ second], 0.0, atol=1e-15)
    pose = body_pose(model, [0.3, 0.5, 0.7], "b")
    np.testing.assert_allclose(pose.p, 0.3 * first + 0.5 * second, atol=1e-15)
    np.testing.assert_allclose(pose.R, turn(n, 0.7), atol=1e-15)
    if axis == (0, 0, 1):
        np.testing.assert_array_equal([first, second], np.eye(3)[:2])
    by_builder = ModelBuilder()
    one = RigidInertia(1.0, inertia=np.eye(3))
    by_builder.add_body("a", joint=Fixed(), inertia=one)
    by_builder.add_body(
        "b", parent="a", joint=Composite([Prismatic(first), Prismatic(second), Revolute(n)]), inertia=one
    )
    same_dynamics(model, by_builder.build())


def test_axes_and_origins_follow_the_format():
    """An axis is x by default and of any length; quaternions of version 1.2 have the scalar last, of any length."""
    for inside in ("", "<axis xyz='1 0 0'/>", "<axis xyz='1e-30 0 0'/>"):
        np.testing.assert_array_equal(load_urdf(pair(inside=inside)).bodies[1].joint.axis, [1, 0, 0])
    model = load_urdf(pair(inside="<origin quat_xyzw='0 0 2 2'/>"))
    np.testing.assert_allclose(model.bodies[1].placement.R, turn([0, 0, 1], math.pi / 2), atol=1e-15)


def test_inertias_follow_the_format():
    """A quarter turn about z swaps Ixx and Iyy, not the centre of mass; products that are left out are zero."""
    own = inertial(2.0, 1.0, 2.0, 2.5, "<origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/>")
    body = load_urdf(robot(link("a", own))).bodies[0]
    np.testing.assert_allclose(body.inertia.inertia, np.diag([2.0, 1.0, 2.5]), atol=1e-15)
    np.testing.assert_array_equal(body.inertia.com, [1, 2, 3])

    own = "<inertial><mass value='1'/><inertia ixx='1' iyy='1.5' izz='2' ixz='-0.25'/></inertial>"
    inertia = load_urdf(robot(link("a", own))).bodies[0].inertia.inertia
    np.testing.assert_array_equal(inertia, [[1, 0, -0.25], [0, 1.5, 0], [-0.25, 0, 2]])


def test_limits_friction_and_the_rest_are_kept():
    """They are kept by joint name, with positions in q and v, and as vectors; a missing entry means no limit."""
    model = load_urdf(FIVE, floating_base=True)
    assert model.robot == "five_joints"
    # The root link's joint is not in the description; the others are those of `joints`, one by one.
    assert model.joint_names == ("shoulder", "axle", "rail", "grip", "tip_mount")
    assert model.joint_names == tuple(joint.name for joint in model.joints)
    assert model.joint_q("base") == slice(0, 7)
    shoulder = model.joint_data["shoulder"]
    assert (shoulder.parent, shoulder.body, shoulder.kind) == ("base", "upper", "revolute")
    assert (shoulder.q, shoulder.v) == (model.q_slice("upper"), model.v_slice("upper")) == (slice(7, 8), slice(6, 7))
    assert (shoulder.lower, shoulder.upper, shoulder.effort, shoulder.velocity) == (-1.5, 2.0, 30.0, 4.0)
    assert (shoulder.damping, shoulder.friction, shoulder.mimic) == (0.1, 0.2, None)
    assert model.joint_data["tip_mount"].q == slice(11, 11)
    inf, none = math.inf, [math.inf] * 6
    lower, upper = position_limits(model)
    assert lower.tolist() == [-inf] * 7 + [-1.5, -inf, 0.0, -1.0]
    assert upper.tolist() == [inf] * 7 + [2.0, inf, 0.5, 1.0]
    assert effort_limits(model).tolist() == [*none, 30.0, 5.0, 100.0, 2.0]
    assert velocity_limits(model).tolist() == [*none, 4.0, 20.0, 1.0, 3.0]
    assert joint_damping(model).tolist() == [0.0] * 6 + [0.1, 0.0, 3.0, 0.0]
    assert joint_friction(model).tolist() == [0.0] * 6 + [0.2, 0.0, 0.0, 0.0]


def test_limits_that_are_written_in_part_follow_the_format():
    """Without <limit> there is none; lower and upper are zero by default inside one; continuous joints have neither."""
    free = load_urdf(pair()).joint_data["j"]
    assert (free.lower, free.upper, free.effort, free.velocity) == (-math.inf, math.inf, math.inf, math.inf)
    half = load_urdf(pair(inside="<limit upper='2'/>")).joint_data["j"]
    assert (half.lower, half.upper, half.effort) == (0.0, 2.0, math.inf)
    turning = load_urdf(pair("continuous", "<limit lower='0' upper='0' effort='3'/>")).joint_data["j"]
    assert (turning.lower, turning.upper, turning.effort) == (-math.inf, math.inf, 3.0)
    huge = load_urdf(pair(inside="<limit lower='-1.797e308' upper='1.797e308'/>")).joint_data["j"]
    assert huge.upper == 1.797e308


def test_a_mimicking_joint_keeps_its_coordinate_and_can_be_made_to_follow():
    """q_follower = multiplier q_followed + offset, which is also a linear constraint on v."""
    model = load_urdf(FIVE, floating_base=True)
    assert model.mimics == {"grip": Mimic("shoulder", -0.5, 0.25)}
    q = random_configuration(model, 4)
    grip, shoulder = model.joint_data["grip"], model.joint_data["shoulder"]
    moved = apply_mimic(model, q)
    assert moved[grip.q] == -0.5 * q[shoulder.q] + 0.25
    others = np.arange(model.nq) != grip.q.start
    np.testing.assert_array_equal(moved[others], q[others])
    rows = mimic_coupling(model, q)
    assert rows.joints == ("grip",)
    assert rows.error[0] == pytest.approx(q[grip.q][0] - moved[grip.q][0], abs=1e-15)
    assert mimic_coupling(model, moved).error[0] == 0.0
    expected = np.zeros((1, model.nv))
    expected[0, grip.v], expected[0, shoulder.v] = 1.0, 0.5
    np.testing.assert_array_equal(rows.G, expected)


def test_a_joint_may_mimic_one_that_mimics():
    """In any order of the file the followed joint is computed first."""
    parts = [link(name) for name in "abcd"]
    text = robot(
        *parts,
        joint("j3", parent="c", child="d", inside="<mimic joint='j2' multiplier='3'/>"),
        joint("j2", parent="b", child="c", inside="<mimic joint='j1' multiplier='2' offset='1'/>"),
        joint("j1", parent="a", child="b"),
    )
    model = load_urdf(text)
    q = apply_mimic(model, [0.5, 9.0, 9.0])
    assert [q[model.joint_data[name].q][0] for name in ("j1", "j2", "j3")] == [0.5, 2.0, 6.0]


def test_geometry_is_kept_as_records_and_not_loaded():
    """Collision and visual shapes with their links and poses; a mesh without a given folder has no path."""
    model = load_urdf(FIVE)
    assert [type(shape.shape) for shape in model.collisions] == [UrdfBox, UrdfCylinder, UrdfSphere]
    plate = model.collisions[0]
    assert (plate.body, plate.name, plate.shape.size) == ("base", "plate", (0.4, 0.3, 0.2))
    np.testing.assert_allclose(plate.placement.R, turn([0, 0, 1], math.pi / 2), atol=1e-15)
    np.testing.assert_array_equal(plate.placement.p, [0, 0, 0.1])
    assert (model.collisions[1].shape.radius, model.collisions[1].shape.length) == (0.05, 0.4)
    uri = "package://five_joints/meshes/base.stl"
    assert [shape.shape for shape in model.visuals] == [UrdfMesh(uri, None, (0.001, 0.001, 0.001))]
    capsule = "<collision><geometry><capsule radius='1' length='2'/></geometry></collision>"
    assert load_urdf(robot(link("a", capsule))).collisions[0].shape == UrdfCapsule(1.0, 2.0)


def test_points_and_rods_are_taken_as_they_are():
    """Both exist, also with a program's rounding; four digits of a plate do not warn."""
    for moments in ((0, 0, 0), (0, 1, 1), (1e-22, -1e-21, 0)):
        inertia = load_urdf(robot(link("a", inertial(3.0, *moments)))).bodies[0].inertia
        np.testing.assert_array_equal(inertia.inertia, np.diag(moments))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_urdf(robot(link("a", inertial(1.0, 0.1234, 0.2345, 0.3580))))


def test_an_inertia_that_cannot_exist_is_used_unchanged_with_a_warning_that_names_the_link():
    """Real robots have such files; the dynamics use the file's values."""
    text = robot(link("a"), link("long", inertial(1.0, 1.0, 2.0, 4.0)), joint(child="long"))
    with pytest.warns(UrdfWarning, match=r"'long' has a moment larger than the sum .*1, 2, 4 kg") as caught:
        model = load_urdf(text)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.bodies[1].inertia.inertia, np.diag([1.0, 2.0, 4.0]))
    assert mass_matrix(model, [0.3])[0, 0] == 1.0


def test_a_negative_moment_is_refused_where_it_would_move():
    """Motion would have negative energy; fixed bodies count with their parent, and so does whether it moves."""
    bad = link("bad", inertial(1.0, -0.5, 2.0, 2.0))
    moving = robot(link("a"), bad, joint(child="bad"))
    with pytest.raises(UrdfError, match=r"line 3: link 'bad': .* negative principal moment -0.5") as caught:
        load_urdf(moving)
    assert caught.value.line == 3
    carried = robot(link("a"), link("b"), bad, joint(), joint("k", "fixed", "b", "bad"))
    with pytest.warns(UrdfWarning, match="'bad' has a negative moment"):
        assert load_urdf(carried).mass == 3.0
    with pytest.warns(UrdfWarning):
        load_urdf(robot(bad))
    with pytest.raises(UrdfError, match="negative principal moment"):
        load_urdf(robot(bad), floating_base=True)


def test_inertia_without_mass_counts_on_what_has_mass():
    """A sensor's frame with leftover moments; alone it is an error, for nothing could accelerate it."""
    spin = link("spin", inertial(0.0, 0.1, 0.1, 0.1))
    with pytest.warns(UrdfWarning, match="'spin' has inertia without mass"):
        model = load_urdf(robot(link("a"), link("b"), spin, joint(), joint("k", "fixed", "b", "spin")))
    assert mass_matrix(model, [0.0])[0, 0] == pytest.approx(1.1)
    with pytest.warns(UrdfWarning, match="'spin' has inertia without mass"):
        alone = load_urdf(robot(link("a"), spin, joint(child="spin")))
    np.testing.assert_allclose(forward_dynamics(alone, [0.3], [2.0], [0.5]), [5.0], rtol=1e-14)
    np.testing.assert_allclose(inverse_dynamics(alone, [0.3], [2.0], [5.0]), [0.5], rtol=1e-14)
    assert kinetic_energy(alone, [0.3], [2.0]) == pytest.approx(0.2, rel=1e-14)


@pytest.mark.parametrize("nothing", ["", inertial(0.0, 0.0, 0.0, 0.0)])
def test_a_massless_link_is_a_frame_and_one_that_moves_no_mass_is_named(nothing):
    """Fixed frames and intermediate links are fine; a moving end is warned of, and refused by what has to move it."""
    frame = robot(link("a"), link("tool", nothing), joint("mount", "fixed", child="tool"))
    assert load_urdf(frame, floating_base=True).bodies[1].inertia is None
    assert load_urdf(robot(link("a"), link("m", nothing), link("b"), joint(child="m"), joint("k", parent="m"))).nv
    loose = robot(link("a"), link("tool", nothing), joint("wrist", child="tool"))
    with pytest.warns(
        UrdfWarning, match="'tool' has no mass, nor have the links it carries, but moves by joint 'wrist'"
    ):
        model = load_urdf(loose)
    with pytest.raises(MultibodyError, match=r"Revolute joint of 'tool', moves no mass"):
        forward_dynamics(model, [0.0], [0.0], [0.0])
    with pytest.warns(UrdfWarning, match="'a' has no mass, .* but floats"):
        load_urdf(robot(link("a", nothing)), floating_base=True)


BAD = {
    "no root": ("<model/>", 1, "must be <robot>"),
    "no link": ("<robot name='r'/>", 1, "has no link"),
    "not closed": ("<robot>\n<link name='a'>", 2, "not well formed"),
    "two texts": (robot(link("a")) + "<robot/>", 3, "not well formed"),
    "link without name": (robot("<link/>"), 2, "no attribute 'name'"),
    "same link twice": (robot(link("a"), link("a")), 3, "name is taken by the link in line 2"),
    "same joint twice": (
        robot(link("a"), link("b"), link("c"), joint(), joint(child="c")),
        6,
        "name is taken by the joint in line 5",
    ),
    "unknown parent": (robot(link("arm_1"), joint(parent="arm_l", child="arm_1")), 3, "parent link 'arm_l' .*'arm_1'"),
    "unknown child": (robot(link("a"), joint()), 3, "child link 'b' is not there"),
    "no child": (robot(link("a"), "<joint name='j' type='fixed'><parent link='a'/></joint>"), 3, "has no <child>"),
    "no parent": (robot(link("a"), "<joint name='j' type='fixed'><child link='a'/></joint>"), 3, "has no <parent>"),
    "two parents": (robot(*map(link, "abc"), joint(), joint("k", parent="c")), 6, r"hangs on joint 'j' \(line 5\)"),
    "itself": (robot(link("a"), joint(child="a")), 3, "with itself"),
    "several roots": (robot(link("a"), link("b")), 3, "there must be one root: 'a', 'b'"),
    "cycle": (
        robot(*map(link, "abc"), joint("j1", parent="b", child="c"), joint("j2", parent="c", child="b")),
        5,
        "cycle: 'c' -> 'b' -> 'c'",
    ),
    "only a cycle": (robot(link("a"), link("b"), joint(), joint("k", parent="b", child="a")), 4, "belongs to a cycle"),
    "unknown type": (pair("ball"), 4, "unknown type 'ball'; there are revolute, continuous"),
    "no type": (robot(link("a"), "<joint name='j'/>"), 3, "no attribute 'type'"),
    "zero axis": (pair(inside="\n<axis xyz='0 0 0'/>"), 5, "<axis>: has no direction"),
    "two axes": (pair(inside="<axis xyz='0 0 1'/><axis xyz='0 1 0'/>"), 4, "<axis>: is there twice"),
    "short axis": (pair(inside="<axis xyz='0 1'/>"), 4, "'xyz' must be 3 numbers, got 2"),
    "nan": (pair(inside="<origin xyz='0 nan 0'/>"), 4, "<origin>: attribute 'xyz': 'nan' is not a finite number"),
    "infinity": (pair(inside="<limit upper='inf'/>"), 4, "'inf' is not a finite number"),
    "overflow": (pair(inside="<limit upper='1e999'/>"), 4, "too large"),
    "comma": (pair(inside="<origin rpy='0,5 0 0'/>"), 4, "'0,5' is not a finite number"),
    "underscore": (pair(inside="<origin rpy='1_0 0 0'/>"), 4, "'1_0' is not a finite number"),
    "expression": (pair(inside="<origin rpy='${pi} 0 0'/>"), 4, "is not a finite number"),
    "astronomic": (pair(inside="<origin xyz='1e200 0 0'/>"), 4, "too large to compute with"),
    "rpy and quaternion": (pair(inside="<origin rpy='0 0 0' quat_xyzw='0 0 0 1'/>"), 4, "both"),
    "zero quaternion": (pair(inside="<origin quat_xyzw='0 0 0 0'/>"), 4, "turns nowhere"),
    "limits crossed": (pair(inside="<limit lower='2' upper='1'/>"), 4, "lower 2 exceeds upper 1"),
    "negative effort": (pair(inside="<limit effort='-1'/>"), 4, "'effort' is negative"),
    "negative damping": (pair(inside="<dynamics damping='-1'/>"), 4, "'damping' is negative"),
    "mimics nobody": (pair(inside="<mimic joint='jj'/>"), 4, "mimics joint 'jj', which is not there; close: 'j'"),
    "mimics itself": (pair(inside="<mimic joint='j'/>"), 4, "mimics itself: 'j' -> 'j'"),
    "planar mimic": (pair("planar", "<mimic joint='j'/>"), 4, "a planar joint cannot mimic"),
    "mimics fixed": (
        robot(*map(link, "abc"), joint(kind="fixed"), joint("k", child="c", inside="<mimic joint='j'/>")),
        6,
        "which is fixed",
    ),
    "no mass": (robot(link("a", "<inertial><inertia ixx='1' iyy='1' izz='1'/></inertial>")), 2, "has no <mass>"),
    "no inertia": (robot(link("a", "<inertial><mass value='1'/></inertial>")), 2, "has no <inertia>"),
    "no moment": (
        robot(link("a", "<inertial><mass value='1'/><inertia ixx='1'/></inertial>")),
        2,
        "no attribute 'iyy'",
    ),
    "negative mass": (robot(link("a", inertial(-1.0))), 2, "mass is negative: -1.0"),
    "two inertials": (robot(link("a", inertial() + inertial())), 2, "is there twice"),
    "no geometry": (robot(link("a", "<visual/>")), 2, "has no <geometry>"),
    "two shapes": (
        robot(link("a", "<visual><geometry><sphere radius='1'/><sphere radius='1'/></geometry></visual>")),
        2,
        "must hold one of",
    ),
    "negative radius": (
        robot(link("a", "<visual><geometry><sphere radius='-1'/></geometry></visual>")),
        2,
        "'radius' is negative",
    ),
    "xacro": (robot("<xacro:macro name='leg'/>"), 2, "expand it with xacro first"),
    "long name": (robot(link("a" * 1001)), 2, "longer than 1000 characters"),
    "text that is none": ("robot\n<robot/>", 1, "does not begin with <"),
}


@pytest.mark.parametrize(("text", "line", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_by_line_and_name(text, line, words):
    """One typed error that says where and what, for a description given as text or as a file."""
    with pytest.raises(UrdfError) as caught:
        load_urdf(text)
    assert re.search(words, str(caught.value)), str(caught.value)
    assert caught.value.line == line
    assert isinstance(caught.value, MultibodyError)


def test_the_error_of_a_file_names_it(tmp_path):
    """The file's own name and the line, before the element."""
    file = tmp_path / "arm.urdf"
    file.write_text(pair("ball"), encoding="utf-8")
    with pytest.raises(UrdfError, match=r"^arm\.urdf, line 4: joint 'j': has the unknown type"):
        load_urdf(file)
    with pytest.raises(FileNotFoundError):
        load_urdf(tmp_path / "leg.urdf")
    with pytest.raises(UrdfError, match="not a regular file"):
        load_urdf(tmp_path)
