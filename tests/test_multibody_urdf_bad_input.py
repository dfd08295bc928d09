"""Robot descriptions: odd inertias, and bad input by line and name."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from urdf_texts import inertial, joint, link, pair, robot

from contactlab.multibody.centroidal import kinetic_energy
from contactlab.multibody.dynamics import forward_dynamics, inverse_dynamics
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.urdf import (
    UrdfError,
    UrdfWarning,
)
from contactlab.spatial.errors import MultibodyError


def test_points_and_rods_are_taken_as_they_are():
    """They exist, and with the round-off of a program too; asked to be strict or not."""
    for moments in ((0, 0, 0), (0, 1, 1), (1e-22, -1e-21, 0)):
        text = robot(link("a", inertial(3.0, *moments)))
        for strict in (False, True):
            inertia = Model.from_urdf(text, strict_inertia=strict).bodies[0].inertia
            np.testing.assert_array_equal(inertia.inertia, np.diag(moments))


def test_an_inertia_that_cannot_exist_is_used_unchanged_with_a_warning_that_names_the_link():
    """Real robots are written so; the dynamics are those of the file."""
    text = robot(link("a"), link("long", inertial(1.0, 1.0, 2.0, 4.0)), joint(child="long"))
    with pytest.warns(UrdfWarning, match=r"'long' has a moment larger than the sum .*1, 2, 4 kg") as caught:
        model = Model.from_urdf(text)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.bodies[1].inertia.inertia, np.diag([1.0, 2.0, 4.0]))
    assert mass_matrix(model, [0.3])[0, 0] == 1.0
    with pytest.raises(UrdfError, match="belongs to no mass distribution, it has a moment"):
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
    with pytest.warns(UrdfWarning, match="'spin' has inertia without mass"):
        alone = Model.from_urdf(robot(link("a"), spin, joint(child="spin")))
    np.testing.assert_allclose(forward_dynamics(alone, [0.3], [2.0], [0.5]), [5.0], rtol=1e-14)
    np.testing.assert_allclose(inverse_dynamics(alone, [0.3], [2.0], [5.0]), [0.5], rtol=1e-14)
    assert kinetic_energy(alone, [0.3], [2.0]) == pytest.approx(0.2, rel=1e-14)


@pytest.mark.parametrize("nothing", ["", inertial(0.0, 0.0, 0.0, 0.0)])
def test_a_massless_link_is_a_frame_and_one_that_moves_no_mass_is_named(nothing):
    """Fixed frames and intermediate links are fine; a moving end is warned of, and refused by what has to move it."""
    frame = robot(link("a"), link("tool", nothing), joint("mount", "fixed", child="tool"))
    assert Model.from_urdf(frame, floating_base=True).bodies[1].inertia is None
    assert Model.from_urdf(robot(link("a"), link("m", nothing), link("b"), joint(child="m"), joint("k", parent="m"))).nv
    loose = robot(link("a"), link("tool", nothing), joint("wrist", child="tool"))
    with pytest.warns(UrdfWarning, match="'tool' has no mass, nor has what it carries, but moves by joint 'wrist'"):
        model = Model.from_urdf(loose)
    with pytest.raises(MultibodyError, match=r"Revolute joint of 'tool', moves no mass"):
        forward_dynamics(model, [0.0], [0.0], [0.0])
    with pytest.raises(UrdfError, match="line 3: link 'tool': has no mass, nor"):
        Model.from_urdf(loose, strict_inertia=True)
    with pytest.warns(UrdfWarning, match="'a' has no mass, .* but floats"):
        Model.from_urdf(robot(link("a", nothing)), floating_base=True)


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
