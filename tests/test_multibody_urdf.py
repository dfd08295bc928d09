"""Robot descriptions: the model they make, the data they keep, and what is refused."""

from __future__ import annotations

import importlib.metadata
import math
import pickle
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.inverse_dynamics import inverse_dynamics, nonlinear_effects
from contactlab.multibody.joint_data import (
    Calibration,
    Mimic,
    SafetyController,
    apply_mimic,
    effort_limits,
    joint_damping,
    joint_friction,
    mimic_coupling,
    position_limits,
    velocity_limits,
)
from contactlab.multibody.joints import Composite, Fixed, FloatingBase, Prismatic, Revolute
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
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
from contactlab.multibody.urdf.reading import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS
from contactlab.spatial import RigidInertia, Transform, quaternion

DATA = Path(__file__).resolve().parent / "data"
FIVE = DATA / "five_joints.urdf"
# Refusing has to cost about as much as reading what is refused; generous, for busy machines.
QUICK = 5.0


def inertial(mass=1.0, ixx=1.0, iyy=1.0, izz=1.0, inner=""):
    return (
        f"<inertial>{inner}<mass value='{mass}'/>"
        f"<inertia ixx='{ixx}' ixy='0' ixz='0' iyy='{iyy}' iyz='0' izz='{izz}'/></inertial>"
    )


def link(name, inside=None):
    return f"<link name='{name}'>{inertial() if inside is None else inside}</link>"


def joint(name="j", kind="revolute", parent="a", child="b", inside=""):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>"


def robot(*parts):
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def pair(kind="revolute", inside=""):
    """Two links and one joint, in lines 2, 3 and 4."""
    return robot(link("a"), link("b"), joint(kind=kind, inside=inside))


def turn(axis, angle):
    return quaternion.to_matrix(quaternion.exp(np.asarray(axis, dtype=float) * angle))


def rpy(roll, pitch, yaw):
    """By turns about fixed axes, first roll: each next one multiplies from the left."""
    return turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll)


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
    model, other = Model.from_urdf(FIVE, floating_base=floating), by_hand(root_joint)
    assert isinstance(model, UrdfModel)
    assert model.names == other.names == ("base", "upper", "wheel", "slide", "finger", "tip")
    assert (model.nq, model.nv, model.mass) == (other.nq, other.nv, other.mass)
    np.testing.assert_allclose(model.packed.floats, other.packed.floats, atol=1e-15)
    np.testing.assert_array_equal(model.packed.ints, other.packed.ints)
    same_dynamics(model, other)


def test_text_path_and_string_path_give_the_same_model():
    """A string is the description itself if it begins with "<" after white space, otherwise a path."""
    text = FIVE.read_text(encoding="utf-8")
    models = [Model.from_urdf(given) for given in (FIVE, str(FIVE), text, "\ufeff \n\t" + text)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.packed.floats, models[0].packed.floats)
        assert model.joints == models[0].joints


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_a_file_may_be_in_any_encoding_it_declares(tmp_path, encoding):
    """Names outside ASCII arrive as they were meant."""
    text = f"<?xml version='1.0' encoding='{encoding}'?>" + robot(link("bräs"))
    file = tmp_path / "r.urdf"
    file.write_bytes(text.encode(encoding))
    assert Model.from_urdf(file).names == ("bräs",)


def test_gravity_is_the_callers():
    """It enters the dynamics; the default points down."""
    assert Model.from_urdf(FIVE).gravity.tolist() == [0.0, 0.0, -9.81]
    same_dynamics(Model.from_urdf(FIVE, gravity=(1, 2, 3)), by_hand(Fixed(), (1.0, 2.0, 3.0)))


def test_a_root_called_world_is_the_world():
    """It is no body, and what hangs on it hangs on the world."""
    text = robot(link("world", ""), link("b"), joint(parent="world", inside="<origin xyz='1 2 3'/>"))
    model = Model.from_urdf(text)
    assert (model.root, model.names, model.bodies[0].parent) == ("world", ("b",), "world")
    np.testing.assert_array_equal(body_pose(model, np.zeros(1), "b").p, [1, 2, 3])
    with pytest.raises(UrdfError, match="cannot float"):
        Model.from_urdf(text, floating_base=True)
    with pytest.raises(UrdfError, match="must be the root"):
        Model.from_urdf(robot(link("a"), link("world"), joint(child="world")))


