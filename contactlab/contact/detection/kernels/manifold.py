"""Contacts of two convex shapes along a known normal, from the faces of both that look most along it."""

from __future__ import annotations

import math

import numpy as np

from contactlab.contact.detection.kernels.clipping import Polygon, clip, project
from contactlab.contact.detection.kernels.contacts import put
from contactlab.contact.detection.kernels.support import core_radius
from contactlab.contact.detection.kernels.vectors import across, cross, dot, placed, turned, turned_back
from contactlab.contact.kernels.layout import (
    BITS,
    BOX,
    CAPSULE,
    CLIP_1,
    CLIP_2,
    CONVEX,
    CYLINDER,
    ID_A,
    ID_B,
    LABEL_1,
    LABEL_2,
    MAX_FACE,
    NONE,
    POLYGON_A,
    POLYGON_B,
    SCRATCH,
    WITNESS,
    Contacts,
    Posed,
    Vector,
    Workspace,
)
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# A cap of a cylinder is met as a regular polygon in its rim, fixed to the body.
RIM = 8
CAP_COSINE = math.sqrt(0.5)
RIM_X = np.array([math.cos(2.0 * math.pi * i / RIM) for i in range(RIM)])
RIM_Y = np.array([math.sin(2.0 * math.pi * i / RIM) for i in range(RIM)])


