"""First crossings of rays with the surfaces of shapes."""

from __future__ import annotations

import math
from typing import Any

from contactlab.collision.detection.kernels.support import origin, unit
from contactlab.collision.detection.kernels.terrain_contacts import cell_range
from contactlab.collision.kernels import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
    TRIANGLE,
    Posed,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    cross,
    dot,
    put,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.kernels import kernel

# A hit is the distance along the ray, infinite for none, and the outward normal there.
NOWHERE = (math.inf, (0.0, 0.0, 0.0))


@kernel(inner=True)
def slab_interval(o: float, d: float, low: float, high: float) -> tuple[float, float]:
    """Return the interval of a ray in which one coordinate is within bounds; (inf, -inf) if it is empty."""
    if d == 0.0:
        if low <= o <= high:
            return -math.inf, math.inf
        return math.inf, -math.inf
    a, b = (low - o) / d, (high - o) / d
    return (a, b) if a <= b else (b, a)


@kernel(inner=True)
def box_interval(o: Vec3, d: Vec3, box: Any, entry: float, exit: float) -> tuple[float, float]:
    """Return the part of an interval of a ray that is in a box (6,) along the axes, array or tuple."""
    for k in range(3):
        low, high = slab_interval(o[k], d[k], box[k], box[3 + k])
        entry, exit = max(entry, low), min(exit, high)
    return entry, exit