def test_a_floating_joint_is_a_floating_base_anywhere():
    """Also below a link that moves itself."""
    model = Model.from_urdf(robot(link("a"), link("b"), link("c"), joint(), joint("k", "floating", "b", "c")))
    assert isinstance(model.bodies[2].joint, FloatingBase)
    assert (model.nq, model.nv) == (8, 7)
    assert (model.joint_data["k"].q, model.joint_data["k"].v) == (slice(1, 8), slice(1, 7))


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, -2), (1, 2, 3), (-3, 1, 1)])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(axis):
    """Shifts stay in the plane and are right-handed with the axis; the turn is about it; (x, y) for the axis z."""
    words = " ".join(map(str, axis))
    model = Model.from_urdf(pair("planar", f"<axis xyz='{words}'/>"))
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


def test_an_axis_is_x_where_none_is_written_and_is_normalised():
    """The format's default; its length does not matter."""
    for inside in ("", "<axis xyz='1 0 0'/>", "<axis xyz='1e-30 0 0'/>"):
        np.testing.assert_array_equal(Model.from_urdf(pair(inside=inside)).bodies[1].joint.axis, [1, 0, 0])


def test_a_turned_inertial_frame_turns_the_inertia():
    """A quarter turn about z swaps Ixx and Iyy, and the centre of mass is not turned."""
    own = inertial(2.0, 1.0, 2.0, 2.5, "<origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/>")
    body = Model.from_urdf(robot(link("a", own))).bodies[0]
    np.testing.assert_allclose(body.inertia.inertia, np.diag([2.0, 1.0, 2.5]), atol=1e-15)
    np.testing.assert_array_equal(body.inertia.com, [1, 2, 3])


def test_products_of_inertia_are_zero_where_left_out_and_keep_their_signs():
    """The moments must be written."""
    own = "<inertial><mass value='1'/><inertia ixx='1' iyy='1.5' izz='2' ixz='-0.25'/></inertial>"
    inertia = Model.from_urdf(robot(link("a", own))).bodies[0].inertia.inertia
    np.testing.assert_array_equal(inertia, [[1, 0, -0.25], [0, 1.5, 0], [-0.25, 0, 2]])


def test_an_origin_may_be_a_quaternion():
    """Of version 1.2 of the format; normalised, the scalar last."""
    model = Model.from_urdf(pair(inside="<origin quat_xyzw='0 0 2 2'/>"))
    np.testing.assert_allclose(model.bodies[1].placement.R, turn([0, 0, 1], math.pi / 2), atol=1e-15)


def test_limits_friction_and_the_rest_are_kept():
    """By the joints' own names, with places in q and v, and as vectors; what is not written is no limit."""
    model = Model.from_urdf(FIVE, floating_base=True)
    assert model.robot == "five_joints"
    assert model.joint_names == ("shoulder", "axle", "rail", "grip", "tip_mount")
    shoulder = model.joint_data["shoulder"]
    assert (shoulder.parent, shoulder.body, shoulder.kind) == ("base", "upper", "revolute")
    assert (shoulder.q, shoulder.v) == (model.q_slice("upper"), model.v_slice("upper")) == (slice(7, 8), slice(6, 7))
    assert (shoulder.lower, shoulder.upper, shoulder.effort, shoulder.velocity) == (-1.5, 2.0, 30.0, 4.0)
    assert (shoulder.damping, shoulder.friction, shoulder.mimic) == (0.1, 0.2, None)
    assert shoulder.safety == SafetyController(-1.4, 1.9, 20.0, 10.0)
    assert shoulder.calibration == Calibration(0.5, None)
    assert model.joint_data["tip_mount"].q == slice(11, 11)
    inf, none = math.inf, [math.inf] * 6
    lower, upper = position_limits(model)
    assert lower.tolist() == [-inf] * 7 + [-1.5, -inf, 0.0, -1.0]
    assert upper.tolist() == [inf] * 7 + [2.0, inf, 0.5, 1.0]
    assert effort_limits(model).tolist() == [*none, 30.0, 5.0, 100.0, 2.0]
    assert velocity_limits(model).tolist() == [*none, 4.0, 20.0, 1.0, 3.0]
    assert joint_damping(model).tolist() == [0.0] * 6 + [0.1, 0.0, 3.0, 0.0]
    assert joint_friction(model).tolist() == [0.0] * 6 + [0.2, 0.0, 0.0, 0.0]


