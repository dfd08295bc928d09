"""Scenes from TOML files, which are untrusted: the world is built section by section from its tables."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from contactlab.collision import HalfSpace, Material, PlacedShape
from contactlab.constraint_solver.friction_backend import QP_CODES
from contactlab.constraint_solver.model_problem.drives import Drive
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import UrdfModel, load_urdf
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.urdf import UrdfMesh
from contactlab.multibody.urdf.reading import rotation
from contactlab.simulation.scene.table import SceneError, Table, read_document, suggestion, with_overrides
from contactlab.simulation.scene.values import (
    FILTER,
    MAX_ENTRIES,
    MOTION,
    NUMBERS,
    PART,
    POSE,
    STEPPER,
    SURFACE,
    Part,
    parse_filter,
    parse_material,
    parse_part,
    parse_parts,
    parse_pose,
    parse_stepper,
    parse_surface,
)
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.world import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion
from contactlab.simulation.world.builder import WorldBuilder
from contactlab.simulation.world.urdf_world import add_visuals, solid_of
from contactlab.simulation.world.world import World

__all__ = ["Scene", "SceneError", "load_scene"]

MAX_STEPS = 1e8
MAX_BODIES = 4000

_DRIVES: dict[str, Any] = {kind.__name__.removesuffix("Drive").lower(): kind for kind in get_args(Drive)}
_SWING = ("translation", "rotation", "frequency", "phase")
_FIXED = ("name", "part", *PART)
_ROBOT = ("name", "urdf", "floating_base", "collisions", "q", "v", "shape", "limits", "damping", "friction", "mimics")
# The keys of the sections that are arrays of tables.
_KEYS: dict[str, tuple[str, ...]] = {
    "material": ("name", *NUMBERS),
    "half_space": ("name", "normal", "point", *SURFACE, *FILTER),
    "fixed": _FIXED,
    "body": ("mass", "density", "com", "inertia", "count", "spacing", *_FIXED, *MOTION),
    "kinematic": ("belt", *_SWING, *_FIXED, *MOTION),
    "robot": (*_ROBOT, "limit", "drive", *SURFACE, *POSE, *FILTER),
    "loop": ("a", "b", "point_a", "point_b", "rpy_a", "rpy_b", "holds", "axes", "sliding", "erp", "name"),
    "ignore": ("bodies",),
}
# Rows of the kinds of loops: the axes of frame a along and about which b does not move; rotations first.
_ROWS = {
    "point": np.eye(6)[3:],
    "weld": np.eye(6),
    "hinge": np.eye(6)[[0, 1, 3, 4, 5]],  # turns about z
    "slider": np.eye(6)[:5],  # slides along z
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene ready to run.

    Attributes
    ----------
    name, description
        As in the file.
    world, stepper
        The world, and its stepper.
    duration
        [s].
    text
        The text of the file.
    changes
        Values by path that replace those in the file.
    """

    name: str
    description: str
    world: World
    stepper: TimeStepping
    duration: float
    text: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stamp(self) -> dict[str, str]:
        """Return a record's entries about its scene: the text, its SHA-256, and the changes if there are any."""
        stamp = {"scene": self.text, "scene_sha256": hashlib.sha256(self.text.encode()).hexdigest()}
        return {**stamp, "scene_changes": json.dumps(dict(self.changes))} if self.changes else stamp


def load_scene(path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None) -> Scene:
    """Read a scene file; see ``docs/scenes.md`` for its sections.

    Nothing in it is evaluated, nothing outside its folder is read, and its size is bounded.

    Parameters
    ----------
    path
        The file.
    changes
        Replacement values by dotted paths as in ``stepper.h`` or ``body.cube.position.2``; see
        `contactlab.simulation.scene.table.with_overrides`.

    Raises
    ------
    SceneError
        The file is invalid; the error names file, line and key.
    """
    path = Path(path)
    root, text = read_document(path)
    root = with_overrides(root, changes or {})
    found = parse_scene(root)
    _check_solver(root, found.world)
    return dataclasses.replace(found, text=text, changes=dict(changes or {}))


def _check_solver(root: Table, world: World) -> None:
    """Raise if a quadratic programming solver is the solver of a world with friction."""
    solver = root.values["stepper"].get("solver")
    name = solver["name"] if isinstance(solver, dict) else solver
    materials = [*world.half_space_materials, *(surface.material for surface in world.surfaces)]
    if name in {cls.__name__ for cls in QP_CODES} and any(material.mu > 0.0 for material in materials):
        detail = (
            f"{name} solves quadratic programs, and contacts with friction are none; write "
            f'{{ name = "ConvexRelaxation", qp = "{name}" }} or {{ name = "StaggeredProjections", qp = "{name}" }}'
        )
        raise root.table("stepper", None).error("solver", detail)


