"""The energy ledger of a recording over time: what each entry has added up to, and the energy they account for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from contactlab.simulation import EnergyLedger, Recording

__all__ = ["draw_ledger", "plot_ledger"]


def draw_ledger(axes: Axes, ledger: EnergyLedger) -> None:
    """Draw the change of the energy since the start and the running sums of the ledger's summary [J].

    Entries that are zero throughout are left out.
    """
    axes.plot(ledger.time, ledger.energy - ledger.energy[0], label="change of energy", color="black", linewidth=1.4)
    for name, values in ledger.summary.items():
        if np.any(values != 0.0):
            axes.plot(ledger.time, np.concatenate(([0.0], np.cumsum(values))), label=name, linewidth=1.0)
    axes.set_ylabel("energy ledger,\nsince the start [J]")
    axes.legend(frameon=False, fontsize=8)


def plot_ledger(recording: Recording, path: str | Path) -> Path:
    """Draw the energy ledger of a recording and write a PNG.

    Top: the running sums of `draw_ledger`. Bottom: per step, the magnitudes of stabilisation and integration error,
    which belong to the scheme, against that of the energy not accounted for, which is rounding [J].
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ledger = recording.ledger
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    sums, scheme = figure.subplots(2, 1, sharex=True)
    draw_ledger(sums, ledger)
    ends = ledger.time[1:]
    for name, values in (
        ("integration error", ledger.integration_error),
        ("stabilisation", ledger.stabilisation),
        ("not accounted for", ledger.residual),
    ):
        # A logarithmic axis has no place for 0.
        size = np.where(values != 0.0, np.abs(values), np.nan)
        scheme.semilogy(ends, size, ".", markersize=2.0, label=name)
    scheme.set_ylabel("magnitude per step [J]")
    scheme.set_xlabel("time [s]")
    scheme.legend(frameon=False, fontsize=8)
    for axes in figure.axes:
        axes.grid(alpha=0.25)
    path = Path(path)
    figure.savefig(path, dpi=120)
    return path