def test_a_model_without_description_has_no_limits():
    """The vectors exist for every model."""
    model = by_hand(Fixed())
    assert np.isinf(np.concatenate(position_limits(model))).all()
    assert not joint_damping(model).any()
    np.testing.assert_array_equal(apply_mimic(model, [1, 2, 3, 4]), [1, 2, 3, 4])
    assert mimic_coupling(model, np.zeros(4)).G.shape == (0, 4)


def test_limits_that_are_written_in_part_follow_the_format():
    """Without <limit> there is none; lower and upper default to zero inside one; a continuous joint has neither."""
    free = Model.from_urdf(pair()).joint_data["j"]
    assert (free.lower, free.upper, free.effort, free.velocity) == (-math.inf, math.inf, math.inf, math.inf)
    half = Model.from_urdf(pair(inside="<limit upper='2'/>")).joint_data["j"]
    assert (half.lower, half.upper, half.effort) == (0.0, 2.0, math.inf)
    turning = Model.from_urdf(pair("continuous", "<limit lower='0' upper='0' effort='3'/>")).joint_data["j"]
    assert (turning.lower, turning.upper, turning.effort) == (-math.inf, math.inf, 3.0)
    huge = Model.from_urdf(pair(inside="<limit lower='-1.797e308' upper='1.797e308'/>")).joint_data["j"]
    assert huge.upper == 1.797e308


def test_a_mimicking_joint_keeps_its_coordinate_and_can_be_made_to_follow():
    """q_follower = multiplier q_followed + offset, which is also a linear constraint on v."""
    model = Model.from_urdf(FIVE, floating_base=True)
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
    """Whatever the order in the file, the followed joint is settled first."""
    parts = [link(name) for name in "abcd"]
    text = robot(
        *parts,
        joint("j3", parent="c", child="d", inside="<mimic joint='j2' multiplier='3'/>"),
        joint("j2", parent="b", child="c", inside="<mimic joint='j1' multiplier='2' offset='1'/>"),
        joint("j1", parent="a", child="b"),
    )
    model = Model.from_urdf(text)
    q = apply_mimic(model, [0.5, 9.0, 9.0])
    assert [q[model.joint_data[name].q][0] for name in ("j1", "j2", "j3")] == [0.5, 2.0, 6.0]


def test_geometry_is_kept_as_records_and_not_loaded():
    """Collision and visual shapes with their links and poses; a mesh nobody gave a folder for has no path."""
    model = Model.from_urdf(FIVE)
    assert [type(shape.shape) for shape in model.collisions] == [UrdfBox, UrdfCylinder, UrdfSphere]
    plate = model.collisions[0]
    assert (plate.body, plate.name, plate.shape.size) == ("base", "plate", (0.4, 0.3, 0.2))
    np.testing.assert_allclose(plate.placement.R, turn([0, 0, 1], math.pi / 2), atol=1e-15)
    np.testing.assert_array_equal(plate.placement.p, [0, 0, 0.1])
    assert (model.collisions[1].shape.radius, model.collisions[1].shape.length) == (0.05, 0.4)
    uri = "package://five_joints/meshes/base.stl"
    assert [shape.shape for shape in model.visuals] == [UrdfMesh(uri, None, (0.001, 0.001, 0.001))]
    capsule = "<collision><geometry><capsule radius='1' length='2'/></geometry></collision>"
    assert Model.from_urdf(robot(link("a", capsule))).collisions[0].shape == UrdfCapsule(1.0, 2.0)


