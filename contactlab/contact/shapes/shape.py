"""The interface of shapes, a shape at a pose in its body, and tables of shapes for the kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from contactlab.contact.kernels import layout
from contactlab.contact.shapes.surface_mesh import SurfaceMesh
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, IntArray, finite_number
from contactlab.spatial.errors import ContactError
from contactlab.spatial.transform import Transform

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
    """A shape for the kernels; `contactlab.contact.kernels.layout` describes the columns."""

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
        if not isinstance(self.shape, Shape):
            raise ContactError("shape", f"must be one of contactlab.contact.shapes, got {type(self.shape).__name__}")
        if not isinstance(self.pose, Transform):
            raise ContactError("pose", f"must be a Transform, got {type(self.pose).__name__}")


class PackedShapes(NamedTuple):
    """Structure of arrays with the columns of `kernels.layout`. Not to be modified.

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
