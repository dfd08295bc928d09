"""Collision detection: contacts and distances of shapes, and the pairs of shapes that may touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision.kernels import CONTACT, HALF_SPACE, HEIGHT_FIELD, POSE, ContactBuffer
from contactlab.collision.shapes import (
    BodyShape,
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    PlacedShape,
    Shape,
    Sphere,
)
from contactlab.collision.shapes.shape import PackedShapes, pack_shapes, pose_row, workspace
from contactlab.multibody.spatial.arrays import (
    ContactError,
    FloatArray,
    IntArray,
    check_type,
    finite_array,
    finite_number,
    read_only,
)
from contactlab.multibody.spatial.transform import Transform

__all__ = [
    "CollisionPoint", "Distance", "PackedShapes", "bounds", "collide", "distance", "pack_shapes",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class CollisionPoint:
    """Contact of shape A with shape B; arrays are read-only.

    Attributes
    ----------
    point
        (3,) [m], world axes, midway between the two surfaces along the normal.
    normal
        Unit vector (3,), world axes, from A into B.
    gap
        Distance of the surfaces along the normal [m], negative in an overlap.
    feature
        Number of the corners, edges or points that touch; constant while the same ones touch. -1 if unknown.
    """

    point: FloatArray
    normal: FloatArray
    gap: float
    feature: int

    @property
    def point_a(self) -> FloatArray:
        """(3,) [m]: contact point on the surface of A."""
        return self.point - 0.5 * self.gap * self.normal

    @property
    def point_b(self) -> FloatArray:
        """(3,) [m]: contact point on the surface of B."""
        return self.point + 0.5 * self.gap * self.normal


def collide(
    shape_a: Shape | PlacedShape,
    pose_a: Transform,
    shape_b: Shape | PlacedShape,
    pose_b: Transform,
    *,
    margin: float = 0.0,
    reduce: bool = False,
) -> tuple[CollisionPoint, ...]:
    """Return the contacts of two shapes.

    Parameters
    ----------
    shape_a, pose_a
        Shape A, bare or `PlacedShape`, and the pose of its body in the world.
    shape_b, pose_b
        As for shape A.
    margin
        Largest gap [m] of reported contacts, at least 0; positive values include shapes that do not touch yet.
    reduce
        Keep at most four contacts: the deepest, and three that spread.

    Returns
    -------
    tuple of CollisionPoint
        In a fixed order, by feature; empty if the shapes are farther apart than ``margin``. With A and B exchanged, the
        points and gaps are the same and the normals are reversed. If the normal has no unique direction, as between
        concentric spheres, a fixed direction is used.

    Raises
    ------
    ContactError
        An argument of another type, a bad margin, or a pair of shapes that is not supported.

    Notes
    -----
    The library Coal, of the extra ``collision``, finds the contacts of two meshes that are both not convex; these
    contacts have no features. The kernels of contactlab find all other pairs.
    """
    check_pair(shape_a, pose_a, shape_b, pose_b)
    limit = finite_number(margin, "margin", ContactError, least=0.0)
    if is_hollow(shape_a) and is_hollow(shape_b):
        return collide_by_coal(shape_a, pose_a, shape_b, pose_b, limit)
    packed = packed_pair(shape_a, shape_b)
    rows, features = contact_rows(packed, pose_a, pose_b, limit, reduce)
    return tuple(
        CollisionPoint(read_only(row[0:3]), read_only(row[3:6]), float(row[6]), int(feature))
        for row, feature in zip(rows, features, strict=True)
    )


def packed_pair(shape_a: Shape | PlacedShape, shape_b: Shape | PlacedShape) -> PackedShapes:
    """Pack two shapes; a `ContactError` names a shape that cannot be packed."""
    for shape, name in ((shape_a, "shape_a"), (shape_b, "shape_b")):
        try:
            pack_shapes([shape])
        except ContactError as cause:
            raise ContactError(name, cause.detail) from cause
    return pack_shapes([shape_a, shape_b])


def contact_rows(
    packed: PackedShapes, pose_a: Transform, pose_b: Transform, margin: float, reduce: bool
) -> tuple[FloatArray, list[int]]:
    """Return the contacts of two packed shapes, as rows of the kernel, and their features."""
    from contactlab.collision.detection.kernels.collide_pair import collide_pair
    from contactlab.collision.detection.kernels.support import place_shape

    poses = np.empty((2, POSE))
    for i, pose in enumerate((pose_a, pose_b)):
        place_shape(pose_row(pose), packed.place[i], poses[i])
    room = workspace()
    capacity = 64
    while True:
        out = ContactBuffer(np.empty((capacity, CONTACT)), np.empty(capacity, dtype=np.int64))
        count = collide_pair(packed.posed(0, poses[0]), packed.posed(1, poses[1]), margin, reduce, room, out)
        if count <= capacity:
            return out.rows[:count], [int(code) for code in out.features[:count]]
        capacity = count


def is_hollow(shape: Shape | PlacedShape) -> bool:
    """Return True if a shape, bare or placed, is a mesh that is not convex."""
    bare = shape.shape if isinstance(shape, PlacedShape) else shape
    return isinstance(bare, Mesh) and not bare.convex


def check_pair(shape_a: object, pose_a: object, shape_b: object, pose_b: object) -> None:
    """Raise a `ContactError` that names an argument of another type."""
    for shape, name in ((shape_a, "shape_a"), (shape_b, "shape_b")):
        check_type(shape, Shape | PlacedShape, name, ContactError, "a shape or PlacedShape")
    for pose, name in ((pose_a, "pose_a"), (pose_b, "pose_b")):
        check_type(pose, Transform, name, ContactError)


# Stands for any distance: an infinite margin would lead to infinity minus infinity in the kernels.
UNBOUNDED_MARGIN = 1e300


@dataclass(frozen=True, eq=False)
class Distance:
    """Signed distance of shape A from shape B; arrays are read-only.

    Attributes
    ----------
    gap
        Distance [m]; in an overlap, minus the shortest translation that separates the shapes.
    normal
        Unit vector (3,), world axes, from A to B.
    point_a, point_b
        Its closest points (3,) [m]: on A, on B.
    """

    gap: float
    normal: FloatArray
    point_a: FloatArray
    point_b: FloatArray


def distance(
    shape_a: Shape | PlacedShape, pose_a: Transform, shape_b: Shape | PlacedShape, pose_b: Transform
) -> Distance:
    """Return the signed distance of two shapes, each bare or `PlacedShape`, at the poses of their bodies in the world.

    Raises
    ------
    ContactError
        An argument of another type, or two grounds (half-spaces, height fields), which have no distance.

    Notes
    -----
    Coal, of the extra ``collision``, finds distances of meshes that are not convex. For a height field, the distance is
    the smallest gap of the points that `collide` tests, also in an overlap.
    """
    check_pair(shape_a, pose_a, shape_b, pose_b)
    if is_hollow(shape_a) or is_hollow(shape_b):
        gap, normal, point_a, point_b = distance_by_coal(shape_a, pose_a, shape_b, pose_b)
        return Distance(gap, read_only(normal), read_only(point_a), read_only(point_b))
    packed = packed_pair(shape_a, shape_b)
    if all(kind in (HALF_SPACE, HEIGHT_FIELD) for kind in packed.kind):
        raise ContactError("shape_b", "is a ground like shape_a: two grounds have no distance")
    rows, _ = contact_rows(packed, pose_a, pose_b, UNBOUNDED_MARGIN, False)
    closest = rows[rows[:, 6].argmin()]
    gap, normal = float(closest[6]), closest[3:6].copy()
    half = 0.5 * gap * normal
    return Distance(gap, read_only(normal), read_only(closest[:3] - half), read_only(closest[:3] + half))


# Maximum number of contacts requested for a pair of meshes; there is one per pair of triangles.
MAX_COAL_CONTACTS = 1000


def _coal(field: str) -> Any:
    try:
        import coal
    except ImportError as cause:
        message = "a Mesh needs coal, which is not installed: pip install '.[collision]'"
        raise ContactError(field, message) from cause
    return coal


def coal_object(given: Shape | PlacedShape, pose: Transform, field: str) -> tuple[Any, Any]:
    """Return Coal's geometry and transform of a shape whose body is at ``pose``."""
    coal = _coal(field)
    shape = given.shape if isinstance(given, PlacedShape) else given
    frame = pose @ given.pose if isinstance(given, PlacedShape) else pose
    if isinstance(shape, HeightField):
        raise ContactError(field, "a HeightField and a Mesh make no pair")
    if isinstance(shape, Sphere):
        frame, geometry = frame @ Transform(p=shape.center), coal.Sphere(shape.radius)
    elif isinstance(shape, Capsule | Cylinder):
        geometry = getattr(coal, type(shape).__name__)(shape.radius, 2.0 * shape.half_length)
    elif isinstance(shape, Box):
        geometry = coal.Box(*(2.0 * shape.half_extents))
    elif isinstance(shape, HalfSpace):
        geometry = coal.Halfspace(np.array(shape.normal), shape.offset)
    elif isinstance(shape, Mesh):
        # the tree of bounding volumes of the triangles
        geometry = coal.BVHModelOBBRSS()
        geometry.beginModel(len(shape.triangles), len(shape.vertices))
        geometry.addVertices(np.array(shape.vertices))
        geometry.addTriangles(np.array(shape.triangles))
        geometry.endModel()
    else:
        # A polytope is given by its vertices, any other shape by the vertices of its drawing.
        points = coal.StdVec_Vec3s()
        for point in shape.support_points()[0] if isinstance(shape, BodyShape) else shape.surface_mesh().vertices:
            points.append(np.array(point))
        geometry = coal.Convex.convexHull(points, True, "")
    return geometry, coal.Transform3s(np.array(frame.R), np.array(frame.p))