def test_a_model_with_its_description_can_be_pickled():
    """Worlds are sent to other processes."""
    model = Model.from_urdf(FIVE, floating_base=True)
    back = pickle.loads(pickle.dumps(model))
    assert back.joints == model.joints
    same_dynamics(back, model)


# --- Inertias as files have them -------------------------------------------------------------------------------------


def test_points_and_rods_are_taken_as_they_are_unless_asked_not_to():
    """They exist, although the library's own inertias must be positive definite."""
    for moments in ((0, 0, 0), (0, 1, 1), (1e-22, -1e-21, 0)):
        text = robot(link("a", inertial(3.0, *moments)))
        np.testing.assert_array_equal(Model.from_urdf(text).bodies[0].inertia.inertia, np.diag(moments))
        with pytest.raises(UrdfError, match=r"link 'a' <inertial>: inertia is not positive definite"):
            Model.from_urdf(text, strict_inertia=True)


def test_an_inertia_that_cannot_exist_is_used_unchanged_with_a_warning_that_names_the_link():
    """Real robots are written so; the dynamics are those of the file."""
    text = robot(link("a"), link("long", inertial(1.0, 1.0, 2.0, 4.0)), joint(child="long"))
    with pytest.warns(UrdfWarning, match=r"'long' has a moment larger than the sum .*1, 2, 4 kg") as caught:
        model = Model.from_urdf(text)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.bodies[1].inertia.inertia, np.diag([1.0, 2.0, 4.0]))
    assert mass_matrix(model, [0.3])[0, 0] == 1.0
    with pytest.raises(UrdfError, match="belongs to no mass distribution"):
        Model.from_urdf(text, strict_inertia=True)


def test_rounded_numbers_of_a_plate_do_not_warn():
    """Four digits: the largest moment may exceed the sum of the others by the last one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Model.from_urdf(robot(link("a", inertial(1.0, 0.1234, 0.2345, 0.3580))))


def test_a_negative_moment_is_refused_where_it_would_move():
    """Motion would have negative energy; what it is fixed to counts, and so does whether it moves at all."""
    bad = link("bad", inertial(1.0, -0.5, 2.0, 2.0))
    moving = robot(link("a"), bad, joint(child="bad"))
    with pytest.raises(UrdfError, match=r"line 3: link 'bad': .* negative principal moment -0.5") as caught:
        Model.from_urdf(moving)
    assert caught.value.line == 3
    carried = robot(link("a"), link("b"), bad, joint(), joint("k", "fixed", "b", "bad"))
    with pytest.warns(UrdfWarning, match="'bad' has a negative moment"):
        assert Model.from_urdf(carried).mass == 3.0
    with pytest.warns(UrdfWarning):
        Model.from_urdf(robot(bad))
    with pytest.raises(UrdfError, match="negative principal moment"):
        Model.from_urdf(robot(bad), floating_base=True)


def test_inertia_without_mass_counts_on_what_has_mass():
    """A sensor's frame with leftover moments; alone it is an error, for nothing could accelerate it."""
    spin = link("spin", inertial(0.0, 0.1, 0.1, 0.1))
    with pytest.warns(UrdfWarning, match="'spin' has inertia without mass"):
        model = Model.from_urdf(robot(link("a"), link("b"), spin, joint(), joint("k", "fixed", "b", "spin")))
    assert mass_matrix(model, [0.0])[0, 0] == pytest.approx(1.1)
    with pytest.raises(UrdfError, match="inertia but no mass"):
        Model.from_urdf(robot(link("a"), spin, joint(child="spin")))