def parse_scene(root: Table) -> Scene:
    """Return the checked contents of a scene file; a `SceneError` names line and key of the first fault.

    Robot descriptions are read only from the scene's folder.
    """
    sections = ("scene", "stepper", *_KEYS)
    for key in root.values:
        if key not in sections:
            raise root.error(key, f"unknown section{suggestion(key, sections)}")
    root.required("scene", "stepper")
    head = root.table("scene", ("name", "description", "gravity", "planar", "duration", "body_contacts"))
    duration, table = head.number("duration", positive=True), root.table("stepper", STEPPER)
    stepper = parse_stepper(table)
    if duration / stepper.h > MAX_STEPS:
        detail = f"makes {duration / stepper.h:.3g} steps of the scene, at most {MAX_STEPS:g} are taken"
        raise table.error("h", detail)
    name, description = head.text("name", "scene"), head.text("description", "")
    return Scene(name, description, _build_world(root, head), stepper, duration)


def _build_world(root: Table, head: Table) -> World:
    """Return the world of a scene: its bodies and materials, with gravity and options from the section ``head``."""
    sections = {
        name: root.tables(name, known, MAX_BODIES if name == "body" else MAX_ENTRIES) for name, known in _KEYS.items()
    }
    for table in itertools.chain(*(tables for name, tables in sections.items() if name not in ("loop", "ignore"))):
        table.required("name")
    materials: dict[str, Material] = {}
    for table in sections["material"]:
        if table.text("name") in materials:
            raise table.error("name", f"'{table.text('name')}' is used already")
        materials[table.text("name")] = parse_material(table)
    gravity = head.vector("gravity", 3, (0.0, 0.0, -9.81))
    planar = head.vector("planar", 3) if "planar" in head else None
    with head.wrap_errors():
        builder = WorldBuilder(gravity, body_contacts=head.boolean("body_contacts", True), planar=planar)
    for table in sections["half_space"]:
        normal, point = table.vector("normal", 3, (0.0, 0.0, 1.0)), table.vector("point", 3, (0.0, 0.0, 0.0))
        material, bits = parse_surface(table, materials), parse_filter(table)
        with table.wrap_errors():
            builder.add_half_space(table.text("name"), HalfSpace.through(point, normal), material, **bits)
    for table in sections["fixed"]:
        parts, pose = parse_parts(table, materials), parse_pose(table)
        with table.wrap_errors():
            builder.add_fixed_body(table.text("name"), *_first(parts), pose.placement, **parts[0].filter)
        _add_further(builder, table.text("name"), parts)
    bodies = [(table, _count(table)) for table in sections["body"]]
    number = 0
    for table, count in bodies:
        number += math.prod(count)
        if number > MAX_BODIES:
            raise table.error("count", f"makes {number} bodies, at most {MAX_BODIES} are taken")
    for table, count in bodies:
        _add_body(builder, table, count, materials)
    for table in sections["kinematic"]:
        parts, motion = parse_parts(table, materials), _motion(table)
        with table.wrap_errors():
            builder.add_kinematic_body(table.text("name"), *_first(parts), motion, **parts[0].filter)
        _add_further(builder, table.text("name"), parts)
    for table in sections["robot"]:
        _add_robot(builder, table, materials, gravity)
    for table in sections["loop"]:
        _add_loop(builder, table)
    for table in sections["ignore"]:
        if len(names := table.strings("bodies")) != 2:
            raise table.error("bodies", f"must name two bodies, names {len(names)}")
        with table.wrap_errors("bodies"):
            builder.exclude_collision(*names)
    with root.wrap_errors():
        return builder.build()


def _first(parts: list[Part]) -> tuple[PlacedShape, Material]:
    return parts[0].shape, parts[0].material


def _add_further(builder: WorldBuilder, name: str, parts: list[Part]) -> None:
    """Add all shapes of a body but the first."""
    for part in parts[1:]:
        with part.table.wrap_errors():
            builder.add_shape(name, part.shape, part.material, **part.filter)


def _count(table: Table) -> tuple[int, ...]:
    """Return the number of bodies of a ``[[body]]`` along each axis."""
    count = table.vector("count", 3, (1.0, 1.0, 1.0))
    if any(n < 1 or n != int(n) for n in count) or math.prod(count) > MAX_BODIES:
        raise table.error("count", f"must be three whole numbers from 1 whose product is at most {MAX_BODIES}")
    if "count" in table:
        table.required("spacing")
    return tuple(map(int, count))


