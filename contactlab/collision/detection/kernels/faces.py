"""Faces of shapes most along a direction, farthest features, and the common polygon of two faces."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contactlab.collision.detection.kernels.polish import face_normal
from contactlab.collision.detection.kernels.support import (
    axis_of,
    farthest_face,
    farthest_hull_point,
    support,
    transform_point,
)
from contactlab.collision.kernels import (
    BITS,
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    MAX_FACE,
    NONE,
    Posed,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    fill,
    linear,
    put,
    put_spatial,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.kernels import kernel

# Labels of edges of the clipping polygon start here. Labels of edges of the subject are the numbers of its vertices.
CLIPPER = 1 << BITS


class Polygon(NamedTuple):
    """Memory of a polygon."""

    corners: FloatArray  # vertices, three numbers each, in a row
    ids: IntArray  # numbers of the vertices in their shape


@kernel
def project(polygon: FloatArray, n: int, t: Vec3, s: Vec3, normal: Vec3, origin: Vec3) -> None:
    """Replace the vertices by their coordinates along two tangents and the normal, from an origin."""
    for i in range(n):
        d = subtract(vector_at(polygon, 3 * i), origin)
        polygon[3 * i], polygon[3 * i + 1], polygon[3 * i + 2] = dot(t, d), dot(s, d), dot(normal, d)


@kernel
def _code(edge: int, j: int, nb: int, ids_b: IntArray) -> int:
    """Return the feature of the vertex that clipping by edge j creates on the edge labelled ``edge``."""
    if edge < CLIPPER:
        return (edge << BITS) | ids_b[j]
    k = edge - CLIPPER
    # two edges of the clipping polygon meet in one of its vertices
    corner = j if j == k + 1 or (j == 0 and k == nb - 1) else k
    return (NONE << BITS) | ids_b[corner]


@kernel
def clip(subject: Polygon, na: int, clipper: Polygon, nb: int, slack: float, result: Polygon, spare: Polygon) -> int:
    """Clip the subject (a polygon or a segment) by a convex polygon; return the number of vertices left.

    I. E. Sutherland, G. W. Hodgman, Reentrant polygon clipping, Communications of the ACM 17 (1974). Every edge has a
    band of ``slack``. A vertex within the band is kept and does not cut. So two equal faces have four common vertices,
    whatever the rounding of the poses.

    Parameters
    ----------
    subject, na
        Vertices (x, y, height), and their number (2 for a segment).
    clipper, nb
        The same for the clipping polygon, at least 3 vertices, in either sense of rotation.
    slack
        Half width of the band [m].
    result, spare
        Workspaces, with two numbers per vertex: its feature, and the label of the edge after it. The result is in the
        first.
    """
    edges, ids_b = clipper
    (first, labels_1), (second, labels_2) = result, spare
    # sense of rotation of the clipping polygon
    area = 0.0
    for j in range(nb):
        k = (j + 1) % nb
        area += edges[3 * j] * edges[3 * k + 1] - edges[3 * k] * edges[3 * j + 1]
    sense = 1.0 if area > 0.0 else -1.0
    # start with the whole subject
    n = na
    copy(subject.corners, first[: 3 * n])
    for i in range(n):
        labels_1[2 * i] = (subject.ids[i] << BITS) | NONE
        labels_1[2 * i + 1] = subject.ids[i]
    capacity = first.shape[0] // 3
    # cut by one edge after the other
    for j in range(nb):
        k = (j + 1) % nb
        x0, y0 = edges[3 * j], edges[3 * j + 1]
        ex, ey = sense * (edges[3 * k] - x0), sense * (edges[3 * k + 1] - y0)
        length = (ex * ex + ey * ey) ** 0.5
        if length <= slack:
            continue
        ex, ey = ex / length, ey / length
        kept, cut = 0, False
        for i in range(n):
            i_next = (i + 1) % n
            here = ex * (first[3 * i + 1] - y0) - ey * (first[3 * i] - x0)
            there = ex * (first[3 * i_next + 1] - y0) - ey * (first[3 * i_next] - x0)
            if here < -slack:
                cut = True
            elif kept < capacity:
                put(vector_at(first, 3 * i), second[3 * kept :])
                labels_2[2 * kept] = labels_1[2 * i]
                # if the subject leaves through a vertex on the edge, its next edge runs along that edge
                labels_2[2 * kept + 1] = CLIPPER + j if here <= slack and there < -slack else labels_1[2 * i + 1]
                kept += 1
            if n == 2 and i == 1:
                continue  # a segment has one edge
            leaves, enters = here > slack and there < -slack, here < -slack and there > slack
            if (leaves or enters) and kept < capacity:
                along = subtract(vector_at(first, 3 * i_next), vector_at(first, 3 * i))
                put(add(vector_at(first, 3 * i), times(here / (here - there), along)), second[3 * kept :])
                labels_2[2 * kept] = _code(labels_1[2 * i + 1], j, nb, ids_b)
                labels_2[2 * kept + 1] = CLIPPER + j if leaves else labels_1[2 * i + 1]
                kept += 1
        if not cut:
            continue
        # copy the result back
        n = kept
        copy(second, first[: 3 * n])
        copy(labels_2, labels_1[: 2 * n])
        if n == 0:
            return 0
    return n


# A cap of a cylinder is represented by a regular polygon in its rim, fixed to the body.
RIM = 8

CAP_COSINE = math.sqrt(0.5)

RIM_X = np.array([math.cos(2.0 * math.pi * i / RIM) for i in range(RIM)])

RIM_Y = np.array([math.sin(2.0 * math.pi * i / RIM) for i in range(RIM)])


@kernel
def _box_face(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    """Fill the vertices, their numbers and the normal of the face of a box most along d; return their number."""
    axis = 0
    for i in range(1, 3):
        if abs(d[i]) > abs(d[axis]):
            axis = i
    s = 1.0 if d[axis] >= 0.0 else -1.0
    normal[axis] = s
    u, v = (axis + 1) % 3, (axis + 2) % 3
    for corner in range(4):
        # counter-clockwise seen from outside, on either side
        point = polygon[3 * corner : 3 * corner + 3]
        point[axis] = s * size[axis]
        point[u] = (s if corner in (1, 2) else -s) * size[u]
        point[v] = size[v] if corner >= 2 else -size[v]
        ids[corner] = 4 * int(point[0] > 0.0) + 2 * int(point[1] > 0.0) + int(point[2] > 0.0)
    return 4


@kernel
def _cylinder_face(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    """Fill the cap of a cylinder, as a polygon, or the line of its mantle most along d; return the vertex count."""
    # the cap, if d is within 45 degrees of the axis
    radial = math.sqrt(d[0] * d[0] + d[1] * d[1])
    if abs(d[2]) >= CAP_COSINE or radial == 0.0:
        s = 1.0 if d[2] >= 0.0 else -1.0
        normal[2] = s
        for i in range(RIM):
            put((size[0] * RIM_X[i], s * size[0] * RIM_Y[i], s * size[1]), polygon[3 * i :])
            ids[i] = i if s < 0.0 else RIM + i
        return RIM
    # a line of the mantle, parallel to the axis
    for end in range(2):
        z = size[1] if end == 1 else -size[1]
        put((size[0] * d[0] / radial, size[0] * d[1] / radial, z), polygon[3 * end :])
        ids[end] = 2 * RIM + end
    return 2


@kernel
def _hull_face(shape: Posed, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    """Fill the vertices, their numbers and the normal of the face of a hull most along d; return the vertex count."""
    # the face and its normal
    size, data, loops = shape.size, shape.data, shape.loops
    points, normals, start = int(size[1]), int(size[3]), int(size[4])
    best = farthest_face(shape, vector(d))
    put(vector_at(data, normals + 3 * best), normal)
    # its vertices
    first = start + loops[start + best]
    n = min(loops[start + best + 1] - loops[start + best], MAX_FACE)
    for corner in range(n):
        number = loops[first + corner]
        ids[corner] = number
        put(vector_at(data, points + 3 * number), polygon[3 * corner :])
    return n


@kernel
def support_face(shape: Posed, direction: Vec3, local: FloatArray, face: Polygon) -> tuple[int, Vec3]:
    """Fill ``face`` with the vertices of the face most along a unit vector, in world axes, and their numbers.

    Return the number of vertices and the outward unit normal. One vertex is a point, two are a segment, both with the
    normal zero. Vertices are counter-clockwise seen from outside. ``local`` (6,) is scratch.
    """
    kind, size, (polygon, ids) = shape.kind, shape.size, face
    d, normal = local[0:3], local[3:6]
    put_spatial(rotate_inverse(shape.pose, direction), (0.0, 0.0, 0.0), local)
    n, radius = 1, 0.0
    if kind == BOX:
        n = _box_face(size, d, polygon, ids, normal)
    elif kind == CYLINDER:
        n = _cylinder_face(size, d, polygon, ids, normal)
    elif kind == CONVEX:
        n = _hull_face(shape, d, polygon, ids, normal)
    else:
        # a sphere or capsule: its core, moved out by the radius below
        radius = size[0]
        ids[0], ids[1] = 0, 1
        fill(0.0, polygon[:6])
        if kind == CAPSULE:
            n = 2
            polygon[2], polygon[5] = -size[1], size[1]
    # to world axes
    for corner in range(n):
        point = transform_point(shape.pose, vector_at(polygon, 3 * corner))
        put(add(point, times(radius, direction)), polygon[3 * corner :])
    return n, rotate(shape.pose, vector(normal))


# A feature that is not a polygon: the part of a cap beyond a chord. Its three rows are the centre of the cap, the
# direction normal to the chord, and the position of the chord along it.
DISC = -1


@kernel
def farthest_feature(shape: Posed, d: Vec3, slack: float, flat: float, out: FloatArray) -> int:
    """Fill ``out`` with the vertices of the point, edge or face farthest along a unit vector, to ``slack``.

    Return the number of vertices, or `DISC` for the cap of a cylinder whose axis is parallel to d. ``flat`` is the
    squared sine of the largest angle that counts as parallel.
    """
    kind, size, pose = shape.kind, shape.size, shape.pose
    x, y, z = rotate_inverse(pose, d)
    put(support(shape, d), out)
    if kind in (CAPSULE, CYLINDER):
        across2 = x * x + y * y
        if kind == CYLINDER and across2 < flat:
            # the part of the cap within the slack: beyond a chord, or all of it
            length, least, chord = math.sqrt(across2), -2.0 * size[0], (1.0, 0.0, 0.0)
            if length > 0.0:
                least, chord = max(least, size[0] - slack / length), (x / length, y / length, 0.0)
            center = transform_point(pose, (0.0, 0.0, size[1] if z >= 0.0 else -size[1]))
            put_spatial(center, rotate(pose, chord), out)
            out[6] = least
            return DISC
        if 2.0 * size[1] * abs(z) > slack:
            return 1
        # the other end of the line
        put(_across_shape(shape, 2, size[1], z, vector(out)), out[3:])
        return 2
    if kind == BOX:
        local, count = (x, y, z), 1
        for k in range(3):
            if 2.0 * size[k] * abs(local[k]) <= slack:
                # double the vertices and mirror the copies, so that four of them go round
                for i in range(count):
                    corner = vector_at(out, 3 * (count - 1 - i))
                    put(_across_shape(shape, k, size[k], local[k], corner), out[3 * (count + i) :])
                count *= 2
                if count == 4:
                    break
        return count
    if kind == CONVEX:
        return _hull_feature(shape, (x, y, z), slack, out)
    return 1


@kernel
def _across_shape(shape: Posed, k: int, half: float, side: float, point: Vec3) -> Vec3:
    """Return a point of the surface moved along axis k by a whole side, against the sign of ``side``."""
    step = times(2.0 * half, axis_of(shape.pose, k))
    return subtract(point, step) if side >= 0.0 else add(point, step)


@kernel
def _hull_feature(shape: Posed, d: Vec3, slack: float, out: FloatArray) -> int:
    """Fill ``out`` with the vertices of a hull farthest along d (shape axes), to ``slack``; return their number."""
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, start = int(size[1]), int(size[2]), int(size[4])
    _, highest = farthest_hull_point(shape, d)
    # the face with the most vertices at this height: all of them, an edge, or one vertex
    most, best = 0, 0
    for face in range(faces):
        first, count = start + loops[start + face], 0
        for k in range(loops[start + face + 1] - loops[start + face]):
            if dot(d, vector_at(data, points + 3 * loops[first + k])) >= highest - slack:
                count += 1
        if count > most:
            most, best = count, face
    if most <= 1:
        return 1
    first, count = start + loops[start + best], 0
    for k in range(loops[start + best + 1] - loops[start + best]):
        point = vector_at(data, points + 3 * loops[first + k])
        if dot(d, point) >= highest - slack and count < MAX_FACE:
            put(transform_point(shape.pose, point), out[3 * count :])
            count += 1
    return count


@kernel
def _on_edge(corners: FloatArray, i: int, j: int, x: Vec3) -> Vec3:
    """Return the point closest to x on the segment from vertex i to vertex j of ``corners`` (3 n,)."""
    p = vector_at(corners, 3 * i)
    e = subtract(vector_at(corners, 3 * j), p)
    length2, t = dot(e, e), 0.0
    if length2 > 0.0:
        t = min(max(dot(e, subtract(x, p)) / length2, 0.0), 1.0)
    return add(p, times(t, e))


@kernel
def on_feature(shape: Posed, corners: FloatArray, count: int, d: Vec3, x: Vec3) -> Vec3:
    """Return the point closest to x of a feature, which is normal to d."""
    if count == 1:
        return vector(corners)
    if count == 2:
        return _on_edge(corners, 0, 1, x)
    if count == DISC:
        axis = face_normal(shape, d)
        v = subtract(x, vector(corners))
        v = subtract(v, times(dot(v, axis), axis))
        length, radius = math.sqrt(dot(v, v)), shape.size[0]
        if length > radius:
            v = (v[0] * radius / length, v[1] * radius / length, v[2] * radius / length)
        m, least = linear(corners), corners[6]
        if dot(v, m) < least:
            # project on the chord, or on one of its ends
            s = cross(axis, m)
            half = math.sqrt(max(0.0, radius * radius - least * least))
            v = add(times(least, m), times(min(max(dot(v, s), -half), half), s))
        return add(vector(corners), v)
    # a polygon: the nearest point of its edges, unless x projects into it
    nearest2, best, inside = math.inf, x, True
    turn = 0.0
    for i in range(count):
        j = (i + 1) % count
        p = vector_at(corners, 3 * i)
        side = dot(d, cross(subtract(vector_at(corners, 3 * j), p), subtract(x, p)))
        # the vertices can go round in either sense
        if turn == 0.0:
            turn = side
        elif side * turn < 0.0:
            inside = False
        y = _on_edge(corners, i, j, x)
        w = subtract(y, x)
        # distance within the plane; the height above it does not count
        high = dot(w, d)
        here = dot(w, w) - high * high
        if here < nearest2:
            nearest2, best = here, y
    if inside and turn != 0.0:
        # project on the plane of the first vertex
        return subtract(x, times(dot(d, subtract(x, vector(corners))), d))
    return best
