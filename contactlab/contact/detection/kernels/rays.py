"""Where rays first cross the surfaces of shapes."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.ray_triangles import between, mesh_hit, terrain_hit, triangle_hit
from contactlab.contact.detection.kernels.vectors import dot, turned, turned_back
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    MESH,
    SPHERE,
    Posed,
    Vector,
)
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# A hit: how far along the ray, infinite for none, and the outward normal there.
NOWHERE = (math.inf, (0.0, 0.0, 0.0))


@kernel(inner=True)
def _ahead(entry: float, exit: float) -> float:
    """Where a ray first crosses the surface of a convex solid that it is in from ``entry`` to ``exit``."""
    if not entry <= exit or exit < 0.0:
        return math.inf
    return entry if entry >= 0.0 else exit


@kernel(inner=True)
def _in_ball(o: Vector, d: Vector, z: float, radius: float) -> tuple[float, float]:
    """From where to where a ray is in a ball about (0, 0, z)."""
    from_center = (o[0], o[1], o[2] - z)
    # By the point closest to the centre: nothing is lost far away.
    near = -dot(from_center, d)
    x, y, w = from_center[0] + near * d[0], from_center[1] + near * d[1], from_center[2] + near * d[2]
    rest = radius * radius - (x * x + y * y + w * w)
    if rest < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(rest)
    return near - half, near + half


@kernel(inner=True)
def _in_tube(o: Vector, d: Vector, radius: float) -> tuple[float, float]:
    """From where to where a ray is within a radius of the z axis."""
    across = d[0] * d[0] + d[1] * d[1]
    if across == 0.0:
        if o[0] * o[0] + o[1] * o[1] <= radius * radius:
            return -math.inf, math.inf
        return math.inf, -math.inf
    near = -(o[0] * d[0] + o[1] * d[1]) / across
    x, y = o[0] + near * d[0], o[1] + near * d[1]
    rest = radius * radius - (x * x + y * y)
    if rest < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(rest / across)
    return near - half, near + half


@kernel(inner=True)
def _capsule_hit(o: Vector, d: Vector, radius: float, half: float) -> tuple[float, Vector]:
    """Capsule about the z axis: a tube and two balls, whose intervals overlap where they are not empty."""
    entry, exit = _in_tube(o, d, radius)
    low, high = between(o[2], d[2], -half, half)
    entry, exit = max(entry, low), min(exit, high)
    if entry > exit:
        entry, exit = math.inf, -math.inf
    for z in (-half, half):
        low, high = _in_ball(o, d, z, radius)
        entry, exit = min(entry, low), max(exit, high)
    t = _ahead(entry, exit)
    if t == math.inf:
        return NOWHERE
    x, y, z = o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]
    z -= min(max(z, -half), half)
    length = math.sqrt(x * x + y * y + z * z)
    return t, (x / length, y / length, z / length)


@kernel(inner=True)
def _cylinder_hit(o: Vector, d: Vector, radius: float, half: float) -> tuple[float, Vector]:
    """Cylinder about the z axis."""
    entry, exit = _in_tube(o, d, radius)
    low, high = between(o[2], d[2], -half, half)
    t = _ahead(max(entry, low), min(exit, high))
    if t == math.inf:
        return NOWHERE
    if t in (low, high):
        return t, (0.0, 0.0, 1.0 if o[2] + t * d[2] > 0.0 else -1.0)
    x, y = o[0] + t * d[0], o[1] + t * d[1]
    length = math.sqrt(x * x + y * y)
    return t, (x / length, y / length, 0.0)


@kernel(inner=True)
def _box_hit(o: Vector, d: Vector, size: FloatArray) -> tuple[float, Vector]:
    """Box about its centre, by its half extents."""
    entry, exit, first, last = -math.inf, math.inf, 0, 0
    for i in range(3):
        low, high = between(o[i], d[i], -size[i], size[i])
        if low > entry:
            entry, first = low, i
        if high < exit:
            exit, last = high, i
    t = _ahead(entry, exit)
    if t == math.inf:
        return NOWHERE
    entering = t == entry
    axis = first if entering else last
    sign = 1.0 if (d[axis] > 0.0) != entering else -1.0
    return t, (sign * (axis == 0), sign * (axis == 1), sign * (axis == 2))


@kernel(inner=True)
def _hull_hit(o: Vector, d: Vector, shape: Posed) -> tuple[float, Vector]:
    """Convex hull, by the planes of its faces; a flat one as a polygon, a point or line nowhere."""
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, normals, table = int(size[1]), int(size[2]), int(size[3]), int(size[4])
    entry, exit, first, last = -math.inf, math.inf, -1, -1
    for f in range(faces):
        at = normals + 3 * f
        corner = points + 3 * loops[table + loops[table + f]]
        normal = data[at], data[at + 1], data[at + 2]
        height = dot(normal, (data[corner] - o[0], data[corner + 1] - o[1], data[corner + 2] - o[2]))
        rate = dot(normal, d)
        if rate == 0.0:
            if height < 0.0:
                return NOWHERE
        elif rate < 0.0:
            if height / rate > entry:
                entry, first = height / rate, f
        elif height / rate < exit:
            exit, last = height / rate, f
    if first < 0 or last < 0:
        return NOWHERE
    if faces == 2:
        # Two sides of one polygon: a fan of triangles.
        loop = table + loops[table]
        for k in range(loops[table + 1] - loops[table] - 2):
            a, b, c = points + 3 * loops[loop], points + 3 * loops[loop + k + 1], points + 3 * loops[loop + k + 2]
            t = triangle_hit(
                (data[a] - o[0], data[a + 1] - o[1], data[a + 2] - o[2]),
                (data[b] - o[0], data[b + 1] - o[1], data[b + 2] - o[2]),
                (data[c] - o[0], data[c + 1] - o[1], data[c + 2] - o[2]),
                d,
            )
            if t >= 0.0 and t < math.inf:
                at = normals + 3 * first
                return t, (data[at], data[at + 1], data[at + 2])
        return NOWHERE
    t = _ahead(entry, exit)
    if t == math.inf:
        return NOWHERE
    at = normals + 3 * (first if t == entry else last)
    return t, (data[at], data[at + 1], data[at + 2])


@kernel(inner=True)
def _hit(o: Vector, d: Vector, shape: Posed, limit: float) -> tuple[float, Vector]:
    """Where a ray, in the axes of a shape, first crosses its surface; nothing is looked for beyond a limit."""
    kind, size = shape.kind, shape.size
    if kind == HALF_SPACE:
        normal = size[0], size[1], size[2]
        rate = dot(normal, d)
        t = math.inf if rate == 0.0 else (size[3] - dot(normal, o)) / rate
        return (t, normal) if t >= 0.0 else NOWHERE
    if kind == SPHERE:
        entry, exit = _in_ball(o, d, 0.0, size[0])
        t = _ahead(entry, exit)
        if t == math.inf:
            return NOWHERE
        return t, ((o[0] + t * d[0]) / size[0], (o[1] + t * d[1]) / size[0], (o[2] + t * d[2]) / size[0])
    if kind == CAPSULE:
        return _capsule_hit(o, d, size[0], size[1])
    if kind == BOX:
        return _box_hit(o, d, size)
    if kind == CYLINDER:
        return _cylinder_hit(o, d, size[0], size[1])
    if kind == CONVEX:
        return _hull_hit(o, d, shape)
    if kind == MESH:
        return mesh_hit(o, d, shape, limit)
    return terrain_hit(o, d, size, shape.data, limit)


@kernel
def first_hits(
    kinds: IntArray,
    sizes: FloatArray,
    poses: FloatArray,
    data: FloatArray,
    loops: IntArray,
    boxes: FloatArray,
    origins: FloatArray,
    directions: FloatArray,
    reach: float,
    distance: FloatArray,
    shape: IntArray,
    normal: FloatArray,
) -> None:
    """Fill, for rays (n, 3), the distances (n,), infinite for none within reach, the shapes (n,) and normals (n, 3).

    ``boxes`` (m, 6) are the bounds of the shapes at their ``poses`` in the world; directions have unit length. Of two
    shapes at one distance the first counts. Without a hit the shape is -1 and the normal zero.
    """
    for i in range(origins.shape[0]):
        o = origins[i, 0], origins[i, 1], origins[i, 2]
        d = directions[i, 0], directions[i, 1], directions[i, 2]
        best, number, found = math.inf, -1, (0.0, 0.0, 0.0)
        limit = reach
        for s in range(kinds.shape[0]):
            entry, exit = 0.0, limit
            for k in range(3):
                low, high = between(o[k], d[k], boxes[s, k], boxes[s, 3 + k])
                entry, exit = max(entry, low), min(exit, high)
            if entry > exit:
                continue
            pose = poses[s]
            start = turned_back(pose, (o[0] - pose[9], o[1] - pose[10], o[2] - pose[11]))
            t, outward = _hit(start, turned_back(pose, d), Posed(kinds[s], sizes[s], pose, data, loops), limit)
            if t <= limit and t < best:
                best, number, found, limit = t, s, turned(pose, outward), t
        distance[i], shape[i] = best, number
        normal[i, 0], normal[i, 1], normal[i, 2] = found
