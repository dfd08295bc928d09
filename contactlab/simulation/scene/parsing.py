"""Conversion of the tables of a scene file to the values of its schema."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from typing import Any

import numpy as np

import lcp
from contactlab.contact import ConvexPoints, Material, Mesh, PowerLaw, Shape
from contactlab.contact.shapes import ALL_SHAPES
from contactlab.formulation.friction_backend import qp_code_objection
from contactlab.formulation.quadratic_programs import ConvexRelaxation, StaggeredProjections
from contactlab.multibody.urdf.reading import rotation
from contactlab.simulation.scene import schema
from contactlab.simulation.scene.schema import LOOP_KEYS, ROBOT_JOINT_KEYS, joints_entry, loop_entry
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.spatial import quaternion
from contactlab.stepping import Sleep, TimeStepping
from contactlab.stepping.time_stepping import FORMER_OPTIONS
from contactlab.world.surface import ALL

MAX_POINTS = 1000
MAX_ROWS = 500

#: The shapes of a scene by name: their classes in lower case, except for `ConvexPoints`. Meshes come from separate
#: files, which a scene does not read.
SHAPES: dict[str, type[Shape]] = {
    "points" if cls is ConvexPoints else re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower(): cls
    for cls in ALL_SHAPES
    if cls is not Mesh
}

#: Fields whose key has another name.
KEYS = {"spacing": "grid"}


def _keys(kind: str) -> dict[str, dataclasses.Field[Any]]:
    """Return the dataclass fields of a kind of shape, by their keys in a scene file."""
    fields: Any = dataclasses.fields
    return {KEYS.get(field.name, field.name): field for field in fields(SHAPES[kind])}


# A box may be given by its full sides.
SHAPE_KEYS = ("shape", *dict.fromkeys(key for kind in SHAPES for key in _keys(kind)), "size")


def parse_shape(table: Table) -> Shape:
    """Return the shape of a table; keys of another kind of shape raise an error."""
    kind = table.text("shape")
    if kind not in SHAPES:
        raise table.error("shape", f"unknown shape '{kind}'{suggestion(kind, SHAPES)}")
    keys = _keys(kind)
    for key in SHAPE_KEYS[1:]:
        if key in table and key not in keys and (kind, key) != ("box", "size"):
            raise table.error(key, f"does not belong to a {kind}")
    if kind == "box" and table.exactly_one_of("half_extents", "size") == "size":
        numbers: dict[str, Any] = {"half_extents": tuple(0.5 * value for value in table.vector("size", 3))}
        keys = {}
    else:
        numbers = {}
    for i, (key, field) in enumerate(keys.items()):
        default = inspect.signature(SHAPES[kind]).parameters[field.name].default
        # A shape needs at least one number: the first is always required.
        known = None if i == 0 or default is inspect.Parameter.empty else default
        numbers[field.name] = _read(table, key, str(field.type), known)
    with table.wrap_errors():
        return SHAPES[kind](**numbers)


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


MAX_STEPS = 1e8
MAX_BODIES = 4000
MAX_ENTRIES = 1000

# Keys of a filter, a pose, a motion, and an oscillation.
FILTER = {"category": 1, "mask": ALL}
PLACE = ("position", "quaternion", "rpy")
MOTION = ("velocity", "angular_velocity")
SWING = ("translation", "rotation", "frequency", "phase")

_NUMBERS = ("mu", "restitution", "stiffness", "dissipation", "torsional", "rolling")
_SURFACE = ("material", *_NUMBERS)
_POSE = (*PLACE, *MOTION)
_PART = (*SHAPE_KEYS, *PLACE, *_SURFACE, *FILTER)
_FIXED = ("name", "part", *_PART)
_BODY = ("mass", "density", "com", "inertia", "count", "spacing", *_FIXED, *MOTION)
_MODEL = ("name", "urdf", "floating_base", "collisions", "q", "v", "shape")
_ROBOT = (*_MODEL, *ROBOT_JOINT_KEYS, *_SURFACE, *_POSE, *FILTER)
_STEPPER = (*(entry.name for entry in dataclasses.fields(TimeStepping)), *FORMER_OPTIONS)
_KINEMATIC = ("belt", *SWING, *_FIXED, *MOTION)
_LCP_SOLVERS = (*lcp.ALL_SOLVERS, *lcp.OPTIONAL_SOLVERS)
_BACKENDS = (ConvexRelaxation, StaggeredProjections)
_TOP = ("scene", "stepper", "material", "half_space", "fixed", "body", "kinematic", "robot", "loop", "ignore")


def parse_scene(root: Table) -> schema.SceneEntry:
    """Return the checked contents of a scene file; a `SceneError` names line and key of the first fault.

    Faults that only the built world can show are found later, by `build_world`.
    """
    for key in root.values:
        if key not in _TOP:
            raise root.error(key, f"unknown section{suggestion(key, _TOP)}")
    root.required("scene", "stepper")
    head = root.table("scene", ("name", "description", "gravity", "planar", "duration", "body_contacts"))
    materials: dict[str, Material] = {}
    for table in root.tables("material", ("name", *_NUMBERS), MAX_ENTRIES):
        name = table.text("name")
        if name in materials:
            raise table.error("name", f"'{name}' is used already")
        materials[name] = _numbers(table)
    half_space_keys = ("name", "normal", "point", *_SURFACE, *FILTER)
    half_spaces = [_half_space(table) for table in root.tables("half_space", half_space_keys, MAX_ENTRIES)]
    bodies = [_body(table) for table in root.tables("body", _BODY, MAX_BODIES)]
    kinematic = [_kinematic(table) for table in root.tables("kinematic", _KINEMATIC, MAX_ENTRIES)]
    robots = [_robot(table) for table in root.tables("robot", _ROBOT, MAX_ENTRIES)]
    ignored = root.tables("ignore", ("bodies",), MAX_ENTRIES)
    for table in ignored:
        if len(names := table.strings("bodies")) != 2:
            raise table.error("bodies", f"must name two bodies, names {len(names)}")
    duration, table = head.number("duration", positive=True), root.table("stepper", _STEPPER)
    stepper = _stepper(table)
    if duration / stepper.h > MAX_STEPS:
        detail = f"makes {duration / stepper.h:.3g} steps of the scene, at most {MAX_STEPS:g} are taken"
        raise table.error("h", detail)
    return schema.SceneEntry(
        name=head.text("name", "scene"),
        description=head.text("description", ""),
        gravity=head.vector("gravity", 3, (0.0, 0.0, -9.81)),
        planar=head.vector("planar", 3) if "planar" in head else None,
        duration=duration,
        materials=materials,
        stepper=stepper,
        half_spaces=tuple(half_spaces),
        fixed=tuple(schema.FixedEntry(**_common_fields(table)) for table in root.tables("fixed", _FIXED, MAX_ENTRIES)),
        bodies=tuple(bodies),
        kinematic=tuple(kinematic),
        robots=tuple(robots),
        loops=tuple(loop_entry(table) for table in root.tables("loop", LOOP_KEYS, MAX_ENTRIES)),
        ignored=tuple(ignored),
        body_contacts=head.boolean("body_contacts", True),
        table=root,
    )


def _stepper(table: Table) -> TimeStepping:
    """Return the stepper; solvers are classes of `lcp`, or friction backends, by their names.

    A quadratic programming solver stands for either backend, which without friction is one quadratic program;
    `load_scene` checks that there is no friction.
    """
    table.required("h")
    options: dict[str, Any] = {}
    for key in table.values:
        if key in ("warm_start", "adaptive", "reduce_contacts", "projection"):
            options[key] = table.boolean(key, False)
        elif key == "edges":
            options[key] = table.integer(key, None, 4, 256)
        elif key == "sleep":
            inner = table.table("sleep", ("speed", "time"))
            with inner.wrap_errors():
                options[key] = Sleep(**{name: inner.number(name) for name in inner.values})
        elif key in ("gyroscopic", "friction", "on_unsolved", "integrator"):
            options[key] = table.text(key)
        elif key != "solver":
            options[FORMER_OPTIONS.get(key, key)] = table.number(key)
    if "solver" in table:
        solver = _solver(table, "solver", (*_LCP_SOLVERS, *_BACKENDS))
        options["solver"] = solver if qp_code_objection(solver) is None else StaggeredProjections(solver)
    with table.wrap_errors():
        return TimeStepping(**options)


def _solver(table: Table, key: str, allowed: tuple[Any, ...]) -> Any:
    """Return an instance of one of the ``allowed`` solver classes.

    The value of the key is the name of the class, or a table of its name and options.
    """
    given: dict[str, Any] = {}
    if isinstance(table.values[key], dict):
        inner = table.table(key, None)
        name = inner.text("name")
        for option, value in inner.values.items():
            if option == "qp":
                given[option] = _solver(inner, option, _LCP_SOLVERS)
            elif option != "name":
                given[option] = value if isinstance(value, bool | str) else _number(inner, option)
    else:
        name = table.text(key)
    classes: dict[str, Any] = {cls.__name__: cls for cls in allowed}
    if name not in classes:
        raise table.error(key, f"unknown solver '{name}'{suggestion(name, classes)}")
    known = [field.name for field in dataclasses.fields(classes[name])]
    for option in given:
        if option not in known:
            raise table.error(key, f"{name} has no option '{option}'{suggestion(option, known)}")
    with table.wrap_errors(key):
        return classes[name](**given)


def _number(table: Table, key: str) -> Any:
    """Return the number of a key as an int or a float, as the file has it; raise `SceneError` for anything else."""
    table.number(key)
    return table.values[key]


def _half_space(table: Table) -> schema.HalfSpaceEntry:
    """Return one ``[[half_space]]``, by default z <= 0."""
    table.required("name")
    normal, point = table.vector("normal", 3, (0.0, 0.0, 1.0)), table.vector("point", 3, (0.0, 0.0, 0.0))
    return schema.HalfSpaceEntry(table.text("name"), normal, point, _surface(table), _filter(table), table)


def _common_fields(table: Table) -> dict[str, Any]:
    """Return the values of the fields that all kinds of bodies have, by field of the entry; a name is required."""
    table.required("name")
    return {
        "name": table.text("name"),
        "parts": _parts(table),
        "surface": _own_surface(table),
        "pose": _pose(table),
        "table": table,
    }


def _body(table: Table) -> schema.BodyEntry:
    """Return one ``[[body]]``, or a grid of ``count`` bodies; exactly one of mass and density is required."""
    standing = _common_fields(table)
    weight = table.exactly_one_of("mass", "density")
    inertia = table.vectors("inertia", 3, 3) if "inertia" in table else None
    count = table.vector("count", 3, (1.0, 1.0, 1.0))
    if any(n < 1 or n != int(n) for n in count) or math.prod(count) > MAX_BODIES:
        raise table.error("count", f"must be three whole numbers from 1 whose product is at most {MAX_BODIES}")
    if "count" in table:
        table.required("spacing")
    return schema.BodyEntry(
        **standing,
        mass=table.number("mass", positive=True) if weight == "mass" else None,
        density=table.number("density", positive=True) if weight == "density" else None,
        com=table.vector("com", 3, (0.0, 0.0, 0.0)),
        inertia=inertia,
        count=(int(count[0]), int(count[1]), int(count[2])),
        spacing=table.vector("spacing", 3, (0.0, 0.0, 0.0)),
    )


def _parts(table: Table) -> tuple[schema.PartEntry, ...]:
    """Return the shapes of a body: its single one, in its axes, or the shapes of its parts."""
    whole = _filter(table)
    if table.exactly_one_of("shape", "part") == "shape":
        return (schema.PartEntry(parse_shape(table), schema.PoseEntry(), None, whole, table),)
    for key in SHAPE_KEYS:
        if key in table:
            raise table.error(key, "belongs to one of the parts")
    parts = []
    for part in table.tables("part", _PART, MAX_ENTRIES):
        part.required("shape")
        surface = _own_surface(part)
        if surface is None:
            table.exactly_one_of("material", "mu")
        parts.append(schema.PartEntry(parse_shape(part), _pose(part), surface, _filter(part, whole), part))
    return tuple(parts)


def _own_surface(table: Table) -> schema.Surface | None:
    """Return the surface that a table of a body or of a part describes; None if it describes none.

    A part without a surface has its body's surface. A body without one needs a surface in each part. A named table with
    a shape is a body of one shape: it must have a surface.
    """
    if ("shape" in table and "name" in table) or any(key in table for key in _SURFACE):
        return _surface(table)
    return None


def _kinematic(table: Table) -> schema.KinematicEntry:
    """Return one ``[[kinematic]]``, with its oscillation or its velocities; raise `SceneError` if both are given."""
    standing = _common_fields(table)
    swing: dict[str, schema.Vector | float] = {}
    for key in SWING:
        if key in table:
            swing[key] = table.vector(key, 3) if key in ("translation", "rotation") else table.number(key)
    belt = table.boolean("belt", False)
    if swing:
        table.required("frequency")
        for key in ("belt", *MOTION):
            if key in table:
                raise table.error(key, "does not go with an oscillation: it has 'translation' and 'rotation'")
    entry = schema.KinematicEntry(**standing, belt=belt, swing=swing)
    with table.wrap_errors():
        entry.motion()
    return entry


def _robot(table: Table) -> schema.RobotEntry:
    """Return one ``[[robot]]``; keys of its pose raise `SceneError` unless it has a floating base."""
    table.required("name", "urdf")
    floating, collisions = table.boolean("floating_base", False), table.boolean("collisions", False)
    if not floating:
        for key in _POSE:
            if key in table:
                raise table.error(key, "belongs to a floating base; add floating_base = true")
    whole, shapes = _filter(table), []
    for link in table.tables("shape", ("body", *_PART), MAX_ENTRIES):
        link.required("body", "shape")
        shapes.append(
            schema.LinkShapeEntry(
                parse_shape(link), _pose(link), _surface(link), _filter(link, whole), link, link.text("body")
            )
        )
    return schema.RobotEntry(
        name=table.text("name"),
        urdf=table.text("urdf"),
        floating_base=floating,
        collisions=collisions,
        q=_state(table, "q"),
        v=_state(table, "v"),
        pose=_pose(table),
        surface=_surface(table) if collisions else Material(0.0),
        filter=whole,
        shapes=tuple(shapes),
        joints=joints_entry(table),
        table=table,
    )


def _state(table: Table, key: str) -> schema.Vector | dict[str, float]:
    """Return a whole vector, or numbers by joint; an empty mapping if nothing is given."""
    if isinstance(table.values.get(key, {}), dict):
        if key not in table:
            return {}
        inner = table.table(key, None)
        return {name: inner.number(name) for name in inner.values}
    return table.vector(key, None)


def _surface(table: Table) -> schema.Surface:
    """Return the name of a table's material, or its material from mu and further numbers."""
    if table.exactly_one_of("material", "mu") == "material":
        for key in _NUMBERS[1:]:
            if key in table:
                raise table.error(key, "belongs to 'mu'; a material has its own")
        return table.text("material")
    return _numbers(table)


