"""The result of one step of `TimeStepping`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contactlab.stepping.contact_table import CertificateTable, ContactContext, ContactTable
from contactlab.stepping.joint_table import JointTable
from contactlab.stepping.record_schema import Rows, rows_of_chunks
from contactlab.world.state import StepperState
from contactlab.world.world import World

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping


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
        from contactlab.recording import Recording

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
        """Return the result of step ``step``, the last one from ``start``, from a chunk's rows (`copy_of_chunk`)."""
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
