"""Wrenches on bodies by the constraint forces of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.custom import CustomRows
from contactlab.constraints.evaluation import check_set, time_of
from contactlab.constraints.rows import ConstraintError, ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import WORLD, Model
from contactlab.multibody.points import body_pose
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.transform import Transform

#: Axes and origin of returned wrenches.
WrenchFrame: TypeAlias = Literal["body", "world", "constraint"]


@dataclass(frozen=True, eq=False)
class BodyWrench:
    """Moment and force on one body.

    Attributes
    ----------
    body
        Name of the body, or "world".
    frame
        Frame of the wrench: its pose in the body, or in the world if `group_wrenches` was called with frame "world".
    wrench
        (6,) moment [N m] about the frame's origin and force [N], in the frame's axes; [N m s, N s] for impulses.
    """

    body: str
    frame: Transform
    wrench: FloatArray


#: Body, frame (pose in the body), and wrench about a point; wrench and point are in the world.
_Acting: TypeAlias = tuple[str, Transform, FloatArray]


def group_wrenches(
    model: Model,
    q: Instant,
    cs: ConstraintSet,
    forces: ArrayLike,
    group: str | int,
    *,
    frame: WrenchFrame = "body",
    t: float = 0.0,
) -> tuple[BodyWrench, ...]:
    """Return the wrenches of one group's forces on bodies; together they are G^T lambda of the group's rows.

    A contact has one entry for its body and an opposite one for the world. A loop has one for the predecessor and one
    for the successor, a distance one for each of its bodies. Each point or pair of frames in the group has separate
    entries. A custom constraint returns its own entries (``wrenches``).

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The set.
    forces
        (nc,) forces (or impulses) along all rows of the set.
    group
        Name or id.
    frame
        "body": axes of the body; "world": axes of the world; "constraint": the frame X_p or X_s of a loop, and the
        world's axes for a contact or a distance. The origin is always the constraint's frame or point on the body.
    t
        Time [s], for custom constraints that depend on it.

    Raises
    ------
    ConstraintError
        An unknown group or frame, or a custom constraint without the method ``wrenches``.
    """
    check_set(model, cs)
    if frame not in get_args(WrenchFrame):
        raise ConstraintError("frame", f"must be one of {get_args(WrenchFrame)}, got {frame!r}")
    t = time_of(t)
    values = finite_array(forces, "forces", (cs.n_rows,), ConstraintError)
    wanted = cs.group(group)
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    rows = {int(row) for row in wanted.rows}
    members = [(c, place) for c, place in zip(cs.constraints, cs._places, strict=True) if place.start in rows]
    if wanted.kind == "custom":
        custom_rows = [custom for custom in cs.packed.custom if custom.rows.start in rows]
        acting = [entry for custom in custom_rows for entry in _of_custom(model, at, custom, values[custom.rows], t)]
    elif wanted.kind == "contact":
        acting = _of_contacts(model, at, [(c, float(values[place.start])) for c, place in members])
    elif wanted.kind == "distance":
        acting = _of_distances(model, at, [(c, float(values[place.start])) for c, place in members])
    else:
        acting = _of_loops(model, at, [(c, float(values[place.start])) for c, place in members])
    return tuple(_in_axes(model, at, entry, frame) for entry in acting)


def _in_axes(model: Model, at: Kinematics, acting: _Acting, frame: WrenchFrame) -> BodyWrench:
    """Return a wrench at its point, in axes of the world, of the body, or of the constraint: ``frame``."""
    body, place, wrench = acting
    pose = body_pose(model, at, body)
    if frame == "world":
        return BodyWrench(body, Transform(p=pose.apply(place.p)), read_only(wrench))
    axes = pose.R @ place.R if frame == "constraint" else pose.R
    turned = np.concatenate([axes.T @ wrench[:3], axes.T @ wrench[3:]])
    return BodyWrench(body, place if frame == "constraint" else Transform(p=place.p), read_only(turned))


def _of_contacts(model: Model, at: Kinematics, members: Iterable[tuple[ContactConstraint, float]]) -> list[_Acting]:
    """Return wrenches on each point's body and the world, with the rows of a point added."""
    points: dict[tuple[str, bytes], tuple[ContactConstraint, FloatArray]] = {}
    for contact, force in members:
        key = (contact.body, contact.point.tobytes())
        points.setdefault(key, (contact, np.zeros(6)))[1][3:] += force * contact.normal
    acting: list[_Acting] = []
    for contact, wrench in points.values():
        pose = body_pose(model, at, contact.body)
        acting.append((contact.body, Transform(pose.R.T, contact.point), wrench))
        acting.append((WORLD, Transform(p=pose.apply(contact.point)), -wrench))
    return acting


