"""Reading a scene file, which is untrusted TOML; with other values at dotted paths, for sweeps."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.contact import HalfSpace, Material, PlacedShape
from contactlab.formulation.friction_backend import QP_CODES
from contactlab.multibody import Model, UrdfModel
from contactlab.multibody.urdf import UrdfMesh
from contactlab.simulation.scene import schema
from contactlab.simulation.scene.parsing import MAX_BODIES, parse_scene
from contactlab.simulation.scene.schema import add_joints, model_arguments
from contactlab.simulation.scene.table import SceneError, Table, read_document, suggestion
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.builder import WorldBuilder
from contactlab.world.urdf_world import add_visuals, solid_of
from contactlab.world.world import World

__all__ = ["Scene", "load_scene"]


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
        `contactlab.simulation.scene.loading.change_table`.

    Raises
    ------
    SceneError
        The file is invalid; the error names file, line and key.
    """
    path = Path(path)
    root, text = read_document(path)
    root = with_overrides(root, changes or {})
    entry = parse_scene(root)
    world = build_world(entry)
    _check_solver(root, world)
    return Scene(entry.name, entry.description, world, entry.stepper, entry.duration, text, dict(changes or {}))


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


_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+?))\s*(?:\.|$)""")


def with_overrides(root: Table, changes: Mapping[str, Any]) -> Table:
    """Return a copy of the root table of a scene with other values by path.

    A path is a sequence of keys with dots between them, as in ``stepper.h``. An entry of an array of tables is named by
    its ``name``, or by its number from 0, as in ``body.cube.mass`` or ``body.0.mass``; an entry of a vector by its
    number, as in ``body.cube.position.2``. A name with dots or spaces is in quotes. The last key may be new to its
    table. An invalid path raises a `SceneError`, whose key is the path.
    """
    values = copy.deepcopy(root.values)
    for path, value in changes.items():
        parts = split(root, path)
        holder = _holder(root, values, path, parts)
        if isinstance(holder, dict):
            holder[parts[-1]] = copy.deepcopy(value)
        else:
            holder[_index(root, path, holder, parts[-1])] = copy.deepcopy(value)
    return Table(root.path, root.lines, root.place, root.label, values, None)


def value_at(root: Table, path: str) -> Any:
    """Return the value at a path; raise `SceneError` if there is none."""
    parts = split(root, path)
    holder = _holder(root, root.values, path, parts)
    if isinstance(holder, list):
        return holder[_index(root, path, holder, parts[-1])]
    if parts[-1] not in holder:
        raise _error(root, path, f"the scene has no '{parts[-1]}' there{suggestion(parts[-1], holder)}")
    return holder[parts[-1]]


def split(root: Table, path: str) -> list[str]:
    """Split a path of names with dots between them, such as ``body.box.mass``; names in quotes can have dots.

    Raise `SceneError` for any other text; ``root`` is only for the message.
    """
    parts, at = [], 0
    while at < len(path):
        found = _PART.match(path, at)
        if found is None:
            raise _error(root, path, "is not a path of names with dots between them")
        parts.append(next(part for part in found.groups() if part is not None))
        at = found.end()
    if not parts or path.rstrip().endswith("."):
        raise _error(root, path, "is not a path of names with dots between them")
    return parts


def _holder(root: Table, values: Any, path: str, parts: list[str]) -> Any:
    """Return the table or array that contains the last part of a path; raise `SceneError` if there is none.

    ``values`` are the contents of the scene. The last part itself is not looked up.
    """
    here = values
    for part in parts[:-1]:
        if isinstance(here, list):
            here = here[_index(root, path, here, part)]
        else:
            if part not in here:
                raise _error(root, path, f"the scene has no '{part}' there{suggestion(part, here)}")
            here = here[part]
        if not isinstance(here, dict | list):
            raise _error(root, path, f"'{part}' is a single value, not a table or an array")
    return here


def _index(root: Table, path: str, entries: list[Any], part: str) -> int:
    """Return the index of an entry given by name, or by number from 0 if no entry has this name.

    Raise `SceneError` for an unknown entry, and for a name that several entries have.
    """
    names = [str(entry.get("name", "")) if isinstance(entry, dict) else "" for entry in entries]
    if part in names:
        if names.count(part) > 1:
            raise _error(root, path, f"'{part}' names {names.count(part)} entries; use their numbers")
        return names.index(part)
    if part.isascii() and part.isdigit() and int(part) < len(entries):
        return int(part)
    known = [name for name in names if name]
    raise _error(root, path, f"'{part}' is none of the {len(entries)} entries{suggestion(part, known)}")


def _error(root: Table, path: str, detail: str) -> SceneError:
    return SceneError(root.path, 0, f"'{path}'", detail)


def build_world(scene: schema.SceneEntry) -> World:
    """Return the world; robot descriptions are read only from the scene's folder."""
    with scene.table.wrap_errors():
        builder = WorldBuilder(scene.gravity, body_contacts=scene.body_contacts, planar=scene.planar)
    number = 0
    for plane in scene.half_spaces:
        material = _material(plane.surface, scene, plane.table)
        with plane.table.wrap_errors():
            half_space = HalfSpace.through(plane.point, plane.normal)
            builder.add_half_space(plane.name, half_space, material, **plane.filter)
    for fixed in scene.fixed:
        _add_fixed_or_kinematic(builder, fixed, scene)
    for body in scene.bodies:
        number += int(np.prod(body.count))
        if number > MAX_BODIES:
            raise body.table.error("count", f"makes {number} bodies, at most {MAX_BODIES} are taken")
        _add_body(builder, body, scene)
    for moving in scene.kinematic:
        _add_fixed_or_kinematic(builder, moving, scene)
    for robot in scene.robots:
        _add_robot(builder, robot, scene)
    for loop in scene.loops:
        with loop.table.wrap_errors():
            builder.add_loop(loop.rows, erp=loop.erp)
    for table in scene.ignored:
        with table.wrap_errors("bodies"):
            builder.exclude_collision(*table.strings("bodies"))
    with scene.table.wrap_errors():
        return builder.build()


