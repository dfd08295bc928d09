"""The interface of shapes, their surfaces for drawing, a shape at a pose in its body, and tables for the kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from contactlab.collision import kernels as layout
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import ContactError, FloatArray, IntArray, check_type, finite_number
from contactlab.multibody.spatial.transform import Transform

CIRCLE_SIDES = 32  # sides of a circle


@dataclass(frozen=True, eq=False)
class SurfaceMesh:
    """Triangles with lines on them.

    Attributes
    ----------
    vertices
        (n, 3) [m]. Triangles at a crease have separate vertices; triangles that share a vertex are shaded as round.
    triangles
        (m, 3) numbers of vertices, counter-clockwise seen from outside.
    lines
        (k, 2, 3) ends of lines [m]: creases of flat parts, and circles on round parts, which show the spin.
    """

    vertices: FloatArray
    triangles: IntArray
    lines: FloatArray

    @cached_property
    def normals(self) -> FloatArray:
        """Unit normals at the vertices (n, 3): area-weighted means over the triangles, or 0 without area."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        across, total = np.cross(b - a, c - a), np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(total, self.triangles[:, k], across)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.asarray(np.divide(total, length, out=np.zeros_like(total), where=length > 0.0))

    def transformed(self, R: FloatArray, p: FloatArray) -> SurfaceMesh:
        """Return the solid turned by R (3, 3) and moved by p (3,)."""
        return SurfaceMesh(self.vertices @ R.T + p, self.triangles, self.lines @ R.T + p)


def join_surfaces(solids: Sequence[SurfaceMesh]) -> SurfaceMesh:
    """Return several solids as one."""
    starts = np.cumsum([0, *(len(solid.vertices) for solid in solids)])
    return SurfaceMesh(
        np.concatenate([np.zeros((0, 3)), *(solid.vertices for solid in solids)]),
        np.concatenate(
            [
                np.zeros((0, 3), dtype=np.int64),
                *(solid.triangles + start for solid, start in zip(solids, starts[:-1], strict=True)),
            ]
        ),
        np.concatenate([np.zeros((0, 2, 3)), *(solid.lines for solid in solids)]),
    )


def balls(points: FloatArray, radii: FloatArray) -> SurfaceMesh:
    """Return balls about points (n, 3), with three great circles each; a point of zero radius gets a small ball."""
    smallest = 0.01 * (1e-3 + float(np.abs(points).max(initial=0.0)))
    return join_surfaces(
        [ball(max(float(r), smallest)).transformed(np.eye(3), p) for p, r in zip(points, radii, strict=True)]
    )


def ball(radius: float) -> SurfaceMesh:
    """Return a ball about the origin, with three great circles."""
    surface = lathe([(radius * np.sin(a), radius * np.cos(a)) for a in np.linspace(0.0, np.pi, CIRCLE_SIDES // 2)])
    circles = [np.roll(circle(radius), k, axis=1) for k in range(3)]
    return SurfaceMesh(surface.vertices, surface.triangles, outlines(circles))


def circle(radius: float) -> FloatArray:
    """Return points (CIRCLE_SIDES, 3) on the circle about the z axis in the plane z = 0, counter-clockwise from x."""
    turn = np.linspace(0.0, 2.0 * np.pi, CIRCLE_SIDES, endpoint=False)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), np.zeros(CIRCLE_SIDES)), axis=1)


def outlines(loops: Sequence[FloatArray]) -> FloatArray:
    """Return the lines (k, 2, 3) around closed outlines."""
    return np.concatenate([np.stack((loop, np.roll(loop, -1, axis=0)), axis=1) for loop in loops])


def faces(loops: Sequence[FloatArray]) -> SurfaceMesh:
    """Return the flat convex faces, each given by its outline, counter-clockwise seen from outside."""
    fans = [np.array([(0, i, i + 1) for i in range(1, len(loop) - 1)]) for loop in loops]
    bare = np.zeros((0, 2, 3))
    joined = join_surfaces([SurfaceMesh(loop, fan, bare) for loop, fan in zip(loops, fans, strict=True)])
    return SurfaceMesh(joined.vertices, joined.triangles, outlines(loops))


