"""Poses and velocities of a scene file."""

from __future__ import annotations

import math

from contactlab.simulation.scene.schema import PoseEntry, Vector
from contactlab.simulation.scene.table import Table
from contactlab.spatial import Transform
from contactlab.spatial.quaternion import to_matrix

__all__ = ["MOTION", "PLACE", "parse_pose", "placement"]

PLACE = ("position", "quaternion", "rpy")
MOTION = ("velocity", "angular_velocity")


def parse_pose(table: Table) -> PoseEntry:
    """Return place, turn and velocities, each that of a body at rest in the origin where not given."""
    turn: Vector = (1.0, 0.0, 0.0, 0.0)
    if "quaternion" in table or "rpy" in table:
        if table.one_of("quaternion", "rpy") == "quaternion":
            given = table.vector("quaternion", 4)
            length = math.hypot(*given)
            if abs(length - 1.0) > 1e-3:
                raise table.error("quaternion", f"must have length 1, has {length:.6g}")
            turn = tuple(value / length for value in given)
        else:
            turn = _of_rpy(*table.vector("rpy", 3))
    zero = (0.0, 0.0, 0.0)
    moving = (table.vector("velocity", 3, zero), table.vector("angular_velocity", 3, zero))
    return PoseEntry(table.vector("position", 3, zero), turn, *moving)


def placement(pose: PoseEntry) -> Transform:
    """Return the pose as a transform from the placed axes."""
    return Transform(to_matrix(pose.quaternion), pose.position)


def _of_rpy(roll: float, pitch: float, yaw: float) -> Vector:
    """Return the quaternion of Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    (a, b, c), (x, y, z) = (tuple(f(0.5 * t) for t in (roll, pitch, yaw)) for f in (math.cos, math.sin))
    return (a * b * c + x * y * z, x * b * c - a * y * z, a * y * c + x * b * z, a * b * z - x * y * c)
