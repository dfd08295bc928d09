"""One kernel for every pair of shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.box_box import box_box
from contactlab.contact.detection.kernels.capsule_capsule import capsule_capsule
from contactlab.contact.detection.kernels.convex_convex import convex_convex
from contactlab.contact.detection.kernels.height_field_any import height_field_any
from contactlab.contact.detection.kernels.layout import (
    BOX,
    CAPSULE,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
)
from contactlab.contact.detection.kernels.mesh_any import mesh_any
from contactlab.contact.detection.kernels.reduction import reduce_contacts, sort_contacts
from contactlab.contact.detection.kernels.sphere_box import sphere_box
from contactlab.contact.detection.kernels.sphere_capsule import sphere_capsule
from contactlab.contact.detection.kernels.sphere_cylinder import sphere_cylinder
from contactlab.contact.detection.kernels.sphere_sphere import sphere_sphere
from contactlab.contact.detection.kernels.with_half_space import half_space_any
from contactlab.contact.detection.kernels.writing import flip
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["collide_pair", "place_shape"]


@kernel
def place_shape(body: FloatArray, place: FloatArray, pose: FloatArray) -> None:
    """Fill ``pose`` (12,) of a shape in the world from its body's pose and its place in the body, rows of 12 alike."""
    for i in range(3):
        r0, r1, r2 = body[3 * i], body[3 * i + 1], body[3 * i + 2]
        for j in range(3):
            pose[3 * i + j] = r0 * place[j] + r1 * place[3 + j] + r2 * place[6 + j]
        pose[9 + i] = body[9 + i] + r0 * place[9] + r1 * place[10] + r2 * place[11]


@kernel
def _ordered(
    kind_a: int,
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    margin: float,
    work: FloatArray,
    ints: NDArray[np.int64],
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of a pair with kind_a <= kind_b."""
    if kind_a == HALF_SPACE:
        return half_space_any(size_a, pose_a, kind_b, size_b, pose_b, data, margin, out, feature)
    if kind_a == HEIGHT_FIELD:
        return height_field_any(size_a, pose_a, kind_b, size_b, pose_b, data, margin, out, feature)
    if kind_a == MESH:
        return mesh_any(size_a, pose_a, kind_b, size_b, pose_b, data, loops, margin, work, ints, out, feature)
    if kind_a == SPHERE:
        if kind_b == SPHERE:
            return sphere_sphere(size_a, pose_a, size_b, pose_b, margin, out, feature)
        if kind_b == CAPSULE:
            return sphere_capsule(size_a, pose_a, size_b, pose_b, margin, out, feature)
        if kind_b == BOX:
            return sphere_box(size_a, pose_a, size_b, pose_b, margin, out, feature)
        if kind_b == CYLINDER:
            return sphere_cylinder(size_a, pose_a, size_b, pose_b, margin, out, feature)
    if kind_a == CAPSULE and kind_b == CAPSULE:
        return capsule_capsule(size_a, pose_a, size_b, pose_b, margin, out, feature)
    if kind_a == BOX and kind_b == BOX:
        return box_box(size_a, pose_a, size_b, pose_b, data, loops, margin, work, ints, out, feature)
    return convex_convex(
        kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, loops, margin, work, ints, out, feature
    )  # fmt: skip


@kernel
def collide_pair(
    kind_a: int,
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    margin: float,
    reduce: bool,
    work: FloatArray,
    ints: NDArray[np.int64],
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of two shapes, of any kinds and in any order; `layout` says how everything is laid out.

    Parameters
    ----------
    kind_a, size_a, pose_a
        Kind, sizes (SIZE,) and pose in the world (POSE,) of A.
    kind_b, size_b, pose_b
        The same of B.
    data, loops
        What hulls and height fields keep besides their sizes.
    margin
        Contacts with a gap up to this [m] are reported: those that do not touch yet as well.
    reduce
        Keep at most four.
    work, ints
        Workspaces (WORK,) and (INT_WORK,).
    out, feature
        Filled with the contacts, rows of CONTACT: the point midway between the surfaces, the unit normal from A into
        B, the gap; and with numbers of the features that touch, below 2^31, sorted, which stay the same as long as
        the same features touch. The numbers of a pair do not depend on other pairs, but do on which shape is A where
        both are of one kind.

    Returns
    -------
    int
        Number of contacts; those beyond the capacity of ``out`` are counted, not stored.
    """
    swapped = kind_a > kind_b
    if swapped:
        count = _ordered(
            kind_b, size_b, pose_b, kind_a, size_a, pose_a, data, loops, margin, work, ints, out, feature
        )  # fmt: skip
        flip(out, count)
    else:
        count = _ordered(
            kind_a, size_a, pose_a, kind_b, size_b, pose_b, data, loops, margin, work, ints, out, feature
        )  # fmt: skip
    if count > out.shape[0]:
        return count
    if reduce and count > 4:
        return reduce_contacts(count, out, feature)
    sort_contacts(count, out, feature)
    return count