def _add_body(builder: WorldBuilder, table: Table, count: tuple[int, ...], materials: Mapping[str, Material]) -> None:
    """Add a free body with its shapes to the builder; with ``count``, a grid of copies named "<name> 0" and so on."""
    parts, pose, whole = parse_parts(table, materials), parse_pose(table), table.text("name")
    with table.wrap_errors("inertia" if "inertia" in table else ""):
        inertia = _inertia(table, parts)
    spacing = table.vector("spacing", 3, (0.0, 0.0, 0.0))
    for n, place in enumerate(itertools.product(*map(range, count))):
        q = pose.q.copy()
        q[:3] += np.array(place) * spacing
        name = whole if count == (1, 1, 1) else f"{whole} {n}"
        with table.wrap_errors():
            builder.add_free_body(name, inertia, *_first(parts), q, pose.v, **parts[0].filter)
        _add_further(builder, name, parts)


def _inertia(table: Table, parts: list[Part]) -> RigidInertia:
    """Return the given inertia, or the inertia of homogeneous shapes of one density, overlaps counted twice."""
    weight = table.exactly_one_of("mass", "density")
    given = table.number(weight, positive=True)
    inertia = table.vectors("inertia", 3, 3) if "inertia" in table else None
    com = table.vector("com", 3, (0.0, 0.0, 0.0))
    solids = [part.shape.shape.inertia() for part in parts]
    if None in solids:
        if weight == "density" or inertia is None:
            kind = parts[solids.index(None)].table.text("shape")
            raise table.error("inertia", f"{kind} has no volume here: give 'mass' and 'inertia'")
        return RigidInertia(given, com, inertia=inertia)
    placed = [own.moved(part.shape.pose) for own, part in zip(solids, parts, strict=True) if own is not None]
    whole = functools.reduce(RigidInertia.join, placed)
    mass = given if weight == "mass" else given * whole.mass
    if inertia is not None:
        return RigidInertia(mass, com, inertia=inertia)
    return RigidInertia(mass, com if "com" in table else whole.com, inertia=mass / whole.mass * whole.inertia)


def _motion(table: Table) -> PrescribedMotion:
    """Return the motion of a ``[[kinematic]]``: its oscillation, or its velocities, both in world axes."""
    pose = parse_pose(table)
    swing: dict[str, Any] = {
        key: np.array(table.vector(key, 3)) if key in ("translation", "rotation") else table.number(key)
        for key in _SWING
        if key in table
    }
    kind: Any = Conveyor if table.boolean("belt", False) else ConstantVelocity
    for key in ("belt", *MOTION) if swing else ():
        if key in table:
            raise table.error(key, "does not go with an oscillation: it has 'translation' and 'rotation'")
    if swing:
        table.required("frequency")
    with table.wrap_errors():
        if swing:
            return Oscillation(pose.placement, **swing)
        motion: PrescribedMotion = kind(pose.placement, pose.v[:3], pose.v[3:])
        return motion


def _add_robot(
    builder: WorldBuilder, table: Table, materials: Mapping[str, Material], gravity: tuple[float, ...]
) -> None:
    """Add a robot with its joints, visuals and shapes to the builder; its names begin with "<robot>/"."""
    table.required("urdf")
    floating, collisions = table.boolean("floating_base", False), table.boolean("collisions", False)
    for key in () if floating else POSE:
        if key in table:
            raise table.error(key, "belongs to a floating base; add floating_base = true")
    path = table.resolve_path("urdf", table.text("urdf"), "the scene's folder", file=True)
    with table.wrap_errors("urdf"), warnings.catch_warnings():
        # The reader's warnings are about the robot file, not about the scene.
        warnings.simplefilter("ignore")
        model = load_urdf(path, floating_base=floating, gravity=gravity)
    if model.nb > MAX_BODIES:
        raise table.error("urdf", f"has {model.nb} links, at most {MAX_BODIES} are taken")
    prefix, whole = f"{table.text('name')}/", parse_filter(table)
    start: dict[str, Any] = {key: _start(model, table, key, floating) for key in ("q", "v")}
    of_joints: dict[str, Any] = {key: _coefficients(table, key) for key in ("damping", "friction")}
    of_joints |= {"limits": "model" if table.boolean("limits", True) else None}
    with table.wrap_errors():
        builder.add_model(model, **start, prefix=prefix, mimics=table.boolean("mimics", True), **of_joints)
    _add_joint_actions(builder, table, prefix)
    dressed = add_visuals(builder, model, prefix)
    material = parse_surface(table, materials) if collisions else Material(0.0)
    for geometry in model.collisions if collisions else ():
        if isinstance(geometry.shape, UrdfMesh):
            detail = f"link '{geometry.body}' collides as a mesh, which is not taken yet"
            raise table.error("collisions", f"{detail}; give [[robot.shape]]")
        with table.wrap_errors("collisions"):
            link, shown, at = prefix + geometry.body, geometry.body not in dressed, geometry.placement
            builder.add_shape(link, solid_of(geometry), material, placement=at, shown=shown, **whole)
    for one in table.tables("shape", ("body", *PART), MAX_ENTRIES):
        one.required("body")
        part = parse_part(one, materials, whole)
        with one.wrap_errors():
            builder.add_shape(prefix + one.text("body"), part.shape, part.material, **part.filter)


