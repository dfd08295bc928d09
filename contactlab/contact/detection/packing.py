"""Shapes as the tables the kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.kernels import layout
from contactlab.contact.shapes import Placed, Shape
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.transform import Transform


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

    kind: IntArray
    size: FloatArray
    place: FloatArray
    data: FloatArray
    loops: IntArray

    def posed(self, i: int, pose: FloatArray) -> layout.Posed:
        """Return shape i at a pose in the world, a row of twelve."""
        return layout.Posed(self.kind[i], self.size[i], pose, self.data, self.loops)


def workspace() -> layout.Workspace:
    """Return new workspaces."""
    return layout.Workspace(np.zeros(layout.WORK), np.zeros(layout.INT_WORK, dtype=np.int64))


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
    start = 0
    for i, given in enumerate(shapes):
        shape, pose = (given.shape, given.pose) if isinstance(given, Placed) else (given, Transform())
        if not isinstance(shape, Shape):
            raise ContactError("shapes", f"entry [{i}] is a {type(shape).__name__}, not a shape")
        packed = shape.packed(faces=faces)
        place[i] = pose_row(pose)
        if packed.center is not None:
            place[i, 9:] += pose.R @ packed.center
        kind[i], size[i, : len(packed.sizes)] = packed.kind, packed.sizes
        size[i, list(packed.in_data)] += start
        size[i, list(packed.in_loops)] += len(loops)
        data.append(packed.data)
        loops.extend(packed.loops)
        start += packed.data.size
    return PackedShapes(kind, size, place, np.concatenate([*data, np.zeros(1)]), np.array([*loops, 0], dtype=np.int64))