def _of_loops(model: Model, at: Kinematics, members: Iterable[tuple[LoopConstraint, float]]) -> list[_Acting]:
    """Return wrenches on each pair's predecessor and successor, with the rows of a pair added."""
    pairs: dict[tuple[object, ...], tuple[LoopConstraint, FloatArray]] = {}
    for loop, force in members:
        frames = tuple(part.tobytes() for X in (loop.X_p, loop.X_s) for part in (X.R, X.p))
        key = (loop.predecessor, loop.successor, loop.sliding, *frames)
        pairs.setdefault(key, (loop, np.zeros(6)))[1][:] += force * loop.axis
    acting: list[_Acting] = []
    for loop, along in pairs.values():
        one, two = (body_pose(model, at, body) for body in (loop.predecessor, loop.successor))
        R = one.R @ loop.X_p.R
        wrench = np.concatenate([R @ along[:3], R @ along[3:]])
        back = -wrench
        if loop.sliding:
            # The force on the predecessor, too, acts at the successor's origin.
            back[:3] += np.cross(two.apply(loop.X_s.p) - one.apply(loop.X_p.p), back[3:])
        acting += [(loop.predecessor, loop.X_p, back), (loop.successor, loop.X_s, wrench)]
    return acting


def _of_distances(model: Model, at: Kinematics, members: Iterable[tuple[PointPair, float]]) -> list[_Acting]:
    """Return wrenches on both bodies of each pair, along the line between its points; a positive force pushes apart."""
    acting: list[_Acting] = []
    for pair, force in members:
        ends = ((pair.body_a, pair.point_a), (pair.body_b, pair.point_b))
        poses = [body_pose(model, at, body) for body, _ in ends]
        a, b = (pose.apply(point) for pose, (_, point) in zip(poses, ends, strict=True))
        distance = float(np.linalg.norm(b - a))
        push = np.concatenate([np.zeros(3), (b - a) * (force / distance if distance > 0.0 else 0.0)])
        for (body, point), pose, wrench in zip(ends, poses, (-push, push), strict=True):
            acting.append((body, Transform(pose.R.T, point), wrench))
    return acting


def _of_custom(model: Model, at: Kinematics, custom: CustomRows, forces: FloatArray, t: float) -> list[_Acting]:
    """Return the wrenches of a custom constraint."""
    if not custom.has("wrenches"):
        raise ConstraintError(
            "group", f"{custom.label} has no method wrenches, which says how its forces act on bodies"
        )
    said: Any = custom.wrenches(model, at.q, forces, t)
    if not isinstance(said, Sequence) or not all(isinstance(entry, BodyWrench) for entry in said):
        raise ConstraintError(f"{custom.label}.wrenches", f"must return a sequence of BodyWrench, got {said!r}")
    acting: list[_Acting] = []
    for entry in said:
        wrench = finite_array(entry.wrench, f"{custom.label}.wrenches", (6,), ConstraintError)
        R = body_pose(model, at, entry.body).R @ entry.frame.R
        acting.append((entry.body, entry.frame, np.concatenate([R @ wrench[:3], R @ wrench[3:]])))
    return acting
