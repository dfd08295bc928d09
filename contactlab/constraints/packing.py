"""Buffers of a constraint set, as the kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab.constraints.custom import CustomRows
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.kernels.kkt_codes import unit_forces_size
from contactlab.constraints.rows import Baumgarte, ContactConstraint, LoopConstraint, PointPair
from contactlab.multibody.kernels.codes import STACK
from contactlab.multibody.model import Model
from contactlab.multibody.packing import body_frames, structure
from contactlab.spatial.arrays import FloatArray, IntArray, read_only
from contactlab.spatial.errors import MultibodyError

# Head and codes of `contactlab.constraints.kernels.layout`, which is not imported here for it imports the compiler.
_CONTACT, _LOOP, _SLIDING_LOOP, _DISTANCE = 0, 1, 2, 3
_ALPHA, _BETA = 7, 8


@dataclass(frozen=True, eq=False)
class PackedConstraints:
    """The buffers of a set; see `contactlab.constraints.kernels.layout`. Not to be modified."""

    #: ints, floats: Blocks and rows.
    ints: IntArray
    floats: FloatArray
    #: model_ints, model_floats: The model's buffers with these behind: two arrays less to hand over.
    model_ints: IntArray
    model_floats: FloatArray
    n: int  # number of rows
    groups: int  # number of groups of contact rows that are carried through the tree together
    baumgarte: FloatArray  # (n, 2) alpha and beta of each row [1/s], zero where drift is left alone
    custom: tuple[CustomRows, ...]  # the user's constraints with their rows, ready to be asked
    contacts_only: bool  # whether every row is a contact's
    #: Length of the workspace that unit forces need, 0 where the stack's will do; -1 if there are rows that are no
    #: contact's, or more of them than degrees of freedom.
    work: int


def pack_rows(
    model: Model,
    constraints: Sequence[Any],
    places: Sequence[slice],
    custom: Sequence[CustomRows],
    baumgarte: Sequence[Baumgarte | None],
) -> PackedConstraints:
    """The buffers of ``constraints``, whose rows are at ``places`` and pulled back by ``baumgarte`` (one per row)."""
    n = len(baumgarte)
    row = np.zeros((n, 9))
    for i, pull in enumerate(baumgarte):
        if pull is not None:
            row[i, _ALPHA], row[i, _BETA] = pull.alpha, pull.beta
    blocks: dict[tuple[int, int, int, bytes], tuple[FloatArray, list[int]]] = {}
    for number, (constraint, place) in enumerate(zip(constraints, places, strict=True)):
        i = place.start
        if isinstance(constraint, ContactConstraint):
            link, frame = _in_link(model, number, "body", constraint.body, np.eye(3), constraint.point)
            frame[:9] = 0.0  # its axes are not used: points with equal places are equal
            both = np.concatenate([frame, np.zeros(12)])
            row[i, 3:6], row[i, 6] = constraint.normal, constraint.acceleration
            key = (_CONTACT, link, -1, both.tobytes())
        elif isinstance(constraint, LoopConstraint):
            poses = {"predecessor": constraint.X_p, "successor": constraint.X_s}
            (p, frame_p), (s, frame_s) = (
                _in_link(model, number, field, getattr(constraint, field), pose.R, pose.p)
                for field, pose in poses.items()
            )
            both = np.concatenate([frame_s, frame_p])
            row[i, :6] = constraint.axis
            key = (_SLIDING_LOOP if constraint.sliding else _LOOP, s, p, both.tobytes())
        elif isinstance(constraint, PointPair):
            p, frame_p = _in_link(model, number, "body_a", constraint.body_a, np.eye(3), constraint.point_a)
            s, frame_s = _in_link(model, number, "body_b", constraint.body_b, np.eye(3), constraint.point_b)
            both = np.concatenate([frame_s, frame_p])
            row[i, 0] = constraint.zero
            key = (_DISTANCE, s, p, both.tobytes())
        else:
            continue
        blocks.setdefault(key, (both, []))[1].append(i)
    ints: list[int] = [n, len(blocks), sum(len(rows) for _, rows in blocks.values()), 0]
    order: list[int] = []
    groups: list[list[int]] = []
    for (kind, s, p, _), (_, rows) in blocks.items():
        ints += [kind, s, p, len(order), len(rows)]
        if kind == _CONTACT:
            tip = _tip(model, s)
            for first in range(len(order), len(order) + len(rows)):
                if not groups or groups[-1][0] != tip or groups[-1][2] == 4 or groups[-1][1] + groups[-1][2] != first:
                    groups.append([tip, first, 0])
                groups[-1][2] += 1
        order += rows
    ints[3] = len(groups)
    floats = np.concatenate([*(both for both, _ in blocks.values()), row.ravel(), np.zeros(0)])
    own_ints = np.array(ints + order + [entry for group in groups for entry in group], dtype=np.int64)
    contacts_only = all(key[0] == _CONTACT for key in blocks) and not custom
    size = unit_forces_size(model.packed.nl, model.nv, n, len(groups))
    return PackedConstraints(
        own_ints,
        floats,
        np.concatenate([model.packed.ints, own_ints]),
        np.concatenate([model.packed.floats, floats]),
        n,
        len(groups),
        read_only(row[:, _ALPHA : _BETA + 1]),
        tuple(custom),
        contacts_only,
        -1 if not contacts_only or n > model.nv else size if size > STACK else 0,
    )


def _tip(model: Model, link: int) -> int:
    """Last degree of freedom that moves a link, -1 for none."""
    return int(structure(model).iv[link + 1]) - 1 if link >= 0 else -1


def _in_link(model: Model, number: int, field: str, body: str, R: FloatArray, p: FloatArray) -> tuple[int, FloatArray]:
    """Link a body is fixed to (-1: none), and the pose (12,) in it of a frame given in the body."""
    try:
        index = model.index_or_world(body)
    except MultibodyError as error:
        raise ConstraintError(f"constraints[{number}].{field}", error.detail) from None
    if index < 0:
        return -1, np.concatenate([R.ravel(), p])
    own_R, own_p = (part[index] for part in body_frames(model))
    return int(structure(model).body_link[index]), np.concatenate([(own_R @ R).ravel(), own_R @ p + own_p])
