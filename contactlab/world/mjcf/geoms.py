"""Geoms of a compiled MuJoCo model as shapes, and who may touch whom."""

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
from contactlab.world.mjcf.bodies import body_names, placed
from contactlab.world.mjcf.errors import MjcfError
from contactlab.world.surface import ALL

MOST_CLASSES = 32


def filters(m: Any, colliding: list[int]) -> dict[int, tuple[int, int]]:
    """Return category and mask of each geom: one bit for each different pair of contype and conaffinity.

    MuJoCo lets two geoms meet where the contype of either has a bit in common with the other's conaffinity.
    """
    bits = {g: (int(m.geom_contype[g]), int(m.geom_conaffinity[g])) for g in colliding}
    classes = list(dict.fromkeys(bits.values()))
    if len(classes) == 1 and classes[0][0] & classes[0][1]:
        return dict.fromkeys(colliding, (1, ALL))
    if len(classes) > MOST_CLASSES:
        raise MjcfError("contype", f"{len(classes)} different pairs with conaffinity, at most {MOST_CLASSES} are taken")
    masks = [sum(1 << k for k, b in enumerate(classes) if a[0] & b[1] or b[0] & a[1]) for a in classes]
    return {g: (1 << classes.index(pair), masks[classes.index(pair)]) for g, pair in bits.items()}


def add_geoms(builder: WorldBuilder, m: Any) -> None:
    """Give the bodies in the builder their geoms that collide; those of the world become fixed bodies."""
    import mujoco

    names = body_names(m)
    colliding = [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g]]
    by_geom = filters(m, colliding)
    for g in colliding:
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}"
        body, (category, mask) = names[m.geom_bodyid[g]], by_geom[g]
        place = placed(m.geom_pos[g], m.geom_quat[g])
        try:
            material = Material(float(m.geom_friction[g, 0]))
            if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE:
                if body != WORLD:
                    raise MjcfError(f"geom {name!r}", "is a plane on a body: only the world's are taken")
                plane = HalfSpace.through(place.p, place.R[:, 2])
                builder.add_half_space(name, plane, material, category=category, mask=mask)
                continue
            shape = _shape(m, g, place)
        except ContactError as error:
            raise MjcfError(f"geom {name!r}", f"{error.field} {error.detail}") from error
        if shape is None:
            kind = mujoco.mjtGeom(int(m.geom_type[g])).name.removeprefix("mjGEOM_").lower()
            raise MjcfError(f"geom {name!r}", f"collides as a {kind}, which is not taken")
        if body == WORLD:
            builder.add_fixed_body(f"{WORLD}/{name}", shape, material, category=category, mask=mask)
        else:
            builder.add_shape(body, shape, material, category=category, mask=mask)


def _shape(m: Any, g: int, place: Transform) -> Placed | None:
    """Return the shape of a geom in its body, None for a kind that is not taken."""
    import mujoco

    kind, size = mujoco.mjtGeom(int(m.geom_type[g])), [float(x) for x in m.geom_size[g]]
    kinds = mujoco.mjtGeom
    shape: Shape
    if kind == kinds.mjGEOM_SPHERE:
        shape = Sphere(size[0])
    elif kind == kinds.mjGEOM_CAPSULE:
        shape = Capsule(size[0], size[1])
    elif kind == kinds.mjGEOM_CYLINDER:
        shape = Cylinder(size[0], size[1])
    elif kind == kinds.mjGEOM_BOX:
        shape = Box(size)
    elif kind == kinds.mjGEOM_ELLIPSOID:
        shape = ConvexPoints(directions(CORNERS) * size)
    elif kind == kinds.mjGEOM_MESH:
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


def add_exclusions(builder: WorldBuilder, m: Any) -> list[str]:
    """Let the pairs of bodies under <exclude> pass through each other; return notes on what was not exact."""
    import mujoco

    names, notes = body_names(m), []
    if np.any(m.geom_type == mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        notes.append(f"ellipsoids are taken as hulls of {CORNERS} points of their surface")
    for signature in m.exclude_signature:
        a, b = names[int(signature) >> 16], names[int(signature) & 0xFFFF]
        if WORLD in (a, b):
            notes.append(f"exclude of {a!r} and {b!r}: pairs with the world are not taken")
        else:
            builder.ignore(a, b)
    return notes
