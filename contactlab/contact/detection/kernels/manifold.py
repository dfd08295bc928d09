"""Contacts of two convex shapes along a known normal, from the two faces that look most along it."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.contacts import append_contact
from contactlab.contact.detection.kernels.faces import Polygon, clip, project, support_face
from contactlab.contact.detection.kernels.polish import overlap, unit
from contactlab.contact.detection.kernels.support import (
    core_radius,
    cross,
    dot,
    origin,
    perpendicular,
)
from contactlab.contact.kernels.layout import (
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
    Vec3,
    Workspace,
)
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# A face whose normal is the contact's to within 1.4e-3 rad carries a manifold of its own.
ALIGNED = 1.0 - 1e-6

# The sine below which two segments lie along one another.
PARALLEL = 1e-3

COSINE = math.sqrt(1.0 - PARALLEL**2)

# Contact of faces steeper than this (of their normal and the contact's) is not worth clipping.
STEEP = 0.05

# The cosine of such an angle up to which a corner is taken along the normal of the face below; of what is rounded.
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
    """Write the contacts of A and B along ``normal``, whose closest pair starts at ``point`` on A with gap ``gap``.

    The faces that look along the normal are clipped against one another, and every corner of what they share is a
    contact with the distance of the two faces there, along the normal. Where the normal is that of neither face (edge
    on edge, corner on corner), only corners as close as the closest pair stay, in an overlap all that overlap: held at
    the deepest alone, two faces would turn into one another about it, step by step. The closest pair itself is written
    when no corner is as close.

    Faces nearly parallel to one another touch along the normal of one of the two, where that is the direction of the
    gap, A's where both are: the difference of closest points has too few digits. All corners that they share stay,
    however small the tilt: with the closest alone two faces that rest on one another would rock.

    ``exact`` [m] is 1e-9 of the smaller shape, to a hundredth of which gaps are known, and to a tenth points; ``gap``
    is infinite where only what the two faces share is asked for, along ``normal``.

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
    if na == 2 and nb == 2 and has_round_line(a, b):
        return _round_lines(a, b, face_a, face_b, normal, point, gap, exact, margin, out)
    if na >= 2 and nb >= 2:
        cos_a, cos_b = dot(normal_a, normal), -dot(normal_b, normal)
        along = normal
        if min(cos_a, cos_b) >= ALIGNED:
            along = _of_faces(a, b, normal, normal_a, normal_b, gap, 1e-2 * exact)
            cos_a, cos_b = dot(normal_a, along), -dot(normal_b, along)
        limit = margin
        if not spread and max(cos_a, cos_b) < ALIGNED:
            as_close = gap + 1e-6 * scale
            limit = min(margin, max(0.0, as_close) if gap < 0.0 else as_close)
        t = perpendicular(along)
        s = cross(along, t)
        project(face_a.corners, na, t, s, along, point)
        project(face_b.corners, nb, t, s, along, point)
        shared = Polygon(work[CLIP_1 : CLIP_1 + 6 * MAX_FACE], ints[LABEL_1 : LABEL_1 + 4 * MAX_FACE])
        spare = Polygon(work[CLIP_2 : CLIP_2 + 6 * MAX_FACE], ints[LABEL_2 : LABEL_2 + 4 * MAX_FACE])
        heights = spare.corners
        # Beyond a sharp corner a point may lie as many times as far off as the band about the edges is wide.
        slack, band = 1e-1 * exact, 2e-2 * exact
        n, swapped = 0, False
        if na < 3 and nb < 3:
            n = _segments(face_a, face_b, slack, shared, heights)
        elif nb < 3:
            # The segment of B is the subject: roles are changed back below.
            if cos_a > STEEP:
                swapped = True
                n = clip(face_b, nb, face_a, na, band, shared, spare)
                _heights(
                    shared.corners, n, face_a.corners, -dot(normal_a, t) / cos_a, -dot(normal_a, s) / cos_a, heights
                )
        elif cos_b > STEEP:
            n = clip(face_a, na, face_b, nb, band, shared, spare)
            _heights(shared.corners, n, face_b.corners, dot(normal_b, t) / cos_b, dot(normal_b, s) / cos_b, heights)
        for i in range(n):
            x, y, high = shared.corners[3 * i], shared.corners[3 * i + 1], shared.corners[3 * i + 2]
            other, code = heights[i], shared.ids[2 * i]
            if swapped:
                high, other = other, high
                code = ((code & NONE) << BITS) | (code >> BITS)
            # Along the true normal no two points are nearer than the closest; within the band about edges some seem so.
            here = max(other - high, gap) if gap < math.inf else other - high
            if here <= limit:
                least = min(least, here)
                on_a = (
                    point[0] + x * t[0] + y * s[0] + high * along[0],
                    point[1] + x * t[1] + y * s[1] + high * along[1],
                    point[2] + x * t[2] + y * s[2] + high * along[2],
                )
                if spread:
                    radii = core_radius(a), core_radius(b)
                    normals = normal_a, normal_b
                    count = _put_by_features(on_a, along, here, code, normals, (na, nb), radii, count, out)
                else:
                    count = append_contact(on_a, along, here, code, count, out)
    if gap <= margin and not least <= gap + 1e-1 * exact:
        count = append_contact(point, normal, gap, CLOSEST_POINT_FEATURE, count, out)
    return count