def lathe(outline: Sequence[tuple[float, float]]) -> SurfaceMesh:
    """Return the surface of revolution about z of an outline of (radius, z), from top to bottom, shaded as round."""
    rings = [circle(1.0) * (radius, radius, 0.0) + (0.0, 0.0, z) for radius, z in outline]
    here, k = np.arange(CIRCLE_SIDES), np.arange(len(rings) - 1)[:, None]
    upper, lower, following = CIRCLE_SIDES * k + here, CIRCLE_SIDES * (k + 1) + here, np.roll(here, -1)
    right_upper, right_lower = CIRCLE_SIDES * k + following, CIRCLE_SIDES * (k + 1) + following
    triangles = np.concatenate(
        [
            np.stack(corners, axis=-1).reshape(-1, 3)
            for corners in ((upper, lower, right_lower), (upper, right_lower, right_upper))
        ]
    )
    return SurfaceMesh(np.concatenate(rings), triangles, np.zeros((0, 2, 3)))


def flat(points: FloatArray, triangles: IntArray, lines: FloatArray) -> SurfaceMesh:
    """Return the triangles with separate vertices, and thus flat shading, as collision detection treats them."""
    return SurfaceMesh(points[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3), lines)


# Types of the fields of shapes, by which files are read.
Vec3Array: TypeAlias = FloatArray  # (3,)

Points: TypeAlias = FloatArray  # (n, 3)

Grid: TypeAlias = FloatArray  # (n, m)


@runtime_checkable
class BodyShape(Protocol):
    """A convex shape fixed to a body, given by points with radii; its deepest point always belongs to one of them."""

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return new arrays: points (n, 3) [m] in body axes and radii (n,) [m], in the fixed order of the contacts."""
        ...


class PackedShape(NamedTuple):
    """A shape for the kernels; `contactlab.collision.kernels` describes the columns."""

    #: kind, sizes: Code of the kind and row of sizes.
    kind: int
    sizes: Sequence[float]
    #: data, loops: Numbers that do not fit into the row.
    data: FloatArray = np.zeros(0)
    loops: Sequence[int] | IntArray = ()
    center: FloatArray | None = None  # origin of the shape's axes, if it differs from the origin of the body
    #: in_data, in_loops: Columns of ``sizes`` that are offsets in ``data`` and ``loops``, counted from their starts.
    in_data: tuple[int, ...] = ()
    in_loops: tuple[int, ...] = ()


class Shape(ABC):
    """A shape of the library: a frozen dataclass whose fields are all its data in a record or a scene file."""

    @abstractmethod
    def pack(self, *, faces: bool = True) -> PackedShape:
        """Return the arguments of the kernels; ``faces`` False omits a hull's faces, for contacts with grounds only."""

    @abstractmethod
    def surface_mesh(self) -> SurfaceMesh:
        """Return the surface in the shape's axes, to be drawn."""

    def inertia(self) -> RigidInertia | None:
        """Return the inertia about the shape's axes at a density of 1 kg/m^3; None if no volume is known."""
        return None


def positive_number(value: float, field: str) -> float:
    """Return ``value`` as a float; raise a `ContactError` that names the field unless it is finite and positive."""
    return finite_number(value, field, ContactError, positive=True)


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """A shape at ``pose`` in its body; a body of several shapes is a list of placed shapes.

    Parameters
    ----------
    shape
        Any shape except another `PlacedShape`.
    pose
        `Transform` from the shape's axes to the body's.

    Raises
    ------
    ContactError
        An argument of another type.
    """

    shape: Shape
    pose: Transform = field(default_factory=Transform)

    def __post_init__(self) -> None:
        check_type(self.shape, Shape, "shape", ContactError, "one of contactlab.collision.shapes")
        check_type(self.pose, Transform, "pose", ContactError)


class PackedShapes(NamedTuple):
    """Structure of arrays with the columns of `contactlab.collision.kernels`. Not to be modified.

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
    """Return the twelve numbers of a pose: its rotation by rows, its origin."""
    return np.concatenate([pose.R.ravel(), pose.p])


def pack_shapes(shapes: Sequence[Shape | PlacedShape], *, faces: bool = True) -> PackedShapes:
    """Pack shapes in the order given.

    Parameters
    ----------
    shapes
        Any shapes, bare or `PlacedShape`.
    faces
        Whether to find the faces of convex hulls, which all their pairs except those with half-spaces and terrain need.

    Raises
    ------
    ContactError
        An object that is not a shape, or a hull or mesh too large for the kernels.
    """
    n = len(shapes)
    kind, size = np.zeros(n, dtype=np.int64), np.zeros((n, layout.SIZE))
    place = np.zeros((n, layout.POSE))
    data: list[FloatArray] = []
    loops: list[int] = []
    start = 0
    for i, given in enumerate(shapes):
        shape, pose = (given.shape, given.pose) if isinstance(given, PlacedShape) else (given, Transform())
        if not isinstance(shape, Shape):
            raise ContactError("shapes", f"entry [{i}] is a {type(shape).__name__}, not a shape")
        packed = shape.pack(faces=faces)
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
