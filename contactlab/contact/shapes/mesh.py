"""Triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.hull import packed_hull
from contactlab.contact.shapes.mesh_tables import MeshTables, mesh_tables
from contactlab.contact.shapes.shape import Packed, Points, Shape
from contactlab.contact.shapes.solid import Solid, flat
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, read_only

MOST_LINES = 400  # triangles of a mesh up to which their sides are drawn


@dataclass(frozen=True, eq=False, init=False)
class Mesh(Shape):
    """Solid bounded by triangles, or a piece of terrain: its inside is behind them.

    A closed mesh that is convex is taken as the hull it bounds. Of any other its triangles are touched from outside;
    a shape that has sunk through them touches nothing.

    Parameters
    ----------
    vertices
        (n, 3) [m] in the shape's axes.
    triangles
        (m, 3) numbers of vertices, counter-clockwise seen from outside; at least one triangle.

    Raises
    ------
    ContactError
        Arrays of another shape, an entry that is not finite, a number that names no vertex.
    """

    vertices: Points
    triangles: IntArray

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        points = finite_array(vertices, "vertices", (None, 3), ContactError)
        numbers = finite_array(triangles, "triangles", (None, 3), ContactError)
        if numbers.shape[0] == 0:
            raise ContactError("triangles", "must hold at least one triangle, got none")
        bad = np.argwhere((numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= points.shape[0]))
        if len(bad):
            i, j = bad[0]
            raise ContactError("triangles", f"entry [{i}, {j}] is {numbers[i, j]:g}, the vertices are {len(points)}")
        whole = numbers.astype(np.int64)
        same = np.flatnonzero((whole == np.roll(whole, 1, axis=1)).any(axis=1))
        if same.size:
            raise ContactError("triangles", f"row {same[0]}, {whole[same[0]].tolist()}, has a corner twice: no area")
        whole.flags.writeable = False
        object.__setattr__(self, "vertices", read_only(points))
        object.__setattr__(self, "triangles", whole)

    @cached_property
    def tables(self) -> MeshTables:
        """What the kernels of collision detection take; made on first use."""
        return mesh_tables(self.vertices, self.triangles)

    @property
    def convex(self) -> bool:
        """Whether the triangles bound a convex solid, of no more corners than the kernels of hulls take."""
        return self.tables.packed is None

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """The corners (n, 3) of the convex hull and zero radii (n,), as new arrays."""
        return self.tables.hull.copy(), np.zeros(len(self.tables.hull))

    def packed(self, *, faces: bool = True) -> Packed:
        """The hull of a convex mesh, the triangles of any other."""
        tables = self.tables
        return packed_hull(tables.hull, faces=faces) if tables.packed is None else tables.packed

    def solid(self) -> Solid:
        """The triangles, with their sides where they are few."""
        lines = np.zeros((0, 2, 3))
        if len(self.triangles) <= MOST_LINES:
            sides = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
            lines = self.vertices[np.unique(np.sort(sides, axis=1), axis=0)]
        return flat(self.vertices, self.triangles, lines)