def _coal_pair(
    shape_a: Shape | PlacedShape, pose_a: Transform, shape_b: Shape | PlacedShape, pose_b: Transform
) -> tuple[Any, Any]:
    """Return Coal, and the two geometries with their transforms."""
    return _coal("shape_a"), (*coal_object(shape_a, pose_a, "shape_a"), *coal_object(shape_b, pose_b, "shape_b"))


def collide_by_coal(
    shape_a: Shape | PlacedShape, pose_a: Transform, shape_b: Shape | PlacedShape, pose_b: Transform, margin: float
) -> tuple[CollisionPoint, ...]:
    """Return the contacts found by Coal, one per pair of triangles, sorted by position; their features are -1."""
    coal, pair = _coal_pair(shape_a, pose_a, shape_b, pose_b)
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin = margin
    request.num_max_contacts = MAX_COAL_CONTACTS
    request.enable_contact = True
    coal.collide(*pair, request, result)
    found = {(*contact.pos, *contact.normal, contact.penetration_depth) for contact in result.getContacts()}
    rows = np.array(sorted(row for row in found if row[6] <= margin), dtype=np.float64).reshape(-1, 7)
    return tuple(CollisionPoint(read_only(row[0:3]), read_only(row[3:6]), float(row[6]), -1) for row in rows)