@kernel
def _box(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    axis = 0
    for i in range(1, 3):
        if abs(d[i]) > abs(d[axis]):
            axis = i
    s = 1.0 if d[axis] >= 0.0 else -1.0
    normal[axis] = s
    u, v = (axis + 1) % 3, (axis + 2) % 3
    for corner in range(4):
        # Counter-clockwise seen from outside, whichever side it is.
        a = s if corner in (1, 2) else -s
        b = 1.0 if corner >= 2 else -1.0
        at = 3 * corner
        polygon[at + axis] = s * size[axis]
        polygon[at + u] = a * size[u]
        polygon[at + v] = b * size[v]
        number = 0
        for i in range(3):
            number = 2 * number + int(polygon[at + i] > 0.0)
        ids[corner] = number
    return 4


@kernel
def _cylinder(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    radial = math.sqrt(d[0] * d[0] + d[1] * d[1])
    if abs(d[2]) >= CAP_COSINE or radial == 0.0:
        s = 1.0 if d[2] >= 0.0 else -1.0
        normal[2] = s
        for i in range(RIM):
            polygon[3 * i] = size[0] * RIM_X[i]
            polygon[3 * i + 1] = s * size[0] * RIM_Y[i]
            polygon[3 * i + 2] = s * size[1]
            ids[i] = i if s < 0.0 else RIM + i
        return RIM
    for end in range(2):
        polygon[3 * end] = size[0] * d[0] / radial
        polygon[3 * end + 1] = size[0] * d[1] / radial
        polygon[3 * end + 2] = size[1] if end == 1 else -size[1]
        ids[end] = 2 * RIM + end
    return 2


@kernel
def _convex(shape: Posed, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, normals, start = int(size[1]), int(size[2]), int(size[3]), int(size[4])
    best, farthest = 0, -math.inf
    for face in range(faces):
        at = normals + 3 * face
        along = data[at] * d[0] + data[at + 1] * d[1] + data[at + 2] * d[2]
        if along > farthest:
            best, farthest = face, along
    for i in range(3):
        normal[i] = data[normals + 3 * best + i]
    first = start + loops[start + best]
    n = min(loops[start + best + 1] - loops[start + best], MAX_FACE)
    for corner in range(n):
        number = loops[first + corner]
        ids[corner] = number
        for i in range(3):
            polygon[3 * corner + i] = data[points + 3 * number + i]
    return n


@kernel
def support_face(shape: Posed, direction: Vector, local: FloatArray, face: Polygon) -> tuple[int, Vector]:
    """Corners of the face that looks most along a unit vector, in world axes, and its outward unit normal.

    Returns the number of corners and the normal; one corner is a point, two a segment, both with the normal zero.
    Corners are counter-clockwise seen from outside; with their numbers in the shape. ``local`` (6,) is scratch.
    """
    kind, size, (dx, dy, dz), (polygon, ids) = shape.kind, shape.size, direction, face
    d, normal = local[0:3], local[3:6]
    d[0], d[1], d[2] = turned_back(shape.pose, direction)
    normal[0] = normal[1] = normal[2] = 0.0
    n, radius = 1, 0.0
    if kind == BOX:
        n = _box(size, d, polygon, ids, normal)
    elif kind == CYLINDER:
        n = _cylinder(size, d, polygon, ids, normal)
    elif kind == CONVEX:
        n = _convex(shape, d, polygon, ids, normal)
    else:
        radius = size[0]
        ids[0], ids[1] = 0, 1
        for i in range(6):
            polygon[i] = 0.0
        if kind == CAPSULE:
            n = 2
            polygon[2], polygon[5] = -size[1], size[1]
    for corner in range(n):
        at = 3 * corner
        x, y, z = placed(shape.pose, (polygon[at], polygon[at + 1], polygon[at + 2]))
        polygon[at], polygon[at + 1], polygon[at + 2] = x + radius * dx, y + radius * dy, z + radius * dz
    return n, turned(shape.pose, (normal[0], normal[1], normal[2]))


# A face whose normal is the contact's to within 1.4e-3 rad carries a manifold of its own.
ALIGNED = 1.0 - 1e-6
# The sine below which two segments lie along one another.
PARALLEL = 1e-3
# Contact of faces steeper than this (of their normal and the contact's) is not worth clipping.
STEEP = 0.05
# The cosine of such an angle up to which features of what is rounded are taken along their own normal.
UPRIGHT = 0.95


@kernel
def manifold(
    a: Posed,
    b: Posed,
    normal: Vector,
    point: Vector,
    gap: float,
    scale: float,
    margin: float,
    room: Workspace,
    out: Contacts,
    spread: bool,
) -> int:
    """Write the contacts of A and B along ``normal``, whose closest pair starts at ``point`` on A with gap ``gap``.

    The faces that look along the normal are clipped against one another, and every corner of what they share is a
    contact with the distance of the two faces there, along the normal. Where the normal is that of neither face (edge
    on edge, corner on corner), only corners as close as the closest pair stay, in an overlap all that overlap: held at
    the deepest alone, two faces would turn into one another about it, step by step. The closest pair itself is written
    when no corner is as close.

    Faces nearly parallel to one another touch along the normal of A's, whichever corner is closest: with the closest
    pair the normal would change from one face's to the other's, or an edge pair's, where the tilt changes its sign,
    and two faces that rest on one another are always there. So the normal may be off by the angle of the faces, and a
    gap g by g times half of its square, 1e-6 g at most.

    ``spread``: all corners within the margin stay, each along the normal of its own features: where two bodies strike,
    those farther off may come to touch in the same step.

    Returns the number of contacts; those with a gap above ``margin`` are left out.
    """
    (nx, ny, nz), (work, ints) = normal, room
    face_a = Polygon(work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], ints[ID_A : ID_A + MAX_FACE])
    face_b = Polygon(work[POLYGON_B : POLYGON_B + 3 * MAX_FACE], ints[ID_B : ID_B + MAX_FACE])
    local = work[SCRATCH : SCRATCH + 6]
    na, normal_a = support_face(a, normal, local, face_a)
    nb, normal_b = support_face(b, (-nx, -ny, -nz), local, face_b)
    count, least = 0, math.inf
    if na >= 2 and nb >= 2:
        cos_a, cos_b = dot(normal_a, normal), -dot(normal_b, normal)
        along = normal
        if min(cos_a, cos_b) >= ALIGNED:
            along = normal_a
            cos_a, cos_b = dot(normal_a, along), -dot(normal_b, along)
        limit = margin
        if not spread and max(cos_a, cos_b) < ALIGNED:
            as_close = gap + 1e-6 * scale
            limit = min(margin, max(0.0, as_close) if gap < 0.0 else as_close)
        t = across(along)
        s = cross(along, t)
        project(face_a.corners, na, t, s, along, point)
        project(face_b.corners, nb, t, s, along, point)
        shared = Polygon(work[CLIP_1 : CLIP_1 + 6 * MAX_FACE], ints[LABEL_1 : LABEL_1 + 4 * MAX_FACE])
        spare = Polygon(work[CLIP_2 : CLIP_2 + 6 * MAX_FACE], ints[LABEL_2 : LABEL_2 + 4 * MAX_FACE])
        heights = spare.corners
        slack = 1e-9 * scale
        n, swapped = 0, False
        if na < 3 and nb < 3:
            n = _segments(face_a, face_b, slack, shared, heights)
        elif nb < 3:
            # The segment of B is the subject: roles are changed back below.
            if cos_a > STEEP:
                swapped = True
                n = clip(face_b, nb, face_a, na, slack, shared, spare)
                _heights(
                    shared.corners, n, face_a.corners, -dot(normal_a, t) / cos_a, -dot(normal_a, s) / cos_a, heights
                )
        elif cos_b > STEEP:
            n = clip(face_a, na, face_b, nb, slack, shared, spare)
            _heights(shared.corners, n, face_b.corners, dot(normal_b, t) / cos_b, dot(normal_b, s) / cos_b, heights)
        for i in range(n):
            x, y, high = shared.corners[3 * i], shared.corners[3 * i + 1], shared.corners[3 * i + 2]
            other, code = heights[i], shared.ids[2 * i]
            if swapped:
                high, other = other, high
                code = ((code & NONE) << BITS) | (code >> BITS)
            here = other - high
            if here <= limit:
                least = min(least, here)
                on_a = (
                    point[0] + x * t[0] + y * s[0] + high * along[0],
                    point[1] + x * t[1] + y * s[1] + high * along[1],
                    point[2] + x * t[2] + y * s[2] + high * along[2],
                )
                if spread:
                    radii = core_radius(a), core_radius(b)
                    count = _put_by_features(
                        on_a,
                        along,
                        here,
                        code,
                        (normal_a, normal_b),
                        (face_a, face_b),
                        (na, nb),
                        (t, s),
                        radii,
                        count,
                        out,
                    )
                else:
                    count = put(on_a, along, here, code, count, out)
    if gap <= margin and not least <= gap + 1e-6 * scale:
        count = put(point, normal, gap, WITNESS, count, out)
    return count


@kernel
def _put_by_features(
    point: Vector,
    along: Vector,
    here: float,
    code: int,
    normals: tuple[Vector, Vector],
    faces: tuple[Polygon, Polygon],
    counts: tuple[int, int],
    tangents: tuple[Vector, Vector],
    radii: tuple[float, float],
    count: int,
    out: Contacts,
) -> int:
    """Write a contact along the normal of the two features that meet there: of the other's face, or across two edges.

    Seen along a normal that is neither's, a corner above a face that leans would seem to come no closer as it slides.
    """
    of_a, of_b = code >> BITS, code & NONE
    own = along
    if of_b == NONE and counts[1] >= 3:
        own = (-normals[1][0], -normals[1][1], -normals[1][2])
    elif of_a == NONE and counts[0] >= 3:
        own = normals[0]
    elif of_a < NONE and of_b < NONE:
        x, y, z = cross(_edge(faces[0], counts[0], of_a), _edge(faces[1], counts[1], of_b))
        length = math.sqrt(x * x + y * y + z * z)
        if abs(z) > STEEP * length:
            (tx, ty, tz), (sx, sy, sz), (ax, ay, az) = tangents[0], tangents[1], along
            x, y, z = (x / length, y / length, z / length) if z > 0.0 else (-x / length, -y / length, -z / length)
            own = (x * tx + y * sx + z * ax, x * ty + y * sy + z * ay, x * tz + y * sz + z * az)
    cosine = dot(own, along)
    # What is rounded touches where its radius leads along the normal: along one that leans, somewhere else.
    if cosine <= (UPRIGHT if radii[0] + radii[1] > 0.0 else STEEP):
        own, cosine = along, 1.0
    gap = here * cosine - (radii[0] + radii[1]) * (1.0 - cosine)
    r = radii[0]
    x, y, z = point
    on_a = (x + r * (own[0] - along[0]), y + r * (own[1] - along[1]), z + r * (own[2] - along[2]))
    return put(on_a, own, gap, code, count, out)


@kernel
def _edge(face: Polygon, n: int, number: int) -> Vector:
    """The edge of a face that begins in the corner of that number; 0 where there is none."""
    corners, ids = face
    for i in range(n):
        if ids[i] == number:
            k = (i + 1) % n
            return (
                corners[3 * k] - corners[3 * i],
                corners[3 * k + 1] - corners[3 * i + 1],
                corners[3 * k + 2] - corners[3 * i + 2],
            )
    return (0.0, 0.0, 0.0)


@kernel
def _heights(
    corners: FloatArray, n: int, polygon: FloatArray, slope_t: float, slope_s: float, heights: FloatArray
) -> None:
    """Fill ``heights`` with the height, at every clipped corner, of the plane of the clipping polygon."""
    for i in range(n):
        x, y = corners[3 * i] - polygon[0], corners[3 * i + 1] - polygon[1]
        heights[i] = polygon[2] + slope_t * x + slope_s * y


@kernel
def _segments(face_a: Polygon, face_b: Polygon, slack: float, result: Polygon, heights: FloatArray) -> int:
    """Ends of the stretch two parallel segments share: corners and heights of A in ``result``, of B in ``heights``."""
    (a, ids_a), (b, ids_b), (first, labels) = face_a, face_b, result
    ux, uy = a[3] - a[0], a[4] - a[1]
    wx, wy = b[3] - b[0], b[4] - b[1]
    long_a, long_b = math.sqrt(ux * ux + uy * uy), math.sqrt(wx * wx + wy * wy)
    if long_a <= slack or long_b <= slack or abs(ux * wy - uy * wx) > PARALLEL * long_a * long_b:
        return 0
    ux, uy = ux / long_a, uy / long_a
    begin, end = ux * (b[0] - a[0]) + uy * (b[1] - a[1]), ux * (b[3] - a[0]) + uy * (b[4] - a[1])
    low_b, high_b = (0, 1) if begin <= end else (1, 0)
    low, high = max(0.0, min(begin, end)), min(long_a, max(begin, end))
    if high - low <= slack:
        return 0
    for i in range(2):
        s = low if i == 0 else high
        of_a = s == 0.0 if i == 0 else s == long_a
        corner = i if of_a else (low_b if i == 0 else high_b)
        for m in range(2):
            first[3 * i + m] = a[3 * corner + m] if of_a else b[3 * corner + m]
        first[3 * i + 2] = a[2] + s / long_a * (a[5] - a[2])
        heights[i] = b[2] + (s - begin) / (end - begin) * (b[5] - b[2])
        labels[2 * i] = ((ids_a[corner] << BITS) | NONE) if of_a else ((NONE << BITS) | ids_b[corner])
    return 2
