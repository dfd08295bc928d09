"""Joints by name: their places in q and v, their limits, in models, worlds and records."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.multibody import (
    JointLimits,
    Model,
    ModelBuilder,
    MultibodyError,
    effort_limits,
    joints,
    position_limits,
    velocity_limits,
)
from contactlab.recording.world_io import world_from_json, world_to_json
from contactlab.simulation import WorldBuilder
from contactlab.spatial import RigidInertia

BOX = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
INF = np.inf


def arm():
    """A free trunk, a hip with limits and a rotor, a knee that goes by its body, a camera and a cart."""
    builder = ModelBuilder()
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=BOX)
    limits = JointLimits(-1.0, 2.0, velocity=3.0, effort=40.0)
    hip = joints.Revolute((0, 1, 0))
    builder.add_body("thigh", parent="trunk", joint=hip, inertia=BOX, joint_name="hip", limits=limits, armature=0.5)
    builder.add_body("camera", parent="thigh", joint=joints.Fixed())
    builder.add_body("shank", parent="thigh", joint=joints.Revolute((0, 1, 0)), inertia=BOX)
    plane = joints.Composite([joints.Prismatic((1, 0, 0)), joints.Prismatic((0, 1, 0))])
    limits = JointLimits(lower=[-5.0, -INF], effort=[1.0, 2.0])
    builder.add_body("cart", joint=plane, inertia=BOX, joint_name="rails", limits=limits)
    return builder.build()


def test_joints_by_name() -> None:
    """A joint of its own name, and one that goes by its body."""
    model = arm()
    assert model.joint_names == ("trunk", "hip", "shank", "rails")
    assert (model.joint_q("hip"), model.joint_v("hip")) == (slice(7, 8), slice(6, 7))
    assert model.joint_v("shank") == model.v_slice("shank") == slice(7, 8)
    assert model.joint_v("thigh") == model.joint_v("hip")
    assert [model.body_of_joint(name) for name in model.joint_names] == ["trunk", "thigh", "shank", "cart"]
    with pytest.raises(MultibodyError, match="no joint is called 'hop'; close: 'hip'"):
        model.joint_q("hop")


def test_limits_stand_where_the_degrees_of_freedom_do() -> None:
    """Infinite where there is none."""
    model, free = arm(), [INF] * 6
    np.testing.assert_array_equal(model.limits.lower, [-x for x in free] + [-1, -INF, -5, -INF])
    np.testing.assert_array_equal(model.limits.upper, [*free, 2, INF, INF, INF])
    np.testing.assert_array_equal(model.limits.velocity, [*free, 3, INF, INF, INF])
    np.testing.assert_array_equal(model.limits.effort, [*free, 40, INF, 1, 2])
    np.testing.assert_array_equal(velocity_limits(model), model.limits.velocity)
    np.testing.assert_array_equal(effort_limits(model), model.limits.effort)
    lower, upper = position_limits(model)
    np.testing.assert_array_equal(lower[7:], [-1, -INF, -5, -INF])
    np.testing.assert_array_equal(upper[7:], [2, INF, INF, INF])
    assert not np.isfinite([*lower[:7], *upper[:7]]).any()


def test_all_of_it_is_in_the_text() -> None:
    """The tree, and a line per degree of freedom."""
    text = str(arm())
    assert "6: thigh RY, joint 'hip', in [-1, 2], speed <= 3, effort <= 40, armature 0.5" in text
    assert "7: shank RY\n" in text
    assert "8: cart TX, joint 'rails', in [-5, inf], effort <= 1" in text
    assert "        camera [fixed]" not in text.splitlines()[0]


def test_worlds_and_records_keep_them() -> None:
    """With a prefix; the limits are the world's stops, once, read back or not."""
    builder = WorldBuilder()
    builder.add_model(arm(), prefix="a/")
    world = builder.build()
    again = world_from_json(world_to_json(world))
    for one in (world, again):
        assert one.model.joint_names == ("a/trunk", "a/hip", "a/shank", "a/rails")
        np.testing.assert_array_equal(one.model.limits.effort, arm().limits.effort)
        np.testing.assert_array_equal(one.model.limits.lower, arm().limits.lower)
        stops = [(limit.joint, limit.coordinate, limit.lower, limit.upper) for limit in one.joint_actions.limits]
        assert stops == [("a/thigh", 0, -1.0, 2.0), ("a/cart", 0, -5.0, INF)]
    builder = WorldBuilder()
    builder.add_model(arm(), limits=None)
    assert not builder.build().joint_actions.limits


def test_of_a_description() -> None:
    """Names, limits and speeds of a URDF stand in the model, and in the world's."""
    link = "<link name='{}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
    joint = "<joint name='j' type='revolute'><parent link='a'/><child link='b'/>{}</joint>"
    limit = "<limit lower='-1' upper='0.5' effort='7' velocity='2'/>"
    model = Model.from_urdf(f"<robot name='r'>{link.format('a')}{link.format('b')}{joint.format(limit)}</robot>")
    assert model.joint_names == ("j",)
    builder = WorldBuilder()
    builder.add_model(model)
    for one in (model, builder.build().model):
        assert one.joint_v("j") == slice(0, 1)
        values = (one.limits.lower, one.limits.upper, one.limits.velocity, one.limits.effort)
        assert [list(value) for value in values] == [[-1.0], [0.5], [2.0], [7.0]]


BAD = {
    "crossed": ({"limits": JointLimits(1.0, -1.0)}, "lower 1 exceeds upper -1"),
    "length": ({"limits": JointLimits([1.0, 2.0])}, r"\(1,\) for this joint"),
    "type": ({"limits": (0, 1)}, "must be JointLimits"),
    "orientation": ({"joint": joints.Spherical(), "limits": JointLimits(upper=1.0)}, "turns an orientation"),
    "taken": ({"joint_name": "hip"}, "'hip' is taken"),
    "empty": ({"joint_name": ""}, "must not be empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_names_and_limits_are_refused(name) -> None:
    """Named, and the builder stays as it was."""
    values, says = BAD[name]
    builder = ModelBuilder().add_body("a", joint=joints.Revolute((0, 0, 1)), joint_name="hip", inertia=BOX)
    with pytest.raises(MultibodyError, match=says):
        builder.add_body("b", **{"joint": joints.Revolute((0, 0, 1)), "inertia": BOX, **values})
    assert builder.build().joint_names == ("hip",)


@pytest.mark.parametrize("field", ["lower", "velocity", "effort"])
def test_numbers_that_are_no_limits(field) -> None:
    """NaN, text, a negative speed."""
    for value in (np.nan, "x", [[1.0]], *((-1.0,) if field != "lower" else ())):
        with pytest.raises(MultibodyError, match=f"limits.{field}"):
            JointLimits(**{field: value})
