"""Kinematic bodies of a scene file: ``[[kinematic]]``."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from contactlab.simulation.scene.schema import PartEntry, PoseEntry, SurfaceEntry, Vector
from contactlab.simulation.scene.table import Table
from contactlab.spatial import Transform, quaternion
from contactlab.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion

__all__ = ["SWING", "KinematicEntry", "parse_motion"]

#: Keys of an oscillation.
SWING = ("translation", "rotation", "frequency", "phase")


@dataclass(frozen=True)
class KinematicEntry:
    """``[[kinematic]]``: a body that stands, moves at constant rates, swings, or whose surface runs like a belt."""

    name: str
    parts: tuple[PartEntry, ...]
    surface: SurfaceEntry | None
    pose: PoseEntry
    belt: bool
    swing: dict[str, Vector | float]
    table: Table = field(repr=False, compare=False)

    def motion(self) -> PrescribedMotion:
        """Return the motion; velocities are those of the pose, both in world axes."""
        pose = self.pose
        start = Transform(quaternion.to_matrix(pose.quaternion), pose.position)
        if self.swing:
            values = {key: np.array(value) if isinstance(value, tuple) else value for key, value in self.swing.items()}
            return Oscillation(start, **values)  # type: ignore[arg-type]
        kind = Conveyor if self.belt else ConstantVelocity
        return kind(start, np.array(pose.velocity), np.array(pose.angular_velocity))


def parse_motion(
    table: Table, parts: tuple[PartEntry, ...], surface: SurfaceEntry | None, pose: PoseEntry
) -> KinematicEntry:
    """Return what a table says; a `SceneError` names line and key of what does not go together."""
    swing: dict[str, Vector | float] = {}
    for key in SWING:
        if key in table:
            swing[key] = table.vector(key, 3) if key in ("translation", "rotation") else table.number(key)
    belt = table.flag("belt", False)
    if swing:
        table.required("frequency")
        for key in ("belt", "velocity", "angular_velocity"):
            if key in table:
                raise table.error(key, "does not go with an oscillation: it has 'translation' and 'rotation'")
    entry = KinematicEntry(table.text("name"), parts, surface, pose, belt, swing, table)
    with table.blame():
        entry.motion()
    return entry