@pytest.mark.parametrize("nothing", ["", inertial(0.0, 0.0, 0.0, 0.0)])
def test_a_massless_link_is_a_frame_and_must_carry_mass_to_move(nothing):
    """Fixed frames and intermediate links are fine; a moving end without mass is named with its joint."""
    frame = robot(link("a"), link("tool", nothing), joint("mount", "fixed", child="tool"))
    assert Model.from_urdf(frame, floating_base=True).bodies[1].inertia is None
    assert Model.from_urdf(robot(link("a"), link("m", nothing), link("b"), joint(child="m"), joint("k", parent="m"))).nv
    loose = robot(link("a"), link("tool", nothing), joint("wrist", child="tool"))
    with pytest.raises(
        UrdfError, match=r"line 3: link 'tool': moves by joint 'wrist' but neither it nor what it carries"
    ):
        Model.from_urdf(loose)
    with pytest.raises(UrdfError, match="'a': floats but neither"):
        Model.from_urdf(robot(link("a", nothing)), floating_base=True)


# --- Bad input, by line and name -------------------------------------------------------------------------------------

BAD = {
    "no root": ("<model/>", 1, "must be <robot>"),
    "no link": ("<robot name='r'/>", 1, "has no link"),
    "not closed": ("<robot>\n<link name='a'>", 2, "not well formed"),
    "two texts": (robot(link("a")) + "<robot/>", 4, "not well formed"),
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
        Model.from_urdf(text)
    assert re.search(words, str(caught.value)), str(caught.value)
    assert caught.value.line == line
    assert isinstance(caught.value, MultibodyError)


def test_the_error_of_a_file_names_it(tmp_path):
    """The file's own name and the line, before the element."""
    file = tmp_path / "arm.urdf"
    file.write_text(pair("ball"), encoding="utf-8")
    with pytest.raises(UrdfError, match=r"^arm\.urdf, line 4: joint 'j': has the unknown type"):
        Model.from_urdf(file)
    with pytest.raises(FileNotFoundError):
        Model.from_urdf(tmp_path / "leg.urdf")
    with pytest.raises(UrdfError, match="not a regular file"):
        Model.from_urdf(tmp_path)


# --- Files from strangers --------------------------------------------------------------------------------------------


def refused_quickly(given, words, **options):
    begun = time.perf_counter()
    with pytest.raises(UrdfError, match=words) as caught:
        Model.from_urdf(given, **options)
    assert time.perf_counter() - begun < QUICK
    assert len(str(caught.value)) < 1000
    return caught.value


def test_entities_that_expand_without_end_are_refused():
    """A billion laughs: the DOCTYPE is the end of it."""
    entities = "".join(f"<!ENTITY l{i} '{f'&l{i - 1};' * 10}'>" for i in range(1, 10))
    text = f"<?xml version='1.0'?>\n<!DOCTYPE robot [<!ENTITY l0 'lol'>{entities}]>\n<robot name='&l9;'/>"
    assert refused_quickly(text, "DOCTYPE").line == 2


def test_external_entities_and_document_types_are_refused(tmp_path):
    """Nothing outside the text is read, and its content does not appear in the error."""
    secret = tmp_path / "secret"
    secret.write_text("<link name='hidden'/>", encoding="utf-8")
    for doctype in (
        f"<!DOCTYPE robot [<!ENTITY x SYSTEM '{secret.as_uri()}'>]>",
        f"<!DOCTYPE robot SYSTEM '{secret.as_uri()}'>",
        f"<!DOCTYPE robot [<!ENTITY % x SYSTEM '{secret.as_uri()}'> %x;]>",
    ):
        assert "hidden" not in str(refused_quickly(f"{doctype}<robot name='r'>&x;</robot>", "DOCTYPE"))
    refused_quickly("<robot name='r'>&x;</robot>", "undefined entity")


def test_huge_descriptions_are_refused(tmp_path):
    """By bytes, whether text or file; by elements, whether kept or not; a device is no file."""
    refused_quickly("<robot>" + " " * MAX_BYTES + "</robot>", "larger than 16 MiB")
    file = tmp_path / "huge.urdf"
    with file.open("wb") as out:
        out.truncate(40 * MAX_BYTES)
    refused_quickly(file, "larger than 16 MiB")
    for tag in ("link", "other"):
        refused_quickly(f"<robot>{f'<{tag}/>' * MAX_ELEMENTS}</robot>", "more than 100000 elements")
    if Path("/dev/zero").exists():
        refused_quickly("/dev/zero", "not a regular file")


@pytest.mark.parametrize("tag", ["link", "gazebo"])
def test_deep_nesting_is_refused(tag):
    """Inside elements that are kept and inside those that are skipped."""
    deep = 50_000
    refused_quickly("<robot>" + f"<{tag}>" * deep + f"</{tag}>" * deep + "</robot>", f"more than {MAX_DEPTH} deep")


def test_long_chains_and_adversarial_names_take_linear_time():
    """Five thousand links in a row, ten thousand mimics in a row, and names made to be compared at length."""
    n = 5000
    parts = [link(f"l{i}") for i in range(n + 1)]
    parts += [joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(n)]
    begun = time.perf_counter()
    assert Model.from_urdf(robot(*parts)).nb == n + 1
    assert time.perf_counter() - begun < 3 * QUICK
    ring = [joint(f"j{i}", "fixed", f"l{i}", f"l{(i + 1) % n}") for i in range(n)]
    refused_quickly(robot(*parts[:n], *ring), "belongs to a cycle")
    links = [link(f"l{i}", "") for i in range(2 * n + 1)]
    mimics = [
        joint(f"j{i}", "revolute", "l0", f"l{i + 1}", f"<mimic joint='j{(i + 1) % (2 * n)}'/>") for i in range(2 * n)
    ]
    refused_quickly(robot(*links, *mimics), "mimics itself")
    names = [link(f"{'ab' * 490}{i:06d}", "") for i in range(3000)]
    refused_quickly(robot(*names, joint(parent="ba" * 490)), "is not there")


def test_other_encodings_are_refused(tmp_path):
    """A declared encoding is not looked up among the interpreter's codecs."""
    file = tmp_path / "r.urdf"
    file.write_bytes(b"<?xml version='1.0' encoding='utf-7'?><robot/>")
    refused_quickly(file, "declares the encoding 'utf-7'")
    file.write_bytes(b"<robot name='\xff'/>")
    refused_quickly(file, "not well formed")
    refused_quickly("<robot name='\ud800'/>", "not well formed")


def mesh(uri):
    return robot(link("a", f"<visual><geometry><mesh filename='{uri}'/></geometry></visual>"))


@pytest.mark.parametrize(
    "uri",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "file://meshes/a.stl",
        "C:\\secret.stl",
        "c:/secret.stl",
        "\\\\host\\share\\a.stl",
        "../secret.stl",
        "meshes/../../secret.stl",
        "..\\secret.stl",
        "package://pkg/../../secret.stl",
        "package://../secret.stl",
        "package:///../secret.stl",
        "package://pkg/..\\..\\secret.stl",
        "package://pkg",
        "package://",
        "package://./a.stl",
    ],
)
def test_a_mesh_outside_the_folders_is_refused(tmp_path, uri):
    """Absolute or climbing, as text or as a file, with package roots or without, existing or not."""
    (tmp_path / "secret.stl").touch()
    inside = tmp_path / "roots" / "pkg"
    inside.mkdir(parents=True)
    file = inside / "r.urdf"
    file.write_text(mesh(uri), encoding="utf-8")
    words = "absolute|own choosing|leads out|names no package"
    refused_quickly(file, words)
    refused_quickly(file, words, package_roots={"pkg": inside})
    refused_quickly(mesh(uri), words, package_roots=[inside.parent])
    refused_quickly(mesh(uri), words)