@kernel
def _of_faces(a: Posed, b: Posed, normal: Vec3, normal_a: Vec3, normal_b: Vec3, gap: float, slack: float) -> Vec3:
    """The normal of A's face or B's, nearly parallel, along which the shapes lie ``gap`` apart; or the one given."""
    same = normal[0] == normal_a[0] and normal[1] == normal_a[1] and normal[2] == normal_a[2]
    if same or gap == math.inf:
        return normal
    along_b = (-normal_b[0], -normal_b[1], -normal_b[2])
    if -overlap(a, b, normal_a) >= gap - slack:
        return normal_a
    if -overlap(a, b, along_b) >= gap - slack:
        return along_b
    return normal


@kernel
def has_round_line(a: Posed, b: Posed) -> bool:
    """Whether one of two shapes is a capsule or a cylinder."""
    return a.kind in (CAPSULE, CYLINDER) or b.kind in (CAPSULE, CYLINDER)


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
    """Contacts of a line of a capsule or cylinder, the reference, with a line of the other shape: both ends, if any.

    The ends of the stretch that nearly parallel lines share are points of the other line, from which the way along the
    normal to the reference's mantle is the gap. The closest pair is written where neither end is one as close.
    """
    count, least = 0, math.inf
    of_b = b.kind == CYLINDER or (b.kind == CAPSULE and a.kind != CYLINDER)
    line, ids, reference, own, way = face_a.corners, face_a.ids, b, face_b.ids, normal
    if not of_b:
        line, ids, reference, own = face_b.corners, face_b.ids, a, face_a.ids
        way = (-normal[0], -normal[1], -normal[2])
    pose, half, radius = reference.pose, reference.size[1], reference.size[0]
    u, c = (pose[2], pose[5], pose[8]), origin(pose)
    p, w = (line[0], line[1], line[2]), (line[3] - line[0], line[4] - line[1], line[5] - line[2])
    length, rise, lean, slack = math.sqrt(dot(w, w)), dot(w, u), dot(way, u), 1e-1 * exact
    sharp = core_radius(a if of_b else b) == 0.0
    if length > exact and abs(rise) >= length * COSINE:
        start = dot(u, (p[0] - c[0], p[1] - c[1], p[2] - c[2]))
        # Where the line passes the two ends of the reference, as a share of its length.
        low, high = (-half - start) / rise, (half - start) / rise
        first, last = (0, 1) if low <= high else (1, 0)
        low, high = min(low, high), max(low, high)
        if min(1.0, high) - max(0.0, low) > exact / length:
            side = cross(u, way)
            for end in range(2):
                # Once more with the end moved, so that the point on the reference is no farther than its end.
                here, t, x, own_end, own_way, beside = 0.0, math.inf, p, True, way, 0.0
                for _ in range(2):
                    moved = (low if end == 0 else high) - here * lean / rise
                    before, t = t, max(0.0, moved) if end == 0 else min(1.0, moved)
                    if t == before:
                        break
                    own_end = t == float(end)
                    x = (p[0] + t * w[0], p[1] + t * w[1], p[2] + t * w[2])
                    s = dot(u, (x[0] - c[0], x[1] - c[1], x[2] - c[2]))
                    r = (x[0] - c[0] - s * u[0], x[1] - c[1] - s * u[1], x[2] - c[2] - s * u[2])
                    # Along the way to where its distance from the axis is the radius.
                    along, far = -dot(r, way), math.sqrt(dot(r, r))
                    beyond = (far - radius) * (far + radius)
                    square = along * along - (1.0 - lean * lean) * beyond
                    if square <= 0.0 or along <= 0.0:
                        here = math.inf
                        break
                    here = beyond / (along + math.sqrt(square))
                    beside = abs(dot(r, side)) if sharp else 0.0
                    if slack < beside <= 1e-4 * far and here <= gap + slack:
                        # As close as the closest pair, but beside it by a hair: along a normal of its own.
                        upright = math.sqrt(1.0 - lean * lean)
                        own_way = unit(
                            (
                                lean * u[0] - upright / far * r[0],
                                lean * u[1] - upright / far * r[1],
                                lean * u[2] - upright / far * r[2],
                            )
                        )
                        here, beside = (far - radius) / upright, 0.0
                if here <= margin:
                    if not of_b:
                        x = (x[0] + here * own_way[0], x[1] + here * own_way[1], x[2] + here * own_way[2])
                        own_way = (-own_way[0], -own_way[1], -own_way[2])
                    corner = ids[end] if own_end else own[first if end == 0 else last]
                    code = (corner << BITS) | NONE if of_b == own_end else (NONE << BITS) | corner
                    least = min(least, here) if beside <= slack else least
                    count = append_contact(x, own_way, max(here, gap), code, count, out)
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
    """Write the contact of a corner with the face that it is above, along the normal of that face.

    Seen along a normal that is neither's, a corner above a face that leans would seem to come no closer as it slides.
    Where the face leans too far, and where two edges cross, the contact stays along the given normal.
    """
    of_a, of_b = code >> BITS, code & NONE
    own = along
    if of_b == NONE and counts[1] >= 3:
        own = (-normals[1][0], -normals[1][1], -normals[1][2])
    elif of_a == NONE and counts[0] >= 3:
        own = normals[0]
    cosine = dot(own, along)
    # What is rounded touches where its radius leads along the normal: along one that leans, somewhere else.
    if cosine <= (UPRIGHT if radii[0] + radii[1] > 0.0 else LEANING):
        own, cosine = along, 1.0
    gap = here * cosine - (radii[0] + radii[1]) * (1.0 - cosine)
    # From A's corner, or back from B's to the face of A below it.
    on_own, on_along = (radii[0], -radii[0]) if of_a != NONE else (-radii[1] - gap, radii[1] + here)
    x, y, z = point
    on_a = (
        x + on_own * own[0] + on_along * along[0],
        y + on_own * own[1] + on_along * along[1],
        z + on_own * own[2] + on_along * along[2],
    )
    return append_contact(on_a, own, gap, code, count, out)


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
    # Beside one another at an end they share no stretch there.
    for i in range(2):
        if abs(ux * (b[3 * i + 1] - a[1]) - uy * (b[3 * i] - a[0])) > 2.0 * slack:
            return 0
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
