"""Models made of models: a builder that holds the bodies of one, and models with joints held fixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.joints import CustomJoint, Fixed
from contactlab.multibody.limits import JointLimits
from contactlab.multibody.model import BodySpec, Model
from contactlab.multibody.points import body_pose
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.spatial.transform import Transform


def builder_of(model: Model) -> ModelBuilder:
    """Return a builder with the model's bodies and gravity."""
    builder = ModelBuilder(model.gravity)
    for body in model.bodies:
        builder.add_spec(body)
    return builder


def reduced(model: Model, held: Mapping[str, ArrayLike]) -> Model:
    """Return the model with joints held at positions; `Model.reduced` says how."""
    at: dict[str, ArrayLike] = {}
    for joint, q in held.items():
        name = model.moved_by(joint)
        if name in at:
            raise MultibodyError("held", f"{joint!r} moves {name!r}, whose joint is there twice")
        at[name] = q
    builder = ModelBuilder(model.gravity)
    for body in model.bodies:
        builder.add_spec(_held(body, at[body.name]) if body.name in at else body)
    return builder.build()


def _held(body: BodySpec, q: ArrayLike) -> BodySpec:
    """Return a body fixed where its joint puts it."""
    if isinstance(body.joint, CustomJoint):
        one = body.joint.transform(_position(body, q))
        place = body.placement @ one
    else:
        alone = ModelBuilder().add_body(body.name, joint=body.joint, placement=body.placement).build()
        place = body_pose(alone, _position(body, q), body.name)
    fixed = Fixed()
    return dataclasses.replace(
        body,
        joint=fixed,
        placement=Transform(place.R, place.p),
        armature=body.armature[:0],
        limits=JointLimits().of(fixed),
    )


def _position(body: BodySpec, q: ArrayLike) -> FloatArray:
    """Return the joint's slice of q: one number will do for a joint that has one."""
    given = q if np.ndim(q) or body.joint.nq != 1 else [q]
    return finite_array(given, f"held[{body.joint_name!r}]", (body.joint.nq,), MultibodyError)  # type: ignore[arg-type]