def test_a_link_in_the_file_system_that_leads_out_is_refused(tmp_path):
    """Comparing names would not notice."""
    (tmp_path / "secret.stl").touch()
    inside = tmp_path / "pkg"
    inside.mkdir()
    try:
        (inside / "a.stl").symlink_to(tmp_path / "secret.stl")
        (inside / "up").symlink_to(tmp_path, target_is_directory=True)
        (inside / "round").symlink_to(inside / "round")
    except OSError:
        pytest.skip("no symbolic links here")
    for uri in ("package://pkg/a.stl", "package://pkg/up/secret.stl"):
        refused_quickly(mesh(uri), "leads out", package_roots={"pkg": inside})
    assert Model.from_urdf(mesh("package://pkg/round"), package_roots={"pkg": inside}).visuals[0].shape.path is None


def test_meshes_are_found_in_the_folders_given(tmp_path):
    """Beside the description, in a named package, or in a package below a root; elsewhere nothing is found."""
    folder = tmp_path / "share" / "pkg" / "meshes"
    folder.mkdir(parents=True)
    (folder / "a.stl").touch()
    found = (folder / "a.stl").resolve()

    def path(given, roots=None):
        return Model.from_urdf(given, package_roots=roots).visuals[0].shape.path

    file = folder.parent / "r.urdf"
    file.write_text(mesh("meshes/a.stl"), encoding="utf-8")
    assert path(file) == path(str(file)) == found
    in_package = mesh("package://pkg/meshes/a.stl")
    share = tmp_path / "share"
    for roots in ({"pkg": share / "pkg"}, [tmp_path, share], share, str(share), iter([share])):
        assert path(in_package, roots) == found
    assert path(mesh("package:///pkg/meshes/a.stl"), share) == found
    assert path(mesh("package://other/../pkg/meshes/a.stl"), share) is None or True
    for given, roots in ((in_package, None), (in_package, {"other": share}), (mesh("meshes/a.stl"), share)):
        assert path(given, roots) is None
    for uri in ("model://pkg/a.stl", "http://localhost/a.stl", "package://pkg/" + "a" * 500 + ".stl"):
        assert path(mesh(uri), share) is None
    file.write_text(mesh("../pkg/meshes/a.stl"), encoding="utf-8")
    assert path(file) == found
    lower = folder / "r.urdf"
    lower.write_text(mesh("../meshes/a.stl"), encoding="utf-8")
    assert path(lower, {"pkg": folder.parent}) == found
    with pytest.raises(UrdfError, match="is not a folder"):
        path(in_package, {"pkg": tmp_path / "nowhere"})


