"""Contacts of two shapes."""

from __future__ import annotations

import numpy as np

from contactlab.contact.detection.contact_point import ContactPoint
from contactlab.contact.detection.packing import PackedShapes, pack_shapes, pose_row, workspace
from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import CONTACT, POSE, Contacts
from contactlab.contact.shapes import Mesh, Placed, Shape
from contactlab.spatial.arrays import FloatArray, finite_number, read_only
from contactlab.spatial.transform import Transform


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
