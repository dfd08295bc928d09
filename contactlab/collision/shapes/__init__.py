"""Shapes of bodies and grounds.

Ball, capsule, cylinder and box, and unbounded shapes, the half-space and terrain over a rectangular grid, are here.
`convex_points` has hulls and meshes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision.kernels import BOX, CAPSULE, CYLINDER, HALF_SPACE, HEIGHT_FIELD, SPHERE
from contactlab.collision.material import unit_vector
from contactlab.collision.shapes.convex_points import ConvexPoints, Mesh
from contactlab.collision.shapes.shape import (
    CIRCLE_SIDES,
    BodyShape,
    Grid,
    PackedShape,
    PlacedShape,
    Shape,
    SurfaceMesh,
    Vec3Array,
    ball,
    balls,
    circle,
    faces,
    flat,
    join_surfaces,
    lathe,
    outlines,
    positive_number,
)
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import ContactError, FloatArray, finite_array, finite_number, set_fields

__all__ = [
    "ALL_SHAPES", "BodyShape", "Box", "Capsule", "ConvexPoints", "Cylinder", "HalfSpace", "HeightField", "Mesh",
    "PlacedShape", "Shape", "SurfaceMesh", "Sphere", "balls", "join_surfaces",
]  # fmt: skip


@dataclass(frozen=True, eq=False, init=False)
class HalfSpace(Shape):
    """Solid that fills all points y with n . y <= offset, n the outward unit normal.

    Parameters
    ----------
    normal
        Outward normal (3,) in world axes, of any length but zero; it is normalised.
    offset
        Distance [m] of the surface from the world origin along the UNIT normal: ``HalfSpace((0, 0, 2), 1)`` ends at
        z = 1.

    Raises
    ------
    ContactError
        A zero normal, or an entry that is not finite.
    """

    normal: Vec3Array
    offset: float

    def __init__(self, normal: ArrayLike = (0.0, 0.0, 1.0), offset: float = 0.0) -> None:
        set_fields(self, normal=unit_vector(normal, "normal"), offset=finite_number(offset, "offset", ContactError))

    @classmethod
    def through(cls, point: ArrayLike, normal: ArrayLike) -> HalfSpace:
        """Return the half-space whose surface passes through ``point`` (3,) [m], with the outward ``normal`` (3,)."""
        n = unit_vector(normal, "normal")
        return cls(n, float(n @ finite_array(point, "point", (3,), ContactError)))

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the normal and offset."""
        return PackedShape(HALF_SPACE, [*self.normal.tolist(), self.offset])

    def surface_mesh(self) -> SurfaceMesh:
        """Return an empty surface; `contactlab.view.drawing.Ground` draws the visible part of the half-space."""
        return join_surfaces([])


