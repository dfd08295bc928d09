"""Contacts of two shapes: points where they touch, or are about to; and their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.contact.detection.packing import PackedShapes, pack_shapes, pose_row, workspace
from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import CONTACT, HALF_SPACE, HEIGHT_FIELD, POSE, Contacts
from contactlab.contact.shapes import Mesh, Placed, Shape
from contactlab.spatial.arrays import FloatArray, finite_number, read_only
from contactlab.spatial.transform import Transform


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Contact of shape A with shape B; arrays are read-only.

    Attributes
    ----------
    point
        (3,) [m], world axes, midway between the two surfaces along the normal.
    normal
        Unit vector (3,), world axes, from A into B.
    gap
        Distance of the surfaces along the normal [m], negative where they overlap.
    feature
        Number of the corners, edges or points that touch: the same as long as the same ones do. -1 where unknown.
    """

    point: FloatArray
    normal: FloatArray
    gap: float
    feature: int

    @property
    def point_a(self) -> FloatArray:
        """(3,) [m]: where the contact is on the surface of A."""
        return self.point - 0.5 * self.gap * self.normal

    @property
    def point_b(self) -> FloatArray:
        """(3,) [m]: where the contact is on the surface of B."""
        return self.point + 0.5 * self.gap * self.normal


def collide(
    shape_a: Shape | Placed,
    pose_a: Transform,
    shape_b: Shape | Placed,
    pose_b: Transform,
    *,
    margin: float = 0.0,
    reduce: bool = False,
) -> tuple[ContactPoint, ...]:
    """Contacts of two shapes.

    Parameters
    ----------
    shape_a, pose_a
        Shape A, bare or `Placed`, and the pose of its body in the world.
    shape_b, pose_b
        The same of B.
    margin
        Contacts with a gap up to this [m] are reported, those that do not touch yet included; at least 0.
    reduce
        Keep at most four contacts: the deepest, and three that spread.

    Returns
    -------
    tuple of ContactPoint
        In a fixed order, by feature; none where the shapes are farther apart than ``margin``. With A and B swapped, the
        points and gaps are the same and the normals turn round (where a normal has no unique direction, as between
        concentric spheres, it is a fixed one).

    Raises
    ------
    ContactError
        An argument of another type, a bad margin, or a pair of shapes that cannot be taken.

    Notes
    -----
    Two meshes of which neither is convex are left to coal, of the extra ``collision``, and come without features; all
    other pairs are found by the project's own kernels.
    """
    check_pair(shape_a, pose_a, shape_b, pose_b)
    limit = finite_number(margin, "margin", ContactError)
    if limit < 0.0:
        raise ContactError("margin", f"must not be negative, got {limit}")
    if is_hollow(shape_a) and is_hollow(shape_b):
        from contactlab.contact.detection.coal_backend import collide_by_coal

        return collide_by_coal(shape_a, pose_a, shape_b, pose_b, limit)
    packed = packed_pair(shape_a, shape_b)
    rows, features = contact_rows(packed, pose_a, pose_b, limit, reduce)
    return tuple(
        ContactPoint(read_only(row[0:3]), read_only(row[3:6]), float(row[6]), int(feature))
        for row, feature in zip(rows, features, strict=True)
    )


def packed_pair(shape_a: Shape | Placed, shape_b: Shape | Placed) -> PackedShapes:
    """Pack two shapes; a `ContactError` names the one that cannot be."""
    try:
        pack_shapes([shape_a])
    except ContactError as cause:
        raise ContactError("shape_a", cause.detail) from cause
    try:
        return pack_shapes([shape_a, shape_b])
    except ContactError as cause:
        raise ContactError("shape_b", cause.detail) from cause


def contact_rows(
    packed: PackedShapes, pose_a: Transform, pose_b: Transform, margin: float, reduce: bool
) -> tuple[FloatArray, list[int]]:
    """Contacts of the two shapes packed, as rows of the kernel, and their features."""
    from contactlab.contact.detection.kernels.collide_pair import collide_pair
    from contactlab.contact.detection.kernels.vectors import place_shape

    poses = np.empty((2, POSE))
    for i, pose in enumerate((pose_a, pose_b)):
        place_shape(pose_row(pose), packed.place[i], poses[i])
    room = workspace()
    capacity = 64
    while True:
        out = Contacts(np.empty((capacity, CONTACT)), np.empty(capacity, dtype=np.int64))
        count = collide_pair(packed.posed(0, poses[0]), packed.posed(1, poses[1]), margin, reduce, room, out)
        if count <= capacity:
            return out.rows[:count], [int(code) for code in out.features[:count]]
        capacity = count


def is_hollow(shape: Shape | Placed) -> bool:
    """Whether a shape, bare or placed, is a mesh that is not convex."""
    bare = shape.shape if isinstance(shape, Placed) else shape
    return isinstance(bare, Mesh) and not bare.convex


def check_pair(shape_a: object, pose_a: object, shape_b: object, pose_b: object) -> None:
    """Raise a `ContactError` that names an argument of another type."""
    for shape, name in ((shape_a, "shape_a"), (shape_b, "shape_b")):
        if not isinstance(shape, Shape | Placed):
            raise ContactError(name, f"must be a shape or Placed, got {type(shape).__name__}")
    for pose, name in ((pose_a, "pose_a"), (pose_b, "pose_b")):
        if not isinstance(pose, Transform):
            raise ContactError(name, f"must be a Transform, got {type(pose).__name__}")


# Any distance: an infinite margin would turn up as infinity minus infinity in the kernels.
ANY = 1e300


@dataclass(frozen=True, eq=False)
class Distance:
    """Signed distance of shape A from shape B; arrays are read-only.

    Attributes
    ----------
    gap
        Distance [m]; in an overlap, minus the shortest way one shape must move to leave the other.
    normal
        Unit vector (3,), world axes, from A to B.
    point_a, point_b
        Where it is taken (3,) [m]: on A, on B.
    """

    gap: float
    normal: FloatArray
    point_a: FloatArray
    point_b: FloatArray


def distance(shape_a: Shape | Placed, pose_a: Transform, shape_b: Shape | Placed, pose_b: Transform) -> Distance:
    """Signed distance of two shapes, each bare or `Placed`, at the poses of their bodies in the world.

    Raises
    ------
    ContactError
        An argument of another type, or two grounds (half-spaces, height fields), which have no distance.

    Notes
    -----
    Distances of meshes that are not convex are found by coal, of the extra ``collision``.
    From a height field the distance is that of the points `collide` tries; an overlap with it is measured point by
    point.
    """
    check_pair(shape_a, pose_a, shape_b, pose_b)
    if is_hollow(shape_a) or is_hollow(shape_b):
        from contactlab.contact.detection.coal_backend import distance_by_coal

        gap, normal, point_a, point_b = distance_by_coal(shape_a, pose_a, shape_b, pose_b)
        return Distance(gap, read_only(normal), read_only(point_a), read_only(point_b))
    packed = packed_pair(shape_a, shape_b)
    if all(kind in (HALF_SPACE, HEIGHT_FIELD) for kind in packed.kind):
        raise ContactError("shape_b", "is a ground like shape_a: two grounds have no distance")
    rows, _ = contact_rows(packed, pose_a, pose_b, ANY, False)
    closest = rows[rows[:, 6].argmin()]
    gap, normal = float(closest[6]), closest[3:6].copy()
    half = 0.5 * gap * normal
    return Distance(gap, read_only(normal), read_only(closest[:3] - half), read_only(closest[:3] + half))
