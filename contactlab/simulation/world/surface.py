"""Colliders of bodies, with materials and filters, and visuals; sizes of colliders; hits of rays.

Visuals are shapes and meshes with colours. They do not collide; mesh files are read when they are drawn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import BodyShape, ContactError, HalfSpace, HeightField, Material, PlacedShape, Shape, Sphere
from contactlab.collision.mesh_files import load_colored_mesh
from contactlab.collision.shapes import AxialShape
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.multibody.urdf.geometry import Packages, Rgba
from contactlab.multibody.urdf.reading import Element
from contactlab.simulation.world.errors import SimulationConfigError, check_type, whole_number

#: All bits of a filter.
ALL = (1 << 32) - 1

#: Shape of a collider: one of the library, or a user's shape with support points, which touches only half-spaces.
AnyShape = Shape | BodyShape | PlacedShape

# One 64-bit id has the numbers of a contact's parts: 21 bits each for half-space and support point, 20 for the body.
LIMIT = 1 << 21


@dataclass(frozen=True, eq=False)
class Collider:
    """One shape of a body.

    Attributes
    ----------
    shape
        One of `contactlab.collision.shapes`; or a user's shape, which touches only half-spaces.
    material
        Material of the surface.
    placement
        From the shape's axes to the body's.
    category, mask
        32 bits each: two shapes can touch if the category of either has a bit in common with the other's mask.
    visible
        Whether pictures show it; False if visuals replace it.
    """

    shape: Shape | BodyShape
    material: Material
    placement: Transform
    category: int = 1
    mask: int = ALL
    visible: bool = True

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, 3) in body axes and radii (n,) that touch half-spaces; empty if it has no points."""
        if not isinstance(self.shape, BodyShape):
            return np.zeros((0, 3)), np.zeros(0)
        points, radii = self.shape.support_points()
        place = self.placement
        if place.p.any() or not np.array_equal(place.R, np.eye(3)):
            points = place.apply(points)
        return points, radii


def is_ground(shape: object) -> bool:
    """Return True if a shape is infinite, so that it cannot move."""
    return isinstance(shape, HalfSpace | HeightField)


def check_filter(category: object, mask: object) -> tuple[int, int]:
    """Return category and mask as ints in [0, 2^32 - 1]; raise `SimulationConfigError` for other values."""
    return whole_number("category", category, 0, ALL), whole_number("mask", mask, 0, ALL)


def as_colliders(
    shape: object,
    material: Material,
    placement: Transform | None,
    most_points: int,
    category: int = 1,
    mask: int = ALL,
) -> tuple[Collider, ...]:
    """Check a shape, bare or `PlacedShape`, or a sequence of them; raise `SimulationConfigError` with the reason."""
    check_type("material", material, Material)
    if placement is not None:
        check_type("placement", placement, Transform)
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        if not shape:
            raise SimulationConfigError("shape", "is an empty sequence")
        parts = (as_colliders(part, material, placement, most_points, category, mask) for part in shape)
        return tuple(one for part in parts for one in part)
    place = Transform() if placement is None else placement
    if isinstance(shape, PlacedShape):
        place = shape.pose if placement is None else place @ shape.pose
        shape = shape.shape
    if isinstance(shape, Shape):
        from contactlab.collision.detection import pack_shapes

        try:
            pack_shapes([shape], faces=False)
        except ContactError as error:
            raise SimulationConfigError("shape", error.detail) from error
    elif isinstance(shape, BodyShape):
        _check_points(shape, most_points)
    else:
        raise SimulationConfigError("shape", f"must be a shape or offer support_points(), got {type(shape).__name__}")
    return (Collider(shape, material, place, *check_filter(category, mask)),)


def _check_points(shape: BodyShape, most_points: int) -> None:
    """Raise if support points are not finite numbers of the right shape."""
    points, radii = shape.support_points()
    radii = finite_array(radii, "shape.radii", (None,), SimulationConfigError)
    finite_array(points, "shape.points", (radii.size, 3), SimulationConfigError)
    if radii.size == 0:
        raise SimulationConfigError("shape", "has no support point")
    if np.any(radii < 0.0):
        raise SimulationConfigError("shape.radii", f"entry [{int(np.argmin(radii))}] is negative: {radii.min()}")
    if radii.size > most_points:
        raise SimulationConfigError("shape", f"at most {most_points} points per body fit a contact id")


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