def _numbers(table: Table) -> Material:
    """Return the material of a table's numbers; its restitution can be a table, which is a `PowerLaw`."""
    # Restitution may be a table with a law.
    by_law = isinstance(table.values.get("restitution"), dict)
    given = ("mu", *(key for key in _NUMBERS[1:] if key in table and not (by_law and key == "restitution")))
    numbers: dict[str, Any] = {key: table.number(key) for key in given}
    if by_law:
        inner = table.table("restitution", tuple(entry.name for entry in dataclasses.fields(PowerLaw)))
        inner.required("e")
        with inner.wrap_errors():
            numbers["restitution"] = PowerLaw(**{key: inner.number(key) for key in inner.values})
    with table.wrap_errors():
        return Material(**numbers)


def _filter(table: Table, whole: schema.Filter = FILTER) -> schema.Filter:
    """Return a table's filter; missing keys are taken from ``whole``, by default contact with everything."""
    return {key: table.integer(key, default, 0, ALL) for key, default in whole.items()}


def _pose(table: Table) -> schema.PoseEntry:
    """Return pose and velocities; the default is a body at rest in the origin.

    The rotation is a quaternion, or ``rpy`` [rad]. Raise `SceneError` if both are given, or if the quaternion's length
    differs from 1 by more than 1e-3.
    """
    turn: schema.Vector = (1.0, 0.0, 0.0, 0.0)
    if "quaternion" in table or "rpy" in table:
        if table.exactly_one_of("quaternion", "rpy") == "quaternion":
            given = table.vector("quaternion", 4)
            length = math.hypot(*given)
            if abs(length - 1.0) > 1e-3:
                raise table.error("quaternion", f"must have length 1, has {length:.6g}")
            turn = tuple(value / length for value in given)
        else:
            turn = tuple(quaternion.from_matrix(rotation(np.array(table.vector("rpy", 3)))).tolist())
    zero = (0.0, 0.0, 0.0)
    moving = (table.vector("velocity", 3, zero), table.vector("angular_velocity", 3, zero))
    return schema.PoseEntry(table.vector("position", 3, zero), turn, *moving)
