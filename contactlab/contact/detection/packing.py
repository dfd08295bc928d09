"""Shapes as the tables the kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.detection.hull import hull_faces
from contactlab.contact.detection.kernels import layout
from contactlab.contact.errors import ContactError
from contactlab.contact.shapes import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    Placed,
    Shape,
    Sphere,
)
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.transform import Transform

__all__ = ["PackedShapes", "Workspace", "pack_shapes", "pose_row", "workspace"]


class PackedShapes(NamedTuple):
    """Structure of arrays: `kernels.layout` says what the columns hold. Not to be modified.

    Attributes
    ----------
    kind
        (n,) kinds.
    size
        (n, SIZE) sizes.
    place
        (n, POSE) pose of every shape in its body.
    data, loops
        Points and normals of hulls and heights of terrain; corners of the hulls' faces.
    """

    kind: NDArray[np.int64]
    size: FloatArray
    place: FloatArray
    data: FloatArray
    loops: NDArray[np.int64]


class Workspace(NamedTuple):
    """Workspaces of `collide_pair`, one per thread."""

    work: FloatArray
    ints: NDArray[np.int64]


def workspace() -> Workspace:
    """Return new workspaces."""
    return Workspace(np.zeros(layout.WORK), np.zeros(layout.INT_WORK, dtype=np.int64))


def pose_row(pose: Transform) -> FloatArray:
    """The twelve numbers of a pose: its rotation by rows, its origin."""
    return np.concatenate([pose.R.ravel(), pose.p])


def pack_shapes(shapes: Sequence[Shape | Placed], *, faces: bool = True) -> PackedShapes:
    """Pack shapes in the order given.

    Parameters
    ----------
    shapes
        Any shapes, bare or `Placed`.
    faces
        Find the faces of convex hulls, which all their pairs but those with half-spaces and terrain need.

    Raises
    ------
    ContactError
        Something that is no shape, or a hull or mesh too large for the kernels.
    """
    n = len(shapes)
    kind, size = np.zeros(n, dtype=np.int64), np.zeros((n, layout.SIZE))
    place = np.zeros((n, layout.POSE))
    data: list[FloatArray] = []
    loops: list[int] = []
    for i, given in enumerate(shapes):
        placed = given if isinstance(given, Placed) else None
        shape = placed.shape if placed is not None else given
        if not isinstance(shape, Shape):
            raise ContactError("shapes", f"entry [{i}] is a {type(shape).__name__}, not a shape")
        pose = placed.pose if placed is not None else Transform()
        place[i] = pose_row(pose)
        if isinstance(shape, Sphere) and np.any(shape.center != 0.0):
            place[i, 9:] += pose.R @ shape.center
        kind[i], row = _row(shape, data, loops, faces)
        size[i, : len(row)] = row
    return PackedShapes(kind, size, place, np.concatenate([*data, np.zeros(1)]), np.array([*loops, 0], dtype=np.int64))


def _row(shape: object, data: list[FloatArray], loops: list[int], faces: bool) -> tuple[int, list[float]]:
    """Kind and sizes of one shape; what does not fit a row goes to ``data`` and ``loops``."""
    if isinstance(shape, Sphere):
        return layout.SPHERE, [shape.radius]
    if isinstance(shape, Capsule):
        return layout.CAPSULE, [shape.radius, shape.half_length]
    if isinstance(shape, Cylinder):
        return layout.CYLINDER, [shape.radius, shape.half_length]
    if isinstance(shape, Box):
        return layout.BOX, [float(half) for half in shape.half_extents]
    if isinstance(shape, HalfSpace):
        return layout.HALF_SPACE, [*(float(x) for x in shape.normal), shape.offset]
    start = sum(len(part) for part in data)
    if isinstance(shape, HeightField):
        heights = shape.heights
        data.append(heights.ravel())
        low, high = float(heights.min()), float(heights.max())
        return layout.HEIGHT_FIELD, [start, *heights.shape, *shape.spacing, low, high]
    if isinstance(shape, Mesh):
        tables = shape.tables
        if not tables.convex:
            data.extend([tables.hull.ravel(), tables.data])
            at, first = start + tables.hull.size, len(loops)
            triangles, boxes, vertices, header, triangle = tables.row
            held = tables.loops.copy()
            held[header + 1 : header + 4] += first
            loops.extend(int(i) for i in held)
            places = [at + triangles, at + boxes, first + header, at + vertices, first + triangle]
            return layout.MESH, [len(tables.hull), start, *places]
        points = tables.hull
    else:
        assert isinstance(shape, ConvexPoints)
        points = shape.points
    data.append(points.ravel())
    row: list[float] = [len(points), start, 0, start + points.size, len(loops)]
    if faces:
        normals, corners = hull_faces(points)
        data.append(normals.ravel())
        row[2] = len(corners)
        first = len(corners) + 1
        for loop in corners:
            loops.append(first)
            first += len(loop)
        loops.append(first)
        loops.extend(i for loop in corners for i in loop)
    return layout.CONVEX, row