def _add_fixed_or_kinematic(builder: WorldBuilder, body: schema.FixedEntry, scene: schema.SceneEntry) -> None:
    """Add a fixed or kinematic body."""
    shapes, bits = _placed(body, scene), body.parts[0].filter
    with body.table.wrap_errors():
        if isinstance(body, schema.KinematicEntry):
            builder.add_kinematic_body(body.name, *shapes[0], body.motion(), **bits)
        else:
            builder.add_fixed_body(body.name, *shapes[0], body.pose.placement(), **bits)
    _add_further(builder, body, body.name, shapes)


def _add_body(builder: WorldBuilder, body: schema.BodyEntry, scene: schema.SceneEntry) -> None:
    """Add a free body with its shapes to the builder; with ``count``, a grid of copies named "<name> 0" and so on."""
    table, shapes = body.table, _placed(body, scene)
    with table.wrap_errors("inertia" if "inertia" in table else ""):
        inertia = _inertia(body, [shape for shape, _ in shapes])
    q, v = _pose(body.pose)
    single = body.count == (1, 1, 1)
    for n, place in enumerate(itertools.product(*(range(count) for count in body.count))):
        q_own = q.copy()
        q_own[:3] += np.array(place) * body.spacing
        name = body.name if single else f"{body.name} {n}"
        with table.wrap_errors():
            builder.add_free_body(name, inertia, *shapes[0], q_own, v, **body.parts[0].filter)
        _add_further(builder, body, name, shapes)


def _placed(body: schema.FixedEntry, scene: schema.SceneEntry) -> list[tuple[PlacedShape, Material]]:
    """Return each shape of a body, placed in the body's frame, with its own material or the body's."""
    shapes = []
    for part in body.parts:
        surface, table = (part.surface, part.table) if part.surface is not None else (body.surface, body.table)
        # The reader has rejected a part without a surface in a body without one.
        assert surface is not None
        shapes.append((PlacedShape(part.shape, part.pose.placement()), _material(surface, scene, table)))
    return shapes


def _add_further(
    builder: WorldBuilder, body: schema.FixedEntry, name: str, shapes: list[tuple[PlacedShape, Material]]
) -> None:
    for part, (shape, material) in zip(body.parts[1:], shapes[1:], strict=True):
        with part.table.wrap_errors():
            builder.add_shape(name, shape, material, **part.filter)


