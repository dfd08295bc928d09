"""Values of a scene file, each read from one table: shapes, surfaces, filters, poses and the stepper."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import lcp
from contactlab.collision import Box, ConvexPoints, Material, Mesh, PlacedShape, PowerLaw, Shape
from contactlab.collision.shapes import ALL_SHAPES
from contactlab.constraint_solver.friction_backend import qp_code_objection
from contactlab.constraint_solver.quadratic_programs import ConvexRelaxation, StaggeredProjections
from contactlab.multibody.spatial import Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.urdf.reading import rotation
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.simulation.stepping import FORMER_OPTIONS, Sleep, TimeStepping
from contactlab.simulation.world.surface import ALL

MAX_POINTS = 1000
MAX_ROWS = 500
MAX_ENTRIES = 1000

#: The shapes of a scene by name: their classes in lower case, except for `ConvexPoints`. Meshes come from separate
#: files, which a scene does not read.
SHAPES: dict[str, type[Shape]] = {
    "points" if cls is ConvexPoints else re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower(): cls
    for cls in ALL_SHAPES
    if cls is not Mesh
}

#: Fields whose key has another name.
KEYS = {"spacing": "grid"}


def _keys(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the dataclass fields of a kind of shape, by their keys in a scene file."""
    return {KEYS.get(field.name, field.name): field for field in dataclasses.fields(kind)}


# A box may be given by its full sides.
SHAPE_KEYS = ("shape", *dict.fromkeys(key for kind in SHAPES.values() for key in _keys(kind)), "size")
# Keys of a filter, a pose, a surface, and a shape that is placed.
FILTER = {"category": 1, "mask": ALL}
MOTION = ("velocity", "angular_velocity")
POSE = ("position", "quaternion", "rpy", *MOTION)
NUMBERS = ("mu", "restitution", "stiffness", "dissipation", "torsional", "rolling")
SURFACE = ("material", *NUMBERS)
PART = (*SHAPE_KEYS, *POSE[:3], *SURFACE, *FILTER)
STEPPER = (*(entry.name for entry in dataclasses.fields(TimeStepping)), *FORMER_OPTIONS)

_LCP_SOLVERS = (*lcp.ALL_SOLVERS, *lcp.OPTIONAL_SOLVERS)
_BACKENDS = (ConvexRelaxation, StaggeredProjections)


def parse_shape(table: Table) -> Shape:
    """Return the shape of a table; keys of another kind of shape raise an error."""
    kind = table.choice("shape", SHAPES)
    keys = _keys(kind)
    for key in SHAPE_KEYS[1:]:
        if key in table and key not in keys and (kind, key) != (Box, "size"):
            raise table.error(key, f"does not belong to a {table.values['shape']}")
    with table.wrap_errors():
        if kind is Box and table.exactly_one_of("half_extents", "size") == "size":
            return Box(tuple(0.5 * value for value in table.vector("size", 3)))
        numbers: dict[str, Any] = {}
        for i, (key, field) in enumerate(keys.items()):
            default = inspect.signature(kind).parameters[field.name].default
            # A shape needs at least one number: the first is always required.
            known = None if i == 0 or default is inspect.Parameter.empty else default
            numbers[field.name] = _read(table, key, str(field.type), known)
        return kind(**numbers)


def _read(table: Table, key: str, of: str, default: Any) -> Any:
    """Return the value of a key, checked and converted; ``of`` is the name of the field's type, such as ``float``."""
    if of == "float":
        return table.number(key, default)
    if of == "Points":
        return table.vectors(key, 3, MAX_POINTS)
    if of == "Grid":
        columns = len(table.vectors(key, None, MAX_ROWS)[0])
        return table.vectors(key, columns, MAX_ROWS)
    return table.vector(key, 3 if of == "Vec3Array" else 2, default)


def parse_material(table: Table) -> Material:
    """Return the material of a table's numbers; its restitution can be a table, which is a `PowerLaw`."""
    with table.wrap_errors():
        numbers: dict[str, Any] = {"mu": table.number("mu")}
        for key in (key for key in NUMBERS[1:] if key in table):
            if key == "restitution" and isinstance(table.values[key], dict):
                inner = table.table(key, tuple(entry.name for entry in dataclasses.fields(PowerLaw)))
                inner.required("e")
                with inner.wrap_errors():
                    numbers[key] = PowerLaw(**inner.numbers())
            else:
                numbers[key] = table.number(key)
        return Material(**numbers)


def parse_surface(table: Table, materials: Mapping[str, Material]) -> Material:
    """Return the material that a table names, or the material of its numbers."""
    if table.exactly_one_of("material", "mu") == "mu":
        return parse_material(table)
    for key in NUMBERS[1:]:
        if key in table:
            raise table.error(key, "belongs to 'mu'; a material has its own")
    return table.choice("material", materials)


def parse_filter(table: Table, whole: Mapping[str, Any] = FILTER) -> dict[str, Any]:
    """Return a table's filter; missing keys are taken from ``whole``, by default contact with everything."""
    return {key: table.integer(key, default, 0, ALL) for key, default in whole.items()}


