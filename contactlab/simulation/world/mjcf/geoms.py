"""Bodies and joints of a compiled MuJoCo model; its geoms as shapes and visuals, with their collision filters."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import (
    Box,
    Capsule,
    ContactError,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    PlacedShape,
    Shape,
    Sphere,
)
from contactlab.collision.shapes.convex_points import MAX_CORNERS, coarse_hull, directions
from contactlab.multibody import Model, ModelBuilder, joints
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.world.body_builder import BodyBuilder
from contactlab.simulation.world.mjcf.source import (
    BALL,
    FREE,
    HINGE,
    SCALAR,
    MjcfError,
    Source,
    make_pose,
    mujoco,
    name_in,
)
from contactlab.simulation.world.surface import ALL, VisualMesh


def model_of(source: Source, gravity: ArrayLike) -> Model:
    """Return the model; its bodies have their names in the world.

    A body with several joints has one massless body for each joint but the last. A body whose last joint does not pass
    through its origin is fixed to a massless body that does. So the order of q and v is MuJoCo's. A body whose parent
    is welded to the world becomes a child of the world itself, which it may touch, as in MuJoCo.
    """
    m, names = source.m, source.bodies
    builder = ModelBuilder(gravity)
    for i in range(1, m.nbody):
        above, place = int(m.body_parentid[i]), make_pose(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        parent = names[above]
        if above == 0 or (count and source.is_static(above)):
            parent, place = WORLD, source.static_pose(above) @ place
        for j in range(first, first + count):
            kind, anchor = int(m.jnt_type[j]), np.array(m.jnt_pos[j])
            if kind == FREE:
                # Its configuration is the pose in the world; only the start contains the body's position.
                place, anchor = Transform(), np.zeros(3)
            name = source.moved[j]
            inertia = _inertia(m, i) if name == names[i] else None
            at = place @ Transform(p=anchor)
            dof = int(m.jnt_dofadr[j])
            builder.add_body(
                name,
                parent=parent,
                joint=_joint(m, j),
                placement=at,
                inertia=inertia,
                armature=np.array(m.dof_armature[dof : dof + {FREE: 6, BALL: 3}.get(kind, 1)]),
                joint_name=source.handle(j),
            )
            parent, place = name, Transform(p=-anchor)
        if not count or parent != names[i]:
            builder.add_body(names[i], parent=parent, joint=joints.Fixed(), placement=place, inertia=_inertia(m, i))
    return builder.build()


def configuration(source: Source, qpos: Any) -> FloatArray:
    """Return q of a qpos: joints are relative to their reference, and free bodies move with the pose of the file.

    The order is the file's.
    """
    m, q = source.m, np.array(qpos, dtype=np.float64)
    for j in range(m.njnt):
        at, kind = int(m.jnt_qposadr[j]), int(m.jnt_type[j])
        if kind in SCALAR:
            q[at] -= m.qpos0[at]
            continue
        turn = slice(at + 3, at + 7) if kind == FREE else slice(at, at + 4)
        q[turn] /= np.linalg.norm(q[turn])
        if kind == FREE:
            q[at : at + 3] = source.pose.apply(q[at : at + 3])
            q[turn] = quaternion.multiply(quaternion.from_matrix(source.pose.R), q[turn])
    return q


def velocity(source: Source, qvel: Any) -> FloatArray:
    """Return v (nv,) of a qvel, in the file's order.

    Linear velocities of free bodies are rotated into the world by the file's pose; angular ones are in body axes.
    """
    m, v = source.m, np.array(qvel, dtype=np.float64)
    for j in np.flatnonzero(np.asarray(m.jnt_type) == FREE):
        at = int(m.jnt_dofadr[j])
        v[at : at + 3] = source.pose.R @ v[at : at + 3]
    return v


def _joint(m: Any, j: int) -> joints.Joint:
    """Return joint j of a compiled MuJoCo model as a joint of contactlab; its position and limits are not included."""
    kind = int(m.jnt_type[j])
    if kind == FREE:
        return joints.FloatingBase()
    if kind == BALL:
        return joints.Spherical()
    return joints.Revolute(m.jnt_axis[j]) if kind == HINGE else joints.Prismatic(m.jnt_axis[j])


def _inertia(m: Any, i: int) -> RigidInertia | None:
    """Return the inertia of body i in body axes, None if it has neither mass nor moments."""
    mass, moments = float(m.body_mass[i]), np.array(m.body_inertia[i])
    if mass == 0.0 and not moments.any():
        return None
    frame = make_pose(m.body_ipos[i], m.body_iquat[i])
    about = frame.R @ np.diag(moments) @ frame.R.T
    about = 0.5 * (about + about.T)
    return RigidInertia(mass, frame.p, inertia=about, physical=False)


# MuJoCo's viewer shows geoms of the groups below this one by default.
HIDDEN_GROUP = 3
PLAIN = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom without one


def add_geoms(builder: BodyBuilder, source: Source, classes: Classes, *, surroundings: bool = True) -> list[str]:
    """Add the geoms and collision filters of the bodies in the builder; return notes.

    Colliding geoms of the file's world become fixed bodies, planes become half-spaces; without ``surroundings`` they
    are omitted. Pictures show the geoms that MuJoCo's viewer shows.
    """
    m = source.m
    geoms = [g for g in colliding(source) if surroundings or m.geom_bodyid[g] != 0]
    by_geom, notes = geom_filters(source, geoms, classes)
    seen = _visible_geoms(m)
    # Geoms under a skin are visible here, because skins are not drawn.
    dressed = set() if m.nskin else {_weld(m, g) for g in seen}
    for g in geoms:
        name, body = name_in(m, "geom", g), int(m.geom_bodyid[g])
        category, mask = by_geom[g]
        place = make_pose(m.geom_pos[g], m.geom_quat[g])
        try:
            material = _material(m, g)
            if m.geom_type[g] == mujoco().mjtGeom.mjGEOM_PLANE:
                if not source.is_static(body):
                    raise MjcfError(f"geom {name!r}", "is a plane on a body that moves: only fixed ones are taken")
                place = source.static_pose(body) @ place
                plane = HalfSpace.through(place.p, place.R[:, 2])
                builder.add_half_space(source.prefix + name, plane, material, category=category, mask=mask)
                continue
            shape = _shape(m, g, place)
        except ContactError as error:
            raise MjcfError(f"geom {name!r}", f"{error.field} {error.detail}") from error
        if shape is None:
            kind = mujoco().mjtGeom(int(m.geom_type[g])).name.removeprefix("mjGEOM_").lower()
            raise MjcfError(f"geom {name!r}", f"collides as a {kind}, which is not taken")
        if body == 0:
            label = f"{source.prefix}{WORLD}/{name}"
            builder.add_fixed_body(label, shape, material, source.pose, category=category, mask=mask)
        else:
            # A geom that looks like its shape needs no visual.
            plain = g in seen and _rgba(m, g) is None and m.geom_type[g] != mujoco().mjtGeom.mjGEOM_MESH
            shown = plain or _weld(m, g) not in dressed
            seen -= {g} if plain else set()
            builder.add_shape(source.bodies[body], shape, material, category=category, mask=mask, shown=shown)
    _add_visuals(builder, source, seen)
    if any(m.geom_type[g] == mujoco().mjtGeom.mjGEOM_ELLIPSOID for g in geoms):
        notes.append(f"ellipsoids are taken as hulls of {MAX_CORNERS} points of their surface")
    return [*notes, *ignore_bodies(builder, source, geoms)]


def _material(m: Any, g: int) -> Material:
    """Return the material of a geom; the priority is doubled, and less by one if the geom is frictionless (condim 1).

    Of two geoms of one priority in the file, the one with friction therefore decides. Two frictionless geoms have no
    friction.
    """
    slips, priority = bool(m.geom_condim[g] == 1), int(m.geom_priority[g])
    return Material(0.0 if slips else float(m.geom_friction[g, 0]), priority=2 * priority - slips)


def _visible_geoms(m: Any) -> set[int]:
    """Return the geoms of bodies that MuJoCo's viewer shows, as far as they can be drawn."""
    kinds = mujoco().mjtGeom
    drawn = {kinds.mjGEOM_SPHERE, kinds.mjGEOM_CAPSULE, kinds.mjGEOM_ELLIPSOID, kinds.mjGEOM_CYLINDER}
    drawn |= {kinds.mjGEOM_BOX, kinds.mjGEOM_MESH}
    return {
        g
        for g in range(m.ngeom)
        if m.geom_bodyid[g] != 0
        and m.geom_group[g] < HIDDEN_GROUP
        and mujoco().mjtGeom(int(m.geom_type[g])) in drawn
        and (_rgba(m, g) or PLAIN)[3] > 0.0
    }


