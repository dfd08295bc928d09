"""The contents of a scene file as frozen values, with joints and loops: checked for form, not yet built."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from contactlab.constraints import LoopConstraint
from contactlab.contact import Material, Shape
from contactlab.formulation.model_problem.options import Drive, JointLimit
from contactlab.multibody import UrdfModel
from contactlab.multibody.urdf.reading import rotation
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.spatial import Transform, quaternion
from contactlab.stepping import TimeStepping
from contactlab.world import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion
from contactlab.world.builder import WorldBuilder

MAX_ENTRIES = 1000
#: Keys of ``[[robot]]`` that are about joints.
ROBOT_JOINT_KEYS = ("limits", "damping", "friction", "mimics", "limit", "drive")
_DRIVES: dict[str, Any] = {kind.__name__.removesuffix("Drive").lower(): kind for kind in get_args(Drive)}
LOOP_KEYS = ("a", "b", "point_a", "point_b", "rpy_a", "rpy_b", "holds", "axes", "sliding", "erp", "name")

# Rows of the kinds of loops: the axes of frame a along and about which b does not move; rotations first.
_ROWS = {
    "point": np.eye(6)[3:],
    "weld": np.eye(6),
    "hinge": np.eye(6)[[0, 1, 3, 4, 5]],  # turns about z
    "slider": np.eye(6)[:5],  # slides along z
}


@dataclass(frozen=True)
class JointsEntry:
    """Actions on a robot's joints: use of the description's values, numbers by joint instead, and additions."""

    limits: bool
    damping: bool | dict[str, float]
    friction: bool | dict[str, float]
    mimics: bool
    added: tuple[tuple[JointLimit | Drive, Table], ...] = field(compare=False)


@dataclass(frozen=True)
class LoopEntry:
    """``[[loop]]``: bodies a and b have no relative motion along the rows of axes (rotation first)."""

    rows: tuple[LoopConstraint, ...]
    erp: float | None
    table: Table = field(repr=False, compare=False)


def joints_entry(table: Table) -> JointsEntry:
    """Return a ``[[robot]]``'s limits, drives, damping, friction and mimics; joint names are not checked yet."""
    added: list[tuple[JointLimit | Drive, Table]] = []
    limit_keys = tuple(_numbers(JointLimit))
    for one in table.tables("limit", ("joint", *limit_keys), MAX_ENTRIES):
        one.required("joint")
        numbers: dict[str, Any] = {key: one.number(key) for key in limit_keys if key in one}
        with one.wrap_errors():
            added.append((JointLimit(one.text("joint"), **numbers), one))
    drive_keys = {key: None for kind in _DRIVES.values() for key in _numbers(kind)}
    for one in table.tables("drive", ("joint", "kind", "name", *drive_keys), MAX_ENTRIES):
        added.append((_drive(one), one))
    damping, friction = (_coefficients(table, key) for key in ("damping", "friction"))
    return JointsEntry(table.boolean("limits", True), damping, friction, table.boolean("mimics", True), tuple(added))


def _numbers(kind: Any) -> dict[str, bool]:
    """Return the numeric arguments of a class, and whether each is required."""
    return {one.name: one.default is dataclasses.MISSING for one in dataclasses.fields(kind) if one.type == "float"}


def _coefficients(table: Table, key: str) -> bool | dict[str, float]:
    """Return numbers by joint, or whether the values of the robot description are used (True by default)."""
    if not isinstance(table.values.get(key, True), dict):
        return table.boolean(key, True)
    inner = table.table(key, None)
    return {name: inner.number(name) for name in inner.values}


def _drive(table: Table) -> Drive:
    """Return the drive that a table describes, of the class that its ``kind`` names.

    Raise `SceneError` for an unknown kind, and for a key that drives of this kind do not have.
    """
    table.required("joint", "kind", "target")
    kind = table.text("kind")
    if kind not in _DRIVES:
        raise table.error("kind", f"unknown kind '{kind}'{suggestion(kind, _DRIVES)}")
    needed = _numbers(_DRIVES[kind])
    for key in table.values:
        if key not in ("joint", "kind", "name", *needed):
            raise table.error(key, f"does not belong to a {kind} drive")
    table.required(*(key for key, need in needed.items() if need))
    numbers = {key: table.number(key) for key in needed if key in table}
    with table.wrap_errors():
        drive: Drive = _DRIVES[kind](
            table.text("joint"), **numbers, name=table.text("name") if "name" in table else None
        )
    return drive


def loop_entry(table: Table) -> LoopEntry:
    """Read one ``[[loop]]``."""
    table.required("a", "b")
    zero = (0.0, 0.0, 0.0)
    if table.exactly_one_of("holds", "axes") == "axes":
        axes = np.array(table.vectors("axes", 6, 6))
    else:
        kind = table.text("holds")
        if kind not in _ROWS:
            raise table.error("holds", f"unknown kind '{kind}'{suggestion(kind, _ROWS)}")
        axes = _ROWS[kind]
    turns = (rotation(np.array(table.vector(f"rpy_{end}", 3, zero))) for end in "ab")
    frame_a, frame_b = (Transform(R, table.vector(f"point_{end}", 3, zero)) for R, end in zip(turns, "ab", strict=True))
    sliding = table.boolean("sliding", table.values.get("holds") == "slider")
    name = table.text("name") if "name" in table else f"{table.text('a')} on {table.text('b')}"
    with table.wrap_errors():
        rows = tuple(
            LoopConstraint(table.text("a"), table.text("b"), frame_a, frame_b, axis, name=name, sliding=sliding)
            for axis in axes
        )
    return LoopEntry(rows, table.number("erp") if "erp" in table else None, table)