class Pose(NamedTuple):
    """Placement of a body; its q (7,) and v (6,) as a free body: linear [m/s, world axes], then angular [rad/s]."""

    placement: Transform
    q: FloatArray
    v: FloatArray


def parse_pose(table: Table) -> Pose:
    """Return pose and velocities; the default is a body at rest in the origin.

    The rotation is a quaternion, or ``rpy`` [rad]. Raise `SceneError` if both are given, or if the quaternion's length
    differs from 1 by more than 1e-3.
    """
    zero = (0.0, 0.0, 0.0)
    turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    if "quaternion" in table or "rpy" in table:
        if table.exactly_one_of("quaternion", "rpy") == "quaternion":
            given = table.vector("quaternion", 4)
            length = math.hypot(*given)
            if abs(length - 1.0) > 1e-3:
                raise table.error("quaternion", f"must have length 1, has {length:.6g}")
            turn = tuple(value / length for value in given)
        else:
            turn = tuple(quaternion.from_matrix(rotation(np.array(table.vector("rpy", 3)))).tolist())
    position = table.vector("position", 3, zero)
    v = np.concatenate([table.vector(key, 3, zero) for key in MOTION])
    return Pose(Transform(quaternion.to_matrix(turn), position), np.array((*position, *turn)), v)


@dataclass(frozen=True, eq=False)
class Part:
    """A shape of a body, placed in its axes, with material, filter and table."""

    shape: PlacedShape
    material: Material
    filter: dict[str, Any]
    table: Table


def parse_part(
    table: Table,
    materials: Mapping[str, Material],
    whole: Mapping[str, Any] = FILTER,
    inherited: Material | None = None,
) -> Part:
    """Return a placed shape with its own surface, or with the ``inherited`` one of its body if it has no keys of it."""
    table.required("shape")
    own = inherited is None or any(key in table for key in SURFACE)
    material = inherited if inherited is not None and not own else parse_surface(table, materials)
    return Part(
        PlacedShape(parse_shape(table), parse_pose(table).placement), material, parse_filter(table, whole), table
    )


def parse_parts(table: Table, materials: Mapping[str, Material]) -> list[Part]:
    """Return the shapes of a body: its single one, in its axes, or the shapes of its parts."""
    whole = parse_filter(table)
    if table.exactly_one_of("shape", "part") == "shape":
        return [Part(PlacedShape(parse_shape(table)), parse_surface(table, materials), whole, table)]
    for key in SHAPE_KEYS:
        if key in table:
            raise table.error(key, "belongs to one of the parts")
    surface = parse_surface(table, materials) if any(key in table for key in SURFACE) else None
    parts = table.tables("part", PART, MAX_ENTRIES)
    if surface is None and any("material" not in part and "mu" not in part for part in parts):
        table.exactly_one_of("material", "mu")
    return [parse_part(part, materials, whole, surface) for part in parts]


def parse_stepper(table: Table) -> TimeStepping:
    """Return the stepper; solvers are classes of `lcp`, or friction backends, by their names.

    Without friction both backends are one quadratic program, so a quadratic programming solver may be named instead.
    `load_scene` checks that there is no friction.
    """
    table.number("h")
    options = {
        FORMER_OPTIONS.get(key, key): _plain(table, key) for key in table.values if key not in ("sleep", "solver")
    }
    if "edges" in table:
        table.integer("edges", None, 4, 256)
    if "sleep" in table:
        inner = table.table("sleep", ("speed", "time"))
        with inner.wrap_errors():
            options["sleep"] = Sleep(**inner.numbers())
    if "solver" in table:
        solver = _solver(table, "solver", (*_LCP_SOLVERS, *_BACKENDS))
        options["solver"] = solver if qp_code_objection(solver) is None else StaggeredProjections(solver)
    with table.wrap_errors():
        return TimeStepping(**options)


def _solver(table: Table, key: str, allowed: tuple[Any, ...]) -> Any:
    """Return an instance of one of the ``allowed`` solver classes.

    The value of the key is the name of the class, or a table of its name and options.
    """
    inner, name = table, key
    if isinstance(table.values[key], dict):
        inner, name = table.table(key, None), "name"
    classes: dict[str, Any] = {cls.__name__: cls for cls in allowed}
    if inner.text(name) not in classes:
        raise table.error(key, f"unknown solver '{inner.text(name)}'{suggestion(inner.text(name), classes)}")
    kind = classes[inner.text(name)]
    known, given = [field.name for field in dataclasses.fields(kind)], {}
    for option in inner.values if inner is not table else ():
        if option not in ("name", *known):
            raise table.error(key, f"{kind.__name__} has no option '{option}'{suggestion(option, known)}")
        if option != "name":
            given[option] = _solver(inner, option, _LCP_SOLVERS) if option == "qp" else _plain(inner, option)
    with table.wrap_errors(key):
        return kind(**given)


def _plain(table: Table, key: str) -> Any:
    """Return a bool, a string, or a bounded number, int or float as the file has it."""
    value = table.values[key]
    if not isinstance(value, bool | str):
        table.number(key)
    return value
