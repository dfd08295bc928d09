"""Contacts of two convex shapes along a known normal."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.clipping import Polygon, clip, project
from contactlab.contact.detection.kernels.contacts import put
from contactlab.contact.detection.kernels.support_face import support_face
from contactlab.contact.detection.kernels.vectors import across, cross, dot
from contactlab.contact.kernels.layout import (
    BITS,
    CLIP_1,
    CLIP_2,
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
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# A face whose normal is the contact's to within 1.4e-3 rad carries a manifold of its own.
ALIGNED = 1.0 - 1e-6
# The sine below which two segments lie along one another.
PARALLEL = 1e-3
# Contact of faces steeper than this (of their normal and the contact's) is not worth clipping.
STEEP = 0.05


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
        if max(cos_a, cos_b) < ALIGNED:
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
                count = put(on_a, along, here, code, count, out)
    if gap <= margin and not least <= gap + 1e-6 * scale:
        count = put(point, normal, gap, WITNESS, count, out)
    return count


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
