"""The point in which two convex shapes touch along a known normal, from their farthest features."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.polish import face_normal
from contactlab.contact.detection.kernels.support import cross, dot, rotate, rotate_inverse, support, transform_point
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    MAX_FACE,
    POLYGON_A,
    POLYGON_B,
    Posed,
    Vec3,
)
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

MAX_ITERATIONS = 100

# A feature that is no polygon: the part of a cap beyond a chord. Its three rows are the middle of the cap, the
# direction across the chord, and how far along that the chord lies.
DISC = -1

# Squares of the sine, of an axis and the normal, below which a cap may touch with more than the point of its rim: the
# first where the normal gives that point, the second where it does not.
FLAT, NEARLY_FLAT = 1e-26, 1e-2


@kernel
def farthest_feature(shape: Posed, d: Vec3, slack: float, flat: float, out: FloatArray) -> int:
    """Fill ``out`` with the corners of the point, edge or face that lies farthest along a unit vector, to ``slack``.

    Returns the number of corners, or `DISC` for the cap of a cylinder to whose axis d is parallel, to an angle whose
    sine's square is ``flat``.
    """
    kind, size, pose = shape.kind, shape.size, shape.pose
    x, y, z = rotate_inverse(pose, d)
    out[0], out[1], out[2] = support(shape, d)
    if kind in (CAPSULE, CYLINDER):
        across2 = x * x + y * y
        if kind == CYLINDER and across2 < flat:
            # Of the cap the part that is as far to the slack: beyond a chord, or all of it.
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
            # To the other end.
            step = 2.0 * size[1] * pose[3 * m + 2]
            out[3 + m] = out[m] - step if z >= 0.0 else out[m] + step
        return 2
    if kind == BOX:
        local, count = (x, y, z), 1
        for k in range(3):
            if 2.0 * size[k] * abs(local[k]) <= slack:
                # Doubled and mirrored, so that four corners go round.
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
        return _of_hull(shape, (x, y, z), slack, out)
    return 1


@kernel
def _of_hull(shape: Posed, d: Vec3, slack: float, out: FloatArray) -> int:
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, start = int(size[1]), int(size[2]), int(size[4])
    highest = -math.inf
    for i in range(int(size[0])):
        at = points + 3 * i
        highest = max(highest, d[0] * data[at] + d[1] * data[at + 1] + d[2] * data[at + 2])
    # Of all faces the one with most corners that high, in their order: a face, one of its edges, or a corner.
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
    """Point of an edge closest to x."""
    p = (corners[3 * i], corners[3 * i + 1], corners[3 * i + 2])
    e = (corners[3 * j] - p[0], corners[3 * j + 1] - p[1], corners[3 * j + 2] - p[2])
    length2, t = dot(e, e), 0.0
    if length2 > 0.0:
        t = min(max(dot(e, (x[0] - p[0], x[1] - p[1], x[2] - p[2])) / length2, 0.0), 1.0)
    return p[0] + t * e[0], p[1] + t * e[1], p[2] + t * e[2]


@kernel
def _on_feature(shape: Posed, corners: FloatArray, count: int, d: Vec3, x: Vec3) -> Vec3:
    """Point of a feature, which lies across d, closest to x."""
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
            # To the chord, or to one of its ends.
            s = cross(axis, m)
            half = math.sqrt(max(0.0, radius * radius - least * least))
            beside = min(max(dot(v, s), -half), half)
            v = (least * m[0] + beside * s[0], least * m[1] + beside * s[1], least * m[2] + beside * s[2])
        return corners[0] + v[0], corners[1] + v[1], corners[2] + v[2]
    nearest2, best, inside = math.inf, x, True
    turn = 0.0
    for i in range(count):
        j = (i + 1) % count
        p, q = 3 * i, 3 * j
        e = (corners[q] - corners[p], corners[q + 1] - corners[p + 1], corners[q + 2] - corners[p + 2])
        v = (x[0] - corners[p], x[1] - corners[p + 1], x[2] - corners[p + 2])
        side = dot(d, cross(e, v))
        # Corners may go round either way.
        if turn == 0.0:
            turn = side
        elif side * turn < 0.0:
            inside = False
        y = _on_edge(corners, i, j, x)
        w = (y[0] - x[0], y[1] - x[1], y[2] - x[2])
        # Along the plane: heights above it are no matter.
        high = dot(w, d)
        here = dot(w, w) - high * high
        if here < nearest2:
            nearest2, best = here, y
    if inside and turn != 0.0:
        # Straight down to the plane of the first corner.
        high = dot(d, (x[0] - corners[0], x[1] - corners[1], x[2] - corners[2]))
        return x[0] - high * d[0], x[1] - high * d[1], x[2] - high * d[2]
    return best


@kernel
def _distance2(p: Vec3, q: Vec3) -> float:
    """Squared distance of two points."""
    d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    return dot(d, d)


@kernel
def _common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, flat: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Squared residual and point on A of `common_point`."""
    of_a, of_b = work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], work[POLYGON_B : POLYGON_B + 3 * MAX_FACE]
    against, slack = (-n[0], -n[1], -n[2]), 1e-11 * scale
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
    """Point of A from which B lies ``distance`` on along a unit vector, and by how much it does not.

    Along the direction of least overlap it does: features of both that lie across n have a point in common, seen along
    it, two edges where they cross, others where each is met in turn by the nearest point of the other, from ``guess``.
    """
    residual2, p = _common_point(a, b, n, distance, guess, scale, FLAT, work)
    if residual2 > (1e-12 * scale) ** 2 and CYLINDER in (a.kind, b.kind):
        again2, other = _common_point(a, b, n, distance, guess, scale, NEARLY_FLAT, work)
        if again2 < residual2:
            residual2, p = again2, other
    return math.sqrt(residual2), p
