"""Build a model body by body, or from another model, also with some of its joints locked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.bodies import WORLD, BodySpec, JointLimits
from contactlab.multibody.joints import CustomJoint, Fixed, Joint
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    MultibodyError,
    check_type,
    close_names,
    finite_array,
    read_only,
)
from contactlab.multibody.spatial.inertia import RigidInertia
from contactlab.multibody.spatial.transform import Transform


class ModelBuilder:
    """Collects bodies and makes a `Model` of them.

    A call that raises leaves the builder as it was; `build` may be called again after more bodies were added.

    Parameters
    ----------
    gravity
        (3,) [m/s^2], world axes.
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self._gravity = finite_array(gravity, "gravity", (3,), MultibodyError)
        self._bodies: dict[str, BodySpec] = {}
        self._joint_names: set[str] = set()  # names that differ from the name of the body

    @classmethod
    def from_model(cls, model: Model) -> ModelBuilder:
        """Return a builder with the bodies and the gravity of a model: to add, change, remove, and build again.

        Other contents of a description than limits (`UrdfModel`) are not in a builder.
        """
        builder = cls(model.gravity)
        for body in model.bodies:
            builder.add_spec(body)
        return builder

    def add_body(
        self,
        name: str,
        *,
        parent: str = WORLD,
        joint: Joint,
        placement: Transform | None = None,
        inertia: RigidInertia | None = None,
        armature: ArrayLike = 0.0,
        joint_name: str | None = None,
        limits: JointLimits | None = None,
    ) -> ModelBuilder:
        """Add a body and return the builder.

        Parameters
        ----------
        name
            Distinct and not empty; "world" is reserved.
        parent
            Name of a body added before, or "world".
        joint
            One of `contactlab.multibody.joints`, or anything that follows their protocol.
        placement
            Pose of the joint frame in the parent body, R mapping joint axes to parent axes; identity by default.
        inertia
            Mass, centre of mass and inertia about it in body axes; None for a body without mass.
        armature
            Inertia of the rotor of each degree of freedom of the joint, at its velocity (gear ratio squared times
            the rotor's inertia): [kg m^2], [kg] for a shift, one for all or (nv,), not negative. It is added to the
            diagonal of the mass matrix. The gyroscopic torque and the weight of a rotor belong to the body.
        joint_name
            Name under which `Model.joint_v` finds the joint, distinct among joints; None for the name of the body.
        limits
            Limits of the joint's degrees of freedom: data for inverse kinematics and controllers. Worlds use them as
            stops.

        Raises
        ------
        MultibodyError
            The name is in use or empty, the parent does not exist (the text suggests close names), or a value is not
            finite or of the wrong type.
        """
        check_type(name or None, str, "name", MultibodyError, "a non-empty string")
        if name == WORLD or name in self._bodies:
            raise MultibodyError("name", f"{name!r} is taken")
        if parent != WORLD and parent not in self._bodies:
            known = close_names(parent, [WORLD, *self._bodies])
            raise MultibodyError("parent", f"no body is called {parent!r}{known}; add it first")
        check_type(joint, Joint, "joint", MultibodyError, "a joint such as Revolute(axis)")
        if isinstance(joint, CustomJoint) and not 1 <= joint.nv <= 6:
            raise MultibodyError("joint", f"a custom joint has 1 to 6 degrees of freedom, {name!r} says {joint.nv}")
        place = Transform() if placement is None else placement
        bounds = JointLimits() if limits is None else limits
        check_type(place, Transform, "placement", MultibodyError)
        check_type(inertia, RigidInertia | None, "inertia", MultibodyError, "a RigidInertia")
        check_type(bounds, JointLimits, "limits", MultibodyError, "JointLimits")
        if joint_name is not None and (not joint_name or joint_name in self._joint_names):
            raise MultibodyError("joint_name", f"{joint_name!r} is taken" if joint_name else "must not be empty")
        rotors, own = _armature(armature, joint), bounds.of(joint)
        self._bodies[name] = BodySpec(name, parent, joint, place, inertia, rotors, joint_name or name, own)
        if joint_name is not None and joint_name != name:
            self._joint_names.add(joint_name)
        return self

    def add_spec(self, body: BodySpec) -> ModelBuilder:
        """Add a body of another model and return the builder."""
        return self.add_body(body.name, **_arguments(body))

    def change_body(self, name: str, **changes: Any) -> ModelBuilder:
        """Change a body and return the builder.

        Parameters
        ----------
        name
            Name of the body.
        **changes
            Arguments of `add_body`: ``parent``, ``joint``, ``placement``, ``inertia``, ``armature``, ``joint_name``,
            ``limits``. If the joint changes, rotors and limits that are not given are gone.
        """
        kept = _arguments(self._body(name))
        unknown = changes.keys() - kept.keys()
        if unknown:
            raise MultibodyError("changes", f"a body has no {min(unknown)!r}")
        if "joint" in changes:
            del kept["armature"], kept["limits"]
        other = ModelBuilder(self._gravity)
        for body in self._bodies.values():
            other.add_body(body.name, **({**kept, **changes} if body.name == name else _arguments(body)))
        return self._become(other)

    def remove_body(self, name: str) -> ModelBuilder:
        """Remove a body and all its descendants, and return the builder."""
        gone = {self._body(name).name}
        other = ModelBuilder(self._gravity)
        for body in self._bodies.values():
            if body.name in gone or body.parent in gone:
                gone.add(body.name)
            else:
                other.add_spec(body)
        return self._become(other)

    def _body(self, name: str) -> BodySpec:
        """Return a body; an unknown name raises an error that lists similar ones."""
        if name not in self._bodies:
            raise MultibodyError("body", f"no body is called {name!r}{close_names(name, self._bodies)}")
        return self._bodies[name]

    def _become(self, other: ModelBuilder) -> ModelBuilder:
        self._bodies, self._joint_names = other._bodies, other._joint_names
        return self

    def build(self) -> Model:
        """Return the model of the bodies added so far.

        Raises
        ------
        MultibodyError
            A body would move with a negative moment of inertia. A body without inertia is accepted, because constraints
            may make the mass matrix regular; a solve with a singular mass matrix names it.
        """
        return Model(tuple(self._bodies.values()), self._gravity)