# A shape counts as round about an axis if it deviates from a circle by at most this fraction of its radius: prisms of
# ten sides count, prisms of eight do not.
ROUND = 0.05
# Directions across an axis in which the support is sampled, and their angles to the plane across [rad].
AROUND = np.linspace(0.0, 2.0 * np.pi, 29, endpoint=False) + 0.1
ASLANT = np.array([0.0, 0.5, -0.5, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Extents:
    """Sizes of n shapes; infinite for an infinite shape."""

    # Thickness and length of each (n,) [m], along its own axes.
    min_width: FloatArray
    max_length: FloatArray
    # Middle of each (n, 3) in body axes, and radius of the bounding ball about it (n,) [m].
    center: FloatArray
    reach: FloatArray
    # Half sides (n, 3) of the bounding box about the middle, and its axes (n, 3, 3) as columns in body axes.
    half: FloatArray
    axes: FloatArray
    # Points (k, 3) in body axes and radii (k,) whose hull is the shape; only vertices for shapes that are not convex.
    outlines: tuple[tuple[FloatArray, FloatArray], ...]
    _surfaces: Sequence[Collider]

    @cached_property
    def rotation_to_motion(self) -> FloatArray:
        """Matrices (n, 3, 3): map a rotation in body axes to the surface's motion; zero about axes of symmetry."""
        return np.array([_sweeping(surface) for surface in self._surfaces]).reshape(-1, 3, 3)


def extents_of(surfaces: Sequence[Collider]) -> Extents:
    """Measure the shapes of bodies."""
    n = len(surfaces)
    thick, long, reach = np.full((3, n), np.inf)
    center, half, outlines = np.zeros((n, 3)), np.full((n, 3), np.inf), []
    for i, surface in enumerate(surfaces):
        points, radii = _outline(surface)
        place = surface.placement
        if len(points):
            low, high = np.min(points - radii[:, None], axis=0), np.max(points + radii[:, None], axis=0)
            middle, ends = 0.5 * (low + high), high - low
            if not is_ground(surface.shape):
                # A flat shape, such as a plate without thickness, has the width along its next axis.
                thick[i], long[i] = min((end for end in ends if end > 0.0), default=np.inf), max(ends)
            reach[i] = np.max(np.linalg.norm(points - middle, axis=1) + radii)
            center[i], half[i] = place.apply(middle), 0.5 * ends
        outlines.append((place.apply(points), radii))
    axes = np.array([surface.placement.R for surface in surfaces]).reshape(-1, 3, 3)
    return Extents(thick, long, center, reach, half, axes, tuple(outlines), surfaces)


def _outline(surface: Collider) -> tuple[FloatArray, FloatArray]:
    """Return points (k, 3) in the shape's axes and radii (k,); none of a half-space."""
    shape = surface.shape
    if isinstance(shape, BodyShape):
        return shape.support_points()
    if isinstance(shape, HalfSpace):
        points = np.zeros((0, 3))
    elif isinstance(shape, HeightField):
        ends = ((n - 1) * d for n, d in zip(shape.heights.shape, shape.spacing, strict=True))
        points = np.array(list(product(*((0.0, end) for end in ends), (shape.heights.min(), shape.heights.max()))))
    else:
        points = shape.surface_mesh().vertices
    return points, np.zeros(len(points))


def _sweeping(surface: Collider) -> FloatArray:
    """Return the matrix from a rotation of the body to the motion of the surface; zero about axes of symmetry."""
    shape, none = surface.shape, np.zeros((3, 3))
    if isinstance(shape, Sphere):
        return none
    if isinstance(shape, AxialShape):
        axes = [np.array([0.0, 0.0, 1.0])]
    else:
        points, radii = _outline(surface)
        if len(points) == 0:
            return np.eye(3)
        axes = _axes(points - 0.5 * (np.min(points, axis=0) + np.max(points, axis=0)), radii)
    if len(axes) > 1:
        return none
    if not axes:
        return np.eye(3)
    axis = surface.placement.R @ axes[0]
    return np.asarray(np.eye(3) - np.outer(axis, axis))


def _axes(points: FloatArray, radii: FloatArray) -> list[FloatArray]:
    """Return unit axes (3,) about which a hull of balls is a body of revolution, at most two different ones.

    Two axes mean that it is a ball. The coordinate axes and the principal axes of its widths are tested, by its support
    function in rings of directions. ``points`` (n, 3) are the balls' centres, ``radii`` (n,).
    """

    def support(directions: FloatArray) -> FloatArray:
        return np.asarray(np.max(points @ directions.T + radii[:, None], axis=0))

    # Candidates are the principal axes of its widths in all directions, which contain any axis of symmetry.
    height, weight = np.polynomial.legendre.leggauss(24)
    angle = 2.0 * np.pi * np.arange(48) / 48
    flat = np.sqrt(1.0 - height**2)[:, None] * np.ones(48)
    every = np.stack((flat * np.cos(angle), flat * np.sin(angle), height[:, None] * np.ones(48)), axis=-1)
    every = every.reshape(-1, 3)
    widths = support(every) + support(-every)
    _, principal = np.linalg.eigh((every * (widths**2 * np.repeat(weight, 48))[:, None]).T @ every)
    found: list[FloatArray] = []
    for axis in (*np.eye(3), *principal.T):
        circle = np.stack((np.cos(AROUND), np.sin(AROUND)), axis=1) @ np.linalg.svd(axis[None])[2][1:]
        rings = np.cos(ASLANT)[:, None, None] * circle
        rings += np.sin(ASLANT)[:, None, None] * axis
        heights = support(rings.reshape(-1, 3)).reshape(len(ASLANT), -1)
        within = np.ptp(heights, axis=1).max() <= ROUND * heights[0].mean()
        if within and all(abs(axis @ other) < 0.9 for other in found):
            found.append(axis)
    return found[:2]


@dataclass(frozen=True, eq=False)
class RayHits:
    """First hits of n rays.

    Attributes
    ----------
    distance
        (n,) from the origin along the ray [m]; infinite if it meets nothing.
    normal
        (n, 3) outward unit normal, world axes; 0 without a hit.
    body
        (n,) number of the body; -1 for half-spaces and rays without a hit.
    shape, half_space
        (n,) number in `World.surfaces`, and in `World.half_spaces`; -1 if not hit.
    """

    distance: FloatArray
    normal: FloatArray
    body: IntArray
    shape: IntArray
    half_space: IntArray
