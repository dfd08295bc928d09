"""Visuals of bodies: shapes and meshes with colours, which do not collide and are read when they are drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import ContactError, Shape
from contactlab.contact.mesh_files import load_colored_mesh
from contactlab.multibody.urdf.geometry import Packages, Rgba
from contactlab.multibody.urdf.reading import Element
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.world.errors import SimulationConfigError, check_type


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh to be looked at: a file that is read when it is drawn, or triangles.

    Attributes
    ----------
    name
        Of the file, as a description has it; of triangles, what messages call them.
    path
        The file (STL, OBJ or COLLADA), None if none was found in the folders given.
    scale
        Factors along x, y, z.
    triangles
        Vertices (n, 3) [m] and triangles (m, 3) in the place of a file.
    """

    name: str
    path: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    triangles: tuple[FloatArray, IntArray] | None = None

    def __post_init__(self) -> None:
        if self.triangles is None:
            return
        vertices = finite_array(self.triangles[0], "vertices", (None, 3), SimulationConfigError)
        triangles = np.array(self.triangles[1])
        if triangles.dtype.kind not in "iu" or triangles.ndim != 2 or triangles.shape[1] != 3:
            raise SimulationConfigError("triangles", f"must be whole numbers (m, 3), got {triangles.shape}")
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
            raise SimulationConfigError("triangles", f"must lie within the {len(vertices)} vertices")
        object.__setattr__(self, "triangles", (vertices, triangles.astype(np.int64)))

    def load(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return vertices (n, 3), triangles (m, 3) and their colours (m, 3), not a number if there is none.

        Raises
        ------
        ContactError
            The file is not there, or is no mesh that can be read.
        """
        if self.triangles is not None:
            vertices, triangles = self.triangles
            return vertices * self.scale, triangles, np.full((len(triangles), 3), np.nan)
        if self.path is None:
            raise ContactError("path", f"{self.name}: is in none of the folders given")
        return load_colored_mesh(self.path, scale=self.scale)


@dataclass(frozen=True, eq=False)
class Visual:
    """Something to be seen on a body.

    Attributes
    ----------
    shape
        One of `contactlab.contact.shapes`, or a mesh.
    placement
        From the shape's axes to the body's.
    rgba
        Red, green, blue and opacity, each from 0 to 1; None for the colour of the file, else one of the drawing's own.
    """

    shape: Shape | VisualMesh
    placement: Transform
    rgba: Rgba | None


def as_visual(shape: object, placement: Transform | None, rgba: ArrayLike | None) -> Visual:
    """Check what `WorldBuilder.add_visual` was given."""
    check_type("placement", Transform() if placement is None else placement, Transform)
    if not isinstance(shape, Shape | VisualMesh):
        raise SimulationConfigError("shape", f"must be a shape or a VisualMesh, got {type(shape).__name__}")
    color: Rgba | None = None
    if rgba is not None:
        r, g, b, opacity = (float(x) for x in finite_array(rgba, "rgba", (4,), SimulationConfigError))
        if not 0.0 <= min(r, g, b, opacity) <= max(r, g, b, opacity) <= 1.0:
            raise SimulationConfigError("rgba", f"each entry must lie between 0 and 1, got {[r, g, b, opacity]}")
        color = (r, g, b, opacity)
    return Visual(shape, Transform() if placement is None else placement, color)


def resolve_mesh_files(visuals: Iterable[Visual], roots: Iterable[Path]) -> tuple[Visual, ...]:
    """Return visuals with the paths of their mesh files searched in folders, by the rules for robot descriptions."""
    element, folders = Element("mesh", {}, 0, "record", "visual"), list(roots)

    def found(mesh: VisualMesh) -> VisualMesh:
        for root in folders:
            with contextlib.suppress(ValueError):  # the name leads out of it, or is none
                path = Packages({}, (root,), root).find(element, mesh.name)
                if path is not None:
                    return replace(mesh, path=path)
        return mesh

    return tuple(replace(one, shape=found(one.shape)) if isinstance(one.shape, VisualMesh) else one for one in visuals)
