"""Contacts of any pair of shapes: the dispatch, and boxes by the separating axis theorem."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.closed_form import (
    capsule_capsule,
    half_space_any,
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_sphere,
)
from contactlab.collision.detection.kernels.contacts import (
    append_contact,
    deepest_contact,
    flip_normals,
    reduce_contacts,
    sort_contacts,
)
from contactlab.collision.detection.kernels.convex_convex import RELATIVE_ACCURACY, convex_convex
from contactlab.collision.detection.kernels.manifold import ALIGNED, manifold
from contactlab.collision.detection.kernels.support import axis_of, origin, relative_pose
from contactlab.collision.detection.kernels.terrain_contacts import height_field_any, mesh_any
from contactlab.collision.kernels import (
    BOX,
    CAPSULE,
    CLOSEST_POINT_FEATURE,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SCRATCH,
    SPHERE,
    ContactBuffer,
    Posed,
    Workspace,
)
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.kernels import add, dot, linear, subtract, times
from lcp.kernels import kernel

# Axis code of two edges that are nearly parallel.
PARALLEL_EDGES = 15


@kernel
def _separation(a: FloatArray, b: FloatArray, margin: float, c: FloatArray) -> tuple[float, int]:
    """Return the largest separation over the 15 axes, and its axis: 0 to 2 of A, 3 to 5 of B, 6 + 3 i + j an edge pair.

    ``a`` and ``b`` are half extents, ``c`` is the pose of B in the axes of A. The axis is -1 as soon as the separation
    is known to exceed ``margin``. A later axis must exceed an earlier one by more than rounding, so that boxes at rest
    corner to corner keep their normal. If two nearly parallel edges have the largest separation, the axis is
    `PARALLEL_EDGES`, because their cross product has too few digits.
    """
    best, largest = -1, -math.inf
    slack = 2e-12 * (a[0] + a[1] + a[2] + b[0] + b[1] + b[2])
    # face normals of A
    for i in range(3):
        across = abs(c[3 * i]) * b[0] + abs(c[3 * i + 1]) * b[1] + abs(c[3 * i + 2]) * b[2]
        separation = abs(c[9 + i]) - a[i] - across
        if separation > largest + slack:
            best, largest = i, separation
    if largest > margin:
        return largest, -1
    # face normals of B
    for j in range(3):
        along = c[9] * c[j] + c[10] * c[3 + j] + c[11] * c[6 + j]
        separation = abs(along) - b[j] - (abs(c[j]) * a[0] + abs(c[3 + j]) * a[1] + abs(c[6 + j]) * a[2])
        if separation > largest + slack:
            best, largest = 3 + j, separation
    if largest > margin:
        return largest, -1
    # cross products of two edges
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            n1, n2 = c[3 * i1 + j], c[3 * i2 + j]
            length2 = n1 * n1 + n2 * n2
            if 1e-20 < length2 <= 1e-8:
                # nearly parallel: right angles between axes are not used, because their rounding is divided by the
                # length
                of_a = a[i1] * abs(n2) + a[i2] * abs(n1)
                of_b = b[j1] * abs(n1 * c[3 * i2 + j1] - n2 * c[3 * i1 + j1])
                of_b += b[j2] * abs(n1 * c[3 * i2 + j2] - n2 * c[3 * i1 + j2])
                separation = (abs(c[9 + i2] * n1 - c[9 + i1] * n2) - of_a - of_b) / math.sqrt(length2)
                if separation > largest + slack:
                    best, largest = PARALLEL_EDGES, separation
            elif length2 > 1e-8:
                along = c[9 + i2] * c[3 * i1 + j] - c[9 + i1] * c[3 * i2 + j]
                of_a = a[i1] * abs(c[3 * i2 + j]) + a[i2] * abs(c[3 * i1 + j])
                of_b = b[j1] * abs(c[3 * i + j2]) + b[j2] * abs(c[3 * i + j1])
                separation = (abs(along) - of_a - of_b) / math.sqrt(length2)
                if separation > largest + slack:
                    best, largest = 6 + 3 * i + j, separation
    if largest > margin:
        return largest, -1
    return largest, best


@kernel
def _edge_contact(
    a: Posed, b: Posed, c: FloatArray, i: int, j: int, separation: float, slack: float, out: ContactBuffer
) -> int:
    """Write the contact of edge i of A and edge j of B; return 1, or 0 if a closest point is beyond an end.

    ``c`` (12,) is the pose of B in the axes of A, ``separation`` the gap, ``slack`` [m] the tolerance at an end.
    """
    half_a, pose_a, half_b, pose_b = a.size, a.pose, b.size, b.pose
    i1, i2 = (i + 1) % 3, (i + 2) % 3
    # the normal e_i x (axis j of B), in A's axes, has no component along i
    n1, n2 = -c[3 * i2 + j], c[3 * i1 + j]
    length = math.sqrt(n1 * n1 + n2 * n2)
    sign = 1.0 if n1 * c[9 + i1] + n2 * c[9 + i2] >= 0.0 else -1.0
    n1, n2 = sign * n1 / length, sign * n2 / length
    normal = add(times(n1, axis_of(pose_a, i1)), times(n2, axis_of(pose_a, i2)))
    # midpoints of the two edges that face each other
    p, q = origin(pose_a), origin(pose_b)
    code_a, code_b = 4 * i, 4 * j
    for k in range(3):
        if k != i:
            s = n1 if k == i1 else n2
            code_a += (2 if k == i1 else 1) if s >= 0.0 else 0
            p = add(p, times(half_a[k] if s >= 0.0 else -half_a[k], axis_of(pose_a, k)))
        if k != j:
            s = dot(normal, axis_of(pose_b, k))
            code_b += (2 if k == (j + 1) % 3 else 1) if s < 0.0 else 0
            q = add(q, times(-half_b[k] if s >= 0.0 else half_b[k], axis_of(pose_b, k)))
    # closest points of the two lines
    u, w, d = axis_of(pose_a, i), axis_of(pose_b, j), subtract(q, p)
    cosine, sine2 = c[3 * i + j], length * length
    du, dw = dot(d, u), dot(d, w)
    s = (du - dw * cosine) / sine2
    t = s * cosine - dw
    if abs(s) > half_a[i] + slack or abs(t) > half_b[j] + slack:
        return 0
    code = (1 << 20) | (code_a << 4) | code_b
    return append_contact(add(p, times(s, u)), normal, separation, code, 0, out)


@kernel
def _across_faces(pose_a: FloatArray, pose_b: FloatArray, row: FloatArray) -> bool:
    """Return True if each box has a face perpendicular to the contact normal, as slightly tilted crossed beams have."""
    a, b, n = 0.0, 0.0, linear(row)
    for k in range(3):
        a, b = max(a, abs(dot(n, axis_of(pose_a, k)))), max(b, abs(dot(n, axis_of(pose_b, k))))
    return min(a, b) >= ALIGNED


@kernel
def box_box(a: Posed, b: Posed, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Write the contacts of two boxes, at most 8; return their number.

    The separating axis theorem (S. Gottschalk, M. C. Lin, D. Manocha, OBBTree, SIGGRAPH 1996) gives the direction of
    least overlap. Along the normal of a face, the faces are clipped against each other. Across a pair of edges one
    point is the contact. In an overlap, or if both boxes have a face normal to it, the vertices of those faces are
    contacts too.

    For separate boxes the largest separation is only a lower bound of their distance. It is the distance if the
    features of its axis have a pair of points at that distance. Otherwise a vertex is closest to an edge or a vertex,
    and the general search for closest points is used.
    """
    c = room.work[SCRATCH : SCRATCH + 12]
    relative_pose(a.pose, b.pose, c)
    separation, axis = _separation(a.size, b.size, margin, c)
    if axis < 0:
        return 0
    scale = a.size[0] + a.size[1] + a.size[2] + b.size[0] + b.size[1] + b.size[2]
    exact = RELATIVE_ACCURACY * min(a.size[0] + a.size[1] + a.size[2], b.size[0] + b.size[1] + b.size[2])
    count = 0
    if axis == PARALLEL_EDGES:
        return convex_convex(a, b, margin, room, out)
    # two edges
    if axis >= 6:
        count = _edge_contact(a, b, c, (axis - 6) // 3, (axis - 6) % 3, separation, 0.1 * exact, out)
        if count > 0 and out.rows.shape[0] > 0 and (separation < 0.0 or _across_faces(a.pose, b.pose, out.rows[0])):
            code = out.features[0]
            _, normal, point = deepest_contact(1, out)
            count = manifold(a, b, normal, point, separation, scale, exact, margin, room, out, False)
            if count <= 1:
                count = append_contact(point, normal, separation, code, 0, out)
    else:
        # a face, whose outward normal points from A to B
        if axis < 3:
            sign = 1.0 if c[9 + axis] >= 0.0 else -1.0
            pose, k = a.pose, axis
        else:
            k = axis - 3
            sign = 1.0 if c[9] * c[k] + c[10] * c[3 + k] + c[11] * c[6 + k] >= 0.0 else -1.0
            pose = b.pose
        normal = times(sign, axis_of(pose, k))
        count = manifold(a, b, normal, origin(a.pose), separation, scale, exact, margin, room, out, False)
        # the closest pair is unknown, so the manifold must contain a pair as close
        if count > 0 and out.features[min(count, out.features.shape[0]) - 1] == CLOSEST_POINT_FEATURE:
            count = 0
    return count if count > 0 else convex_convex(a, b, margin, room, out)


@kernel
def _collide_ordered(a: Posed, b: Posed, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Write the contacts of a pair with kind of A <= kind of B; return their number."""
    # grounds
    if a.kind == HALF_SPACE:
        return half_space_any(a, b, margin, out)
    if a.kind == HEIGHT_FIELD:
        return height_field_any(a, b, margin, out)
    if a.kind == MESH:
        return mesh_any(a, b, margin, room, out)
    # spheres, capsules and boxes
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
    # all other pairs
    return convex_convex(a, b, margin, room, out)


@kernel
def collide_pair(a: Posed, b: Posed, margin: float, reduce: bool, room: Workspace, out: ContactBuffer) -> int:
    """Write the contacts of two shapes, of any kinds and in any order; return their number.

    Parameters
    ----------
    a, b
        The shapes.
    margin
        Contacts with a gap up to this [m] are written, also if the shapes do not touch.
    reduce
        Keep at most four.
    room
        Workspaces.
    out
        Filled with the contacts: the point midway between the surfaces, the unit normal from A into B, the gap. The
        feature numbers are below 2^31 and sorted. They stay the same as long as the same features touch. They do not
        depend on other pairs. They depend on the order of the shapes only if both have the same kind.

    Returns
    -------
    int
        Number of contacts; contacts beyond the capacity of ``out`` are counted, not stored.
    """
    # the kernel of the pair
    if a.kind > b.kind:
        count = _collide_ordered(b, a, margin, room, out)
        flip_normals(out.rows, count)
    else:
        count = _collide_ordered(a, b, margin, room, out)
    # fewer contacts, in the order of their features
    if count > out.rows.shape[0]:
        return count
    if reduce and count > 4:
        return reduce_contacts(count, out)
    sort_contacts(count, out)
    return count
