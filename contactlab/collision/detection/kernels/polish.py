"""Refinement of the contact normal to rounding: the direction of least overlap of two convex shapes.

Closest points that almost coincide have a difference of few digits, and an expanding polytope only approximates a round
rim. Both give a direction near the exact one, which minimises, over unit vectors n,

    f(n) = max over A of n.x - min over B of n.x.

Every n bounds the minimum from above: it is minus the distance of separate shapes, and the depth of overlapping ones.
At the minimum some edges of the two shapes are normal to n. Two edges determine n, one edge leaves a circle, and none
leaves the sphere, on which f is smooth. So candidates are formed from nearby edges and faces, and compared by f.
"""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.support import (
    axis_of,
    farthest_face,
    farthest_hull_point,
    perpendicular,
    support,
    unit,
)
from contactlab.collision.kernels import BOX, CAPSULE, CLIP_1, CONVEX, CYLINDER, Posed
from contactlab.multibody.spatial.arrays import FloatArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    cross,
    dot,
    opposite,
    put,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector_at,
)
from lcp.kernels import kernel

# Maximum number of edges of each shape.
MAX_EDGES = 32

MAX_NEWTON_STEPS = 25

# Steps [rad] below rounding, and steps after which the next one is below rounding.
NEGLIGIBLE_STEP, CONVERGED_STEP = 1e-15, 1e-9

# Maximum number of shortenings of a step. If two edges or a face determine the direction, no step leads there.
MIN_TRIES, MAX_TRIES = 3, 12

KINKS, NEAREST, ALL = 0, 1, 2

# Largest component, along the direction, of an edge that counts as normal to it.
RISES = 2e-3

MAX_ROUNDS = 3

# Cosine above which two directions are nearly equal.
FLAT = 0.99


@kernel
def _difference(a: Posed, b: Posed, n: Vec3) -> Vec3:
    """Return the farthest point of A along n minus the farthest point of B against n."""
    return subtract(support(a, n), support(b, opposite(n)))


@kernel
def overlap(a: Posed, b: Posed, n: Vec3) -> float:
    """Return the distance by which the core of B must move along a unit vector to leave A; negative if apart."""
    return dot(n, _difference(a, b, n))


@kernel
def near_edges(shape: Posed, n: Vec3, near: float, out: FloatArray) -> int:
    """Fill ``out`` with directions of edges within ``near`` [m] of the farthest point along n; return their number."""
    count = 0
    if shape.kind == BOX:
        for k in range(3):
            put(axis_of(shape.pose, k), out[3 * k :])
        return 3
    if shape.kind in (CYLINDER, CAPSULE):
        put(axis_of(shape.pose, 2), out)
        return 1
    if shape.kind != CONVEX:
        return 0
    # hull edges whose lower end is within ``near`` of the highest point
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, start = int(size[1]), int(size[2]), int(size[4])
    local = rotate_inverse(shape.pose, n)
    _, highest = farthest_hull_point(shape, local)
    for face in range(faces):
        first = start + loops[start + face]
        corners = loops[start + face + 1] - loops[start + face]
        for k in range(corners):
            i, j = loops[first + k], loops[first + (k + 1) % corners]
            # every edge belongs to two faces, and counts once
            if i >= j or count == MAX_EDGES:
                continue
            p, q = vector_at(data, points + 3 * i), vector_at(data, points + 3 * j)
            e = subtract(q, p)
            if min(dot(local, p), dot(local, q)) >= highest - near and dot(e, e) > 0.0:
                put(rotate(shape.pose, unit(e)), out[3 * count :])
                count += 1
    return count


@kernel
def face_normal(shape: Posed, n: Vec3) -> Vec3:
    """Return the outward normal of the flat face most along n; zero if the shape has no flat face."""
    # face of a hull
    local = x, y, z = rotate_inverse(shape.pose, n)
    if shape.kind == CONVEX:
        return rotate(shape.pose, vector_at(shape.data, int(shape.size[3]) + 3 * farthest_face(shape, local)))
    # side of a box, cap of a cylinder
    if shape.kind not in (BOX, CYLINDER):
        return 0.0, 0.0, 0.0
    k = 2
    if shape.kind == BOX:
        k = 0 if abs(x) >= abs(y) and abs(x) >= abs(z) else (1 if abs(y) >= abs(z) else 2)
    return times(1.0 if local[k] >= 0.0 else -1.0, axis_of(shape.pose, k))


@kernel
def _curvature(shape: Posed, n: Vec3, t: Vec3, s: Vec3) -> float:
    """Return the second derivative, in the directions t and s, of the support height of a cylinder along n."""
    if shape.kind != CYLINDER:
        return 0.0
    u = axis_of(shape.pose, 2)
    nu = dot(n, u)
    # component of n normal to the axis, by differences: 1 - nu^2 would lose half of the digits
    m = subtract(n, times(nu, u))
    length2 = dot(m, m)
    if length2 <= 1e-28:
        return 0.0
    return shape.size[0] / math.sqrt(length2) * (dot(t, s) - dot(t, u) * dot(s, u) - dot(t, m) * dot(s, m) / length2)


@kernel
def _across(v: Vec3, edge: Vec3) -> Vec3:
    """Return the unit vector along the component of v normal to a unit vector."""
    return unit(subtract(v, times(dot(v, edge), edge)))


