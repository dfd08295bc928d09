"""What a scene file says of joints: stops, damping, friction and drives of robots, and loops between bodies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from contactlab.constraints import LoopConstraint
from contactlab.formulation.bridge.joint_actions import Drive, JointLimit
from contactlab.multibody import UrdfModel
from contactlab.multibody.urdf.reading import rotation
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.spatial import Transform
from contactlab.world.builder import WorldBuilder

MOST_ENTRIES = 1000
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
    """Of a robot: whether the description's own are acted on, numbers by joint in their place, and what is added."""

    limits: bool
    damping: bool | dict[str, float]
    friction: bool | dict[str, float]
    mimics: bool
    added: tuple[tuple[JointLimit | Drive, Table], ...] = field(compare=False)


@dataclass(frozen=True)
class LoopEntry:
    """``[[loop]]``: bodies a and b do not move against each other along the rows of axes (rotation first)."""

    rows: tuple[LoopConstraint, ...]
    erp: float | None
    table: Table = field(repr=False, compare=False)


def joints_entry(table: Table) -> JointsEntry:
    """Read what a ``[[robot]]`` says of its joints."""
    added: list[tuple[JointLimit | Drive, Table]] = []
    limit_keys = tuple(_numbers(JointLimit))
    for one in table.tables("limit", ("joint", *limit_keys), MOST_ENTRIES):
        one.required("joint")
        numbers: dict[str, Any] = {key: one.number(key) for key in limit_keys if key in one}
        with one.blame():
            added.append((JointLimit(one.text("joint"), **numbers), one))
    drive_keys = {key: None for kind in _DRIVES.values() for key in _numbers(kind)}
    for one in table.tables("drive", ("joint", "kind", "name", *drive_keys), MOST_ENTRIES):
        added.append((_drive(one), one))
    damping, friction = (_coefficients(table, key) for key in ("damping", "friction"))
    return JointsEntry(table.flag("limits", True), damping, friction, table.flag("mimics", True), tuple(added))


def _numbers(kind: Any) -> dict[str, bool]:
    """Return the numbers that a class takes, and whether it needs each."""
    return {one.name: one.default is dataclasses.MISSING for one in dataclasses.fields(kind) if one.type == "float"}


def _coefficients(table: Table, key: str) -> bool | dict[str, float]:
    """Return whether the description's own count, or numbers by joint."""
    if not isinstance(table.values.get(key, True), dict):
        return table.flag(key, True)
    inner = table.table(key, None)
    return {name: inner.number(name) for name in inner.values}


def _drive(table: Table) -> Drive:
    """Return a drive of any kind."""
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
    with table.blame():
        drive: Drive = _DRIVES[kind](
            table.text("joint"), **numbers, name=table.text("name") if "name" in table else None
        )
    return drive


def loop_entry(table: Table) -> LoopEntry:
    """Read one ``[[loop]]``."""
    table.required("a", "b")
    zero = (0.0, 0.0, 0.0)
    if table.one_of("holds", "axes") == "axes":
        axes = np.array(table.vectors("axes", 6, 6))
    else:
        kind = table.text("holds")
        if kind not in _ROWS:
            raise table.error("holds", f"unknown kind '{kind}'{suggestion(kind, _ROWS)}")
        axes = _ROWS[kind]
    turns = (rotation(np.array(table.vector(f"rpy_{end}", 3, zero))) for end in "ab")
    frame_a, frame_b = (Transform(R, table.vector(f"point_{end}", 3, zero)) for R, end in zip(turns, "ab", strict=True))
    sliding = table.flag("sliding", table.values.get("holds") == "slider")
    name = table.text("name") if "name" in table else f"{table.text('a')} on {table.text('b')}"
    with table.blame():
        rows = tuple(
            LoopConstraint(table.text("a"), table.text("b"), frame_a, frame_b, axis, name=name, sliding=sliding)
            for axis in axes
        )
    return LoopEntry(rows, table.number("erp") if "erp" in table else None, table)


def model_arguments(entry: JointsEntry, table: Table, model: UrdfModel) -> dict[str, Any]:
    """Return what `WorldBuilder.add_model` takes of a robot's joints."""
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
        with table.blame():
            own = dataclasses.replace(one, joint=prefix + one.joint)
            if isinstance(own, JointLimit):
                builder.add_joint_limit(own)
            else:
                name = None if own.name is None else prefix + own.name
                builder.add_drive(dataclasses.replace(own, name=name))
