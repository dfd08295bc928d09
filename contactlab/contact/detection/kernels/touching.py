"""Common point of two convex shapes along a known normal, from their farthest features."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.polish import face_normal
from contactlab.contact.detection.kernels.support import (
    cross,
    dot,
    farthest_hull_point,
    rotate,
    rotate_inverse,
    support,
    transform_point,
)
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
    out[0], out[1], out[2] = support(shape, d)
    if kind in (CAPSULE, CYLINDER):
        across2 = x * x + y * y
        if kind == CYLINDER and across2 < flat:
            # the part of the cap within the slack: beyond a chord, or all of it
            out[0], out[1], out[2] = transform_point(pose, (0.0, 0.0, size[1] if z >= 0.0 else -size[1]))
            length = math.sqrt(across2)
            least = -2.0 * size[0]
            if length > 0.0:
                least = max(least, size[0] - slack / length)
                out[3], out[4], out[5] = rotate(pose, (x / length, y / length, 0.0))
            else:
                out[3], out[4], out[5] = rotate(pose, (1.0, 0.0, 0.0))
            out[6] = least
            return DISC
        if 2.0 * size[1] * abs(z) > slack:
            return 1
        for m in range(3):
            # the other end of the line
            step = 2.0 * size[1] * pose[3 * m + 2]
            out[3 + m] = out[m] - step if z >= 0.0 else out[m] + step
        return 2
    if kind == BOX:
        local, count = (x, y, z), 1
        for k in range(3):
            if 2.0 * size[k] * abs(local[k]) <= slack:
                # double the vertices and mirror the copies, so that four of them go round
                for i in range(count):
                    at, to = 3 * (count - 1 - i), 3 * (count + i)
                    for m in range(3):
                        step = 2.0 * size[k] * pose[3 * m + k]
                        out[to + m] = out[at + m] - step if local[k] >= 0.0 else out[at + m] + step
                count *= 2
                if count == 4:
                    break
        return count
    if kind == CONVEX:
        return _hull_feature(shape, (x, y, z), slack, out)
    return 1


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
            at = points + 3 * loops[first + k]
            if d[0] * data[at] + d[1] * data[at + 1] + d[2] * data[at + 2] >= highest - slack:
                count += 1
        if count > most:
            most, best = count, face
    if most <= 1:
        return 1
    first, count = start + loops[start + best], 0
    for k in range(loops[start + best + 1] - loops[start + best]):
        at = points + 3 * loops[first + k]
        if d[0] * data[at] + d[1] * data[at + 1] + d[2] * data[at + 2] >= highest - slack and count < MAX_FACE:
            to = 3 * count
            out[to], out[to + 1], out[to + 2] = transform_point(shape.pose, (data[at], data[at + 1], data[at + 2]))
            count += 1
    return count


@kernel
def _on_edge(corners: FloatArray, i: int, j: int, x: Vec3) -> Vec3:
    """Return the point closest to x on the segment from vertex i to vertex j of ``corners`` (3 n,)."""
    p = (corners[3 * i], corners[3 * i + 1], corners[3 * i + 2])
    e = (corners[3 * j] - p[0], corners[3 * j + 1] - p[1], corners[3 * j + 2] - p[2])
    length2, t = dot(e, e), 0.0
    if length2 > 0.0:
        t = min(max(dot(e, (x[0] - p[0], x[1] - p[1], x[2] - p[2])) / length2, 0.0), 1.0)
    return p[0] + t * e[0], p[1] + t * e[1], p[2] + t * e[2]


@kernel
def _on_feature(shape: Posed, corners: FloatArray, count: int, d: Vec3, x: Vec3) -> Vec3:
    """Return the point closest to x of a feature, which is normal to d."""
    if count == 1:
        return corners[0], corners[1], corners[2]
    if count == 2:
        return _on_edge(corners, 0, 1, x)
    if count == DISC:
        axis = face_normal(shape, d)
        v = (x[0] - corners[0], x[1] - corners[1], x[2] - corners[2])
        high = dot(v, axis)
        v = (v[0] - high * axis[0], v[1] - high * axis[1], v[2] - high * axis[2])
        length, radius = math.sqrt(dot(v, v)), shape.size[0]
        if length > radius:
            v = (v[0] * radius / length, v[1] * radius / length, v[2] * radius / length)
        m, least = (corners[3], corners[4], corners[5]), corners[6]
        if dot(v, m) < least:
            # project on the chord, or on one of its ends
            s = cross(axis, m)
            half = math.sqrt(max(0.0, radius * radius - least * least))
            beside = min(max(dot(v, s), -half), half)
            v = (least * m[0] + beside * s[0], least * m[1] + beside * s[1], least * m[2] + beside * s[2])
        return corners[0] + v[0], corners[1] + v[1], corners[2] + v[2]
    # a polygon: the nearest point of its edges, unless x projects into it
    nearest2, best, inside = math.inf, x, True
    turn = 0.0
    for i in range(count):
        j = (i + 1) % count
        p, q = 3 * i, 3 * j
        e = (corners[q] - corners[p], corners[q + 1] - corners[p + 1], corners[q + 2] - corners[p + 2])
        v = (x[0] - corners[p], x[1] - corners[p + 1], x[2] - corners[p + 2])
        side = dot(d, cross(e, v))
        # the vertices can go round in either sense
        if turn == 0.0:
            turn = side
        elif side * turn < 0.0:
            inside = False
        y = _on_edge(corners, i, j, x)
        w = (y[0] - x[0], y[1] - x[1], y[2] - x[2])
        # distance within the plane; the height above it does not count
        high = dot(w, d)
        here = dot(w, w) - high * high
        if here < nearest2:
            nearest2, best = here, y
    if inside and turn != 0.0:
        # project on the plane of the first vertex
        high = dot(d, (x[0] - corners[0], x[1] - corners[1], x[2] - corners[2]))
        return x[0] - high * d[0], x[1] - high * d[1], x[2] - high * d[2]
    return best


@kernel
def _distance2(p: Vec3, q: Vec3) -> float:
    """Return the squared distance of two points."""
    d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    return dot(d, d)


@kernel
def _common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, flat: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the squared residual and the point on A, as `common_point`; ``flat`` is the tolerance of the features."""
    of_a, of_b = work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], work[POLYGON_B : POLYGON_B + 3 * MAX_FACE]
    against, slack = (-n[0], -n[1], -n[2]), 1e-11 * scale
    # farthest features of both shapes; two edges that cross give the point directly
    na, nb = farthest_feature(a, n, slack, flat, of_a), farthest_feature(b, against, slack, flat, of_b)
    p = _on_feature(a, of_a, na, n, guess)
    if na == 2 and nb == 2:
        u = (of_a[3] - of_a[0], of_a[4] - of_a[1], of_a[5] - of_a[2])
        w = (of_b[3] - of_b[0], of_b[4] - of_b[1], of_b[5] - of_b[2])
        c = cross(u, w)
        if dot(c, c) > 1e-24 * dot(u, u) * dot(w, w):
            d = (of_b[0] - of_a[0], of_b[1] - of_a[1], of_b[2] - of_a[2])
            t = min(max(dot(cross(d, w), c) / dot(c, c), 0.0), 1.0)
            p = (of_a[0] + t * u[0], of_a[1] + t * u[1], of_a[2] + t * u[2])
    # alternating projections on both features
    residual2 = math.inf
    for _ in range(MAX_ITERATIONS):
        q = (p[0] + distance * n[0], p[1] + distance * n[1], p[2] + distance * n[2])
        q = _on_feature(b, of_b, nb, against, q)
        q = (q[0] - distance * n[0], q[1] - distance * n[1], q[2] - distance * n[2])
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
