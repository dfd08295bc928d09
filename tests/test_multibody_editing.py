"""Models made of models: builders that hold one, joints held fixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from every_joint import model_with_every_joint
from test_multibody_joint_names import arm

from contactlab.multibody import (
    Model,
    MultibodyError,
    body_pose,
    integrate,
    inverse_dynamics,
    joints,
    mass_matrix,
    potential_energy,
)
from contactlab.spatial import RigidInertia

FIVE_JOINTS = Path(__file__).parent / "data" / "five_joints.urdf"


def test_a_builder_of_a_model_makes_it_again() -> None:
    """Bits included."""
    for model in (arm(), model_with_every_joint()):
        again = model.builder().build()
        np.testing.assert_array_equal(again.packed.ints, model.packed.ints)
        np.testing.assert_array_equal(again.packed.floats, model.packed.floats)
        assert str(again) == str(model)


def test_bodies_are_added_changed_and_removed() -> None:
    """The model that the builder is of stays."""
    model = arm()
    builder = model.builder().add_body("load", parent="shank", joint=joints.Fixed(), inertia=RigidInertia.point(3.0))
    assert builder.build().mass == pytest.approx(model.mass + 3.0)
    builder.change_body("thigh", armature=0.7).change_body("shank", joint=joints.Fixed())
    changed = builder.build()
    assert changed.nv == model.nv - 1
    assert changed.armature[changed.joint_v("hip")] == 0.7
    assert float(changed.limits.effort[6]) == 40.0
    assert builder.change_body("thigh", joint=joints.Spherical()).build().limits.effort[6] == np.inf
    assert builder.remove_body("thigh").build().names == ("trunk", "cart")
    assert model.names == ("trunk", "thigh", "camera", "shank", "cart")
    builder = model.builder()
    for call, says in (
        (lambda: builder.change_body("tigh", armature=1.0), "close: 'thigh'"),
        (lambda: builder.change_body("thigh", weight=1.0), "no 'weight'"),
        (lambda: builder.change_body("thigh", armature=-1.0), "negative"),
        (lambda: builder.change_body("trunk", parent="thigh"), "add it first"),
        (lambda: builder.remove_body("world"), "no body is called 'world'"),
    ):
        with pytest.raises(MultibodyError, match=says):
            call()
    assert str(builder.build()) == str(model)


def test_held_joints_move_with_what_carries_them() -> None:
    """Poses are the same, M is M without the rows and columns of the held, and so are the forces."""
    model, rng = model_with_every_joint(), np.random.default_rng(1)
    q = integrate(model, model.neutral, rng.normal(size=model.nv), 0.5)
    moving = [body for body in model.bodies if body.joint.nv]
    held = moving[1::2]
    fewer = model.reduced({body.joint_name: q[model.q_slice(body.name)] for body in held})
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
    """Rotors and limits of the held are gone, those of the others stay; wrong names and lengths are named."""
    model = arm()
    fewer = model.reduced({"hip": 0.3})
    assert (fewer.nv, fewer.armature.any(), fewer.joint_v("hip")) == (model.nv - 1, False, slice(6, 6))
    np.testing.assert_array_equal(fewer.limits.effort[-2:], [1.0, 2.0])
    for held, says in (
        ({"hop": 0.3}, "close: 'hip'"),
        ({"hip": 0.3, "thigh": 0.3}, "twice"),
        ({"trunk": 0.3}, r"shape \(7,\)"),
        ({"hip": np.nan}, "not finite"),
    ):
        with pytest.raises(MultibodyError, match=says):
            model.reduced(held)


def test_replaced_fields_make_another_model() -> None:
    """Everything follows from bodies and gravity, those of descriptions included; what makes no tree is refused."""
    for model in (arm(), model_with_every_joint(), Model.from_urdf(FIVE_JOINTS, floating_base=True)):
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
    described = Model.from_urdf(FIVE_JOINTS)
    floating = Model.from_urdf(FIVE_JOINTS, floating_base=True)
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