@kernel
def _descend(a: Posed, b: Posed, start: Vec3, edge: Vec3, free: int, tries: int, rounding: float) -> tuple[float, Vec3]:
    """Minimise the overlap near the unit vector ``start`` by Newton's method; return it and its direction.

    ``free`` = 1: on the circle of directions normal to ``edge``; 2: on the sphere. A step that does not reduce the
    overlap is shortened by the factor 4, up to ``tries`` lengths in all. A small step can also increase the overlap by
    up to ``rounding``.
    """
    n = start
    w = _difference(a, b, n)
    value = dot(n, w)
    for _ in range(MAX_NEWTON_STEPS):
        # tangent directions of the circle or sphere at n
        if free == 1:
            t = unit(cross(edge, n))
            s = (0.0, 0.0, 0.0)
        else:
            t = perpendicular(n)
            s = cross(n, t)
        # gradient and Hessian of the overlap, and the Newton step; a gradient step if the Hessian is not definite
        gt, gs = dot(t, w), dot(s, w)
        tt = _curvature(a, n, t, t) + _curvature(b, n, t, t) - value
        x, y = 0.0, 0.0
        if free == 1:
            x = -gt / tt if tt > 0.0 else -gt / (abs(tt) + abs(gt) + 1e-300)
        else:
            ss = _curvature(a, n, s, s) + _curvature(b, n, s, s) - value
            ts = _curvature(a, n, t, s) + _curvature(b, n, t, s)
            determinant = tt * ss - ts * ts
            if tt > 0.0 and determinant > 1e-12 * tt * ss:
                x, y = (ts * gs - ss * gt) / determinant, (ts * gt - tt * gs) / determinant
            else:
                slope = math.sqrt(gt * gt + gs * gs)
                x, y = -gt / (slope + abs(value) + 1e-300), -gs / (slope + abs(value) + 1e-300)
        far = math.sqrt(x * x + y * y)
        if far > 0.5:
            x, y = 0.5 * x / far, 0.5 * y / far
        # shorten the step until the overlap decreases
        better, step = False, far
        for _ in range(tries):
            if not step > NEGLIGIBLE_STEP:
                break
            m = unit(add(add(n, times(x, t)), times(y, s)))
            if free == 1:
                # remove rounding along the edge, which would be multiplied by its length
                m = _across(m, edge)
            w = _difference(a, b, m)
            here = dot(m, w)
            # near the minimum the slope has twice the digits of the value, so equal values are accepted
            if here < value or (far < 1e-3 and here <= value + rounding):
                n, value, better = m, here, True
                break
            x, y, step = 0.25 * x, 0.25 * y, 0.25 * step
        # Newton's method converges quadratically: the next step would be below rounding
        if not better or far < CONVERGED_STEP:
            break
    return value, n


@kernel
def polish(
    a: Posed, b: Posed, start: Vec3, near: float, scale: float, stage: int, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the least overlap of two cores near a unit vector, and its direction.

    Parameters
    ----------
    near
        Distance [m] below the farthest point along ``start`` within which edges are candidates: of the order of the
        error of ``start``.
    scale
        Length of the order of both shapes.
    stage
        `KINKS` tries faces and pairs of edges. `NEAREST` also tries a few steps on the circles of edges normal to
        ``start``. `ALL` tries all nearby edges, and steps from faces, in several rounds.
    """
    edges_a, edges_b = work[CLIP_1 : CLIP_1 + 3 * MAX_EDGES], work[CLIP_1 + 3 * MAX_EDGES : CLIP_1 + 6 * MAX_EDGES]
    best, n = overlap(a, b, start), start
    curved = CYLINDER in (a.kind, b.kind)
    tries = MAX_TRIES if stage == ALL else MIN_TRIES
    for _ in range(MAX_ROUNDS if stage == ALL else 1):
        # faces and edges near the direction
        before, around = best, n
        slack = 1e-13 * scale
        of_a, of_b = face_normal(a, around), opposite(face_normal(b, opposite(around)))
        na, nb = near_edges(a, around, near, edges_a), near_edges(b, opposite(around), near, edges_b)
        # a second start: between two nearly parallel faces the minimum can be as close as their angle
        other = around
        if dot(of_a, of_b) > FLAT:
            other = unit(add(of_a, of_b))
        elif dot(of_a, around) > FLAT:
            other = of_a
        elif dot(of_b, around) > FLAT:
            other = of_b
        # Newton's method on the circle of each edge, then on the sphere
        for way in range((2 if curved and stage == ALL else 1) if stage != KINKS else 0):
            first = around if way == 0 else other
            lying = 0
            for i in range(na + nb):
                e = vector_at(edges_a, 3 * i) if i < na else vector_at(edges_b, 3 * (i - na))
                if abs(dot(e, first)) < (0.9 if stage == ALL else RISES):
                    lying += 1
                    here, c = _descend(a, b, _across(first, e), e, 1, tries, 1e-15 * scale)
                    if here <= best + 0.01 * slack:
                        best, n = here, c
            if stage == ALL or lying == 0:
                here, c = _descend(a, b, first, first, 2, tries, 1e-15 * scale)
                if here < best - 0.01 * slack or (lying == 0 and here <= best + 0.01 * slack):
                    best, n = here, c
        # directions normal to an edge of each shape
        for i in range(na):
            for j in range(nb):
                c = cross(vector_at(edges_a, 3 * i), vector_at(edges_b, 3 * j))
                if dot(c, c) > 1e-24:
                    c = unit(c)
                    c = opposite(c) if dot(c, around) < 0.0 else c
                    here = overlap(a, b, c)
                    if here < best - slack:
                        best, n = here, c
        # the normal of a face is preferred to directions within rounding of it
        for face in (of_b, of_a):
            if dot(face, face) > 0.0:
                here = overlap(a, b, face)
                if here <= best + slack:
                    best, n = here, face
        near = 1e-6 * scale
        if not best < before - slack:
            break
    return best, n
