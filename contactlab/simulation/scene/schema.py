"""What a scene file says, as frozen values: checked for form, not yet built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contactlab.contact import Material, Shape
from contactlab.simulation.scene.joints import JointsEntry, LoopEntry
from contactlab.simulation.scene.table import Table
from contactlab.spatial import Transform, quaternion
from contactlab.stepping import TimeStepping
from contactlab.world import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion

Vector = tuple[float, ...]
#: A material, or the name of one in ``[[material]]``.
Surface = Material | str
#: Category and mask, 32 bits each: two shapes may touch where either's has a bit in common with the other's mask.
Filter = dict[str, Any]


@dataclass(frozen=True)
class PoseEntry:
    """Place [m], unit quaternion (w, x, y, z), velocity [m/s, world axes], angular velocity [rad/s, body axes]."""

    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Vector = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)

    def placement(self) -> Transform:
        """Return the place as a transform from the placed axes."""
        return Transform(quaternion.to_matrix(self.quaternion), self.position)


@dataclass(frozen=True)
class PartEntry:
    """``[[body.part]]``: one of several shapes of a body, at a pose in it; without a surface it has the body's."""

    shape: Shape
    pose: PoseEntry
    surface: Surface | None
    filter: Filter
    table: Table = field(repr=False, compare=False)


@dataclass(frozen=True)
class HalfSpaceEntry:
    """``[[half_space]]``: everything on the far side of a plane through ``point``."""

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
    """``[[fixed]]``: a body that stands fixed in the world."""

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
    """``[[kinematic]]``: a body that stands, moves at constant rates, swings, or whose surface runs like a belt."""

    belt: bool
    swing: dict[str, Vector | float]

    def motion(self) -> PrescribedMotion:
        """Return the motion; velocities are those of the pose, both in world axes."""
        start = self.pose.placement()
        if self.swing:
            values = {key: np.array(value) if isinstance(value, tuple) else value for key, value in self.swing.items()}
            return Oscillation(start, **values)  # type: ignore[arg-type]
        kind = Conveyor if self.belt else ConstantVelocity
        return kind(start, np.array(self.pose.velocity), np.array(self.pose.angular_velocity))


@dataclass(frozen=True)
class RobotEntry:
    """``[[robot]]``: a model from a URDF file in the scene's folder.

    ``q`` and ``v`` are whole vectors, or numbers by the joints' names; ``pose`` is that of a floating base.
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
    ignored: tuple[Table, ...]  # each with the names of two that pass through each other
    body_contacts: bool
    table: Table = field(repr=False, compare=False)
