"""Wrenches on bodies by the constraint forces of a group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.bodies import WORLD
from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.custom import CustomRows
from contactlab.multibody.constraints.evaluation import check_set, time_of
from contactlab.multibody.constraints.rows import ConstraintError, ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.multibody.spatial.transform import Transform

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
    else:
        # Wrenches of rows at one point or pair of frames are added.
        sums: dict[Hashable, _Acting] = {}
        for row, place in members:
            key, *ends = _of_row(model, at, row, float(values[place.start]))
            for end, (body, pose, wrench) in enumerate(ends):
                sums.setdefault((key, end), (body, pose, np.zeros(6)))[2][:] += wrench
        acting = [*sums.values()]
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


def _of_row(
    model: Model, at: Kinematics, row: ContactConstraint | LoopConstraint | PointPair, force: float
) -> tuple[Hashable, _Acting, _Acting]:
    """Return the part that rows can share, and the opposite wrenches on the two bodies of a row."""
    if isinstance(row, ContactConstraint):
        pose = body_pose(model, at, row.body)
        push = np.concatenate([np.zeros(3), force * row.normal])
        ground = Transform(p=pose.apply(row.point))
        key: Hashable = (row.body, row.point.tobytes())
        return key, (row.body, Transform(pose.R.T, row.point), push), (WORLD, ground, -push)
    if isinstance(row, LoopConstraint):
        one, two = (body_pose(model, at, body) for body in (row.predecessor, row.successor))
        R = one.R @ row.X_p.R
        push = force * np.concatenate([R @ row.axis[:3], R @ row.axis[3:]])
        back = -push
        if row.sliding:
            # The force on the predecessor, too, acts at the successor's origin.
            back[:3] += np.cross(two.apply(row.X_s.p) - one.apply(row.X_p.p), back[3:])
        frames = tuple(part.tobytes() for X in (row.X_p, row.X_s) for part in (X.R, X.p))
        key = (row.predecessor, row.successor, row.sliding, *frames)
        return key, (row.predecessor, row.X_p, back), (row.successor, row.X_s, push)
    # Along the line between the points; a positive force pushes apart.
    one, two = (body_pose(model, at, body) for body in (row.body_a, row.body_b))
    line = two.apply(row.point_b) - one.apply(row.point_a)
    distance = float(np.linalg.norm(line))
    push = np.concatenate([np.zeros(3), line * (force / distance if distance > 0.0 else 0.0)])
    ends = Transform(one.R.T, row.point_a), Transform(two.R.T, row.point_b)
    return id(row), (row.body_a, ends[0], -push), (row.body_b, ends[1], push)


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
