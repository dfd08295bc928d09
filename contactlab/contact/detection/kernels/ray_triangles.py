"""Where rays first cross triangles: of meshes and of terrain."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.terrain import cell_range
from contactlab.contact.detection.kernels.vectors import cross, dot
from contactlab.contact.kernels.layout import TRIANGLE, Posed, Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inner=True)
def between(o: float, d: float, low: float, high: float) -> tuple[float, float]:
    """From where to where one coordinate of a ray is within bounds; empty: from infinity to minus infinity."""
    if d == 0.0:
        if low <= o <= high:
            return -math.inf, math.inf
        return math.inf, -math.inf
    a, b = (low - o) / d, (high - o) / d
    return (a, b) if a <= b else (b, a)


@kernel(inner=True)
def triangle_hit(a: Vector, b: Vector, c: Vector, d: Vector) -> float:
    """How far a line along d goes from the origin to a triangle; infinite where it passes by.

    By the sides on which it passes the edges: two triangles with an edge in common give it opposite signs to the bit,
    so that no line slips through between them.
    """
    u, v, w = dot(d, cross(c, b)), dot(d, cross(a, c)), dot(d, cross(b, a))
    if min(u, v, w) < 0.0 < max(u, v, w):
        return math.inf
    normal = cross((b[0] - a[0], b[1] - a[1], b[2] - a[2]), (c[0] - a[0], c[1] - a[1], c[2] - a[2]))
    rate = dot(normal, d)
    return math.inf if rate == 0.0 else dot(normal, a) / rate


@kernel(inner=True)
def _from(o: Vector, data: FloatArray, at: int) -> Vector:
    return data[at] - o[0], data[at + 1] - o[1], data[at + 2] - o[2]


@kernel(inner=True)
def mesh_hit(o: Vector, d: Vector, mesh: Posed, limit: float) -> tuple[float, Vector]:
    """First triangle of a mesh, found in its tree of boxes, and its normal; on whichever side it is crossed."""
    size, data, loops = mesh.size, mesh.data, mesh.loops
    header, boxes, triangles = int(size[4]), int(size[3]), int(size[2])
    best, at, node = math.inf, -1, 0
    while node < loops[header]:
        entry, exit = 0.0, min(best, limit)
        for k in range(3):
            low, high = between(o[k], d[k], data[boxes + 6 * node + k], data[boxes + 6 * node + 3 + k])
            entry, exit = max(entry, low), min(exit, high)
        row = header + 4 + 3 * node
        # A flat box may be missed by rounding: what leaves it as good as where it enters counts.
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
        return math.inf, (0.0, 0.0, 0.0)
    return best, (data[at], data[at + 1], data[at + 2])


@kernel(inner=True)
def terrain_hit(o: Vector, d: Vector, size: FloatArray, data: FloatArray, limit: float) -> tuple[float, Vector]:
    """First triangle of a height field, cell by cell along the ray, and its upward normal; its sides are no surface."""
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    nowhere = math.inf, (0.0, 0.0, 0.0)
    slack = 1e-9 * (dx + dy)
    entry, exit = 0.0, limit
    for k in range(3):
        low, high = -slack, dx * (nx - 1) + slack
        if k == 1:
            high = dy * (ny - 1) + slack
        elif k == 2:
            low, high = size[5] - slack, size[6] + slack
        low, high = between(o[k], d[k], low, high)
        entry, exit = max(entry, low), min(exit, high)
    if entry > exit:
        return nowhere
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
            side = corner[0] - a[0], corner[1] - a[1], corner[2] - a[2]
            normal = cross((b[0] - a[0], b[1] - a[1], b[2] - a[2]), side)
            scale = math.copysign(1.0 / math.sqrt(dot(normal, normal)), normal[2])
            return best, (normal[0] * scale, normal[1] * scale, normal[2] * scale)
        # The line of the grid that the ray meets next.
        next_x = math.inf if d[0] == 0.0 else (x1 if step_x > 0 else x0) / d[0]
        next_y = math.inf if d[1] == 0.0 else (y1 if step_y > 0 else y0) / d[1]
        if min(next_x, next_y) > exit:
            break
        if next_x <= next_y:
            i += step_x
        else:
            j += step_y
    return nowhere