def model_arguments(entry: JointsEntry, table: Table, model: UrdfModel) -> dict[str, Any]:
    """Return the keyword arguments limits, mimics, damping and friction of `WorldBuilder.add_model` for a robot.

    Their joint names are checked against the model; errors name the table's key.
    """
    found: dict[str, Any] = {"limits": "model" if entry.limits else None, "mimics": entry.mimics}
    for key in ("damping", "friction"):
        given = getattr(entry, key)
        if isinstance(given, dict):
            for name in given:
                if name not in model.joint_data:
                    raise table.error(key, f"no joint is called '{name}'{suggestion(name, model.joint_data)}")
        found[key] = given if isinstance(given, dict) else "model" if given else None
    return found


def add_joints(builder: WorldBuilder, entry: JointsEntry, prefix: str, model: UrdfModel) -> None:
    """Add stops and drives to a robot whose names begin with ``prefix``."""
    for one, table in entry.added:
        if one.joint not in model.joint_data:
            raise table.error("joint", f"no joint is called '{one.joint}'{suggestion(one.joint, model.joint_data)}")
        with table.wrap_errors():
            own = dataclasses.replace(one, joint=prefix + one.joint)
            if isinstance(own, JointLimit):
                builder.add_joint_limit(own)
            else:
                name = None if own.name is None else prefix + own.name
                builder.add_drive(dataclasses.replace(own, name=name))


Vector = tuple[float, ...]
#: A material, or the name of one in ``[[material]]``.
Surface = Material | str
#: Category and mask, 32 bits each: two shapes may touch if either category has a bit in common with the other's mask.
Filter = dict[str, Any]


@dataclass(frozen=True)
class PoseEntry:
    """Position [m], unit quaternion (w, x, y, z), velocity [m/s, world axes], angular velocity [rad/s, body axes]."""

    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Vector = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)

    def placement(self) -> Transform:
        """Return the pose as a transform from the placed axes."""
        return Transform(quaternion.to_matrix(self.quaternion), self.position)


@dataclass(frozen=True)
class PartEntry:
    """``[[body.part]]``: one of several shapes of a body, at a pose in it; its default surface is the body's."""

    shape: Shape
    pose: PoseEntry
    surface: Surface | None
    filter: Filter
    table: Table = field(repr=False, compare=False)


@dataclass(frozen=True)
class HalfSpaceEntry:
    """``[[half_space]]``: all points behind the plane through ``point``."""

    name: str
    normal: Vector
    point: Vector
    surface: Surface
    filter: Filter
    table: Table = field(repr=False, compare=False)


@dataclass(frozen=True)
class LinkShapeEntry(PartEntry):
    """``[[robot.shape]]``: a shape of one link, at a pose in it."""

    surface: Surface
    body: str


@dataclass(frozen=True)
class FixedEntry:
    """``[[fixed]]``: a body fixed to the world."""

    name: str
    parts: tuple[PartEntry, ...]
    surface: Surface | None
    pose: PoseEntry
    table: Table = field(repr=False, compare=False)


@dataclass(frozen=True)
class BodyEntry(FixedEntry):
    """``[[body]]``: a free body, or with ``count`` (x, y, z) a grid of them ``spacing`` [m] apart."""

    mass: float | None
    density: float | None
    com: Vector
    inertia: tuple[Vector, ...] | None
    count: tuple[int, int, int]
    spacing: Vector


@dataclass(frozen=True)
class KinematicEntry(FixedEntry):
    """``[[kinematic]]``: a body at rest, in uniform motion, or oscillating, or with a surface that runs like a belt."""

    belt: bool
    swing: dict[str, Vector | float]

    def motion(self) -> PrescribedMotion:
        """Return the motion; velocities belong to the pose, both in world axes."""
        start = self.pose.placement()
        if self.swing:
            values = {key: np.array(value) if isinstance(value, tuple) else value for key, value in self.swing.items()}
            return Oscillation(start, **values)  # type: ignore[arg-type]
        kind = Conveyor if self.belt else ConstantVelocity
        return kind(start, np.array(self.pose.velocity), np.array(self.pose.angular_velocity))


@dataclass(frozen=True)
class RobotEntry:
    """``[[robot]]``: a model from a URDF file in the scene's folder.

    ``q`` and ``v`` are whole vectors, or numbers by the joints' names; ``pose`` is the pose of a floating base.
    """

    name: str
    urdf: str
    floating_base: bool
    collisions: bool
    q: Vector | dict[str, float]
    v: Vector | dict[str, float]
    pose: PoseEntry
    surface: Surface
    filter: Filter
    shapes: tuple[LinkShapeEntry, ...]
    joints: JointsEntry
    table: Table = field(repr=False, compare=False)


@dataclass(frozen=True)
class SceneEntry:
    """A whole file."""

    name: str
    description: str
    gravity: Vector
    planar: Vector | None
    duration: float
    materials: dict[str, Material]
    stepper: TimeStepping
    half_spaces: tuple[HalfSpaceEntry, ...]
    fixed: tuple[FixedEntry, ...]
    bodies: tuple[BodyEntry, ...]
    kinematic: tuple[KinematicEntry, ...]
    robots: tuple[RobotEntry, ...]
    loops: tuple[LoopEntry, ...]
    ignored: tuple[Table, ...]  # each with the names of two bodies without contact
    body_contacts: bool
    table: Table = field(repr=False, compare=False)