def _weld(m: Any, g: int) -> tuple[bool, int]:
    """Return a key common to geoms of one rigid body; geoms of bodies welded to the world have separate keys."""
    body = int(m.geom_bodyid[g])
    weld = int(m.body_weldid[body])
    return (True, weld) if weld else (False, body)


def _rgba(m: Any, g: int) -> tuple[float, float, float, float] | None:
    """Return the colour of a geom or of its material, or None if neither has one."""
    own, material = m.geom_rgba[g], int(m.geom_matid[g])
    if np.allclose(own, PLAIN):
        if material < 0:
            return None
        own = m.mat_rgba[material]
    red, green, blue, opacity = (float(x) for x in np.clip(own, 0.0, 1.0))
    return red, green, blue, opacity


def _add_visuals(builder: BodyBuilder, source: Source, geoms: set[int]) -> None:
    """Add visuals to the bodies in the builder; geoms of one mesh share it."""
    m, meshes = source.m, dict[int, VisualMesh]()
    for g in sorted(geoms):
        place, number = make_pose(m.geom_pos[g], m.geom_quat[g]), int(m.geom_dataid[g])
        seen: Shape | VisualMesh
        if m.geom_type[g] == mujoco().mjtGeom.mjGEOM_MESH:
            if number not in meshes:
                vertices, triangles = _triangles(m, number)
                meshes[number] = VisualMesh(name_in(m, "mesh", number), triangles=(vertices, triangles))
            seen = meshes[number]
        else:
            shape = _shape(m, g, place)
            assert shape is not None  # one of the drawn geoms
            seen = shape.shape
        builder.add_visual(source.bodies[int(m.geom_bodyid[g])], seen, placement=place, rgba=_rgba(m, g))


