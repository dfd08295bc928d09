"""The face of a convex shape that looks most along a direction, as a polygon: what a manifold is clipped from."""

from __future__ import annotations

import math

import numpy as np

from contactlab.contact.detection.kernels.clipping import Polygon
from contactlab.contact.detection.kernels.vectors import placed, turned, turned_back
from contactlab.contact.kernels.layout import BOX, CAPSULE, CONVEX, CYLINDER, MAX_FACE, Posed, Vector
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# A cap of a cylinder is met as a regular polygon in its rim, fixed to the body.
RIM = 8
CAP_COSINE = math.sqrt(0.5)
RIM_X = np.array([math.cos(2.0 * math.pi * i / RIM) for i in range(RIM)])
RIM_Y = np.array([math.sin(2.0 * math.pi * i / RIM) for i in range(RIM)])


@kernel
def _box(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    axis = 0
    for i in range(1, 3):
        if abs(d[i]) > abs(d[axis]):
            axis = i
    s = 1.0 if d[axis] >= 0.0 else -1.0
    normal[axis] = s
    u, v = (axis + 1) % 3, (axis + 2) % 3
    for corner in range(4):
        # Counter-clockwise seen from outside, whichever side it is.
        a = s if corner in (1, 2) else -s
        b = 1.0 if corner >= 2 else -1.0
        at = 3 * corner
        polygon[at + axis] = s * size[axis]
        polygon[at + u] = a * size[u]
        polygon[at + v] = b * size[v]
        number = 0
        for i in range(3):
            number = 2 * number + int(polygon[at + i] > 0.0)
        ids[corner] = number
    return 4


@kernel
def _cylinder(size: FloatArray, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    radial = math.sqrt(d[0] * d[0] + d[1] * d[1])
    if abs(d[2]) >= CAP_COSINE or radial == 0.0:
        s = 1.0 if d[2] >= 0.0 else -1.0
        normal[2] = s
        for i in range(RIM):
            polygon[3 * i] = size[0] * RIM_X[i]
            polygon[3 * i + 1] = s * size[0] * RIM_Y[i]
            polygon[3 * i + 2] = s * size[1]
            ids[i] = i if s < 0.0 else RIM + i
        return RIM
    for end in range(2):
        polygon[3 * end] = size[0] * d[0] / radial
        polygon[3 * end + 1] = size[0] * d[1] / radial
        polygon[3 * end + 2] = size[1] if end == 1 else -size[1]
        ids[end] = 2 * RIM + end
    return 2


@kernel
def _convex(shape: Posed, d: FloatArray, polygon: FloatArray, ids: IntArray, normal: FloatArray) -> int:
    size, data, loops = shape.size, shape.data, shape.loops
    points, faces, normals, start = int(size[1]), int(size[2]), int(size[3]), int(size[4])
    best, farthest = 0, -math.inf
    for face in range(faces):
        at = normals + 3 * face
        along = data[at] * d[0] + data[at + 1] * d[1] + data[at + 2] * d[2]
        if along > farthest:
            best, farthest = face, along
    for i in range(3):
        normal[i] = data[normals + 3 * best + i]
    first = start + loops[start + best]
    n = min(loops[start + best + 1] - loops[start + best], MAX_FACE)
    for corner in range(n):
        number = loops[first + corner]
        ids[corner] = number
        for i in range(3):
            polygon[3 * corner + i] = data[points + 3 * number + i]
    return n


@kernel
def support_face(shape: Posed, direction: Vector, local: FloatArray, face: Polygon) -> tuple[int, Vector]:
    """Corners of the face that looks most along a unit vector, in world axes, and its outward unit normal.

    Returns the number of corners and the normal; one corner is a point, two a segment, both with the normal zero.
    Corners are counter-clockwise seen from outside; with their numbers in the shape. ``local`` (6,) is scratch.
    """
    kind, size, (dx, dy, dz), (polygon, ids) = shape.kind, shape.size, direction, face
    d, normal = local[0:3], local[3:6]
    d[0], d[1], d[2] = turned_back(shape.pose, direction)
    normal[0] = normal[1] = normal[2] = 0.0
    n, radius = 1, 0.0
    if kind == BOX:
        n = _box(size, d, polygon, ids, normal)
    elif kind == CYLINDER:
        n = _cylinder(size, d, polygon, ids, normal)
    elif kind == CONVEX:
        n = _convex(shape, d, polygon, ids, normal)
    else:
        radius = size[0]
        ids[0], ids[1] = 0, 1
        for i in range(6):
            polygon[i] = 0.0
        if kind == CAPSULE:
            n = 2
            polygon[2], polygon[5] = -size[1], size[1]
    for corner in range(n):
        at = 3 * corner
        x, y, z = placed(shape.pose, (polygon[at], polygon[at + 1], polygon[at + 2]))
        polygon[at], polygon[at + 1], polygon[at + 2] = x + radius * dx, y + radius * dy, z + radius * dz
    return n, turned(shape.pose, (normal[0], normal[1], normal[2]))
