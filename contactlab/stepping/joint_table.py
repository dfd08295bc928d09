"""Rows of joints of a record, one row each: stops, drives, friction, followers and loops."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.record_schema import Rows, StepTable

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JointTable(StepTable):
    """Columns of joint rows, in order of step, island, number.

    Attributes
    ----------
    step, island
        The step (from state ``step`` to ``step + 1``) and the island of that step.
    row
        Number of the row in `World.joint_rows`.
    error
        At the start of the step: signed distance from a stop, negative beyond it; position error of other rows [rad or
        m].
    force
        Mean over the step [N m or N]: away from a stop; along the coordinate of other rows; for loops with the sign
        of `LoopConstraint`.
    rate
        The row's velocity after the step, at the start's configuration [rad/s or m/s].
    z
        (n, 2) LCP variables.
    projection_multiplier
        Multiplier of the position projection [kg m, kg m^2] of a stop passed too far: the bodies were moved by
        M^-1 J^T projection_multiplier in addition to h v+; 0 of all other rows.
    """

    step: IntArray
    island: IntArray
    row: IntArray
    error: FloatArray
    force: FloatArray
    rate: FloatArray
    z: FloatArray
    projection_multiplier: FloatArray

    @classmethod
    def from_rows(cls, rows: Rows) -> JointTable:
        """Return the table with the joint columns of a record's arrays."""
        return cls(**{field.name: rows[f"joint_{field.name}"] for field in fields(cls)})

    def __repr__(self) -> str:
        return f"JointTable({len(self)} rows of joints)"

    def of(self, row: int) -> JointTable:
        """Return the table of one row, given by number."""
        return self.rows(self.row == row)


def by_number(rows: IntArray, z: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the row numbers (n,) of one step and their z in ascending order; records have them island by island."""
    order = np.argsort(rows)
    return rows[order], z[order]


def row_classes(world: World, stepper: TimeStepping, numbers: IntArray) -> NDArray[np.str_]:
    """Return the block of each row in its problem: L, G or B."""
    soft = stepper.cfm > 0.0
    return np.array([world.joint_rows[int(row)].kind.class_of(soft) for row in numbers], dtype="U1")


def has_given_force(world: World, numbers: IntArray) -> NDArray[np.bool_]:
    """Return for each boxed row whether its force is prescribed, so that it has no LCP variable."""
    return np.array([world.joint_rows[int(row)].bound == 0.0 for row in numbers], dtype=bool)
