"""Triangle mesh and sphere, capsule, box, cylinder or convex hull."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.kernels.bounds import shape_bounds
from contactlab.contact.detection.kernels.closest import TOUCHING, closest
from contactlab.contact.detection.kernels.layout import (
    BITS,
    CONVEX,
    MAX_TRIANGLES,
    MESH,
    MESH_BOX,
    MESH_POSE,
    MESH_SIZE,
    NONE,
    SIZE,
    TRIANGLE,
    TRIANGLE_BITS,
)
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.outline import keep_outline
from contactlab.contact.detection.kernels.support import core_radius, reach
from contactlab.contact.detection.kernels.terrain import closest_on_triangle
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

__all__ = ["mesh_any"]

# Two directions this close are one, and heights this close, relative to the lengths they belong to.
ALIKE = 1e-6
# Part of the size to which distances are known.
EXACT = 1e-12
# Angle [rad] below which the way to a body of some width is taken along the triangle's normal.
NEARLY = 1e-2
# Cosine of the angle, between the shortest way and a triangle's normal, beyond which nothing is looked for over it.
STEEP = 0.5


@kernel
def _relative(pose_a: FloatArray, pose_b: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with the pose of B in the axes of A."""
    dx, dy, dz = pose_b[9] - pose_a[9], pose_b[10] - pose_a[10], pose_b[11] - pose_a[11]
    for i in range(3):
        x, y, z = pose_a[i], pose_a[3 + i], pose_a[6 + i]
        for j in range(3):
            out[3 * i + j] = x * pose_b[j] + y * pose_b[3 + j] + z * pose_b[6 + j]
        out[9 + i] = x * dx + y * dy + z * dz


@kernel
def _is_outermost(
    triangle: int, size: FloatArray, data: FloatArray, loops: NDArray[np.int64], x: float, y: float, z: float
) -> bool:
    """Whether the corners of a triangle farthest along a direction, in the mesh's axes, are the mesh's own farthest.

    Farthest among their neighbours: what is seen along this direction is then a ridge or a peak of the mesh. Inside a
    flat or hollow part some neighbour is farther, and the triangle there is the one that is touched.
    """
    header, corners = int(size[4]), int(size[5])
    numbers, starts, neighbours = loops[header + 1], loops[header + 2], loops[header + 3]
    farthest, extent = -np.inf, 0.0
    for i in range(3):
        at = corners + 3 * loops[numbers + 3 * triangle + i]
        along = x * data[at] + y * data[at + 1] + z * data[at + 2]
        farthest = max(farthest, along)
        before = corners + 3 * loops[numbers + 3 * triangle + (i + 2) % 3]
        for m in range(3):
            extent = max(extent, abs(data[at + m] - data[before + m]))
    for i in range(3):
        corner = loops[numbers + 3 * triangle + i]
        at = corners + 3 * corner
        if x * data[at] + y * data[at + 1] + z * data[at + 2] < farthest - ALIKE * extent:
            continue
        for k in range(loops[starts + corner], loops[starts + corner + 1]):
            to = corners + 3 * loops[neighbours + k]
            dx, dy, dz = data[to] - data[at], data[to + 1] - data[at + 1], data[to + 2] - data[at + 2]
            length = (dx * dx + dy * dy + dz * dz) ** 0.5
            if x * dx + y * dy + z * dz > ALIKE * length:
                return False
    return True


@kernel
def _is_nearer(
    size: FloatArray,
    pose: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    bx: float,
    by: float,
    bz: float,
    gap: float,
    slack: float,
) -> bool:
    """Whether some triangle is nearer to a point b (world axes) than ``gap``, by more than ``slack``."""
    dx, dy, dz = bx - pose[9], by - pose[10], bz - pose[11]
    x = pose[0] * dx + pose[3] * dy + pose[6] * dz
    y = pose[1] * dx + pose[4] * dy + pose[7] * dz
    z = pose[2] * dx + pose[5] * dy + pose[8] * dz
    reach2 = max(0.0, gap - slack) ** 2
    header, boxes, triangles = int(size[4]), int(size[3]), int(size[2])
    nodes, node = loops[header], 0
    while node < nodes:
        at = boxes + 6 * node
        entry = header + 4 + 3 * node
        near = data[at] <= x + gap and data[at + 1] <= y + gap and data[at + 2] <= z + gap
        if not (near and data[at + 3] >= x - gap and data[at + 4] >= y - gap and data[at + 5] >= z - gap):
            node = loops[entry]
            continue
        for i in range(loops[entry + 1], loops[entry + 1] + loops[entry + 2]):
            t = triangles + TRIANGLE * i
            px, py, pz = closest_on_triangle(
                data[t] - x, data[t + 1] - y, data[t + 2] - z,
                data[t + 3] - x, data[t + 4] - y, data[t + 5] - z,
                data[t + 6] - x, data[t + 7] - y, data[t + 8] - z,
            )  # fmt: skip
            if px * px + py * py + pz * pz < reach2:
                return True
        node += 1
    return False


