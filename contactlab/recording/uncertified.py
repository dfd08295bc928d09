"""The islands of a record that nothing solved, and that the run went on with all the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.certificate import Choice
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.contact_table import CertificateTable, IntArray


@dataclass(frozen=True, eq=False)
class UncertifiedTable:
    """Islands whose forces are the best that were found, and no solution; rows in the order of step and island.

    Attributes
    ----------
    step, island, contacts
        Which, and how many contacts each has.
    residual
        Scaled residual of its LCP, or problem of cones: what the stepper's ``tolerance`` bounds where it is solved. An
        LCP has slacks besides forces: where those alone are wrong the forces are right, and this is up to 1.
    mechanical
        How far forces and velocity are from the laws of contact: violation over scale of the worst condition; at most
        1e-4, or the run would have stopped.
    """

    step: IntArray
    island: IntArray
    contacts: IntArray
    residual: FloatArray
    mechanical: FloatArray

    @classmethod
    def of(cls, certificates: CertificateTable) -> UncertifiedTable:
        """Return those among the islands of a table."""
        own = certificates.rows(np.flatnonzero(certificates.choice == Choice.UNCERTIFIED))
        return cls(own.step, own.island, own.n_contacts, own.scaled, own.mechanical)

    def __len__(self) -> int:
        return self.step.size

    def __repr__(self) -> str:
        worst = float(self.mechanical.max(initial=0.0))
        return f"UncertifiedTable({len(self)} islands in {self.steps.size} steps, worst condition {worst:.1e})"

    @property
    def steps(self) -> IntArray:
        """The steps that have such islands, each once."""
        return np.unique(self.step)

    @property
    def worst(self) -> int:
        """The row that is furthest from the laws of contact; there must be one."""
        return int(np.argmax(self.mechanical))