def _arguments(body: BodySpec) -> dict[str, Any]:
    """Return the arguments of `ModelBuilder.add_body` for a body, without its name."""
    names = ("parent", "joint", "placement", "inertia", "armature", "limits")
    joint_name = None if body.joint_name == body.name else body.joint_name
    return {name: getattr(body, name) for name in names} | {"joint_name": joint_name}


def _armature(armature: ArrayLike, joint: Joint) -> FloatArray:
    """Return the armature (nv,) of a joint, read-only, from one number or one per degree of freedom, all >= 0."""
    given = finite_array(armature, "armature", (joint.nv,) if np.ndim(armature) else (), MultibodyError)
    if np.any(given < 0.0):
        raise MultibodyError("armature", f"must not be negative, got {float(given.min())}")
    return read_only(np.full(joint.nv, given))


def lock_joints(model: Model, held: Mapping[str, ArrayLike]) -> Model:
    """Return the model with some of its joints locked: fewer degrees of freedom, the same bodies.

    Parameters
    ----------
    model
        The model, which is not changed.
    held
        Position of each locked joint, by its name or its body's: one number, or its slice (nq,) of q.

    Raises
    ------
    MultibodyError
        An unknown joint, a joint given twice, or a position of wrong length.
    """
    at: dict[str, ArrayLike] = {}
    for joint, q in held.items():
        name = model.body_of_joint(joint)
        if name in at:
            raise MultibodyError("held", f"{joint!r} moves {name!r}, whose joint is given twice")
        at[name] = q
    bodies = (_lock_joint(body, at[body.name]) if body.name in at else body for body in model.bodies)
    return Model(tuple(bodies), model.gravity)


def _lock_joint(body: BodySpec, q: ArrayLike) -> BodySpec:
    """Return a body whose joint is replaced by `Fixed`, at the pose that the joint has at q."""
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
    """Return the joint's slice of q; a single number is accepted for a joint with one coordinate."""
    given = q if np.ndim(q) or body.joint.nq != 1 else [q]
    return finite_array(given, f"held[{body.joint_name!r}]", (body.joint.nq,), MultibodyError)  # type: ignore[arg-type]
