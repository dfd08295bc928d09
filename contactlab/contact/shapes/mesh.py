"""Triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

__all__ = ["Mesh"]


@dataclass(frozen=True, eq=False, init=False)
class Mesh:
    """Triangles given by arrays: a surface without an inside. Its pairs need the extra ``collision``.

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

    vertices: FloatArray
    triangles: NDArray[np.int64]

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
        whole.flags.writeable = False
        object.__setattr__(self, "vertices", read_only(points))
        object.__setattr__(self, "triangles", whole)
