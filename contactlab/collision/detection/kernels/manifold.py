"""Contacts of two convex shapes along a known normal, from the face of each shape that is most along it."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.contacts import append_contact
from contactlab.collision.detection.kernels.faces import Polygon, clip, project, support_face
from contactlab.collision.detection.kernels.polish import overlap
from contactlab.collision.detection.kernels.support import axis_of, core_radius, origin, perpendicular, unit
from contactlab.collision.kernels import (
    BITS,
    CAPSULE,
    CLIP_1,
    CLIP_2,
    CLOSEST_POINT_FEATURE,
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
    ContactBuffer,
    Posed,
    Workspace,
)
from contactlab.multibody.spatial.arrays import FloatArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    cross,
    dot,
    linear,
    opposite,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.kernels import kernel

# A face within 1.4e-3 rad of the contact normal counts as normal to it.
ALIGNED = 1.0 - 1e-6

# Sine of the angle below which two segments are parallel.
PARALLEL = 1e-3

COSINE = math.sqrt(1.0 - PARALLEL**2)

# Faces with a smaller cosine between their normal and the contact normal are not clipped.
STEEP = 0.05

# Smallest cosine with which a vertex touches along the normal of the face; of rounded shapes.
LEANING = 0.7

UPRIGHT = 0.95


@kernel
def manifold(
    a: Posed,
    b: Posed,
    normal: Vec3,
    point: Vec3,
    gap: float,
    scale: float,
    exact: float,
    margin: float,
    room: Workspace,
    out: ContactBuffer,
    spread: bool,
) -> int:
    """Write the contacts of A and B along ``normal``; the closest pair begins at ``point`` on A and has gap ``gap``.

    The faces most along the normal are clipped against each other. Every vertex of the common polygon is a contact, and
    its gap is the distance of the two faces there, along the normal. If the normal belongs to neither face (edge on
    edge, vertex on vertex), only vertices as close as the closest pair are kept; in an overlap, all that overlap. With
    only the deepest vertex, two faces would rotate into each other about it, step by step. The closest pair is written
    if no vertex is as close.

    Nearly parallel faces touch along the normal of one of them, preferably of A, if it is the direction of the gap. The
    difference of closest points would have too few digits. All common vertices are kept, however small the tilt. With
    only the closest vertex, two faces at rest on each other would rock.

    ``exact`` [m] is 1e-9 of the smaller shape. Gaps are known to a hundredth of it, points to a tenth. An infinite
    ``gap`` requests only the common polygon of the two faces, along ``normal``.

    With ``spread`` all vertices within the margin are kept, each along the normal of its features. This is for bodies
    that collide, whose farther vertices can touch in the same step.

    Return the number of contacts; contacts with a gap above ``margin`` are left out.
    """
    # faces of both shapes, and the case of two lines
    work, ints = room
    face_a = Polygon(work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], ints[ID_A : ID_A + MAX_FACE])
    face_b = Polygon(work[POLYGON_B : POLYGON_B + 3 * MAX_FACE], ints[ID_B : ID_B + MAX_FACE])
    local = work[SCRATCH : SCRATCH + 6]
    na, normal_a = support_face(a, normal, local, face_a)
    nb, normal_b = support_face(b, opposite(normal), local, face_b)
    count, least = 0, math.inf
    if na == 2 and nb == 2 and (a.kind in (CAPSULE, CYLINDER) or b.kind in (CAPSULE, CYLINDER)):
        return _round_lines(a, b, face_a, face_b, normal, point, gap, exact, margin, out)
    if na >= 2 and nb >= 2:
        # direction of the contacts, and the largest gap kept
        cos_a, cos_b = dot(normal_a, normal), -dot(normal_b, normal)
        along = normal
        if min(cos_a, cos_b) >= ALIGNED:
            along = _face_direction(a, b, normal, normal_a, normal_b, gap, 1e-2 * exact)
            cos_a, cos_b = dot(normal_a, along), -dot(normal_b, along)
        limit = margin
        if not spread and max(cos_a, cos_b) < ALIGNED:
            as_close = gap + 1e-6 * scale
            limit = min(margin, max(0.0, as_close) if gap < 0.0 else as_close)
        # both faces in coordinates of the contact plane
        t = perpendicular(along)
        s = cross(along, t)
        project(face_a.corners, na, t, s, along, point)
        project(face_b.corners, nb, t, s, along, point)
        shared = Polygon(work[CLIP_1 : CLIP_1 + 6 * MAX_FACE], ints[LABEL_1 : LABEL_1 + 4 * MAX_FACE])
        spare = Polygon(work[CLIP_2 : CLIP_2 + 6 * MAX_FACE], ints[LABEL_2 : LABEL_2 + 4 * MAX_FACE])
        heights = spare.corners
        # common polygon: two segments, a segment and a face, or two faces; beyond a sharp vertex the error of a point
        # can be a multiple of the band about the edges
        slack, band = 1e-1 * exact, 2e-2 * exact
        n, swapped = 0, False
        if na < 3 and nb < 3:
            n = _segments(face_a, face_b, slack, shared, heights)
        elif nb < 3:
            # the segment of B is the subject; the roles are exchanged again below
            if cos_a > STEEP:
                swapped = True
                n = clip(face_b, nb, face_a, na, band, shared, spare)
                _heights(
                    shared.corners, n, face_a.corners, -dot(normal_a, t) / cos_a, -dot(normal_a, s) / cos_a, heights
                )
        elif cos_b > STEEP:
            n = clip(face_a, na, face_b, nb, band, shared, spare)
            _heights(shared.corners, n, face_b.corners, dot(normal_b, t) / cos_b, dot(normal_b, s) / cos_b, heights)
        # a contact for each vertex within the limit
        for i in range(n):
            x, y, high = vector_at(shared.corners, 3 * i)
            other, code = heights[i], shared.ids[2 * i]
            if swapped:
                high, other = other, high
                code = ((code & NONE) << BITS) | (code >> BITS)
            # no two points are nearer than the closest pair; within the band about edges some appear to be
            here = max(other - high, gap) if gap < math.inf else other - high
            if here <= limit:
                least = min(least, here)
                on_a = add(add(add(point, times(x, t)), times(y, s)), times(high, along))
                if spread:
                    radii = core_radius(a), core_radius(b)
                    normals = normal_a, normal_b
                    count = _put_by_features(on_a, along, here, code, normals, (na, nb), radii, count, out)
                else:
                    count = append_contact(on_a, along, here, code, count, out)
    # the closest pair, if no vertex is as close
    if gap <= margin and not least <= gap + 1e-1 * exact:
        count = append_contact(point, normal, gap, CLOSEST_POINT_FEATURE, count, out)
    return count


@kernel
def _face_direction(a: Posed, b: Posed, normal: Vec3, normal_a: Vec3, normal_b: Vec3, gap: float, slack: float) -> Vec3:
    """Return the normal of one of two parallel faces if the shapes are ``gap`` apart along it; else ``normal``."""
    if normal == normal_a or gap == math.inf:
        return normal
    for along in (normal_a, opposite(normal_b)):
        if -overlap(a, b, along) >= gap - slack:
            return along
    return normal


@kernel
def _round_lines(
    a: Posed,
    b: Posed,
    face_a: Polygon,
    face_b: Polygon,
    normal: Vec3,
    point: Vec3,
    gap: float,
    exact: float,
    margin: float,
    out: ContactBuffer,
) -> int:
    """Write the contacts of a line of a capsule or cylinder, the reference, with a line of the other shape.

    Nearly parallel lines share a stretch. Its ends are points of the other line, and their distance along the normal
    from the mantle of the reference is the gap. The closest pair is written if neither end is as close.
    """
    # the reference, the line of the other shape, and the direction to the reference
    count, least = 0, math.inf
    of_b = b.kind == CYLINDER or (b.kind == CAPSULE and a.kind != CYLINDER)
    line, ids, reference, reference_ids, direction = face_a.corners, face_a.ids, b, face_b.ids, normal
    if not of_b:
        line, ids, reference, reference_ids = face_b.corners, face_b.ids, a, face_a.ids
        direction = opposite(normal)
    pose, half, radius = reference.pose, reference.size[1], reference.size[0]
    u, c = axis_of(pose, 2), origin(pose)
    p, w = vector(line), subtract(linear(line), vector(line))
    length, rise, lean, slack = math.sqrt(dot(w, w)), dot(w, u), dot(direction, u), 1e-1 * exact
    sharp = core_radius(a if of_b else b) == 0.0
    if length > exact and abs(rise) >= length * COSINE:
        start = dot(u, subtract(p, c))
        # positions of the two ends of the reference along the line, as fractions of its length
        low, high = (-half - start) / rise, (half - start) / rise
        first, last = (0, 1) if low <= high else (1, 0)
        low, high = min(low, high), max(low, high)
        if min(1.0, high) - max(0.0, low) > exact / length:
            side = cross(u, direction)
            for end in range(2):
                # a second iteration moves the end, so that the point on the reference is not beyond its end
                here, t, x, is_line_end, end_direction, beside = 0.0, math.inf, p, True, direction, 0.0
                for _ in range(2):
                    moved = (low if end == 0 else high) - here * lean / rise
                    previous, t = t, max(0.0, moved) if end == 0 else min(1.0, moved)
                    if t == previous:
                        break
                    is_line_end = t == float(end)
                    x = add(p, times(t, w))
                    r = subtract(x, c)
                    r = subtract(r, times(dot(u, r), u))
                    # distance along the direction to the mantle, where the distance from the axis is the radius
                    along, far = -dot(r, direction), math.sqrt(dot(r, r))
                    beyond = (far - radius) * (far + radius)
                    square = along * along - (1.0 - lean * lean) * beyond
                    if square <= 0.0 or along <= 0.0:
                        here = math.inf
                        break
                    here = beyond / (along + math.sqrt(square))
                    beside = abs(dot(r, side)) if sharp else 0.0
                    if slack < beside <= 1e-4 * far and here <= gap + slack:
                        # as close as the closest pair, but slightly beside it: use the normal of the mantle at this
                        # point
                        upright = math.sqrt(1.0 - lean * lean)
                        end_direction = unit(subtract(times(lean, u), times(upright / far, r)))
                        here, beside = (far - radius) / upright, 0.0
                if here <= margin:
                    if not of_b:
                        x, end_direction = add(x, times(here, end_direction)), opposite(end_direction)
                    corner = ids[end] if is_line_end else reference_ids[first if end == 0 else last]
                    code = (corner << BITS) | NONE if of_b == is_line_end else (NONE << BITS) | corner
                    least = min(least, here) if beside <= slack else least
                    count = append_contact(x, end_direction, max(here, gap), code, count, out)
    # the closest pair, if neither end is as close
    if gap <= margin and not least <= gap + slack:
        count = append_contact(point, normal, gap, CLOSEST_POINT_FEATURE, count, out)
    return count


@kernel
def _put_by_features(
    point: Vec3,
    along: Vec3,
    here: float,
    code: int,
    normals: tuple[Vec3, Vec3],
    counts: tuple[int, int],
    radii: tuple[float, float],
    count: int,
    out: ContactBuffer,
) -> int:
    """Write the contact of a vertex with the face below it, along the face's normal; return the new count.

    Along a normal of neither face, the gap of a vertex over an inclined face would not change as it slides. If the face
    is inclined too much, or if two edges cross, the contact keeps the given normal ``along``, with the gap ``here``.
    """
    of_a, of_b = code >> BITS, code & NONE
    own = along  # normal of the face below
    if of_b == NONE and counts[1] >= 3:
        own = opposite(normals[1])
    elif of_a == NONE and counts[0] >= 3:
        own = normals[0]
    cosine = dot(own, along)
    # a rounded shape touches at its radius along the normal; for an inclined normal this point moves
    if cosine <= (UPRIGHT if radii[0] + radii[1] > 0.0 else LEANING):
        own, cosine = along, 1.0
    gap = here * cosine - (radii[0] + radii[1]) * (1.0 - cosine)
    # from the vertex of A, or back from the vertex of B to the face of A below it
    on_own, on_along = (radii[0], -radii[0]) if of_a != NONE else (-radii[1] - gap, radii[1] + here)
    on_a = add(add(point, times(on_own, own)), times(on_along, along))
    return append_contact(on_a, own, gap, code, count, out)


@kernel
def _heights(
    corners: FloatArray, n: int, polygon: FloatArray, slope_t: float, slope_s: float, heights: FloatArray
) -> None:
    """Fill ``heights`` with the height of the plane of the clipping polygon at every clipped vertex."""
    for i in range(n):
        x, y = corners[3 * i] - polygon[0], corners[3 * i + 1] - polygon[1]
        heights[i] = polygon[2] + slope_t * x + slope_s * y


@kernel
def _segments(face_a: Polygon, face_b: Polygon, slack: float, result: Polygon, heights: FloatArray) -> int:
    """Find the ends of the common stretch of two parallel segments; return 2, or 0 if there is none.

    ``result`` has the vertices and heights of A, ``heights`` the heights of B.
    """
    (a, ids_a), (b, ids_b), (first, labels) = face_a, face_b, result
    ux, uy = a[3] - a[0], a[4] - a[1]
    wx, wy = b[3] - b[0], b[4] - b[1]
    long_a, long_b = math.sqrt(ux * ux + uy * uy), math.sqrt(wx * wx + wy * wy)
    if long_a <= slack or long_b <= slack or abs(ux * wy - uy * wx) > PARALLEL * long_a * long_b:
        return 0
    ux, uy = ux / long_a, uy / long_a
    # segments beside each other share no stretch
    for i in range(2):
        if abs(ux * (b[3 * i + 1] - a[1]) - uy * (b[3 * i] - a[0])) > 2.0 * slack:
            return 0
    # the common stretch along A
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
