"""The energy of a recording, and its ledger: what each entry has added up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.plotting.paper import one_page
from contactlab.simulation import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_energy", "draw_ledger", "ledger"]


def draw_energy(axes: Axes, recording: Recording) -> None:
    """Draw kinetic energy, potential energy above its lowest value, and their sum [J]."""
    potential = recording.potential - recording.potential.min()
    axes.plot(recording.time, recording.kinetic, label="kinetic", linewidth=1.0)
    axes.plot(recording.time, potential, label="potential, above its lowest", linewidth=1.0)
    axes.plot(recording.time, recording.kinetic + potential, label="sum", color="black", linestyle="-", linewidth=1.4)
    axes.set_ylabel("energy [J]")
    axes.legend(frameon=False, fontsize=8)


def draw_ledger(axes: Axes, recording: Recording) -> None:
    """Draw the change of the energy since the start and the running sums of the ledger's summary [J].

    Entries that are zero throughout are left out.
    """
    account = recording.ledger
    change = account.energy - account.energy[0]
    axes.plot(account.time, change, label="change of energy", color="black", linestyle="-", linewidth=1.4)
    for name, values in account.summary.items():
        if np.any(values != 0.0):
            axes.plot(account.time, np.concatenate(([0.0], np.cumsum(values))), label=name, linewidth=1.0)
    axes.set_ylabel("energy ledger,\nsince the start [J]")
    axes.legend(frameon=False, fontsize=8)


def ledger(recording: Recording) -> Figure:
    """Return energy and energy ledger of a recording over time.

    Top: the energies. Middle: the running sums of the ledger's entries. Bottom: per step, the magnitudes of
    stabilisation and integration error, which belong to the scheme, against that of the energy not accounted for, which
    is rounding [J].
    """
    account = recording.ledger
    figure, (energies, sums, scheme) = one_page([2.4, 2.8, 2.4], "energy and where it went")
    draw_energy(energies, recording)
    draw_ledger(sums, recording)
    for name, values in (
        ("integration error", account.integration_error),
        ("stabilisation", account.stabilisation),
        ("not accounted for", account.residual),
    ):
        # A logarithmic axis has no place for 0.
        size = np.where(values != 0.0, np.abs(values), np.nan)
        scheme.semilogy(account.time[1:], size, ".", markersize=2.5, label=name)
    scheme.set_ylabel("magnitude per step [J]")
    scheme.legend(frameon=False, fontsize=8)
    return figure