@dataclass(frozen=True, eq=False, init=False)
class HeightField(Shape):
    """Solid below a surface z = height(x, y) over a rectangular grid; the solid ends at the grid's edges.

    Parameters
    ----------
    heights
        (nx, ny) [m], at least 2 x 2: ``heights[i, j]`` is the height at x = i dx, y = j dy. Every cell is cut into two
        triangles along the diagonal from its lower corner (i, j) to (i + 1, j + 1).
    spacing
        (dx, dy) [m] of the grid, positive, or one number for both.

    Raises
    ------
    ContactError
        A grid too small, a spacing that is not positive, or an entry that is not finite.
    """

    heights: Grid
    spacing: tuple[float, float]

    def __init__(self, heights: ArrayLike, spacing: float | tuple[float, float]) -> None:
        checked = finite_array(heights, "heights", (None, None), ContactError)
        if min(checked.shape) < 2:
            raise ContactError("heights", f"must be at least 2 x 2, got shape {checked.shape}")
        pair = finite_array(spacing if np.ndim(spacing) else (spacing, spacing), "spacing", (2,), ContactError)
        dx, dy = positive_number(pair[0], "spacing"), positive_number(pair[1], "spacing")
        set_fields(self, heights=checked, spacing=(dx, dy))

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the heights, the grid and the range of the heights."""
        low, high = float(self.heights.min()), float(self.heights.max())
        sizes = [0, *self.heights.shape, *self.spacing, low, high]
        return PackedShape(HEIGHT_FIELD, sizes, self.heights.ravel(), in_data=(0,))

    def surface_mesh(self) -> SurfaceMesh:
        """Return two triangles a cell, and the lines of the grid."""
        nx, ny = self.heights.shape
        x, y = np.meshgrid(self.spacing[0] * np.arange(nx), self.spacing[1] * np.arange(ny), indexing="ij")
        corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        triangles = np.concatenate([corner[:, None] + [0, ny, ny + 1], corner[:, None] + [0, ny + 1, 1]])
        points = np.stack((x, y, self.heights), axis=-1)
        along = np.concatenate((np.stack((points[:-1], points[1:]), axis=2).reshape(-1, 2, 3),))
        across = np.stack((points[:, :-1], points[:, 1:]), axis=2).reshape(-1, 2, 3)
        return flat(points.reshape(-1, 3), triangles, np.concatenate((along, across)))


@dataclass(frozen=True)
class AxialShape(Shape):
    """Common part of capsules and cylinders: a radius [m] about the z axis, and half a length [m] along it."""

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        set_fields(
            self,
            radius=positive_number(self.radius, "radius"),
            half_length=positive_number(self.half_length, "half_length"),
        )


def ball_volume(radius: float) -> float:
    """Return the volume of a ball."""
    return 4.0 / 3.0 * float(np.pi) * radius**3


@dataclass(frozen=True, eq=False, init=False)
class Sphere(Shape):
    """Ball of a positive ``radius`` [m] about ``center`` (3,) [m] in body axes; a `ContactError` names a bad value."""

    radius: float
    center: Vec3Array

    def __init__(self, radius: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        set_fields(
            self, radius=positive_number(radius, "radius"), center=finite_array(center, "center", (3,), ContactError)
        )

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centre (1, 3) and the radius (1,), as new arrays."""
        return self.center.reshape(1, 3).copy(), np.array([self.radius])

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the radius and the centre."""
        return PackedShape(SPHERE, [self.radius], center=self.center if self.center.any() else None)

    def surface_mesh(self) -> SurfaceMesh:
        """Return a ball with three great circles."""
        return ball(self.radius).transformed(np.eye(3), self.center)

    def inertia(self) -> RigidInertia:
        """Return the inertia at a density of 1 kg/m^3, about the body's axes."""
        about = RigidInertia.solid_sphere(ball_volume(self.radius), self.radius)
        return RigidInertia(about.mass, self.center, inertia=about.inertia)


