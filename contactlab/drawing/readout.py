"""Numbers said about a state in words: time, energy, contacts, how well the step that led there was solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.simulation import OPEN, CertificateTable, ContactTable, Recording


@dataclass(frozen=True)
class Readout:
    """Numbers of one state.

    Attributes
    ----------
    time
        [s].
    energy
        Kinetic plus potential [J].
    contacts, touching
        Rows of the step that led here, and those of them that carry an impulse.
    scaled, mechanical
        Largest scaled residual, and violation over scale, of the islands of that step; None where it had none.
    """

    time: float
    energy: float
    contacts: int = 0
    touching: int = 0
    scaled: float | None = None
    mechanical: float | None = None

    @classmethod
    def of_step(cls, time: float, energy: float, contacts: ContactTable, certificates: CertificateTable) -> Readout:
        """Numbers of a state from the tables of the step that led to it."""
        worst = certificates.worst() if len(certificates) else None
        scaled, mechanical = (None, None) if worst is None else (worst.scaled, worst.mechanical)
        return cls(time, energy, len(contacts), int(np.count_nonzero(contacts.mode != OPEN)), scaled, mechanical)

    @classmethod
    def of_state(cls, recording: Recording, i: int) -> Readout:
        """Numbers of state ``i`` of a recording."""
        time, energy = float(recording.time[i]), float(recording.kinetic[i] + recording.potential[i])
        if i == 0:
            return cls(time, energy)
        rows = recording.certificates
        first, last = np.searchsorted(rows.step, (i - 1, i))
        return cls.of_step(time, energy, recording.contacts_at(i - 1), rows.rows(slice(int(first), int(last))))

    def __str__(self) -> str:
        worst = "no island" if self.scaled is None else f"certificate {self.scaled:.0e}"
        return f"t = {self.time:.3f} s   E = {self.energy:.4g} J   {self.touching}/{self.contacts} contacts   {worst}"