def _inertia(body: schema.BodyEntry, shapes: list[PlacedShape]) -> RigidInertia:
    """Return the given inertia, or the inertia of homogeneous shapes of one density, overlaps counted twice."""
    solids = [shape.shape.inertia() for shape in shapes]
    if None in solids:
        if body.mass is None or body.inertia is None:
            kind = body.parts[solids.index(None)].table.text("shape")
            raise body.table.error("inertia", f"{kind} has no volume here: give 'mass' and 'inertia'")
        return RigidInertia(body.mass, body.com, inertia=body.inertia)
    parts = [own.moved(shape.pose) for own, shape in zip(solids, shapes, strict=True) if own is not None]
    whole = functools.reduce(RigidInertia.join, parts)
    mass = body.mass if body.mass is not None else (body.density or 0.0) * whole.mass
    given = body.inertia is not None
    com = body.com if given or "com" in body.table else whole.com
    return RigidInertia(mass, com, inertia=body.inertia if given else mass / whole.mass * whole.inertia)


def _add_robot(builder: WorldBuilder, robot: schema.RobotEntry, scene: schema.SceneEntry) -> None:
    """Add a robot with its joints, visuals and shapes to the builder; its names begin with "<robot>/"."""
    table, path = robot.table, robot.table.resolve_path("urdf", robot.urdf, "the scene's folder", file=True)
    with table.wrap_errors("urdf"), warnings.catch_warnings():
        # The reader's warnings are about the robot file, not about the scene.
        warnings.simplefilter("ignore")
        model = Model.from_urdf(path, floating_base=robot.floating_base, gravity=scene.gravity)
    if model.nb > MAX_BODIES:
        raise table.error("urdf", f"has {model.nb} links, at most {MAX_BODIES} are taken")
    prefix = f"{robot.name}/"
    q, v = _start(model, robot, "q"), _start(model, robot, "v")
    with table.wrap_errors():
        builder.add_model(model, q, v, prefix=prefix, **model_arguments(robot.joints, table, model))
    add_joints(builder, robot.joints, prefix, model)
    dressed = add_visuals(builder, model, prefix)
    if robot.collisions:
        material = _material(robot.surface, scene, table)
        for geometry in model.collisions:
            if isinstance(geometry.shape, UrdfMesh):
                detail = f"link '{geometry.body}' collides as a mesh, which is not taken yet"
                raise table.error("collisions", f"{detail}; give [[robot.shape]]")
            with table.wrap_errors("collisions"):
                link, shown, at = prefix + geometry.body, geometry.body not in dressed, geometry.placement
                builder.add_shape(link, solid_of(geometry), material, placement=at, shown=shown, **robot.filter)
    for one in robot.shapes:
        if one.body not in model.names:
            raise one.table.error("body", f"no link is called '{one.body}'{suggestion(one.body, model.names)}")
        material = _material(one.surface, scene, one.table)
        with one.table.wrap_errors():
            place = one.pose.placement()
            builder.add_shape(prefix + one.body, one.shape, material, placement=place, **one.filter)


def _start(model: UrdfModel, robot: schema.RobotEntry, key: str) -> FloatArray:
    """Return q or v of a robot from a whole vector, or from numbers by joint and the pose of its base."""
    given = robot.q if key == "q" else robot.v
    length = model.nq if key == "q" else model.nv
    if isinstance(given, tuple):
        if len(given) != length:
            raise robot.table.error(key, f"must have {length} numbers, got {len(given)}")
        return np.array(given)
    start = model.neutral.copy() if key == "q" else np.zeros(model.nv)
    if robot.floating_base:
        base = _pose(robot.pose)[0 if key == "q" else 1]
        start[: base.size] = base
    for name, value in given.items():
        if name not in model.joint_data:
            raise robot.table.error(key, f"no joint is called '{name}'{suggestion(name, model.joint_data)}")
        joint = model.joint_data[name]
        where = joint.q if key == "q" else joint.v
        if where.stop - where.start != 1:
            raise robot.table.error(
                key, f"joint '{name}' has {where.stop - where.start} numbers; give the whole vector"
            )
        start[where] = value
    return start


def _pose(pose: schema.PoseEntry) -> tuple[FloatArray, FloatArray]:
    """Return q (7,) and v (6,) of a free body."""
    return np.array((*pose.position, *pose.quaternion)), np.array((*pose.velocity, *pose.angular_velocity))


def _material(surface: schema.Surface, scene: schema.SceneEntry, table: Table) -> Material:
    """Return a surface's own material, or the scene's material with its name; raise `SceneError` if there is none."""
    if isinstance(surface, Material):
        return surface
    if surface not in scene.materials:
        detail = f"there is no [[material]] '{surface}'{suggestion(surface, scene.materials)}"
        raise table.error("material", detail)
    return scene.materials[surface]
