"""A run as a whole over time: its energy and ledger, the solver's effort and certificates, and all on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.plotting.contact_plot import draw_force_sums, draw_gaps
from contactlab.plotting.paper import legend_above, one_page
from contactlab.simulation import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 1e-18  # residuals of exactly 0 are drawn here on the logarithmic axis
SOLVED_LIMIT = 1e-9  # scaled residual up to which a step counts as solved


def draw_energy(axes: Axes, recording: Recording) -> None:
    """Draw kinetic energy, potential energy above its lowest value, and their sum [J]."""
    potential = recording.potential - recording.potential.min()
    axes.plot(recording.time, recording.kinetic, label="kinetic", linewidth=1.0)
    axes.plot(recording.time, potential, label="potential, above its lowest", linewidth=1.0)
    axes.plot(recording.time, recording.kinetic + potential, label="sum", color="black", linestyle="-", linewidth=1.4)
    axes.set_ylabel("energy [J]")
    legend_above(axes)


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
    legend_above(axes)


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
    legend_above(scheme)
    return figure


def draw_effort(axes: Axes, recording: Recording) -> None:
    """Draw pivots, islands, islands solved by the warm start, and contacts, per step."""
    ends = recording.time[1:]
    contacts = np.bincount(recording.contacts.step, minlength=recording.n_steps)
    axes.plot(ends, contacts, drawstyle="steps-mid", linewidth=0.8, label="contacts")
    axes.plot(ends, recording.pivots, drawstyle="steps-mid", linewidth=0.8, label="pivots")
    axes.plot(ends, recording.islands, drawstyle="steps-mid", linewidth=0.8, label="islands")
    axes.plot(ends, recording.warm_hits, drawstyle="steps-mid", linewidth=0.8, label="islands solved warm")
    # A hard step takes hundreds of pivots; the others are to be seen beside it.
    if max(recording.pivots.max(initial=0), contacts.max(initial=0)) > 10:
        axes.set_yscale("symlog", linthresh=10.0)
    axes.set_ylabel("per step [1]")
    legend_above(axes)


def effort(recording: Recording) -> Figure:
    """Return the solver's effort over time.

    Top: contacts, pivots, islands, and the islands that the previous step's contacts solved without a pivot. Second:
    the size of the step [s], which tells where an adaptive stepper struggled. Third: the part of all islands so far
    that was solved warm. Bottom: time per step on the machine that computed it, mean over portions of the run; nothing
    where the record has none.
    """
    figure, (counts, sizes, warm, seconds) = one_page([3.0, 1.3, 1.6, 1.6], "effort of the solver")
    ends = recording.time[1:]
    draw_effort(counts, recording)
    sizes.plot(ends, recording.h, drawstyle="steps-mid", linewidth=0.9)
    sizes.set_ylabel("step h [s]")
    islands = np.cumsum(recording.islands)
    share = np.divide(np.cumsum(recording.warm_hits), islands, out=np.full(len(ends), np.nan), where=islands > 0)
    warm.plot(ends, 100.0 * share, linewidth=1.0)
    warm.set(ylabel="solved warm,\nso far [%]", ylim=(0.0, 102.0))
    if recording.timings and recording.timings["timing_step"].size:
        steps = np.concatenate(([0], recording.timings["timing_step"].clip(0, recording.n_steps)))
        mean = 1e3 * recording.timings["timing_seconds"] / np.maximum(np.diff(steps), 1)
        seconds.stairs(mean, recording.time[steps], baseline=None)
        seconds.set_yscale("log")
    seconds.set_ylabel("computing,\nper step [ms]")
    return figure


def draw_certificates(axes: Axes, recording: Recording) -> None:
    """Draw the worst of each step's islands: scaled residual, mechanical condition, and the limit of a solved step."""
    rows = recording.certificates
    largest = max(float(rows.scaled.max(initial=0.0)), float(rows.mechanical.max(initial=0.0)))
    axes.set(yscale="log", ylim=(0.3 * FLOOR, 10.0 * max(SOLVED_LIMIT, largest if np.isfinite(largest) else 0.0)))
    for name, values in (("scaled residual of the LCP", rows.scaled), ("mechanical condition", rows.mechanical)):
        worst = np.full(recording.n_steps, np.nan)
        np.fmax.at(worst, np.asarray(rows.step), np.asarray(values))
        marker = "." if name.startswith("scaled") else "x"
        axes.semilogy(recording.time[1:], np.maximum(worst, FLOOR), marker, markersize=2.5, label=name)
    axes.axhline(SOLVED_LIMIT, color="black", linewidth=0.9, linestyle="--", label="limit of a solved step")
    axes.set_ylabel("worst of the step [1]")
    legend_above(axes)


def certificates(recording: Recording) -> Figure:
    """Return the certificates over time: the worst island of each step; values of 0 are drawn at 1e-18."""
    figure, (axes,) = one_page([3.6], "certificate of every step")
    draw_certificates(axes, recording)
    return figure


def summary(recording: Recording) -> Figure:
    """Return one page: energy, its ledger, contact forces, penetration, effort, certificates, all over time."""
    count = recording.world.model.nb
    title = (
        f"{count} bodies, {recording.n_steps} steps of {recording.stepper.h:g} s, {len(recording.contacts)} contacts"
    )
    figure, axes = one_page([1.9, 1.9, 1.7, 1.3, 1.7, 1.7], title)
    drawn = (draw_energy, draw_ledger, draw_force_sums, draw_gaps, draw_effort, draw_certificates)
    for draw, one in zip(drawn, axes, strict=True):
        draw(one, recording)
    figure.align_ylabels(axes)
    return figure
