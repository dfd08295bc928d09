"""Bodies as they are added to a model, with the limits of their joints, and their description as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import kernels as codes
from contactlab.multibody.joints import CustomJoint, FloatingBase, Joint, Spherical
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, read_only
from contactlab.multibody.spatial.inertia import RigidInertia
from contactlab.multibody.spatial.transform import Transform

#: Name of the world frame of every model.
WORLD = "world"


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of degrees of freedom, infinite if there is none.

    Each is one number for all degrees of freedom of a joint, or an array, (nv,); the data of a model are arrays.

    Attributes
    ----------
    lower, upper
        Smallest and largest position [rad or m]; infinite for orientations.
    velocity, effort
        Largest speed [rad/s or m/s] and largest force or torque [N or N m], not negative.

    Raises
    ------
    MultibodyError
        NaN, a lower end above the upper, a negative speed or effort.
    """

    lower: ArrayLike = -math.inf
    upper: ArrayLike = math.inf
    velocity: ArrayLike = math.inf
    effort: ArrayLike = math.inf

    def __post_init__(self) -> None:
        for one in fields(self):
            try:
                value = np.array(getattr(self, one.name), dtype=np.float64)
            except (TypeError, ValueError) as cause:
                raise MultibodyError(f"limits.{one.name}", f"cannot be read as floats ({cause})") from cause
            if value.ndim > 1 or np.isnan(value).any():
                raise MultibodyError(f"limits.{one.name}", f"must be numbers, one or (nv,), got {value}")
            if one.name in ("velocity", "effort") and np.any(value < 0.0):
                raise MultibodyError(f"limits.{one.name}", f"must not be negative, got {float(value.min())}")
            object.__setattr__(self, one.name, read_only(value))

    def of(self, joint: Joint) -> JointLimits:
        """Return a checked copy with one number per degree of freedom of a joint."""
        try:
            spread = JointLimits(*(np.broadcast_to(getattr(self, one.name), (joint.nv,)) for one in fields(self)))
        except ValueError as cause:
            raise MultibodyError("limits", f"must be numbers or ({joint.nv},) for this joint: {cause}") from cause
        lower, upper = np.asarray(spread.lower), np.asarray(spread.upper)
        if np.any(lower > upper):
            i = int(np.argmax(lower > upper))
            raise MultibodyError("limits", f"lower {lower[i]:g} exceeds upper {upper[i]:g}")
        for i, place in enumerate(positions(joint)):
            if place is None and (math.isfinite(lower[i]) or math.isfinite(upper[i])):
                raise MultibodyError("limits", f"coordinate {i} is part of an orientation: it has no position")
        return spread

    def ranges(self) -> list[tuple[int, float, float]]:
        """Return index, lower and upper end of every degree of freedom with at least one finite limit."""
        ends = zip(np.ravel(self.lower).tolist(), np.ravel(self.upper).tolist(), strict=True)
        return [(k, low, high) for k, (low, high) in enumerate(ends) if math.isfinite(low) or math.isfinite(high)]

    @classmethod
    def joined(cls, parts: Iterable[JointLimits]) -> JointLimits:
        """Return the limits of several joints, one after the other."""
        listed = list(parts)
        return cls(*(np.concatenate([np.zeros(0), *(getattr(p, one.name) for p in listed)]) for one in fields(cls)))


def positions(joint: Joint) -> list[int | None]:
    """Return, for each velocity of a joint, the index of the coordinate with this rate; None for orientations."""
    found: list[int | None] = []
    at = 0
    for motion in joint.chain():
        if motion.kind == codes.CUSTOM:
            nq, nv = joint.nq, joint.nv
            found += range(nq) if nq == nv else [None] * nv
            at += nq
            continue
        straight = motion.nv if motion.nq == motion.nv else 3 if motion.kind == codes.FLOATING else 0
        found += [at + i if i < straight else None for i in range(motion.nv)]
        at += motion.nq
    return found