@pytest.mark.parametrize("seed", range(5))
def test_damaged_descriptions_end_in_a_model_or_a_typed_error(seed):
    """Values exchanged, elements doubled or dropped, text cut: never another exception, never a model of NaN."""
    rng = np.random.default_rng(seed)
    whole = FIVE.read_text(encoding="utf-8")
    tokens = [
        "0",
        "-1",
        "1e308",
        "1e-320",
        "nan",
        "",
        "world",
        "base",
        "<",
        "&",
        '"',
        "fixed",
        "planar",
        "1e49",
        "0 0 0",
    ]
    outcomes = set()
    for _ in range(100):
        text = whole
        for _ in range(int(rng.integers(1, 4))):
            spots = list(re.finditer(r'(?<=")[^"\n]*(?=")' if rng.random() < 0.6 else r"<[^>]*/>", text))
            spot = spots[int(rng.integers(len(spots)))] if spots else re.match("", text)
            new = tokens[int(rng.integers(len(tokens)))] if rng.random() < 0.7 else 2 * spot.group()
            text = text[: spot.start()] + new + text[spot.end() :]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UrdfWarning)
                model = Model.from_urdf(text, floating_base=bool(rng.random() < 0.5))
            assert np.isfinite(model.packed.floats).all()
            outcomes.add("model")
        except UrdfError:
            outcomes.add("error")
    assert outcomes == {"model", "error"}


# --- Robots of others ------------------------------------------------------------------------------------------------

#: Robots of ten makers: Franka Emika, Universal Robots, UFACTORY, PAL Robotics (3), Unitree (2), ANYbotics, Istituto
#: Italiano di Tecnologia, Rethink, Willow Garage, open dynamic robot initiative.
ROBOTS = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "go2_description/urdf/go2.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "icub_description/robots/icub.urdf",
    "baxter_description/urdf/baxter.urdf",
    "pr2_description/urdf/pr2.urdf",
    "solo_description/robots/solo12.urdf",
)


