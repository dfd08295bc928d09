"""Models made of models: builders that hold one, joints held fixed, names and limits of joints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from every_joint import model_with_every_joint
from refusals import assert_messages

from contactlab.multibody import (
    JointLimits,
    ModelBuilder,
    MultibodyError,
    body_pose,
    effort_limits,
    integrate,
    inverse_dynamics,
    joints,
    load_urdf,
    lock_joints,
    mass_matrix,
    position_limits,
    potential_energy,
    velocity_limits,
)
from contactlab.simulation import RigidInertia, WorldBuilder
from contactlab.simulation.recording.world_io import world_from_json, world_to_json

FIVE_JOINTS = Path(__file__).parent / "data" / "five_joints.urdf"


def test_a_builder_of_a_model_makes_it_again() -> None:
    """Bits included."""
    for model in (arm(), model_with_every_joint()):
        again = ModelBuilder.from_model(model).build()
        np.testing.assert_array_equal(again.packed.ints, model.packed.ints)
        np.testing.assert_array_equal(again.packed.floats, model.packed.floats)
        assert str(again) == str(model)


def test_bodies_are_added_changed_and_removed() -> None:
    """The model that the builder is of stays."""
    model = arm()
    builder = ModelBuilder.from_model(model).add_body(
        "load", parent="shank", joint=joints.Fixed(), inertia=RigidInertia.point(3.0)
    )
    assert builder.build().mass == pytest.approx(model.mass + 3.0)
    builder.change_body("thigh", armature=0.7).change_body("shank", joint=joints.Fixed())
    changed = builder.build()
    assert changed.nv == model.nv - 1
    assert changed.armature[changed.joint_v("hip")] == 0.7
    assert float(changed.limits.effort[6]) == 40.0
    assert builder.change_body("thigh", joint=joints.Spherical()).build().limits.effort[6] == np.inf
    assert builder.remove_body("thigh").build().names == ("trunk", "cart")
    assert model.names == ("trunk", "thigh", "camera", "shank", "cart")
    builder = ModelBuilder.from_model(model)
    assert_messages(
        MultibodyError,
        ("close: 'thigh'", lambda: builder.change_body("tigh", armature=1.0)),
        ("no 'weight'", lambda: builder.change_body("thigh", weight=1.0)),
        ("negative", lambda: builder.change_body("thigh", armature=-1.0)),
        ("add it first", lambda: builder.change_body("trunk", parent="thigh")),
        ("no body is called 'world'", lambda: builder.remove_body("world")),
    )
    assert str(builder.build()) == str(model)


def test_held_joints_move_with_what_carries_them() -> None:
    """Poses are the same, M is M without the rows and columns of the held, and so are the forces."""
    model, rng = model_with_every_joint(), np.random.default_rng(1)
    q = integrate(model, model.neutral, rng.normal(size=model.nv), 0.5)
    moving = [body for body in model.bodies if body.joint.nv]
    held = moving[1::2]
    fewer = lock_joints(model, {body.joint_name: q[model.q_slice(body.name)] for body in held})
    kept = [body.name for body in moving[::2]]
    part = np.concatenate([q[model.q_slice(name)] for name in kept])
    rows = np.concatenate([np.arange(model.nv)[model.v_slice(name)] for name in kept])
    assert (fewer.nq, fewer.nv) == (part.size, rows.size)
    for name in model.names:
        one, other = body_pose(model, q, name), body_pose(fewer, part, name)
        np.testing.assert_allclose(other.R, one.R, atol=1e-13)
        np.testing.assert_allclose(other.p, one.p, atol=1e-13)
    np.testing.assert_allclose(mass_matrix(fewer, part), mass_matrix(model, q)[np.ix_(rows, rows)], atol=1e-12)
    v, a = np.zeros((2, model.nv))
    v[rows], a[rows] = rng.normal(size=(2, rows.size))
    wanted = inverse_dynamics(model, q, v, a)[rows]
    np.testing.assert_allclose(inverse_dynamics(fewer, part, v[rows], a[rows]), wanted, atol=1e-11)


def test_held_by_a_number() -> None:
    """Rotors and limits of held joints are gone, others remain; wrong names and lengths are named."""
    model = arm()
    fewer = lock_joints(model, {"hip": 0.3})
    assert (fewer.nv, fewer.armature.any(), fewer.joint_v("hip")) == (model.nv - 1, False, slice(6, 6))
    np.testing.assert_array_equal(fewer.limits.effort[-2:], [1.0, 2.0])
    for held, says in (
        ({"hop": 0.3}, "close: 'hip'"),
        ({"hip": 0.3, "thigh": 0.3}, "twice"),
        ({"trunk": 0.3}, r"shape \(7,\)"),
        ({"hip": np.nan}, "not finite"),
    ):
        with pytest.raises(MultibodyError, match=says):
            lock_joints(model, held)


def test_replaced_fields_make_another_model() -> None:
    """Everything follows from bodies and gravity, also of descriptions; bodies that form no tree are refused."""
    for model in (arm(), model_with_every_joint(), load_urdf(FIVE_JOINTS, floating_base=True)):
        moon = replace(model, gravity=0.16 * model.gravity)
        q, zero = model.neutral, np.zeros(model.nv)
        weight = inverse_dynamics(model, q, zero, zero)
        np.testing.assert_allclose(inverse_dynamics(moon, q, zero, zero), 0.16 * weight, atol=1e-12)
        assert potential_energy(moon, q) == pytest.approx(0.16 * potential_energy(model, q))
        heavy = replace(model, bodies=tuple(replace(body, inertia=twice(body.inertia)) for body in model.bodies))
        rotors = np.diag(model.armature)
        np.testing.assert_allclose(mass_matrix(heavy, q) - rotors, 2.0 * (mass_matrix(model, q) - rotors), atol=1e-12)
        assert heavy.mass == pytest.approx(2.0 * model.mass)
        assert not np.any(inverse_dynamics(model.without_gravity, q, zero, zero))
    described = load_urdf(FIVE_JOINTS)
    floating = load_urdf(FIVE_JOINTS, floating_base=True)
    assert replace(described, bodies=floating.bodies).joint_data == floating.joint_data
    model = arm()
    first, *others = model.bodies
    for changes, says in (
        ({"gravity": (0.0, 1.0)}, "gravity"),
        ({"gravity": (0.0, 0.0, np.nan)}, "nan"),
        ({"bodies": (*others, first)}, "'thigh' hangs on 'trunk'"),
        ({"bodies": (first, *others, others[0])}, "two called 'thigh'"),
        ({"bodies": (replace(first, joint=joints.Fixed()), *others)}, "'trunk'"),
    ):
        with pytest.raises(MultibodyError, match=says):
            replace(model, **changes)
    with pytest.raises((TypeError, ValueError), match="nq"):
        replace(model, nq=3)


def twice(inertia: RigidInertia | None) -> RigidInertia | None:
    """The inertia of a body of twice the density."""
    if inertia is None:
        return None
    return RigidInertia(2.0 * inertia.mass, inertia.com, inertia=2.0 * inertia.inertia, physical=False)


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
    """A joint with a name, and one with the name of its body."""
    model = arm()
    assert model.joint_names == ("trunk", "hip", "shank", "rails")
    assert (model.joint_q("hip"), model.joint_v("hip")) == (slice(7, 8), slice(6, 7))
    assert model.joint_v("shank") == model.v_slice("shank") == slice(7, 8)
    assert model.joint_v("thigh") == model.joint_v("hip")
    assert [model.body_of_joint(name) for name in model.joint_names] == ["trunk", "thigh", "shank", "cart"]
    with pytest.raises(MultibodyError, match="no joint is called 'hop'; close: 'hip'"):
        model.joint_q("hop")


def test_limits_stand_where_the_degrees_of_freedom_do() -> None:
    """Infinite without a limit."""
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


def test_worlds_and_records_keep_them() -> None:
    """Names get a prefix; the limits become joint limits of the world, only once, also after a reload."""
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


BAD = {
    "crossed": ({"limits": JointLimits(1.0, -1.0)}, "lower 1 exceeds upper -1"),
    "length": ({"limits": JointLimits([1.0, 2.0])}, r"\(1,\) for this joint"),
    "type": ({"limits": (0, 1)}, "must be JointLimits"),
    "orientation": ({"joint": joints.Spherical(), "limits": JointLimits(upper=1.0)}, "part of an orientation"),
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