@dataclass(frozen=True, eq=False)
class BodySpec:
    """One body as it was added.

    Attributes
    ----------
    name, parent
        Name of the body, and name of its parent ("world" if it has none).
    joint
        Motion relative to the parent.
    placement
        Pose of the joint frame in the parent body.
    inertia
        None for a body without mass.
    armature
        (nv,) [kg m^2, kg] terms on the diagonal of M of the rotors of the joint's degrees of freedom.
    joint_name
        Name of the joint, the name of the body if it has none.
    limits
        Data of the joint's degrees of freedom, arrays (nv,).
    """

    name: str
    parent: str
    joint: Joint
    placement: Transform
    inertia: RigidInertia | None
    armature: FloatArray
    joint_name: str
    limits: JointLimits


def tree_text(bodies: Sequence[BodySpec]) -> str:
    """Return the tree, a line per body indented under its parent."""
    children: dict[str, list[int]] = {WORLD: []}
    for i, body in enumerate(bodies):
        children[body.name] = []
        children[body.parent].append(i)
    lines = [WORLD]
    # A stack, not recursion: chains may be longer than Python's stack.
    waiting = [(i, 1) for i in reversed(children[WORLD])]
    while waiting:
        i, depth = waiting.pop()
        body = bodies[i]
        lines.append(f"{'  ' * depth}{body.name} {joint_mark(body.joint)}")
        waiting += [(child, depth + 1) for child in reversed(children[body.name])]
    return "\n".join(lines)


def dof_text(bodies: Sequence[BodySpec]) -> str:
    """Return a line ``index: body axis`` per degree of freedom, with its limits and its rotor."""
    axes = [(body, k, axis) for body in bodies for k, axis in enumerate(joint_axes(body.joint))]
    width = len(str(max(len(axes) - 1, 0)))
    lines = []
    for index, (body, k, axis) in enumerate(axes):
        in_body = isinstance(body.joint, Spherical | FloatingBase) and axis.startswith("R")
        lines.append(f"{index:{width}d}: {body.name} {axis}{' (body axes)' if in_body else ''}{_dof_details(body, k)}")
    return "\n".join(lines)


#: Labels of motions with several axes.
SEVERAL_AXES = {
    codes.SPHERICAL: ("RX", "RY", "RZ"),
    codes.TRANSLATION: ("TX", "TY", "TZ"),
    codes.FLOATING: ("TX", "TY", "TZ", "RX", "RY", "RZ"),
}


def joint_axes(joint: Joint) -> tuple[str, ...]:
    """Return a label per entry of the joint's slice of v: RX to TZ, or a letter with the axis, or ``custom k``.

    A screw has both labels.
    """
    if isinstance(joint, CustomJoint):
        return tuple(f"custom {k}" for k in range(joint.nv))
    labels: list[str] = []
    for motion in joint.chain():
        parts = [_label(letter, axis) for letter, axis in (("R", motion.w), ("T", motion.t)) if axis.any()]
        labels += SEVERAL_AXES.get(motion.kind, (" + ".join(parts),))
    return tuple(labels)


def _dof_details(body: BodySpec, k: int) -> str:
    """Return the name, limits and rotor of one degree of freedom, "" if there are none."""
    words = [f"joint {body.joint_name!r}"] if body.joint_name != body.name else []
    lower, upper, velocity, effort = (
        float(np.asarray(one)[k])
        for one in (body.limits.lower, body.limits.upper, body.limits.velocity, body.limits.effort)
    )
    if math.isfinite(lower) or math.isfinite(upper):
        words.append(f"in [{lower:.6g}, {upper:.6g}]")
    words += [f"speed <= {velocity:.6g}"] if math.isfinite(velocity) else []
    words += [f"effort <= {effort:.6g}"] if math.isfinite(effort) else []
    words += [f"armature {body.armature[k]:.6g}"] if body.armature[k] else []
    return f", {', '.join(words)}" if words else ""


def _label(letter: str, axis: FloatArray) -> str:
    """Return the letter with X, Y or Z for a positive coordinate axis of unit length, or with numbers."""
    for name, unit in zip("XYZ", np.eye(3), strict=True):
        if (axis == unit).all():
            return letter + name
    return f"{letter}({' '.join(f'{entry + 0.0:.6g}' for entry in axis)})"


def joint_mark(joint: Joint) -> str:
    """Return a joint's class and axes in brackets, as the overview prints them after a body's name."""
    if joint.nv == 0:
        return "[fixed]"
    return f"[ {type(joint).__name__}: {' '.join(joint_axes(joint))} ]"
