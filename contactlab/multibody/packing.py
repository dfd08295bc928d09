"""From the bodies as added to the buffers the kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contactlab.multibody.joints import CustomJoint
from contactlab.multibody.kernels import codes
from contactlab.multibody.kernels.sizes import STACK, aba_size
from contactlab.multibody.model import WORLD, BodySpec, PackedModel
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.errors import MultibodyError
from contactlab.spatial.inertia import RigidInertia, round_off
from contactlab.spatial.transform import Transform


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
    mass: float
    com: FloatArray
    inertia: FloatArray
    inertia_fault: bool = False  # whether a body of it has an inertia that no mass distribution has
    largest: float = 0.0  # entry of its bodies' inertias


class Packing(NamedTuple):
    """Data that follow from the bodies and the gravity of a model."""

    nq: int
    nv: int
    packed: PackedModel
    places: dict[str, int]  # of the bodies, by name
    q_start: tuple[int, ...]
    v_start: tuple[int, ...]


def pack(bodies: Sequence[BodySpec], gravity: FloatArray) -> Packing:
    """Return the data that follow from ``bodies``.

    Raise `MultibodyError` for negative energy or if they are not a tree.
    """
    links: list[_Link] = []
    index: dict[str, int] = {}
    body_link: list[int] = []
    frames: list[Transform] = []
    q_start: list[int] = []
    v_start: list[int] = []
    nq = nv = 0
    for i, body in enumerate(bodies):
        if body.parent != WORLD and body.parent not in index:
            detail = f"{body.name!r} hangs on {body.parent!r}, which is none of the bodies before it"
            raise MultibodyError("bodies", detail)
        if body.name in index or body.name == WORLD:
            raise MultibodyError("bodies", f"there are two called {body.name!r}")
        if {body.armature.shape, np.shape(body.limits.lower)} != {(body.joint.nv,)}:
            detail = (
                f"armature and limits of {body.name!r} must be ({body.joint.nv},), as its joint has degrees of freedom"
            )
            raise MultibodyError("bodies", detail)
        index[body.name] = i
        q_start.append(nq)
        v_start.append(nv)
        up = index.get(body.parent, -1) if body.parent != WORLD else -1
        link = body_link[up] if up >= 0 else -1
        placement = frames[up] @ body.placement if up >= 0 else body.placement
        for number, motion in enumerate(body.joint.chain()):
            custom = body.joint if isinstance(body.joint, CustomJoint) else None
            sizes = (custom.nq, custom.nv) if custom is not None else (motion.nq, motion.nv)
            axis = np.concatenate([motion.w, motion.t])
            at = placement if number == 0 else Transform()
            zero = np.zeros((3, 3))
            links.append(_Link(body.name, link, motion.kind, *sizes, at, axis, custom, 0.0, np.zeros(3), zero))
            link = len(links) - 1
            nq, nv = nq + sizes[0], nv + sizes[1]
        body_link.append(link)
        frames.append(placement if not body.joint.chain() else Transform())
        if link >= 0 and body.inertia is not None:
            _add(links[link], body.inertia, frames[-1])
    start_q = np.cumsum([0, *(link.nq for link in links)])
    start_v = np.cumsum([0, *(link.nv for link in links)])
    rotors = np.concatenate([np.zeros(0), *(body.armature for body in bodies)])
    for one in links:
        _check_moments(one)
    packed = _buffers(links, body_link, frames, start_q, start_v, rotors, gravity)
    return Packing(nq, nv, packed, index, tuple(q_start), tuple(v_start))


def _add(link: _Link, inertia: RigidInertia, frame: Transform) -> None:
    """Join a body, fixed at ``frame`` in the link, to the link's mass."""
    com = frame.apply(inertia.com)
    total = link.mass + inertia.mass
    common = (link.mass * link.com + inertia.mass * com) / total if total > 0.0 else link.com
    about = np.zeros((3, 3))
    for mass, at, inertia_at in (
        (link.mass, link.com, link.inertia),
        (inertia.mass, com, frame.R @ inertia.inertia @ frame.R.T),
    ):
        d = at - common
        about += inertia_at + mass * (d @ d * np.eye(3) - np.outer(d, d))
    link.mass, link.com, link.inertia = total, common, about
    if inertia.physical_fault is not None:
        link.inertia_fault = True
    link.largest = max(link.largest, float(np.abs(inertia.inertia).max()))


def _check_moments(link: _Link) -> None:
    """Raise if a body would move with negative energy. Inertias that cancel leave rounding errors."""
    if link.inertia_fault:
        low, _, high = (float(moment) for moment in np.linalg.eigvalsh(link.inertia))
        if low < -round_off(link.mass, max(high, link.largest)):
            detail = f"with all that is fixed to it, has the negative principal moment {low:.4g} kg m^2"
            raise MultibodyError("inertia", f"body {link.name!r} moves and, {detail}")


def _buffers(
    links: Sequence[_Link],
    body_link: Sequence[int],
    frames: Sequence[Transform],
    iq: IntArray,
    iv: IntArray,
    rotors: FloatArray,
    gravity: FloatArray,
) -> PackedModel:
    """Lay everything out as `contactlab.multibody.kernels.layout.tree` expects."""
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
    parts = [
        gravity,
        *(link.placement.R.ravel() for link in links),
        *(link.placement.p for link in links),
        *(link.axis for link in links),
        np.array([link.mass for link in links]),
        *(link.com for link in links),
        *(link.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] for link in links),
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
    return PackedModel(ints, floats, nl, owners, _is_chain(dof_parent), aba_size(nl, int(iv[-1])) <= STACK)


def _is_chain(dof_parent: Sequence[int]) -> bool:
    """Return True if `factor_dense` is faster than `factor_sparse`.

    Both were timed on chains, two to four arms and bushy trees of 6 to 100 degrees of freedom: an update along the
    branches takes 0.65 ns; without them there are n^3 / 6 updates of 0.03 ns and 1.2 ns n^2 besides.
    """
    depth: list[int] = []
    for up in dof_parent:
        depth.append(1 if up < 0 else depth[up] + 1)
    n = len(depth)
    return 0.65 * sum(d * (d + 1) / 2 for d in depth) > 0.03 * n**3 / 6 + 1.2 * n**2