@kernel
def _on_triangle(
    triangle: int,
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    margin: float,
    count: int,
    work: FloatArray,
    ints: NDArray[np.int64],
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Append the contacts of one triangle, taken as a flat convex hull; return how many there are then."""
    own = work[MESH_SIZE : MESH_SIZE + SIZE]
    start = int(size_a[2]) + TRIANGLE * triangle
    own[0], own[1], own[2], own[3], own[4] = 3.0, start, 2.0, start + 9.0, size_a[6]
    scale = reach(CONVEX, own, data) + reach(kind_b, size_b, data)
    gap, nx, ny, nz, ax, ay, az = closest(
        CONVEX, own, pose_a, kind_b, size_b, pose_b, data, margin, scale, work, ints
    )  # fmt: skip
    if not gap <= margin:
        return count
    # In the mesh's axes.
    x = pose_a[0] * nx + pose_a[3] * ny + pose_a[6] * nz
    y = pose_a[1] * nx + pose_a[4] * ny + pose_a[7] * nz
    z = pose_a[2] * nx + pose_a[5] * ny + pose_a[8] * nz
    fx, fy, fz = data[start + 9], data[start + 10], data[start + 11]
    cosine = x * fx + y * fy + z * fz
    if cosine < -ALIKE:
        return count  # behind it, inside the solid
    off = (x - fx) * (x - fx) + (y - fy) * (y - fy) + (z - fz) * (z - fz)
    scale += core_radius(kind_b, size_b)
    first = min(count, out.shape[0])
    rows, codes = out[first:], feature[first:]
    point, normal = (ax, ay, az), (nx, ny, nz)
    face = (
        pose_a[0] * fx + pose_a[1] * fy + pose_a[2] * fz,
        pose_a[3] * fx + pose_a[4] * fy + pose_a[5] * fz,
        pose_a[6] * fx + pose_a[7] * fy + pose_a[8] * fz,
    )
    found, decided = 0, False
    if off <= ALIKE * ALIKE:
        normal, decided = face, True
    elif off <= NEARLY * NEARLY:
        # As good as along the triangle's normal: what of B hangs over it. Nothing does beside it, or under a ball.
        found = manifold(
            CONVEX, own, pose_a, kind_b, size_b, pose_b, data, loops,
            face, point, np.inf, scale, margin, work, ints, rows, codes,
        )  # fmt: skip
    if found == 0 and not decided and not _is_outermost(triangle, size_a, data, loops, x, y, z):
        # From the core of B on, which is a point or segment in a round shape: its distances tell small angles apart.
        core = gap + core_radius(kind_b, size_b)
        bx, by, bz = ax + core * nx, ay + core * ny, az + core * nz
        if not core > TOUCHING * scale or _is_nearer(size_a, pose_a, data, loops, bx, by, bz, core, EXACT * scale):
            # A neighbour is closer there. What hangs over this triangle may be close enough all the same.
            if cosine < STEEP:
                return count
            normal, gap = face, np.inf
    if found == 0:
        found = manifold(
            CONVEX, own, pose_a, kind_b, size_b, pose_b, data, loops,
            normal, point, gap, scale, margin, work, ints, rows, codes,
        )  # fmt: skip
    for i in range(first, min(count + found, feature.shape[0])):
        # Three corners and "none" fit two bits.
        corner = min(feature[i] >> BITS, 3)
        feature[i] = (triangle << TRIANGLE_BITS) | (corner << BITS) | (feature[i] & NONE)
    return count + found


@kernel
def _forget_triangles(count: int, feature: NDArray[np.int64]) -> None:
    """Name what touches with a corner of B, or of B alone, without the triangle, where that stays a name of its own.

    It then keeps the name while it slides from one triangle to the next.
    """
    of_b = (1 << TRIANGLE_BITS) - 1
    for i in range(count):
        own = feature[i] & of_b
        if own >> BITS != 3:
            continue
        alone = True
        for j in range(count):
            if j != i and feature[j] & of_b == own:
                alone = False
        if alone:
            feature[i] = ((MAX_TRIANGLES - 1) << TRIANGLE_BITS) | own


@kernel
def mesh_any(
    size_a: FloatArray,
    pose_a: FloatArray,
    kind_b: int,
    size_b: FloatArray,
    pose_b: FloatArray,
    data: FloatArray,
    loops: NDArray[np.int64],
    margin: float,
    work: FloatArray,
    ints: NDArray[np.int64],
    out: FloatArray,
    feature: NDArray[np.int64],
) -> int:
    """Contacts of a mesh (A) and a convex shape (B), triangle by triangle; of two meshes none.

    The triangles near B are found in a tree of boxes (S. Gottschalk, M. C. Lin, D. Manocha, OBBTree, SIGGRAPH 1996,
    with boxes along the mesh's axes). Each is a flat convex shape, touched on its outer side only. Edges and corners
    count where they stand out from the mesh: a body that slides over a flat part does not catch on its inner edges.
    Of contacts that lie in one plane with one normal and gaps that change linearly, the corners of their outline stay:
    the others carry nothing that those could not, however fine the mesh is.
    """
    if kind_b == MESH:
        return 0
    relative, box = work[MESH_POSE : MESH_POSE + 12], work[MESH_BOX : MESH_BOX + 6]
    _relative(pose_a, pose_b, relative)
    shape_bounds(kind_b, size_b, relative, data, box)
    header, boxes = int(size_a[4]), int(size_a[3])
    nodes, count, node = loops[header], 0, 0
    while node < nodes:
        at = boxes + 6 * node
        near = True
        for m in range(3):
            if data[at + m] > box[3 + m] + margin or data[at + 3 + m] < box[m] - margin:
                near = False
        entry = header + 4 + 3 * node
        if not near:
            node = loops[entry]
            continue
        for i in range(loops[entry + 1], loops[entry + 1] + loops[entry + 2]):
            count = _on_triangle(
                i, size_a, pose_a, kind_b, size_b, pose_b, data, loops, margin, count, work, ints, out, feature
            )
        node += 1
    if count > out.shape[0]:
        return count
    count = keep_outline(count, core_radius(kind_b, size_b) + reach(kind_b, size_b, data), ints, out, feature)
    _forget_triangles(count, feature)
    return count