@kernel(inner=True)
def triangle_hit(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> float:
    """Return the distance along d from the origin to a triangle, negative behind it; infinity if the line misses it.

    The test uses the sides on which the line passes the edges. Two triangles with a common edge give it opposite signs
    to the bit, so that no line passes between them.
    """
    u, v, w = dot(d, cross(c, b)), dot(d, cross(a, c)), dot(d, cross(b, a))
    if min(u, v, w) < 0.0 < max(u, v, w):
        return math.inf
    normal = cross(subtract(b, a), subtract(c, a))
    rate = dot(normal, d)
    return math.inf if rate == 0.0 else dot(normal, a) / rate


@kernel(inner=True)
def _from(o: Vec3, data: FloatArray, at: int) -> Vec3:
    """Return the point at an offset in ``data``, relative to o."""
    return subtract(vector_at(data, at), o)


@kernel(inner=True)
def mesh_hit(o: Vec3, d: Vec3, mesh: Posed, limit: float) -> tuple[float, Vec3]:
    """Return the distance to the first triangle of a mesh, found in its tree of boxes, and its normal."""
    size, data, loops = mesh.size, mesh.data, mesh.loops
    header, boxes, triangles = int(size[4]), int(size[3]), int(size[2])
    best, at, node = math.inf, -1, 0
    while node < loops[header]:
        entry, exit = box_interval(o, d, data[boxes + 6 * node :], 0.0, min(best, limit))
        row = header + 4 + 3 * node
        # rounding can miss a flat box, so that an interval empty to rounding still counts
        if entry > exit + 1e-9 * abs(exit):
            node = loops[row]
            continue
        for i in range(loops[row + 1], loops[row + 1] + loops[row + 2]):
            corner = triangles + TRIANGLE * i
            t = triangle_hit(_from(o, data, corner), _from(o, data, corner + 3), _from(o, data, corner + 6), d)
            if 0.0 <= t < best:
                best, at = t, corner + 9
        node += 1
    if at < 0:
        return NOWHERE
    return best, vector_at(data, at)


@kernel(inner=True)
def terrain_hit(o: Vec3, d: Vec3, size: FloatArray, data: FloatArray, limit: float) -> tuple[float, Vec3]:
    """Return the distance along the ray to the first triangle of a height field and its upward normal."""
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    # interval of the ray in the bounding box of the field
    slack = 1e-9 * (dx + dy)
    far_x, far_y = dx * (nx - 1) + slack, dy * (ny - 1) + slack
    entry, exit = box_interval(o, d, (-slack, -slack, size[5] - slack, far_x, far_y, size[6] + slack), 0.0, limit)
    if entry > exit:
        return NOWHERE
    # walk through the cells from the point of entry
    x, y = o[0] + entry * d[0], o[1] + entry * d[1]
    i, _ = cell_range(x, x, dx, nx)
    j, _ = cell_range(y, y, dy, ny)
    step_x, step_y = (1 if d[0] > 0.0 else -1), (1 if d[1] > 0.0 else -1)
    while 0 <= i < nx - 1 and 0 <= j < ny - 1:
        at = start + i * ny + j
        x0, x1, y0, y1 = i * dx - o[0], (i + 1) * dx - o[0], j * dy - o[1], (j + 1) * dy - o[1]
        a, b = (x0, y0, data[at] - o[2]), (x1, y1, data[at + ny + 1] - o[2])
        best, corner = math.inf, b
        for k in range(2):
            c = (x1, y0, data[at + ny] - o[2]) if k == 0 else (x0, y1, data[at + 1] - o[2])
            t = triangle_hit(a, b, c, d)
            if 0.0 <= t < best:
                best, corner = t, c
        if best < math.inf:
            normal = cross(subtract(b, a), subtract(corner, a))
            return best, times(math.copysign(1.0 / math.sqrt(dot(normal, normal)), normal[2]), normal)
        # the next grid line along the ray
        next_x = math.inf if d[0] == 0.0 else (x1 if step_x > 0 else x0) / d[0]
        next_y = math.inf if d[1] == 0.0 else (y1 if step_y > 0 else y0) / d[1]
        if min(next_x, next_y) > exit:
            break
        if next_x <= next_y:
            i += step_x
        else:
            j += step_y
    return NOWHERE


@kernel(inner=True)
def _first_crossing(entry: float, exit: float) -> float:
    """Return the first crossing of a ray with a convex solid that contains it from ``entry`` to ``exit``."""
    if not entry <= exit or exit < 0.0:
        return math.inf
    return entry if entry >= 0.0 else exit


@kernel(inner=True)
def _in_ball(o: Vec3, d: Vec3, z: float, radius: float) -> tuple[float, float]:
    """Return the interval of a ray in a ball about (0, 0, z)."""
    from_center = (o[0], o[1], o[2] - z)
    # from the point closest to the centre, so that no digits are lost far away
    near = -dot(from_center, d)
    closest = add(from_center, times(near, d))
    rest = radius * radius - dot(closest, closest)
    if rest < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(rest)
    return near - half, near + half


@kernel(inner=True)
def _in_tube(o: Vec3, d: Vec3, radius: float) -> tuple[float, float]:
    """Return the interval of a ray within a radius of the z axis."""
    # a ray along the axis
    across = d[0] * d[0] + d[1] * d[1]
    if across == 0.0:
        if o[0] * o[0] + o[1] * o[1] <= radius * radius:
            return -math.inf, math.inf
        return math.inf, -math.inf
    # half the chord about the closest point
    near = -(o[0] * d[0] + o[1] * d[1]) / across
    x, y = o[0] + near * d[0], o[1] + near * d[1]
    rest = radius * radius - (x * x + y * y)
    if rest < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(rest / across)
    return near - half, near + half


@kernel(inner=True)
def _in_solid(o: Vec3, d: Vec3, kind: int, size: FloatArray) -> tuple[float, float]:
    """Return the interval of a ray in a sphere, box, cylinder or capsule, the union of a tube and two balls."""
    if kind == SPHERE:
        return _in_ball(o, d, 0.0, size[0])
    if kind == BOX:
        return box_interval(o, d, (-size[0], -size[1], -size[2], size[0], size[1], size[2]), -math.inf, math.inf)
    # the tube between the ends
    low, high = slab_interval(o[2], d[2], -size[1], size[1])
    entry, exit = _in_tube(o, d, size[0])
    entry, exit = max(entry, low), min(exit, high)
    # extended by balls
    if kind == CAPSULE:
        if entry > exit:
            entry, exit = math.inf, -math.inf
        for z in (-size[1], size[1]):
            low, high = _in_ball(o, d, z, size[0])
            entry, exit = min(entry, low), max(exit, high)
    return entry, exit


@kernel(inner=True)
def _outward(x: Vec3, kind: int, size: FloatArray) -> Vec3:
    """Return the outward normal at a point of the surface of a sphere, box, cylinder or capsule."""
    z = x[2]
    if kind == BOX:
        # the face that is crossed
        axis = 0
        for i in range(1, 3):
            if abs(x[i]) - size[i] > abs(x[axis]) - size[axis]:
                axis = i
        sign = 1.0 if x[axis] > 0.0 else -1.0
        return sign * (axis == 0), sign * (axis == 1), sign * (axis == 2)
    if kind == CYLINDER:
        # a cap, or the mantle
        if abs(z) - size[1] >= math.sqrt(x[0] * x[0] + x[1] * x[1]) - size[0]:
            return 0.0, 0.0, 1.0 if z > 0.0 else -1.0
        z = 0.0
    elif kind == CAPSULE:
        # from the nearest point of the axis
        z -= min(max(z, -size[1]), size[1])
    return unit((x[0], x[1], z))


@kernel(inner=True)
def _hull_hit(o: Vec3, d: Vec3, shape: Posed) -> tuple[float, Vec3]:
    """Return the hit of a convex hull; a flat hull is a polygon, a point or line has no hit."""
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, normals, table = int(size[1]), int(size[2]), int(size[3]), int(size[4])
    # interval inside the planes of all faces
    entry, exit, first, last = -math.inf, math.inf, -1, -1
    for f in range(faces):
        at = normals + 3 * f
        normal = vector_at(data, at)
        height = dot(normal, _from(o, data, points + 3 * loops[table + loops[table + f]]))
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
        # two sides of one polygon, as a fan of triangles
        loop = table + loops[table]
        for k in range(loops[table + 1] - loops[table] - 2):
            a, b, c = points + 3 * loops[loop], points + 3 * loops[loop + k + 1], points + 3 * loops[loop + k + 2]
            t = triangle_hit(_from(o, data, a), _from(o, data, b), _from(o, data, c), d)
            if 0.0 <= t < math.inf:
                return t, vector_at(data, normals + 3 * first)
        return NOWHERE
    t = _first_crossing(entry, exit)
    if t == math.inf:
        return NOWHERE
    return t, vector_at(data, normals + 3 * (first if t == entry else last))


@kernel(inner=True)
def _hit(o: Vec3, d: Vec3, shape: Posed, limit: float) -> tuple[float, Vec3]:
    """Return the first hit of a ray with a shape, in its axes; distances beyond ``limit`` do not count."""
    # one branch for each kind of shape
    kind, size = shape.kind, shape.size
    if kind == HALF_SPACE:
        normal = vector(size)
        rate = dot(normal, d)
        t = math.inf if rate == 0.0 else (size[3] - dot(normal, o)) / rate
        return (t, normal) if t >= 0.0 else NOWHERE
    if kind == CONVEX:
        return _hull_hit(o, d, shape)
    if kind == MESH:
        return mesh_hit(o, d, shape, limit)
    if kind == HEIGHT_FIELD:
        return terrain_hit(o, d, size, shape.data, limit)
    entry, exit = _in_solid(o, d, kind, size)
    t = _first_crossing(entry, exit)
    if t == math.inf:
        return NOWHERE
    return t, _outward(add(o, times(t, d)), kind, size)


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
    """Fill distances (n,), shapes (n,) and outward normals (n, 3) of the first hits of rays (n, 3).

    ``boxes`` (m, 6) are the bounds of the shapes at their ``poses`` in the world. Directions have unit length. Among
    shapes at one distance the first counts. Without a hit within reach the distance is infinite, the shape -1 and the
    normal zero.
    """
    for i in range(origins.shape[0]):
        o, d = vector(origins[i]), vector(directions[i])
        best, number, found = math.inf, -1, (0.0, 0.0, 0.0)
        limit = reach
        for s in range(kinds.shape[0]):
            # skip shapes whose bounding box the ray misses
            entry, exit = box_interval(o, d, boxes[s], 0.0, limit)
            if entry > exit:
                continue
            # the ray in the axes of the shape
            pose = poses[s]
            start = rotate_inverse(pose, subtract(o, origin(pose)))
            t, outward = _hit(start, rotate_inverse(pose, d), Posed(kinds[s], sizes[s], pose, data, loops), limit)
            if t <= limit and t < best:
                best, number, found, limit = t, s, rotate(pose, outward), t
        distance[i], shape[i] = best, number
        put(found, normal[i])
