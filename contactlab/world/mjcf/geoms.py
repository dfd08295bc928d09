"""Geoms of a compiled MuJoCo model as shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.contact import (
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    Placed,
    Shape,
    Sphere,
)
from contactlab.contact.shapes.coarse_hull import CORNERS, coarse_hull, directions
from contactlab.multibody.model import WORLD
from contactlab.spatial import Transform
from contactlab.world.builder import WorldBuilder
from contactlab.world.mjcf.errors import MjcfError
from contactlab.world.mjcf.filters import Classes, colliding, geom_filters, ignore_bodies
from contactlab.world.mjcf.source import Source, name_in, placed


def add_geoms(builder: WorldBuilder, source: Source, classes: Classes, *, surroundings: bool = True) -> list[str]:
    """Give the bodies in the builder their geoms that collide, and say who passes through whom; return notes.

    Those of the file's world become fixed bodies, planes half-spaces; without ``surroundings`` they are left out.
    """
    import mujoco

    m = source.m
    geoms = [g for g in colliding(source) if surroundings or m.geom_bodyid[g] != 0]
    by_geom, notes = geom_filters(source, geoms, classes)
    for g in geoms:
        name, body = name_in(m, "geom", g), int(m.geom_bodyid[g])
        category, mask = by_geom[g]
        place = placed(m.geom_pos[g], m.geom_quat[g])
        try:
            material = Material(float(m.geom_friction[g, 0]))
            if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE:
                if not source.stands(body):
                    raise MjcfError(f"geom {name!r}", "is a plane on a body that moves: only fixed ones are taken")
                place = source.standing(body) @ place
                plane = HalfSpace.through(place.p, place.R[:, 2])
                builder.add_half_space(source.prefix + name, plane, material, category=category, mask=mask)
                continue
            shape = _shape(m, g, place)
        except ContactError as error:
            raise MjcfError(f"geom {name!r}", f"{error.field} {error.detail}") from error
        if shape is None:
            kind = mujoco.mjtGeom(int(m.geom_type[g])).name.removeprefix("mjGEOM_").lower()
            raise MjcfError(f"geom {name!r}", f"collides as a {kind}, which is not taken")
        if body == 0:
            label = f"{source.prefix}{WORLD}/{name}"
            builder.add_fixed_body(label, shape, material, source.pose, category=category, mask=mask)
        else:
            builder.add_shape(source.bodies[body], shape, material, category=category, mask=mask)
    if any(m.geom_type[g] == mujoco.mjtGeom.mjGEOM_ELLIPSOID for g in geoms):
        notes.append(f"ellipsoids are taken as hulls of {CORNERS} points of their surface")
    return [*notes, *ignore_bodies(builder, source, geoms)]


def _shape(m: Any, g: int, place: Transform) -> Placed | None:
    """Return the shape of a geom in its body, None for a kind that is not taken."""
    import mujoco

    kind, kinds = int(m.geom_type[g]), mujoco.mjtGeom
    shape = primitive(kind, m.geom_size[g])
    if shape is not None:
        return Placed(shape, place)
    if kind == kinds.mjGEOM_MESH:
        mesh = int(m.geom_dataid[g])
        first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
        start, faces = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
        # MuJoCo too lets the hull of a mesh collide.
        vertices = np.array(m.mesh_vert[first : first + count], dtype=np.float64)
        shape = coarse_hull(vertices[np.unique(m.mesh_face[start : start + faces])])
    elif kind == kinds.mjGEOM_HFIELD:
        field = int(m.geom_dataid[g])
        rows, columns = int(m.hfield_nrow[field]), int(m.hfield_ncol[field])
        half_x, half_y, top, _ = (float(x) for x in m.hfield_size[field])
        at = int(m.hfield_adr[field])
        # Rows run along y, columns along x.
        heights = top * np.array(m.hfield_data[at : at + rows * columns], dtype=np.float64).reshape(rows, columns).T
        shape = HeightField(heights, (2.0 * half_x / (columns - 1), 2.0 * half_y / (rows - 1)))
        place = place @ Transform(p=(-half_x, -half_y, 0.0))
    else:
        return None
    return Placed(shape, place)


def primitive(kind: int, size: Any) -> Shape | None:
    """Return the shape of a geom or site that its size (3,) describes, None for another."""
    import mujoco

    kinds, (a, b, c) = mujoco.mjtGeom, (float(x) for x in size)
    if kind == kinds.mjGEOM_SPHERE:
        return Sphere(a)
    if kind == kinds.mjGEOM_CAPSULE:
        return Capsule(a, b)
    if kind == kinds.mjGEOM_CYLINDER:
        return Cylinder(a, b)
    if kind == kinds.mjGEOM_BOX:
        return Box((a, b, c))
    return ConvexPoints(directions(CORNERS) * (a, b, c)) if kind == kinds.mjGEOM_ELLIPSOID else None
