"""A robot description in a world builder: colliders, visuals, and the pose of its base."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from contactlab.collision import (
    Box,
    Capsule,
    ContactError,
    Cylinder,
    HalfSpace,
    Material,
    PlacedShape,
    Shape,
    Sphere,
    load_hull,
    load_mesh,
)
from contactlab.multibody import UrdfModel, apply_mimic, body_pose
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.model import structure
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import FloatArray, finite_array
from contactlab.multibody.urdf import (
    UrdfBox,
    UrdfCapsule,
    UrdfCylinder,
    UrdfGeometry,
    UrdfMesh,
    UrdfSphere,
)
from contactlab.multibody.urdf.reading import warn_of
from contactlab.simulation.world.body_builder import BodyBuilder
from contactlab.simulation.world.errors import RobotFileError, SimulationConfigError
from contactlab.simulation.world.surface import VisualMesh

#: Treatment of a mesh: its convex hull, the mesh itself, or no shape.
MeshMode = Literal["convex", "exact", "skip"]
#: One treatment for all meshes, or by link, "convex" for other links.
MeshModes = MeshMode | Mapping[str, MeshMode]
#: Treatment of a mesh that cannot be used: an error, or a robot without it and a warning.
BadMeshes = Literal["raise", "skip"]

_MODES = ("convex", "exact", "skip")
_BAD = ("raise", "skip")


def collision_shapes(
    model: UrdfModel, meshes: MeshModes, bad_meshes: BadMeshes
) -> list[tuple[UrdfGeometry, PlacedShape]]:
    """Return the shapes of a description with their records; every mesh file is read once for each scale.

    For a mesh that cannot be used, ``bad_meshes`` "raise" raises `RobotFileError`, and "skip" leaves it out, with an
    `UrdfWarning`. Meshes of links with the mode "skip" are left out.
    """
    modes = _modes(model, meshes)
    if bad_meshes not in _BAD:
        raise SimulationConfigError("bad_meshes", f"must be one of {', '.join(_BAD)}, got {bad_meshes!r}")
    read = functools.cache(_mesh)
    shapes: list[tuple[UrdfGeometry, PlacedShape]] = []
    left_out: list[str] = []
    for geometry in model.collisions:
        given = geometry.shape
        if not isinstance(given, UrdfMesh):
            shapes.append((geometry, PlacedShape(solid_of(geometry), geometry.placement)))
            continue
        mode = modes if isinstance(modes, str) else modes.get(geometry.body, "convex")
        if mode == "skip":
            continue
        shape = read(given, mode)
        if not isinstance(shape, Shape):
            field = f"link {geometry.body!r} <collision>"
            if bad_meshes == "raise":
                raise RobotFileError(
                    field,
                    f"{shape}; mend or find it, or go without: bad_meshes='skip', meshes={{{geometry.body!r}: 'skip'}}",
                )
            left_out.append(f"{field}: {shape}")
            continue
        shapes.append((geometry, PlacedShape(shape, geometry.placement)))
    if left_out:
        listed = "; ".join(left_out[:20]) + (f"; and {len(left_out) - 20} more" if len(left_out) > 20 else "")
        warn_of(f"meshes left out: {listed}")
    return shapes


def add_links(
    builder: BodyBuilder,
    model: UrdfModel,
    shapes: list[tuple[UrdfGeometry, PlacedShape]],
    material: Material,
    prefix: str,
    pose: Transform | None,
    filters: tuple[int, int],
    *,
    self_collisions: bool,
) -> None:
    """Add colliders and visuals to links in a builder; pictures show the visuals in place of the colliders."""
    dressed, (category, mask) = add_visuals(builder, model, prefix), filters
    touching: dict[str, None] = {}
    for number, (geometry, shape) in enumerate(shapes):
        link = prefix + geometry.body
        if geometry.body == WORLD:
            builder.add_fixed_body(f"{prefix}{WORLD} {number}", shape, material, pose, category=category, mask=mask)
        else:
            builder.add_shape(link, shape, material, category=category, mask=mask, shown=geometry.body not in dressed)
            touching[link] = None
    if not self_collisions:
        for pair in itertools.combinations(touching, 2):
            builder.exclude_collision(*pair)


def add_visuals(builder: BodyBuilder, model: UrdfModel, prefix: str) -> set[str]:
    """Add visuals to links in a builder; return the links with visuals, and the links fixed to them."""
    welds = dict(zip(model.names, structure(model).body_link.tolist(), strict=True))
    dressed: set[int] = set()
    for geometry in model.visuals:
        seen = _visual(geometry)
        if seen is not None:
            builder.add_visual(prefix + geometry.body, seen, placement=geometry.placement, rgba=geometry.rgba)
            dressed.add(welds[geometry.body])
    return {name for name, weld in welds.items() if weld in dressed}


def _visual(geometry: UrdfGeometry) -> Shape | VisualMesh | None:
    """Return the shape of a <visual>; None for visuals of the world, and for shapes without size."""
    given = geometry.shape
    if geometry.body == WORLD:
        return None
    if isinstance(given, UrdfMesh):
        return VisualMesh(given.uri, given.path, given.scale)
    try:
        return solid_of(geometry)
    except SimulationConfigError:
        return None


def with_joints(model: UrdfModel, positions: Mapping[str, float], *, mimics: bool) -> FloatArray:
    """Return a start (nq,) with joints at the given positions by name, the others neutral.

    With ``mimics``, mimic joints agree with their leaders.
    """
    q = model.neutral.copy()
    first_by_body: dict[str, str] = {}
    for name, position in positions.items():
        # The name of a link is also a name of its joint.
        first = first_by_body.setdefault(model.body_of_joint(name), name)
        if first != name:
            raise SimulationConfigError(f"q[{name!r}]", f"is of the same joint as q[{first!r}]")
        place = model.joint_q(name)
        q[place] = finite_array(position, f"q[{name!r}]", (), SimulationConfigError)
        if place.stop - place.start != 1:
            raise SimulationConfigError(
                f"q[{name!r}]", f"joint has {place.stop - place.start} numbers, must have 1; use a whole q (nq,)"
            )
    return apply_mimic(model, q) if mimics else q


def with_root_pose(model: UrdfModel, pose: Transform) -> UrdfModel:
    """Return a model whose roots are at ``pose`` in the world."""
    return dataclasses.replace(
        model,
        bodies=tuple(
            dataclasses.replace(body, placement=pose @ body.placement) if body.parent == WORLD else body
            for body in model.bodies
        ),
    )


def place_on_plane(
    model: UrdfModel, q: FloatArray, plane: HalfSpace, shapes: list[tuple[UrdfGeometry, PlacedShape]]
) -> FloatArray:
    """Return a start whose floating base is moved along the normal until the lowest shape touches the plane."""
    lowest = np.inf
    for geometry, placed in shapes:
        if geometry.body != WORLD:
            pose = body_pose(model, q, geometry.body) @ placed.pose
            height = float(pose.p @ plane.normal - plane.offset)
            lowest = min(lowest, height - _reach(placed.shape, -(pose.R.T @ plane.normal)))
    raised = q.copy()
    if np.isfinite(lowest):
        raised[:3] -= lowest * plane.normal
    return raised


def _reach(shape: object, direction: FloatArray) -> float:
    """Return the largest coordinate [m] of a shape along a unit vector (3,), from its origin, in its axes."""
    if isinstance(shape, Cylinder):
        return shape.half_length * abs(float(direction[2])) + shape.radius * float(np.hypot(direction[0], direction[1]))
    points, radii = shape.support_points()  # type: ignore[attr-defined]
    return float(np.max(points @ direction + radii))


def _modes(model: UrdfModel, meshes: MeshModes) -> MeshModes:
    """Check the treatment of meshes, for all links or by link, and return it."""
    by_link = {"": meshes} if isinstance(meshes, str) else meshes
    if not isinstance(by_link, Mapping):
        raise SimulationConfigError("meshes", f"must be a word or a mapping from links, got {type(meshes).__name__}")
    for link, mode in by_link.items():
        if link and link != WORLD and link not in model.names:
            raise SimulationConfigError("meshes", f"no link is called {link!r}")
        if mode not in _MODES:
            raise SimulationConfigError("meshes", f"must be one of {', '.join(_MODES)}, got {mode!r}")
    return meshes


def _mesh(given: UrdfMesh, mode: str) -> Shape | SimulationConfigError:
    """Return a mesh as a shape, or an error."""
    if given.path is None:
        package = given.uri.split("://", 1)[-1].lstrip("/").split("/", 1)[0]
        wanted = f"; package_roots must name a folder that contains '{package}'" if "://" in given.uri else ""
        return SimulationConfigError(given.uri, f"is in none of the folders given (package_roots){wanted}")
    try:
        return load_mesh(given.path, scale=given.scale) if mode == "exact" else load_hull(given.path, scale=given.scale)
    except ContactError as error:
        return SimulationConfigError(given.uri, error.detail if error.field == "path" else str(error))


def solid_of(geometry: UrdfGeometry) -> Shape:
    """Return a geometry other than a mesh as a shape; a capsule of length 0 as a ball.

    Invalid sizes raise `RobotFileError`.
    """
    given: Any = geometry.shape
    try:
        if isinstance(given, UrdfBox):
            return Box(0.5 * np.array(given.size))
        # A capsule of length zero is a ball.
        if isinstance(given, UrdfSphere) or (isinstance(given, UrdfCapsule) and not given.length > 0.0):
            return Sphere(given.radius)
        kind = Cylinder if isinstance(given, UrdfCylinder) else Capsule
        return kind(given.radius, 0.5 * given.length)
    except ContactError as error:
        raise RobotFileError(f"link {geometry.body!r} <collision>", f"{error.field} {error.detail}") from error
