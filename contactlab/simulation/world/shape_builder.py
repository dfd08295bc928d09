"""Part of the world builder for colliders and visuals of bodies.

Visuals are shapes and meshes with colours. They do not collide; mesh files are read when they are drawn.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import BodyShape, ContactError, HalfSpace, HeightField, Material, PlacedShape, Shape
from contactlab.collision.mesh_files import load_colored_mesh
from contactlab.multibody.model import WORLD
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.multibody.urdf.geometry import Packages, Rgba
from contactlab.multibody.urdf.reading import Element
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.joint_builder import JointBuilder
from contactlab.simulation.world.motion import PrescribedMotion, check_in_plane
from contactlab.simulation.world.surface import ALL, Collider, as_colliders, check_filter


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh for pictures: a file that is read when it is drawn, or triangles.

    Attributes
    ----------
    name
        Name of the file in the description; for triangles, the name in messages.
    path
        The file (STL, OBJ or COLLADA), None if none was found in the folders given.
    scale
        Factors along x, y, z.
    triangles
        Vertices (n, 3) [m] and triangles (m, 3) in place of a file.
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
        """Return the scaled vertices (n, 3) [m], the triangles (m, 3) and their colours (m, 3), NaN without colours.

        The mesh is read from its file, unless it was given as arrays.

        Raises
        ------
        ContactError
            The file is missing, or is not a readable mesh.
        """
        if self.triangles is not None:
            vertices, triangles = self.triangles
            return vertices * self.scale, triangles, np.full((len(triangles), 3), np.nan)
        if self.path is None:
            raise ContactError("path", f"{self.name}: is in none of the folders given")
        return load_colored_mesh(self.path, scale=self.scale)


@dataclass(frozen=True, eq=False)
class Visual:
    """A visible part of a body.

    Attributes
    ----------
    shape
        One of `contactlab.collision.shapes`, or a mesh.
    placement
        From the shape's axes to the body's.
    rgba
        Red, green, blue and opacity, each from 0 to 1; None for the colour in the file, or a default colour.
    """

    shape: Shape | VisualMesh
    placement: Transform
    rgba: Rgba | None


def as_visual(shape: object, placement: Transform | None, rgba: ArrayLike | None) -> Visual:
    """Check the arguments of `WorldBuilder.add_visual`."""
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
    """Return visuals with the paths of their mesh files, searched in the folders ``roots`` in order.

    The rules of robot descriptions apply to names. A mesh that is not found stays unchanged.
    """
    element, folders = Element("mesh", {}, 0, "record", "visual"), list(roots)

    def found(mesh: VisualMesh) -> VisualMesh:
        for root in folders:
            with contextlib.suppress(ValueError):  # the name is invalid, or leads out of the folder
                path = Packages({}, (root,), root).find(element, mesh.name)
                if path is not None:
                    return replace(mesh, path=path)
        return mesh

    return tuple(replace(one, shape=found(one.shape)) if isinstance(one.shape, VisualMesh) else one for one in visuals)


#: Shape of a collider: one of the library, or a user's shape with support points, which touches only half-spaces.
AnyShape = Shape | BodyShape | PlacedShape

# One 64-bit id has the numbers of a contact's parts: 21 bits each for half-space and support point, 20 for the body.
LIMIT = 1 << 21


class ShapeBuilder(JointBuilder):
    """Collects half-spaces, and the shapes and visuals of bodies; `WorldBuilder` is one."""

    def __init__(self, plane: FloatArray | None) -> None:
        super().__init__()
        self._plane = plane
        self._surfaces: dict[str, tuple[Collider, ...]] = {}
        self._visuals: dict[str, tuple[Visual, ...]] = {}
        self._motions: dict[str, PrescribedMotion] = {}
        self._ignored: dict[tuple[str, str], None] = {}
        self._half_spaces: dict[str, tuple[HalfSpace, Material, int, int]] = {}

    def add_half_space(
        self, name: str, half_space: HalfSpace, material: Material, *, category: int = 1, mask: int = ALL
    ) -> None:
        """Add a fixed half-space with a new name; see `add_shape` for the filters."""
        check_name(name, self._half_spaces)
        check_type("half_space", half_space, HalfSpace)
        check_type("material", material, Material)
        if self._plane is not None:
            check_in_plane("half_space", half_space.normal, self._plane)
        if len(self._half_spaces) >= LIMIT:
            raise SimulationConfigError("half_space", f"at most {LIMIT} fit a contact id")
        self._half_spaces[name] = (half_space, material, *check_filter(category, mask))

    def add_shape(
        self,
        body: str,
        shape: AnyShape | Sequence[AnyShape],
        material: Material,
        *,
        placement: Transform | None = None,
        category: int = 1,
        mask: int = ALL,
        shown: bool = True,
    ) -> None:
        """Add one shape, or several, to a body at ``placement`` from the shape's axes to the body's.

        Two shapes can touch if the category of either has a bit in common with the other's mask, 32 bits each. So
        shapes of category 2 with the mask ``~2 & 0xFFFFFFFF`` touch all but one another. Half-spaces have filters too.
        Pictures omit shapes that are not ``shown``; `add_visual` adds visuals in their place.
        """
        self._need_body(body, "body")
        added = as_colliders(shape, material, placement, LIMIT, category, mask)
        if body in self._motions:
            check_moves(added)
        if not shown:
            added = tuple(dataclasses.replace(surface, visible=False) for surface in added)
        self._surfaces[body] = (*self._surfaces.get(body, ()), *added)

    def move_body(self, body: str, motion: PrescribedMotion) -> None:
        """Make a body that is fixed in the world kinematic, with a prescribed motion.

        It may be a mocap body of a MuJoCo file, or a body that a description fixes to the world.

        Parameters
        ----------
        body
            Its name; it must have no children.
        motion
            As for `add_kinematic_body`; it contains the pose of the body from the start.
        """
        self._need_body(body, "body")
        spec, q, v = self._bodies[body]
        hanging = next((other.name for other, *_ in self._bodies.values() if other.parent == body), None)
        if spec.parent != WORLD or spec.joint.nv:
            raise SimulationConfigError("body", f"{body!r} does not stand fixed in the world: its joint moves it")
        if hanging is not None:
            raise SimulationConfigError("body", f"{hanging!r} hangs on {body!r}, and would not move with it")
        start = start_of(motion)
        check_moves(self._surfaces.get(body, ()))
        self._bodies[body] = (dataclasses.replace(spec, placement=start), q, v)
        self._motions[body] = motion

    def add_visual(
        self,
        body: str,
        shape: Shape | VisualMesh,
        *,
        placement: Transform | None = None,
        rgba: ArrayLike | None = None,
    ) -> None:
        """Add a visual to a body, without contact.

        Parameters
        ----------
        body, placement
            Body, and pose in it.
        shape
            One of `contactlab.collision`, or a mesh, whose file is read when it is drawn.
        rgba
            Red, green, blue and opacity, each from 0 to 1, for parts without a colour.
        """
        self._need_body(body, "body")
        self._visuals[body] = (*self._visuals.get(body, ()), as_visual(shape, placement, rgba))

    def exclude_collision(self, a: str, b: str) -> None:
        """Exclude contacts between two bodies."""
        for body in (a, b):
            self._need_body(body, "body")
        self._ignored[(a, b)] = None


def check_name(name: object, taken: Iterable[str]) -> None:
    """Raise if a name is empty, not a string, or already used."""
    if not isinstance(name, str) or not name:
        raise SimulationConfigError("name", f"must be a non-empty string, got {name!r}")
    if name in taken:
        raise SimulationConfigError("name", f"{name!r} is used already")


def start_of(motion: object) -> Transform:
    """Return the first pose of a motion; raise if the value is not a motion."""
    if not isinstance(motion, PrescribedMotion):
        raise SimulationConfigError("motion", f"must offer pose(t) and twist(t), got {type(motion).__name__}")
    finite_array(motion.twist(0.0), "motion.twist", (6,), SimulationConfigError)
    return motion.pose(0.0)


def check_moves(surfaces: Iterable[Collider]) -> None:
    """Raise if a kinematic body cannot have these shapes."""
    if any(isinstance(surface.shape, HeightField) for surface in surfaces):
        raise SimulationConfigError("shape", "a HeightField must stand still")