def _triangles(m: Any, mesh: int) -> tuple[FloatArray, IntArray]:
    """Return the vertices (n, 3) and triangles (m, 3) of a mesh."""
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    start, faces = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
    vertices = np.array(m.mesh_vert[first : first + count], dtype=np.float64)
    return vertices, np.array(m.mesh_face[start : start + faces], dtype=np.int64)


def _shape(m: Any, g: int, place: Transform) -> PlacedShape | None:
    """Return the shape of a geom in its body, None for an unsupported kind."""
    kind, kinds = int(m.geom_type[g]), mujoco().mjtGeom
    shape = primitive(kind, m.geom_size[g])
    if shape is not None:
        return PlacedShape(shape, place)
    if kind == kinds.mjGEOM_MESH:
        # As in MuJoCo, the hull of a mesh collides.
        vertices, triangles = _triangles(m, int(m.geom_dataid[g]))
        shape = coarse_hull(vertices[np.unique(triangles)])
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
    return PlacedShape(shape, place)


def primitive(kind: int, size: Any) -> Shape | None:
    """Return the shape of a geom or site given by its size (3,), None for other kinds."""
    a, b, c = (float(x) for x in size)
    makers: dict[str, Callable[[], Shape]] = {
        "mjGEOM_SPHERE": lambda: Sphere(a),
        "mjGEOM_CAPSULE": lambda: Capsule(a, b),
        "mjGEOM_CYLINDER": lambda: Cylinder(a, b),
        "mjGEOM_BOX": lambda: Box((a, b, c)),
        "mjGEOM_ELLIPSOID": lambda: ConvexPoints(directions(MAX_CORNERS) * (a, b, c)),
    }
    maker = makers.get(mujoco().mjtGeom(kind).name)
    return None if maker is None else maker()


MAX_CLASSES = 32

#: contype, conaffinity and, for a geom with individual partners, a number of its own class.
GeomClass = tuple[int, int, int]
#: Bit of each class of geoms in a world. The first belongs to default geoms, and to shapes without
#: filters.
Classes = dict[GeomClass, int]
DEFAULT_CLASS: GeomClass = (1, 1, 0)