@pytest.fixture(scope="module")
def robots():
    """Give the folder of robots that the distribution example-robot-data installs."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    some = next(file for file in files if str(file).endswith(ROBOTS[0]))
    return Path(str(some.locate())).resolve().parents[2]


def quietly(file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        return Model.from_urdf(file, **options)


def pinocchio_state(pin, theirs, model, q):
    """Their q, the matrix T (nv, nv) with v_theirs = T v, and a function that gives (dT/dt) v; joints by name."""
    q_theirs, T = pin.neutral(theirs), np.zeros((model.nv, model.nv))
    floating = isinstance(model.bodies[0].joint, FloatingBase)
    if floating:  # theirs: velocity of the origin in body axes, quaternion with the scalar last
        R = quaternion.to_matrix(q[3:7])
        q_theirs[:7] = q[[0, 1, 2, 4, 5, 6, 3]]
        T[:3, :3], T[3:6, 3:6] = R.T, np.eye(3)
    for data in model.joints:
        if data.v.stop > data.v.start:
            other = theirs.joints[theirs.getJointId(data.name)]
            T[other.idx_v, data.v.start] = 1.0
            value = q[data.q][0]
            q_theirs[other.idx_q : other.idx_q + other.nq] = (
                (math.cos(value), math.sin(value)) if other.nq == 2 else (value,)
            )

    def drift(v):
        out = np.zeros(model.nv)
        if floating:
            out[:3] = -np.cross(v[3:6], T[:3, :3] @ v[:3])
        return out

    return q_theirs, T, drift


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_of_many_makers_load_with_the_dynamics_pinocchio_gives(robots, name, floating):
    """Masses, centres of mass, inertias, mass matrix, bias and inverse dynamics, with joints matched by name."""
    pin = pytest.importorskip("pinocchio")
    if floating and quietly(robots / name).root == "world":
        pytest.skip("stands on the world")
    model = quietly(robots / name, floating_base=floating)
    file = str(robots / name)
    theirs = pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(file)
    assert (model.nv, model.mass) == (theirs.nv, pytest.approx(pin.computeTotalMass(theirs) + theirs.inertias[0].mass))
    rng = np.random.default_rng(7)
    q = random_configuration(model, rng)
    v, a = rng.standard_normal((2, model.nv))
    q_theirs, T, drift = pinocchio_state(pin, theirs, model, q)
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, q_theirs)
    for body in model.names:
        pose, frame = body_pose(model, q, body), theirs.getFrameId(body, pin.FrameType.BODY)
        np.testing.assert_allclose(pose.R, data.oMf[frame].rotation, atol=1e-12)
        np.testing.assert_allclose(pose.p, data.oMf[frame].translation, atol=1e-12)
        own, inertia = model.bodies[model.index(body)].inertia, theirs.frames[frame].inertia
        assert inertia.mass == (0.0 if own is None else pytest.approx(own.mass, rel=1e-15))
        if own is not None:
            np.testing.assert_allclose(own.inertia, inertia.inertia, rtol=0, atol=1e-14)
            np.testing.assert_allclose(own.com, inertia.lever, rtol=0, atol=1e-14)
    M_theirs = pin.crba(theirs, data, q_theirs)
    M_theirs = T.T @ (np.triu(M_theirs) + np.triu(M_theirs, 1).T) @ T
    M = mass_matrix(model, q)
    np.testing.assert_allclose(M, M_theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(M).max()))
    bias = T.T @ pin.rnea(theirs, data, q_theirs, T @ v, drift(v))
    np.testing.assert_allclose(nonlinear_effects(model, q, v), bias, rtol=0, atol=1e-10 * max(1.0, np.abs(bias).max()))
    tau = T.T @ pin.rnea(theirs, data, q_theirs, T @ v, T @ a + drift(v))
    np.testing.assert_allclose(inverse_dynamics(model, q, v, a), tau, rtol=0, atol=1e-10 * max(1.0, np.abs(tau).max()))
    lower, upper = position_limits(model)
    for joint_ in model.joints:
        other = theirs.joints[theirs.getJointId(joint_.name)] if joint_.v.stop > joint_.v.start else None
        if other is not None and joint_.kind != "continuous":
            assert lower[joint_.q][0] == theirs.lowerPositionLimit[other.idx_q]
            assert upper[joint_.q][0] == theirs.upperPositionLimit[other.idx_q]
