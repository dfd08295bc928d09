"""The result of one step of `TimeStepping`, and the table of joint rows of a result or a record."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.stepping.contact_table import CertificateTable, ContactContext, ContactTable
from contactlab.simulation.stepping.record_schema import Rows, StepTable, rows_of_chunks
from contactlab.simulation.world.state import StepperState
from contactlab.simulation.world.world import World

if TYPE_CHECKING:
    from contactlab.simulation.stepping.time_stepping import TimeStepping


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
    rows = [world.joint_rows[int(row)] for row in numbers]
    return np.array([row.low == row.bound for row in rows], dtype=bool)


@dataclass(eq=False)
class StepBatch:
    """Finished steps; their results are computed on request."""

    world: World
    stepper: TimeStepping
    start: StepperState
    left: Rows
    first: int  # number of the first step

    @functools.cached_property
    def rows(self) -> Rows:
        """Their rows as named arrays."""
        return rows_of_chunks([self.left])

    def selection(self, step: int, island: int) -> float:
        """Return the distance of an island's forces from the selected ones."""
        # An import against the order of packages, as for failed steps: only a record computes this.
        from contactlab.simulation.recording import Recording

        numbers = {name: steps - self.first for name, steps in self.rows.items() if name.endswith("_step")}
        recording = Recording.of_run(self.world, self.stepper, self.start, [{**self.rows, **numbers}])
        return recording.selection(step - self.first, island)


@dataclass(frozen=True, eq=False)
class StepResult:
    """The result of one step.

    Attributes
    ----------
    state
        The state after the step.
    kinetic, potential
        Energies of ``state`` [J].
    """

    state: StepperState
    kinetic: float
    potential: float
    _steps: StepBatch = field(repr=False)
    _number: int = field(repr=False)

    @classmethod
    def of_rows(
        cls, world: World, stepper: TimeStepping, start: StepperState, rows: Rows, state: StepperState, step: int
    ) -> StepResult:
        """Return the result of step ``step``, the last one from ``start``, from a chunk's rows."""
        steps = StepBatch(world, stepper, start, rows, step + 1 - rows["h"].size)
        return cls.of_steps(steps, rows["kinetic"].item(-1), rows["potential"].item(-1), state, step)

    @classmethod
    def of_steps(cls, steps: StepBatch, kinetic: float, potential: float, state: StepperState, step: int) -> StepResult:
        """Return the result of step ``step`` from a batch of steps and energies."""
        result = object.__new__(cls)
        result.__dict__.update(state=state, kinetic=kinetic, potential=potential, _steps=steps, _number=step)
        return result

    # Tables are made when they are read, because making one takes longer than a small step.

    @functools.cached_property
    def contacts(self) -> ContactTable:
        """The contacts that took part, with their impulses."""
        rows = self._steps.rows
        contacts = ContactTable.from_rows(rows, ContactContext.of(self._steps.world, rows["h"][-1:], self._number))
        return contacts.rows(contacts.step == self._number)

    @functools.cached_property
    def joint_rows(self) -> JointTable:
        """The joint rows that took part, with their forces."""
        rows = JointTable.from_rows(self._steps.rows)
        return rows.rows(rows.step == self._number)

    @functools.cached_property
    def certificate(self) -> CertificateTable:
        """The certificate of each island."""
        certificate = CertificateTable.from_rows(self._steps.rows, self._steps.selection)
        return certificate.rows(certificate.step == self._number)
