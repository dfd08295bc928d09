"""One kernel for every pair of shapes."""

from __future__ import annotations

from contactlab.contact.detection.kernels.box_box import box_box
from contactlab.contact.detection.kernels.contacts import flip, reduce_contacts, sort_contacts
from contactlab.contact.detection.kernels.convex_convex import convex_convex
from contactlab.contact.detection.kernels.ground_any import half_space_any, height_field_any
from contactlab.contact.detection.kernels.mesh_any import mesh_any
from contactlab.contact.detection.kernels.rounded import (
    capsule_capsule,
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_sphere,
)
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
    Contacts,
    Posed,
    Workspace,
)
from lcp.kernels import kernel


@kernel
def _ordered(a: Posed, b: Posed, margin: float, room: Workspace, out: Contacts) -> int:
    """Contacts of a pair with A's kind not above B's."""
    if a.kind == HALF_SPACE:
        return half_space_any(a, b, margin, out)
    if a.kind == HEIGHT_FIELD:
        return height_field_any(a, b, margin, out)
    if a.kind == MESH:
        return mesh_any(a, b, margin, room, out)
    if a.kind == SPHERE:
        if b.kind == SPHERE:
            return sphere_sphere(a, b, margin, out)
        if b.kind == CAPSULE:
            return sphere_capsule(a, b, margin, out)
        if b.kind == BOX:
            return sphere_box(a, b, margin, out)
        if b.kind == CYLINDER:
            return sphere_cylinder(a, b, margin, out)
    if a.kind == CAPSULE and b.kind == CAPSULE:
        return capsule_capsule(a, b, margin, out)
    if a.kind == BOX and b.kind == BOX:
        return box_box(a, b, margin, room, out)
    return convex_convex(a, b, margin, room, out)


@kernel
def collide_pair(a: Posed, b: Posed, margin: float, reduce: bool, room: Workspace, out: Contacts) -> int:
    """Contacts of two shapes, of any kinds and in any order; `layout` says how everything is laid out.

    Parameters
    ----------
    a, b
        The shapes.
    margin
        Contacts with a gap up to this [m] are reported: those that do not touch yet as well.
    reduce
        Keep at most four.
    room
        Workspaces.
    out
        Filled with the contacts: the point midway between the surfaces, the unit normal from A into B, the gap; and
        with numbers of the features that touch, below 2^31, sorted, which stay the same as long as the same features
        touch. The numbers of a pair do not depend on other pairs, but do on which shape is A where both are of one
        kind.

    Returns
    -------
    int
        Number of contacts; those beyond the capacity of ``out`` are counted, not stored.
    """
    if a.kind > b.kind:
        count = _ordered(b, a, margin, room, out)
        flip(out.rows, count)
    else:
        count = _ordered(a, b, margin, room, out)
    if count > out.rows.shape[0]:
        return count
    if reduce and count > 4:
        return reduce_contacts(count, out)
    sort_contacts(count, out)
    return count