def _start(model: UrdfModel, table: Table, key: str, floating: bool) -> FloatArray:
    """Return q or v of a robot from a whole vector, or from numbers by joint and the pose of its base."""
    start = model.neutral.copy() if key == "q" else np.zeros(model.nv)
    if not isinstance(table.values.get(key, {}), dict):
        return np.array(table.vector(key, start.size))
    if floating:
        base = getattr(parse_pose(table), key)
        start[: base.size] = base
    for name, value in table.table(key, None).numbers().items() if key in table else ():
        if name not in model.joint_data:
            raise table.error(key, f"no joint is called '{name}'{suggestion(name, model.joint_data)}")
        where = getattr(model.joint_data[name], key)
        if where.stop - where.start != 1:
            raise table.error(key, f"joint '{name}' has {where.stop - where.start} numbers; give the whole vector")
        start[where] = value
    return start


def _coefficients(table: Table, key: str) -> dict[str, float] | str | None:
    """Return numbers by joint, or "model" if the values of the robot description are used (by default)."""
    if isinstance(table.values.get(key), dict):
        return table.table(key, None).numbers()
    return "model" if table.boolean(key, True) else None


def _numbers(kind: Any) -> dict[str, bool]:
    """Return the numeric arguments of a class, and whether each is required."""
    return {one.name: one.default is dataclasses.MISSING for one in dataclasses.fields(kind) if one.type == "float"}


def _add_joint_actions(builder: WorldBuilder, robot: Table, prefix: str) -> None:
    """Add the stops and drives of a robot whose names begin with ``prefix``."""
    limit_keys = _numbers(JointLimit)
    for table in robot.tables("limit", ("joint", *limit_keys), MAX_ENTRIES):
        table.required("joint")
        with table.wrap_errors():
            numbers = table.numbers(*limit_keys)
            builder.add_joint_limit(JointLimit(prefix + table.text("joint"), **numbers))
    drive_keys = {key: None for kind in _DRIVES.values() for key in _numbers(kind)}
    for table in robot.tables("drive", ("joint", "kind", "name", *drive_keys), MAX_ENTRIES):
        table.required("joint", "kind", "target")
        kind, name = table.choice("kind", _DRIVES), prefix + table.text("name") if "name" in table else None
        needed = _numbers(kind)
        for key in drive_keys.keys() - needed.keys():
            if key in table:
                raise table.error(key, f"does not belong to a {table.values['kind']} drive")
        table.required(*(key for key, need in needed.items() if need))
        with table.wrap_errors():
            builder.add_drive(kind(prefix + table.text("joint"), **table.numbers(*needed), name=name))


def _add_loop(builder: WorldBuilder, table: Table) -> None:
    """Add one ``[[loop]]``: bodies a and b have no relative motion along the rows of axes (rotation first)."""
    table.required("a", "b")
    zero, ends = (0.0, 0.0, 0.0), (table.text("a"), table.text("b"))
    by_axes = table.exactly_one_of("holds", "axes") == "axes"
    axes = np.array(table.vectors("axes", 6, 6)) if by_axes else table.choice("holds", _ROWS)
    frame_a, frame_b = (
        Transform(rotation(np.array(table.vector(f"rpy_{end}", 3, zero))), table.vector(f"point_{end}", 3, zero))
        for end in "ab"
    )
    sliding = table.boolean("sliding", table.values.get("holds") == "slider")
    name = table.text("name", " on ".join(ends))
    erp = table.number("erp") if "erp" in table else None
    with table.wrap_errors():
        rows = [LoopConstraint(*ends, frame_a, frame_b, axis, name=name, sliding=sliding) for axis in axes]
        builder.add_loop(rows, erp=erp)
