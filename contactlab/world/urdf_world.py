"""The shapes a robot description collides with, and worlds made of one description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import (
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    Material,
    Mesh,
    Placed,
    Shape,
    Sphere,
    load_mesh,
)
from contactlab.multibody import UrdfModel, body_pose
from contactlab.multibody.model import WORLD
from contactlab.multibody.urdf import UrdfBox, UrdfCapsule, UrdfCylinder, UrdfGeometry, UrdfSphere
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray
from contactlab.world.builder import WorldBuilder
from contactlab.world.errors import SimulationConfigError
from contactlab.world.world import World

#: What becomes of meshes: their convex hull, the mesh itself, nothing.
MESHES = ("convex", "exact", "skip")

#: Corners a hull keeps at most: those farthest along directions spread over the sphere.
CORNERS = 256

GROUND = "ground"


def shape_of(geometry: UrdfGeometry, meshes: str) -> Placed | None:
    """Return the shape of one <collision>, None for a mesh that is to be skipped."""
    given, name = geometry.shape, f"link {geometry.body!r} <collision>"
    try:
        if isinstance(given, UrdfSphere):
            shape: Shape = Sphere(given.radius)
        elif isinstance(given, UrdfBox):
            shape = Box(0.5 * np.array(given.size))
        elif isinstance(given, UrdfCylinder):
            shape = Cylinder(given.radius, 0.5 * given.length)
        elif isinstance(given, UrdfCapsule):
            # One without a cylinder in between is a ball.
            shape = Capsule(given.radius, 0.5 * given.length) if given.length > 0.0 else Sphere(given.radius)
        elif meshes == "skip":
            return None
        elif given.path is None:
            detail = (
                f"the mesh {given.uri!r} is in none of the folders given (package_roots); meshes='skip' goes without"
            )
            raise SimulationConfigError(name, detail)
        else:
            mesh = load_mesh(Path(given.path), scale=given.scale)
            shape = mesh if meshes == "exact" else convex_hull(mesh)
    except ContactError as error:
        raise SimulationConfigError(name, f"{error.field} {error.detail}") from error
    return Placed(shape, geometry.placement)


def convex_hull(mesh: Mesh) -> ConvexPoints:
    """Return the hull of a mesh, of its farthest corners where there are more than `CORNERS`."""
    points, _ = mesh.support_points()
    if len(points) > CORNERS:
        points = points[np.unique(np.argmax(points @ directions(CORNERS).T, axis=0))]
    return ConvexPoints(points)


def directions(n: int) -> FloatArray:
    """Return n unit vectors (n, 3) spread over the sphere: on a spiral, the golden angle apart; always the same."""
    i = np.arange(n)
    z = 1.0 - (2.0 * i + 1.0) / n
    angle, r = i * np.pi * (3.0 - np.sqrt(5.0)), np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def add_urdf_shapes(
    builder: WorldBuilder, model: UrdfModel, material: Material, *, prefix: str, meshes: str, self_collisions: bool
) -> None:
    """Give the links in a builder the shapes they collide with."""
    touching: list[str] = []
    for number, geometry in enumerate(model.collisions):
        placed = shape_of(geometry, meshes)
        if placed is None:
            continue
        if geometry.body == WORLD:
            builder.add_fixed_body(f"{prefix}{WORLD} {number}", placed, material)
            continue
        builder.add_shape(prefix + geometry.body, placed, material)
        touching.append(prefix + geometry.body)
    if not self_collisions:
        links = list(dict.fromkeys(touching))
        for i, one in enumerate(links):
            for other in links[i + 1 :]:
                builder.ignore(one, other)


def urdf_world(
    model: UrdfModel,
    *,
    floating_base: bool,
    ground: HalfSpace | bool,
    material: Material,
    collisions: bool,
    meshes: str,
    self_collisions: bool,
    q: ArrayLike | None,
    v: ArrayLike | None,
) -> World:
    """Return the world of `World.from_urdf`."""
    builder = WorldBuilder(model.gravity)
    plane = HalfSpace() if ground is True else ground
    if isinstance(plane, HalfSpace):
        builder.add_half_space(GROUND, plane, material)
    elif plane is not False:
        raise SimulationConfigError("ground", f"must be True, False or a HalfSpace, got {type(plane).__name__}")
    if meshes not in MESHES:
        raise SimulationConfigError("meshes", f"must be one of {', '.join(MESHES)}, got {meshes!r}")
    start = None if q is None else np.array(q, dtype=np.float64)
    if start is None and floating_base and isinstance(plane, HalfSpace) and collisions:
        start = _standing(model, plane, meshes)
    builder.add_model(model, start, v)
    if collisions:
        add_urdf_shapes(builder, model, material, prefix="", meshes=meshes, self_collisions=self_collisions)
    return builder.build()


def _standing(model: UrdfModel, plane: HalfSpace, meshes: str) -> FloatArray:
    """Return the neutral configuration, moved along the normal until the lowest shape meets the plane."""
    from contactlab.contact.detection import distance

    q = model.neutral.copy()
    lowest = np.inf
    for geometry in model.collisions:
        placed = shape_of(geometry, meshes)
        if placed is not None and geometry.body != WORLD:
            lowest = min(lowest, distance(plane, Transform(), placed, body_pose(model, q, geometry.body)).gap)
    if np.isfinite(lowest):
        q[:3] -= lowest * plane.normal
    return q
