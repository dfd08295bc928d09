"""One page about a recording: its energy and where it went, how well every step was solved, what the contacts did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.plotting.ledger_plot import draw_ledger

if TYPE_CHECKING:
    from contactlab.simulation import Recording

__all__ = ["plot_recording"]

FLOOR = 1e-18  # residuals of exactly 0 are drawn here on the logarithmic axis
SOLVED_LIMIT = 1e-9  # scaled residual up to which a step counts as solved


def plot_recording(recording: Recording, path: str | Path) -> Path:
    """Draw energy, its ledger, worst certificate and contact impulses over time and write a PNG.

    Top: kinetic energy, potential energy (relative to its lowest value) and their sum [J]. Second: the
    energy's change and the running sums of friction, impacts and the rest [J]. Third: per step, the largest scaled
    residual over its islands, with the limit below which a step counts as solved. Bottom: per step, the sum of the
    normal impulses and the sum of the magnitudes of the tangential ones [N s].
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 10.5), layout="constrained")
    FigureCanvasAgg(figure)
    energy, account, certificate, impulse = figure.subplots(4, 1, sharex=True)

    potential = recording.potential - recording.potential.min()
    energy.plot(recording.time, recording.kinetic, label="kinetic", linewidth=1.0)
    energy.plot(recording.time, potential, label="potential, above its lowest", linewidth=1.0)
    energy.plot(recording.time, recording.kinetic + potential, label="sum", color="black", linewidth=1.4)
    energy.set_ylabel("energy [J]")
    energy.legend(frameon=False, fontsize=8)

    draw_ledger(account, recording.ledger)

    ends = recording.time[1:]
    rows = recording.certificates
    worst = np.full(recording.n_steps, np.nan)
    np.fmax.at(worst, np.asarray(rows.step), np.asarray(rows.scaled))
    certificate.semilogy(ends, np.maximum(worst, FLOOR), ".", markersize=2.0, label="largest scaled residual")
    certificate.axhline(SOLVED_LIMIT, color="tab:red", linewidth=0.9, linestyle="--", label="limit of a solved step")
    certificate.set_ylabel("certificate")
    certificate.legend(frameon=False, fontsize=8)

    contacts = recording.contacts
    tangential = np.linalg.norm(np.asarray(contacts.impulse_tangential), axis=1)
    normal_sum = _sum_per_step(recording.n_steps, contacts.step, contacts.impulse_normal)
    impulse.semilogy(ends, _positive(normal_sum), linewidth=0.8, label="normal")
    tangential_sum = _sum_per_step(recording.n_steps, contacts.step, tangential)
    impulse.semilogy(ends, _positive(tangential_sum), linewidth=0.8, label="tangential")
    impulse.set_ylabel("contact impulse\nper step [N s]")
    impulse.set_xlabel("time [s]")
    impulse.legend(frameon=False, fontsize=8)

    for axes in figure.axes:
        axes.grid(alpha=0.25)
    path = Path(path)
    figure.savefig(path, dpi=120)
    return path


def _sum_per_step(n_steps: int, steps: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the values of each step, (n_steps,)."""
    return np.bincount(steps, weights=values, minlength=n_steps).astype(np.float64)


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with what is not positive left out: a logarithmic axis has no place for it."""
    return np.where(values > 0.0, values, np.nan)
