"""Buffers of the kernels, packed from the bodies of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from contactlab.multibody import kernels as codes
from contactlab.multibody.bodies import WORLD, BodySpec
from contactlab.multibody.joints import CustomJoint
from contactlab.multibody.kernels import STACK, work_size
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, MultibodyError
from contactlab.multibody.spatial.inertia import RigidInertia, round_off
from contactlab.multibody.spatial.transform import Transform


@dataclass(frozen=True, eq=False)
class PackedModel:
    """Buffers of the kernels; see `contactlab.multibody.kernels.layout`. Not to be modified."""

    #: ints, floats: The model.
    ints: IntArray
    floats: FloatArray
    nl: int  # number of links
    size: int  # length of a workspace
    #: The custom joints with the slices of q and v they own, in the order of their rows.
    custom: tuple[tuple[CustomJoint, slice, slice], ...]
    compact: bool  # whether a workspace fits on the stack


@dataclass(eq=False)
class _Link:
    """One moving frame while the model is packed."""

    name: str
    parent: int
    kind: int
    nq: int
    nv: int
    placement: Transform
    axis: FloatArray
    custom: CustomJoint | None
    inertia: RigidInertia | None = None  # of all its bodies
    inertia_fault: bool = False  # whether a body of it has an inertia that no mass distribution has
    largest: float = 0.0  # largest entry of its bodies' inertias


class NegativeMomentError(MultibodyError):
    """The error about a body that would move with a negative moment of inertia; ``body`` is its name."""

    def __init__(self, body: str, moment: float) -> None:
        detail = f"with all that is fixed to it, has the negative principal moment {moment:.4g} kg m^2"
        super().__init__("inertia", f"body {body!r} moves and, {detail}")
        self.body = body


def pack(bodies: Sequence[BodySpec], gravity: FloatArray) -> dict[str, Any]:
    """Return fields of `Model`: nq and nv, the packed model, the places of the bodies, and their starts in q and v.

    Raise `MultibodyError` if they are not a tree, or if a body would move with a negative moment of inertia.
    """
    links: list[_Link] = []
    index: dict[str, int] = {}
    body_link: list[int] = []
    frames: list[Transform] = []
    for i, body in enumerate(bodies):
        if body.parent != WORLD and body.parent not in index:
            detail = f"{body.name!r} hangs on {body.parent!r}, which is none of the bodies before it"
            raise MultibodyError("bodies", detail)
        if body.name in index or body.name == WORLD:
            raise MultibodyError("bodies", f"there are two called {body.name!r}")
        if {body.armature.shape, np.shape(body.limits.lower)} != {(body.joint.nv,)}:
            detail = f"must be ({body.joint.nv},), as its joint has degrees of freedom"
            raise MultibodyError("bodies", f"armature and limits of {body.name!r} {detail}")
        index[body.name] = i
        up = index.get(body.parent, -1)
        link = body_link[up] if up >= 0 else -1
        placement = frames[up] @ body.placement if up >= 0 else body.placement
        for number, motion in enumerate(body.joint.chain()):
            custom = body.joint if isinstance(body.joint, CustomJoint) else None
            sizes = (motion.nq, motion.nv) if custom is None else (custom.nq, custom.nv)
            at = placement if number == 0 else Transform()
            axis = np.concatenate([motion.w, motion.t])
            links.append(_Link(body.name, link, motion.kind, *sizes, at, axis, custom))
            link = len(links) - 1
        body_link.append(link)
        frames.append(placement if not body.joint.chain() else Transform())
        if link >= 0 and body.inertia is not None:
            _add(links[link], body.inertia, frames[-1])
    for one in links:
        # a body that would move with a negative moment, beyond the rounding errors of inertias that cancel
        if one.inertia is not None and one.inertia_fault:
            low, _, high = (float(moment) for moment in np.linalg.eigvalsh(one.inertia.inertia))
            if low < -round_off(one.inertia.mass, max(high, one.largest)):
                raise NegativeMomentError(one.name, low)
    start_q, start_v = (np.cumsum([0, *sizes]) for sizes in ([one.nq for one in links], [one.nv for one in links]))
    rotors = np.concatenate([np.zeros(0), *(body.armature for body in bodies)])
    packed = _buffers(links, body_link, frames, start_q, start_v, rotors, gravity)
    sizes_of = {"q": [body.joint.nq for body in bodies], "v": [body.joint.nv for body in bodies]}
    starts = {f"_{name}_start": tuple(accumulate(sizes, initial=0))[:-1] for name, sizes in sizes_of.items()}
    return {"nq": sum(sizes_of["q"]), "nv": sum(sizes_of["v"]), "packed": packed, "_index": index, **starts}


def _add(link: _Link, inertia: RigidInertia, frame: Transform) -> None:
    """Join a body, fixed at ``frame`` in the link, to the link's mass."""
    moved = inertia.moved(frame)
    link.inertia = moved if link.inertia is None else link.inertia.join(moved)
    link.inertia_fault = link.inertia_fault or inertia.physical_fault is not None
    link.largest = max(link.largest, float(np.abs(inertia.inertia).max()))


_NO_INERTIA = RigidInertia.point(0.0)


def _buffers(
    links: Sequence[_Link],
    body_link: Sequence[int],
    frames: Sequence[Transform],
    iq: IntArray,
    iv: IntArray,
    rotors: FloatArray,
    gravity: FloatArray,
) -> PackedModel:
    """Return the integers and floats of a model in the order that `contactlab.multibody.kernels.layout.tree` reads."""
    nl, nb = len(links), len(body_link)
    parent = [link.parent for link in links]
    root: list[int] = []
    for i, up in enumerate(parent):
        root.append(i if up < 0 else root[up])
    customs = [i for i, link in enumerate(links) if link.kind == codes.CUSTOM]
    row = {i: number for number, i in enumerate(customs)}
    dof_parent: list[int] = []
    dof_link: list[int] = []
    last: list[int] = []  # last degree of freedom at or below each link
    for i, link in enumerate(links):
        below = last[link.parent] if link.parent >= 0 else -1
        for k in range(link.nv):
            dof_parent.append(below)
            below = int(iv[i]) + k
            dof_link.append(i)
        last.append(below)
    head = [nl, int(iq[-1]), int(iv[-1]), nb, 0, 0, 0, 0]
    ints = np.array(
        [
            *head,
            *parent,
            *root,
            *(link.kind for link in links),
            *iq,
            *iv,
            *(row.get(i, -1) for i in range(nl)),
            *dof_parent,
            *dof_link,
            *body_link,
        ],
        dtype=np.int64,
    )
    inertias = [link.inertia or _NO_INERTIA for link in links]
    parts = [
        gravity,
        *(link.placement.R.ravel() for link in links),
        *(link.placement.p for link in links),
        *(link.axis for link in links),
        np.array([own.mass for own in inertias]),
        *(own.com for own in inertias),
        *(own.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] for own in inertias),
        rotors,
        *(frame.R.ravel() for frame in frames),
        *(frame.p for frame in frames),
    ]
    floats = np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)
    owners = tuple(
        (joint, slice(int(iq[i]), int(iq[i + 1])), slice(int(iv[i]), int(iv[i + 1])))
        for i in customs
        if (joint := links[i].custom) is not None
    )
    size = work_size(nl, int(iv[-1]))
    return PackedModel(ints, floats, nl, size, owners, size <= STACK)