class Capsule(AxialShape):
    """Cylinder along the z axis with half balls on its ends, its middle at the origin.

    Parameters
    ----------
    radius
        Radius [m], positive.
    half_length
        Half the distance between the centres of the half balls [m], positive: the whole capsule is
        2 (half_length + radius) long.

    Raises
    ------
    ContactError
        A value that is not positive, or not finite.
    """

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centres (2, 3) of the half balls, at -z and +z, and their radii (2,), as new arrays."""
        half = self.half_length
        return np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), np.full(2, self.radius)

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the radius and half length."""
        return PackedShape(CAPSULE, [self.radius, self.half_length])

    def surface_mesh(self) -> SurfaceMesh:
        """Return the mantle with its round ends, two meridians and two rims."""
        r, half = self.radius, self.half_length
        quarter = np.linspace(0.0, 0.5 * np.pi, CIRCLE_SIDES // 4 + 1)
        top = [(r * np.sin(a), half + r * np.cos(a)) for a in quarter]
        outline = [*top, *((x, -z) for x, z in top[::-1])]
        side = np.array([*outline, *((-x, z) for x, z in outline[-2:0:-1])])
        flat = np.zeros(len(side))
        meridians = [np.stack((side[:, 0], flat, side[:, 1]), axis=1), np.stack((flat, side[:, 0], side[:, 1]), axis=1)]
        rims = [circle(r) + (0.0, 0.0, z) for z in (half, -half)]
        body = lathe(outline)
        return SurfaceMesh(body.vertices, body.triangles, outlines([*meridians, *rims]))

    def inertia(self) -> RigidInertia:
        """Return the inertia at a density of 1 kg/m^3."""
        volume = 2.0 * np.pi * self.radius**2 * self.half_length + ball_volume(self.radius)
        return RigidInertia.solid_capsule(volume, self.radius, self.half_length)


class Cylinder(AxialShape):
    """Cylinder along the z axis, its middle at the origin.

    Parameters
    ----------
    radius
        Radius [m], positive.
    half_length
        Half the length along z [m], positive.

    Raises
    ------
    ContactError
        A value that is not positive, or not finite.
    """

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the radius and half length."""
        return PackedShape(CYLINDER, [self.radius, self.half_length])

    def surface_mesh(self) -> SurfaceMesh:
        """Return the mantle with its caps, and lines that show the spin."""
        r, half = self.radius, self.half_length
        mantle = lathe([(r, half), (r, -half)])
        rims = [circle(r) + (0.0, 0.0, z) for z in (half, -half)]
        caps = faces([rims[0], rims[1][::-1]])
        quarters = range(0, CIRCLE_SIDES, CIRCLE_SIDES // 4)
        up = np.array([(rims[0][k], rims[1][k]) for k in quarters])
        spokes = np.array(
            [(rim[k], rim[(k + CIRCLE_SIDES // 2) % CIRCLE_SIDES]) for rim in rims for k in (0, CIRCLE_SIDES // 4)]
        )
        body = join_surfaces([mantle, caps])
        return SurfaceMesh(body.vertices, body.triangles, np.concatenate((caps.lines, up, spokes)))

    def inertia(self) -> RigidInertia:
        """Return the inertia at a density of 1 kg/m^3."""
        volume = 2.0 * np.pi * self.radius**2 * self.half_length
        return RigidInertia.solid_cylinder(volume, self.radius, self.half_length)


@dataclass(frozen=True, eq=False, init=False)
class Box(Shape):
    """Box along the body axes about the body origin.

    Parameters
    ----------
    half_extents
        Half side lengths (3,) [m], positive; a `ContactError` names the entry that is not.
    """

    half_extents: Vec3Array

    def __init__(self, half_extents: ArrayLike) -> None:
        half = finite_array(half_extents, "half_extents", (3,), ContactError)
        for i in range(3):
            if half[i] <= 0.0:
                raise ContactError("half_extents", f"entry [{i}] must be positive, got {half[i]}")
        set_fields(self, half_extents=half)

    @classmethod
    def cube(cls, half_width: float) -> Box:
        """Return the cube of half side length ``half_width`` [m]."""
        return cls((half_width, half_width, half_width))

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners (8, 3) and zero radii (8,), as new arrays.

        Corner 4 i + 2 j + k, with i, j, k = 0 or 1 on the negative or positive side along x, y, z: z changes fastest.
        """
        signs = np.array([(i, j, k) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
        return signs * self.half_extents, np.zeros(8)

    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the half extents."""
        return PackedShape(BOX, self.half_extents.tolist())

    def surface_mesh(self) -> SurfaceMesh:
        """Return the six faces."""
        h = self.half_extents
        loops = []
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for side in (1.0, -1.0):
                corners = np.zeros((4, 3))
                corners[:, axis] = side
                corners[:, u], corners[:, v] = (-1.0, 1.0, 1.0, -1.0), (-1.0, -1.0, 1.0, 1.0)
                loops.append((corners if side > 0.0 else corners[::-1]) * h)
        return faces(loops)

    def inertia(self) -> RigidInertia:
        """Return the inertia at a density of 1 kg/m^3."""
        return RigidInertia.solid_box(8.0 * float(np.prod(self.half_extents)), self.half_extents)


ALL_SHAPES: tuple[type[Shape], ...] = (Sphere, Capsule, Cylinder, Box, ConvexPoints, HalfSpace, HeightField, Mesh)
