"""Pairs of meshes, by coal (the extra ``collision``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.contact.detection.collide import ContactPoint
from contactlab.contact.errors import ContactError
from contactlab.contact.shapes import (
    BodyShape,
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    Placed,
    Shape,
    Sphere,
)
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.spatial.transform import Transform

# Contacts of one pair of meshes that are asked for: one per pair of triangles.
MOST = 1000


def _coal(field: str) -> Any:
    try:
        import coal
    except ImportError as cause:
        message = "a Mesh needs coal, which is not installed: pip install '.[collision]'"
        raise ContactError(field, message) from cause
    return coal


def coal_object(given: Shape | Placed, pose: Transform, field: str) -> tuple[Any, Any]:
    """Coal's geometry and transform of a shape whose body stands at ``pose``."""
    coal = _coal(field)
    shape = given.shape if isinstance(given, Placed) else given
    frame = pose @ given.pose if isinstance(given, Placed) else pose
    if isinstance(shape, Sphere):
        frame = frame @ Transform(p=shape.center)
        geometry = coal.Sphere(shape.radius)
    elif isinstance(shape, Capsule):
        geometry = coal.Capsule(shape.radius, 2.0 * shape.half_length)
    elif isinstance(shape, Cylinder):
        geometry = coal.Cylinder(shape.radius, 2.0 * shape.half_length)
    elif isinstance(shape, Box):
        geometry = coal.Box(*(2.0 * shape.half_extents))
    elif isinstance(shape, HalfSpace):
        geometry = coal.Halfspace(np.array(shape.normal), shape.offset)
    elif isinstance(shape, HeightField):
        raise ContactError(field, "a HeightField and a Mesh make no pair")
    elif isinstance(shape, Mesh):
        geometry = _mesh(coal, shape)
    else:
        # A polytope by its corners, any other by those it is drawn with.
        points = coal.StdVec_Vec3s()
        for point in shape.support_points()[0] if isinstance(shape, BodyShape) else shape.solid().vertices:
            points.append(np.array(point))
        geometry = coal.Convex.convexHull(points, True, "")
    return geometry, coal.Transform3s(np.array(frame.R), np.array(frame.p))


def _mesh(coal: Any, shape: Mesh) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(shape.triangles), len(shape.vertices))
    model.addVertices(np.array(shape.vertices))
    model.addTriangles(np.array(shape.triangles))
    model.endModel()
    return model


def _pair(shape_a: Shape | Placed, pose_a: Transform, shape_b: Shape | Placed, pose_b: Transform) -> tuple[Any, Any]:
    """Coal, and the two geometries with their transforms."""
    return _coal("shape_a"), (*coal_object(shape_a, pose_a, "shape_a"), *coal_object(shape_b, pose_b, "shape_b"))


def collide_by_coal(
    shape_a: Shape | Placed, pose_a: Transform, shape_b: Shape | Placed, pose_b: Transform, margin: float
) -> tuple[ContactPoint, ...]:
    """Contacts as coal finds them, one per pair of triangles, sorted by place; their features are -1."""
    coal, pair = _pair(shape_a, pose_a, shape_b, pose_b)
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin = margin
    request.num_max_contacts = MOST
    request.enable_contact = True
    coal.collide(*pair, request, result)
    contacts = []
    for contact in result.getContacts():
        gap = float(contact.penetration_depth)
        if gap <= margin:
            contacts.append((*(float(x) for x in contact.pos), *(float(x) for x in contact.normal), gap))
    rows = np.array(sorted(set(contacts)), dtype=np.float64).reshape(-1, 7)
    return tuple(ContactPoint(read_only(row[0:3]), read_only(row[3:6]), float(row[6]), -1) for row in rows)


def distance_by_coal(
    shape_a: Shape | Placed, pose_a: Transform, shape_b: Shape | Placed, pose_b: Transform
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Signed distance, normal from A to B, and the closest points of A and B."""
    coal, pair = _pair(shape_a, pose_a, shape_b, pose_b)
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    gap = float(coal.distance(*pair, request, result))
    return gap, np.array(result.normal), np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
