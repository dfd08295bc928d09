"""A model as text: its tree, its degrees of freedom, the positions of its bodies."""

from __future__ import annotations

import math

import numpy as np

from contactlab.multibody.joints import CustomJoint, FloatingBase, Joint, Spherical
from contactlab.multibody.kernels import codes
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import WORLD, BodySpec, Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import FloatArray
from lcp.result import html_table


def hierarchy_overview(model: Model) -> str:
    """Return the tree, a line per body indented under its parent, with its joint and axes; fixed bodies are marked.

    >>> print(hierarchy_overview(model))
    world
      base [ FloatingBase: TX TY TZ RX RY RZ ]
        camera [fixed]
        arm [ Revolute: RY ]
    """
    children: dict[str, list[int]] = {WORLD: []}
    for i, body in enumerate(model.bodies):
        children[body.name] = []
        children[body.parent].append(i)
    lines = [WORLD]
    # A stack, not recursion: chains may be longer than Python's stack.
    waiting = [(i, 1) for i in reversed(children[WORLD])]
    while waiting:
        i, depth = waiting.pop()
        body = model.bodies[i]
        lines.append(f"{'  ' * depth}{body.name} {_mark(body.joint)}")
        waiting += [(child, depth + 1) for child in reversed(children[body.name])]
    return "\n".join(lines)


def dof_overview(model: Model) -> str:
    """Return a line ``index: body axis`` per entry of v.

    R is a rotation, T a shift, in joint axes unless the line says body axes (the angular velocities of `Spherical` and
    `FloatingBase`). Each axis of a joint with several acts in the frame after the previous one. The data of the model
    follow: the joint's own name, the range of the position, bounds of speed and effort, the rotor's inertia.
    """
    width = len(str(max(model.nv - 1, 0)))
    lines = []
    for body in model.bodies:
        place = model.v_slice(body.name)
        for index, axis in zip(range(place.start, place.stop), joint_axes(body.joint), strict=True):
            in_body = isinstance(body.joint, Spherical | FloatingBase) and axis.startswith("R")
            more = _dof_details(body, index - place.start)
            lines.append(f"{index:{width}d}: {body.name} {axis}{' (body axes)' if in_body else ''}{more}")
    return "\n".join(lines)


def html_overview(model: Model) -> str:
    """Return a line per body with its parent, joint, entries of v and mass, as HTML."""
    rows = []
    for body in model.bodies:
        place, mass = model.v_slice(body.name), 0.0 if body.inertia is None else body.inertia.mass
        entries = f"{place.start} .. {place.stop - 1}" if place.stop - place.start > 1 else f"{place.start}"
        joint = "" if body.joint_name == body.name else body.joint_name
        moved = entries if place.stop > place.start else ""
        rows.append((body.name, body.parent, _mark(body.joint).strip("[ ]"), joint, moved, f"{mass:g}"))
    return html_table(repr(model), rows, ("body", "on", "joint", "its name", "in v", "mass [kg]"))


def body_origins_overview(model: Model, q: Instant) -> str:
    """Return a line ``body: x y z`` [m] per body, fixed ones included: its origin in the world at q.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    width = max((len(name) for name in model.names), default=0) + 1
    lines = []
    for name in model.names:
        x, y, z = body_pose(model, at, name).p
        lines.append(f"{name + ':':{width}s} {x:12.6g} {y:12.6g} {z:12.6g}")
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


def _mark(joint: Joint) -> str:
    """Return a joint's class and axes in brackets, as the overview prints them after a body's name."""
    if joint.nv == 0:
        return "[fixed]"
    return f"[ {type(joint).__name__}: {' '.join(joint_axes(joint))} ]"