def distance_by_coal(
    shape_a: Shape | PlacedShape, pose_a: Transform, shape_b: Shape | PlacedShape, pose_b: Transform
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Return the signed distance, normal from A to B, and the closest points of A and B."""
    coal, pair = _coal_pair(shape_a, pose_a, shape_b, pose_b)
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    gap = float(coal.distance(*pair, request, result))
    return gap, np.array(result.normal), np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())


def bounds(shapes: PackedShapes, poses: Sequence[Transform]) -> FloatArray:
    """Return the bounding boxes (n, 6) of shapes of bodies at ``poses``: lowest x, y, z, then highest [m]."""
    return world_bounds(shapes, _world_poses(shapes, poses), 0.0)


def _world_poses(shapes: PackedShapes, poses: Sequence[Transform]) -> FloatArray:
    """Return the world poses (n, 12) of shapes on bodies at ``poses``: R by rows, and p."""
    if len(poses) != len(shapes.kind):
        raise ContactError("poses", f"{len(poses)} given for {len(shapes.kind)} shapes")
    for i, pose in enumerate(poses):
        check_type(pose, Transform, "poses", ContactError, f"Transforms, entry [{i}] too")
    return _shape_poses(np.array([pose_row(pose) for pose in poses]).reshape(-1, 12), shapes.place)


def world_bounds(shapes: PackedShapes, world: FloatArray, enlarged: float) -> FloatArray:
    """Return the bounding boxes (n, 6) of shapes at poses (n, POSE) in the world, each side moved out [m]."""
    from contactlab.collision.detection.kernels.support import all_bounds

    boxes = np.empty((len(world), 6))
    all_bounds(shapes.kind, shapes.size, world, shapes.data, enlarged, boxes)
    return boxes


# Margin for rounding in the bounds of shapes [m].
SLACK = 1e-9


def first_hits(
    shapes: PackedShapes, poses: FloatArray, origins: ArrayLike, directions: ArrayLike, reach: float = np.inf
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return distances (n,) [m], shapes (n,) and outward unit normals (n, 3) of the first shapes on rays.

    Parameters
    ----------
    shapes
        From `pack_shapes`.
    poses
        (m, POSE) of the bodies that the shapes are on.
    origins, directions
        (n, 3) or, for all rays, (3,); directions of any length but zero.
    reach
        Length of the rays [m].

    Returns
    -------
    tuple
        Distances (n,), shapes (n,) and normals (n, 3). A ray without a hit has distance infinity, shape -1, normal 0.

    Raises
    ------
    ContactError
        Rays of another shape, a direction without length, a negative reach.
    """
    from contactlab.collision.detection.kernels.rays import first_hits as fill

    begin, along = _rays(origins, "origins"), _rays(directions, "directions")
    if 1 not in (len(begin), len(along)) and len(begin) != len(along):
        raise ContactError("directions", f"{len(along)} given for {len(begin)} origins")
    largest = np.abs(along).max(axis=1, initial=0.0, keepdims=True)
    if not np.all(largest > 0.0):
        raise ContactError("directions", f"entry [{int(np.argmin(largest))}] has no length")
    # Divide by the largest entry first, because squares of tiny entries would underflow.
    along = along / largest
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    if not reach >= 0.0:
        raise ContactError("reach", f"must not be negative, got {reach}")
    n = max(len(begin), len(along)) if len(begin) and len(along) else 0
    begin, along = (np.ascontiguousarray(np.broadcast_to(rays, (n, 3))).copy() for rays in (begin, along))
    distance, number, normal = np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 3))
    world = _shape_poses(poses, shapes.place)
    boxes = world_bounds(shapes, world, SLACK)
    fixed = (shapes.kind, shapes.size, world, shapes.data, shapes.loops, boxes)
    fill(*fixed, begin, along, float(reach), distance, number, normal)
    return distance, number, normal


def _shape_poses(bodies: FloatArray, places: FloatArray) -> FloatArray:
    """Return the poses (m, POSE) of shapes in the world: poses of bodies times poses of shapes on their bodies."""
    R, p = bodies[:, :9].reshape(-1, 3, 3), bodies[:, 9:]
    turned = (R @ places[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
    return np.concatenate((turned, p + (R @ places[:, 9:, None])[:, :, 0]), axis=1)


def _rays(value: ArrayLike, field: str) -> FloatArray:
    given = finite_array(value, field, (3,) if np.ndim(value) == 1 else (None, 3), ContactError)
    return given.reshape(-1, 3)