def geom_filters(source: Source, geoms: list[int], classes: Classes) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Return category and mask of each geom, and notes; new classes get the next bits of ``classes``.

    MuJoCo lets two geoms touch if the contype of either has a bit in common with the other's conaffinity. Excluded
    bodies do not touch; explicit pairs touch for any bits. Planes and geoms of the world have no moving body, so their
    exclusions are treated here too.
    """
    m, notes = source.m, list[str]()
    classes.setdefault(DEFAULT_CLASS, 1)
    special = _special_pairs(source, geoms)
    keys = _class_keys(m, geoms, special, classes)
    if len({*classes, *keys.values()}) > MAX_CLASSES and special:
        notes.append("explicit contact pairs and exclusions of the world not taken: too many different ones")
        special = {}
        keys = _class_keys(m, geoms, special, classes)
    count = len({*classes, *keys.values()})
    if count > MAX_CLASSES:
        raise MjcfError("contype", f"{count} different pairs with conaffinity, at most {MAX_CLASSES} are taken")
    for key in keys.values():
        classes.setdefault(key, 1 << len(classes))
    own = {key: g for g, key in reversed(keys.items())}
    said: dict[int, tuple[int, int]] = {}
    for g, key in keys.items():
        mask = ALL
        for other, bit in classes.items():
            may = bool(key[0] & other[1] or key[1] & other[0])
            if own.get(other, g) != g:
                may = special.get(frozenset((g, own[other])), may)
            mask &= ALL if may else ~bit
        said[g] = (classes[key], mask)
    return said, notes


def _class_keys(
    m: Any, geoms: list[int], special: dict[frozenset[int], bool], classes: Classes
) -> dict[int, GeomClass]:
    """Return the class of each geom: (contype, conaffinity, number). Geoms of one class touch the same geoms.

    The number is 0 unless the geom is in a pair of ``special``; it distinguishes geoms with the same bits and other
    pairs, also of the files that made ``classes``.
    """
    first, numbers = 1 + max(key[2] for key in classes), dict[Any, int]()
    keys = {}
    for g in geoms:
        bits, number = (int(m.geom_contype[g]), int(m.geom_conaffinity[g])), 0
        partners = frozenset((pair - {g}, may) for pair, may in special.items() if g in pair)
        if partners:
            number = numbers.setdefault((bits, partners), first + len(numbers))
        keys[g] = (*bits, number)
    return keys


def _special_pairs(source: Source, geoms: list[int]) -> dict[frozenset[int], bool]:
    """Return pairs of geoms whose contact does not depend on their bits, unless bodies already decide it."""
    m, taken = source.m, set(geoms)
    said: dict[frozenset[int], bool] = {}
    of_body: dict[int, list[int]] = {}
    for g in geoms:
        of_body.setdefault(int(m.geom_bodyid[g]), []).append(g)
    for a, b in excluded(m):
        for g, k in itertools.product(of_body.get(a, ()), of_body.get(b, ())):
            if is_ground(source, g) or is_ground(source, k):
                said[frozenset((g, k))] = False
    for one, two in zip(m.pair_geom1, m.pair_geom2, strict=True):
        g, k = int(one), int(two)
        may = m.geom_contype[g] & m.geom_conaffinity[k] or m.geom_contype[k] & m.geom_conaffinity[g]
        if g in taken and k in taken and not (may and frozenset((g, k)) not in said):
            said[frozenset((g, k))] = True
    return said


def colliding(source: Source) -> list[int]:
    """Return the numbers of the geoms that can collide."""
    m = source.m
    if source.is_flag_disabled("contact", "constraint"):
        return []
    paired = {*map(int, m.pair_geom1), *map(int, m.pair_geom2)}
    return [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g] or g in paired]


def excluded(m: Any) -> list[tuple[int, int]]:
    """Return the pairs of bodies of <exclude> elements."""
    return [(int(signature) >> 16, int(signature) & 0xFFFF) for signature in m.exclude_signature]


def is_ground(source: Source, g: int) -> bool:
    """Return True if a geom is a plane, or belongs to the world: it becomes a separate shape, without a body."""
    return bool(source.m.geom_bodyid[g] == 0 or source.m.geom_type[g] == mujoco().mjtGeom.mjGEOM_PLANE)


def ignore_bodies(builder: BodyBuilder, source: Source, geoms: list[int]) -> list[str]:
    """Exclude collisions of bodies that do not collide in MuJoCo; return notes on inexact cases.

    Bodies without joints form one weld with their parents. A weld does not touch its parent weld, unless that is the
    world. The builder excludes pairs that one joint connects in any case.
    """
    m, names, notes = source.m, source.bodies, list[str]()
    weld = np.asarray(m.body_weldid)
    above = weld[np.asarray(m.body_parentid)[weld]]  # parent weld of each body's weld
    with_geoms = sorted({int(m.geom_bodyid[g]) for g in geoms if m.geom_bodyid[g]})
    pairs = itertools.product(with_geoms, with_geoms)
    joined = [(a, b) for a, b in pairs if weld[a] != weld[b] and weld[a] == above[b] != 0]
    if source.is_flag_disabled("filterparent"):
        single = [f"{names[a]!r} and {names[b]!r}" for a, b in joined if m.body_jntnum[weld[b]] == 1]
        if single:
            notes.append(f"contacts of bodies that one joint joins (filterparent) not taken: {', '.join(single[:8])}")
        joined = []
    for a, b in (*joined, *excluded(m)):
        if a in with_geoms and b in with_geoms:
            builder.exclude_collision(names[a], names[b])
    apart = {frozenset(pair) for pair in (*joined, *excluded(m))}
    silent = []
    for p in range(m.npair):
        g, k = int(m.pair_geom1[p]), int(m.pair_geom2[p])
        on_bodies = not (is_ground(source, g) or is_ground(source, k))
        if on_bodies and frozenset((int(m.geom_bodyid[g]), int(m.geom_bodyid[k]))) in apart:
            silent.append(name_in(m, "pair", p))
    if silent:
        notes.append(f"explicit contact pairs of joined or excluded bodies not taken: {', '.join(map(repr, silent))}")
    return notes
