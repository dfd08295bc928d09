"""Common point of two convex shapes along a known normal, from their farthest features."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.polish import face_normal
from contactlab.contact.detection.kernels.support import axis_of, farthest_hull_point, support, transform_point
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    MAX_FACE,
    POLYGON_A,
    POLYGON_B,
    Posed,
)
from contactlab.spatial.arrays import FloatArray, Vec3
from contactlab.spatial.kernels.vectors import (
    add,
    cross,
    dot,
    linear,
    opposite,
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

MAX_ITERATIONS = 100

# A feature that is not a polygon: the part of a cap beyond a chord. Its three rows are the centre of the cap, the
# direction normal to the chord, and the position of the chord along it.
DISC = -1

# Squared sine of the angle of axis and normal below which a cap can touch with more than one point of its rim: the
# first if the normal determines that point, the second if not.
FLAT, NEARLY_FLAT = 1e-26, 1e-2


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
def _on_feature(shape: Posed, corners: FloatArray, count: int, d: Vec3, x: Vec3) -> Vec3:
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


@kernel
def _distance2(p: Vec3, q: Vec3) -> float:
    """Return the squared distance of two points."""
    d = subtract(p, q)
    return dot(d, d)


@kernel
def _common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, flat: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the squared residual and the point on A, as `common_point`; ``flat`` is the tolerance of the features."""
    of_a, of_b = work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], work[POLYGON_B : POLYGON_B + 3 * MAX_FACE]
    against, slack = opposite(n), 1e-11 * scale
    # farthest features of both shapes; two edges that cross give the point directly
    na, nb = farthest_feature(a, n, slack, flat, of_a), farthest_feature(b, against, slack, flat, of_b)
    p = _on_feature(a, of_a, na, n, guess)
    if na == 2 and nb == 2:
        u, w = subtract(linear(of_a), vector(of_a)), subtract(linear(of_b), vector(of_b))
        c = cross(u, w)
        if dot(c, c) > 1e-24 * dot(u, u) * dot(w, w):
            d = subtract(vector(of_b), vector(of_a))
            p = add(vector(of_a), times(min(max(dot(cross(d, w), c) / dot(c, c), 0.0), 1.0), u))
    # alternating projections on both features
    residual2 = math.inf
    for _ in range(MAX_ITERATIONS):
        q = subtract(_on_feature(b, of_b, nb, against, add(p, times(distance, n))), times(distance, n))
        residual2 = _distance2(p, q)
        if residual2 <= (1e-15 * scale) ** 2:
            break
        new = _on_feature(a, of_a, na, n, q)
        moved2 = _distance2(new, p)
        p = new
        if moved2 <= (1e-16 * scale) ** 2:
            break
    return residual2, p


@kernel
def common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the residual [m] and a point of A from which B is at ``distance`` along a unit vector n.

    Along the direction of least overlap the residual is zero: the farthest features of both shapes have a common point,
    seen along n. Two edges have it where they cross. For other features, alternating projections from ``guess`` find
    it.
    """
    residual2, p = _common_point(a, b, n, distance, guess, scale, FLAT, work)
    # a cap that is nearly normal to n can touch with more than one point of its rim
    if residual2 > (1e-12 * scale) ** 2 and CYLINDER in (a.kind, b.kind):
        again2, other = _common_point(a, b, n, distance, guess, scale, NEARLY_FLAT, work)
        if again2 < residual2:
            residual2, p = again2, other
    return math.sqrt(residual2), p
