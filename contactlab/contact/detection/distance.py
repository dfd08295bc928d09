"""Distance of two shapes."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.contact.detection.collide import check_pair, contact_rows, is_hollow, packed_pair
from contactlab.contact.errors import ContactError
from contactlab.contact.kernels.layout import HALF_SPACE, HEIGHT_FIELD
from contactlab.contact.shapes import Placed, Shape
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.spatial.transform import Transform

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
