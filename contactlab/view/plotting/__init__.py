"""Images without a window. Needs the extra `viz` (matplotlib), which is imported by the first drawing.

Functions of a `Recording` return a matplotlib Figure: `picture` in three dimensions, the others over time.
This module draws a run over time: energy, solver effort, forces, gaps and modes of contacts; also as one page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.naming import module_hooks
from contactlab.simulation import OPEN, SLIDE, STICK, Recording, World
from contactlab.view.drawing.parts import MODE_COLORS, MODE_NAMES, hexadecimal
from contactlab.view.plotting.figures import animation, legend_above, one_page, picture, positive, save_figure
from contactlab.view.plotting.studies_plot import (
    plot_convergence,
    plot_error_curves,
    plot_identified,
    plot_impact_map,
    plot_painleve,
    plot_restitution,
    plot_routh,
)

__all__ = [
    "animation", "certificates", "forces", "gaps", "ledger", "modes", "picture", "plot_convergence",
    "plot_error_curves", "plot_identified", "plot_impact_map", "plot_painleve", "plot_restitution", "plot_routh",
    "save_figure", "solver_effort", "summary",
]  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_PAIRS = 9
MAX_ROWS = 60
LEAST = 1e-16  # [m]


def draw_gaps(axes: Axes, recording: Recording) -> None:
    """Draw the deepest penetration of each step [m]."""
    deepest = _worst(recording, recording.contacts.step, -recording.contacts.gap)
    axes.semilogy(recording.time[1:], positive(deepest), ".", markersize=2.5, label="deepest penetration")
    _label(axes, "penetration [m]")


def gaps(recording: Recording) -> Figure:
    """Return gaps over time, at the start of each step [m].

    Top: the deepest penetration. Middle: the gap of every contact that carries a force. Bottom: the largest slip speed
    of each step [m/s].
    """
    contacts = recording.contacts
    figure, (deepest, carried, sliding) = one_page([2.4, 2.4, 2.0], "gaps and slip")
    draw_gaps(deepest, recording)
    time = recording.time[1:][contacts.step] if len(contacts) else np.zeros(0)
    for mode in (STICK, SLIDE):
        rows = contacts.mode == mode
        color = hexadecimal(MODE_COLORS[mode])
        mark = "." if mode == STICK else "x"
        carried.plot(time[rows], 1e3 * contacts.gap[rows], mark, markersize=2.5, color=color, label=MODE_NAMES[mode])
    _label(carried, "gap of contacts\nunder load [mm]")
    loaded = contacts.mode != OPEN
    slip = np.maximum(_worst(recording, contacts.step[loaded], contacts.slip[loaded]), LEAST)
    sliding.semilogy(recording.time[1:], slip, ".", markersize=2.5, label="largest slip under load")
    _label(sliding, "slip [m/s]")
    return figure


def _worst(recording: Recording, steps: IntArray, values: FloatArray) -> FloatArray:
    """Return the largest value of each step (n_steps,), NaN without one."""
    largest = np.full(recording.n_steps, np.nan)
    np.fmax.at(largest, np.asarray(steps), np.asarray(values))
    return largest


def _label(axes: Axes, text: str) -> None:
    """Name the vertical axis, and put the legend above."""
    axes.set_ylabel(text)
    legend_above(axes)


def draw_modes(axes: Axes, recording: Recording) -> None:
    """Draw a row per contact, in the order of first touch: grey open, green stick, vermilion slide.

    Of more than 60 contacts, the longest ones are drawn. A row is one persistent id, so a contact that opens and closes
    again stays in its row.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    contacts = recording.contacts
    ids, first, which, count = np.unique(contacts.id, return_index=True, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-count, kind="stable")[:MAX_ROWS])
    order = kept[np.argsort(contacts.step[first[kept]], kind="stable")]
    row = np.full(len(ids), -1)
    row[order] = np.arange(len(order))
    place = row[which.reshape(-1)]
    starts, ends = recording.time[:-1][contacts.step], recording.time[1:][contacts.step]
    # A thin line for open contacts, so that the modes differ not only in colour.
    for mode, half in ((OPEN, 0.08), (STICK, 0.4), (SLIDE, 0.25)):
        rows = (contacts.mode == mode) & (place >= 0)
        verts = np.stack((starts, ends, ends, starts), axis=1)[rows]
        level = place[rows][:, None] + np.array([-half, -half, half, half])
        corners = list(np.stack((verts, level), axis=-1))
        axes.add_collection(PolyCollection(corners, facecolors=[hexadecimal(MODE_COLORS[mode])], edgecolors="none"))
        axes.autoscale_view(scaley=False)
    names = [
        pair_name(recording.world, int(contacts.body_a[k]), int(contacts.body_b[k]), int(contacts.half_space[k]))
        for k in first[order]
    ]
    axes.set_yticks(range(len(order)), names if len(order) <= 30 else [""] * len(order), fontsize=7)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_ylabel("contact" if len(order) == len(ids) else f"contact ({len(order)} of {len(ids)})")
    handles = [Patch(color=hexadecimal(MODE_COLORS[mode]), label=MODE_NAMES[mode]) for mode in MODE_COLORS]
    axes.legend(handles=handles, frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))


def modes(recording: Recording) -> Figure:
    """Return the raster of contact modes over time (`draw_modes`)."""
    count = min(len(np.unique(recording.contacts.id)), MAX_ROWS)
    figure, (axes,) = one_page([max(2.0, 0.16 * count)], "contacts: wide stick, medium slide, thin open")
    draw_modes(axes, recording)
    axes.set_xlim(recording.time[0], max(recording.time[-1], recording.time[0] + 1e-9))
    return figure


def pair_name(world: World, body_a: int, body_b: int, half_space: int) -> str:
    """Return the names of the two touching bodies, A before B."""
    return f"{world.name_of(body_a, half_space)} - {world.name_of(body_b)}"


def draw_force_sums(axes: Axes, recording: Recording) -> None:
    """Draw, per step, the sums over all contacts of normal force and of the magnitudes of friction [N]."""
    contacts = recording.contacts
    friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
    for name, values in (("normal", contacts.impulse_normal), ("friction", friction)):
        axes.plot(recording.time[1:], _per_step(recording, contacts.step, values), linewidth=0.9, label=name)
    _calm_scale(axes)
    _label(axes, "sum of contact\nforces [N]")


def forces(recording: Recording) -> Figure:
    """Return the contact forces over time, mean over each step [N].

    There is one line per pair of bodies, or body and half-space, with the sum over its contacts: normal forces at the
    top, magnitudes of friction at the bottom. The nine pairs with the largest total impulse have separate lines, the
    others are summed. If an impact's force is far above all others, the scale is logarithmic above 1 N.
    """
    contacts = recording.contacts
    figure, (normal, tangential) = one_page([3.0, 3.0], "contact forces by pair")
    friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
    columns = np.stack((contacts.body_a, contacts.body_b, contacts.half_space), axis=1)
    pairs, which = np.unique(columns, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(-np.bincount(which, weights=contacts.impulse_normal, minlength=len(pairs)), kind="stable")
    groups = [(pair_name(recording.world, *map(int, pairs[p])), which == p) for p in order[:MAX_PAIRS]]
    if len(order) > MAX_PAIRS:
        groups.append((f"{len(order) - MAX_PAIRS} others", np.isin(which, order[MAX_PAIRS:])))
    for name, rows in groups:
        for axes, values in ((normal, contacts.impulse_normal), (tangential, friction)):
            mean = _per_step(recording, contacts.step[rows], values[rows])
            axes.plot(recording.time[1:], mean, linewidth=0.9, label=name)
    normal.set_ylabel("normal force [N]")
    tangential.set_ylabel("friction, magnitude [N]")
    for axes in (normal, tangential):
        _calm_scale(axes)
    if groups:
        legend_above(normal)
    return figure


def _per_step(recording: Recording, steps: IntArray, impulses: FloatArray) -> FloatArray:
    """Return the sum of the impulses of each step divided by its length (n_steps,) [N]."""
    return np.asarray(np.bincount(steps, weights=impulses, minlength=recording.n_steps) / recording.h)


def _calm_scale(axes: Axes) -> None:
    """Begin the axis at zero; use a symmetric logarithmic scale if an impact hides the usual forces."""
    values = np.concatenate([np.abs(np.asarray(line.get_ydata())) for line in axes.lines] or [np.zeros(1)])
    carried = values[values > 0.0]
    if carried.size and carried.max() > 20.0 * np.median(carried):
        axes.set_yscale("symlog", linthresh=max(1e-3, float(np.median(carried))))
    if carried.size:
        axes.set_ylim(bottom=0.0)


FLOOR = 1e-18  # residuals of exactly 0 are drawn here on the logarithmic axis
SOLVED_LIMIT = 1e-9  # scaled residual up to which a step counts as solved


def draw_energy(axes: Axes, recording: Recording) -> None:
    """Draw kinetic energy, potential energy above its lowest value, and their sum [J]."""
    potential = recording.potential - recording.potential.min()
    axes.plot(recording.time, recording.kinetic, label="kinetic", linewidth=1.0)
    axes.plot(recording.time, potential, label="potential, above its lowest", linewidth=1.0)
    axes.plot(recording.time, recording.kinetic + potential, label="sum", color="black", linestyle="-", linewidth=1.4)
    _label(axes, "energy [J]")


def draw_ledger(axes: Axes, recording: Recording) -> None:
    """Draw the change of the energy since the start and the running sums of the ledger's summary [J].

    Entries that are always zero are omitted.
    """
    account = recording.ledger
    change = account.energy - account.energy[0]
    axes.plot(account.time, change, label="change of energy", color="black", linestyle="-", linewidth=1.4)
    for name, values in account.summary.items():
        if np.any(values != 0.0):
            axes.plot(account.time, np.concatenate(([0.0], np.cumsum(values))), label=name, linewidth=1.0)
    _label(axes, "energy ledger,\nsince the start [J]")


def ledger(recording: Recording) -> Figure:
    """Return energy and energy ledger of a recording over time.

    Top: the energies. Middle: the running sums of the ledger's entries. Bottom: per step, the magnitudes of
    stabilisation and integration error, which belong to the scheme, and of the energy not accounted for, which is
    rounding [J].
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
        # 0 cannot be drawn on a logarithmic axis.
        size = np.where(values != 0.0, np.abs(values), np.nan)
        scheme.semilogy(account.time[1:], size, ".", markersize=2.5, label=name)
    _label(scheme, "magnitude per step [J]")
    return figure


def draw_effort(axes: Axes, recording: Recording) -> None:
    """Draw pivots, islands, islands solved by the warm start, and contacts, per step."""
    contacts = np.bincount(recording.contacts.step, minlength=recording.n_steps)
    counts = {"contacts": contacts, "pivots": recording.pivots, "islands": recording.islands}
    counts["islands solved warm"] = recording.warm_start_solves
    for name, values in counts.items():
        axes.plot(recording.time[1:], values, drawstyle="steps-mid", linewidth=0.8, label=name)
    # Logarithmic, because a difficult step takes hundreds of pivots.
    if max(recording.pivots.max(initial=0), contacts.max(initial=0)) > 10:
        axes.set_yscale("symlog", linthresh=10.0)
    _label(axes, "per step [1]")


def solver_effort(recording: Recording) -> Figure:
    """Return the solver's effort over time.

    Top: contacts, pivots, islands, and the islands solved without a pivot by the previous step's contacts. Second: the
    size of the step [s], which shows where an adaptive stepper reduced it. Third: the fraction of all islands up to
    this time that were solved by the warm start. Bottom: wall time per step, as mean over portions of the run; empty if
    the record has none.
    """
    figure, (counts, sizes, warm, seconds) = one_page([3.0, 1.3, 1.6, 1.6], "effort of the solver")
    ends = recording.time[1:]
    draw_effort(counts, recording)
    sizes.plot(ends, recording.h, drawstyle="steps-mid", linewidth=0.9)
    sizes.set_ylabel("step h [s]")
    islands = np.cumsum(recording.islands)
    share = np.divide(
        np.cumsum(recording.warm_start_solves), islands, out=np.full(len(ends), np.nan), where=islands > 0
    )
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
        marker = "." if name.startswith("scaled") else "x"
        worst = np.maximum(_worst(recording, rows.step, values), FLOOR)
        axes.semilogy(recording.time[1:], worst, marker, markersize=2.5, label=name)
    axes.axhline(SOLVED_LIMIT, color="black", linewidth=0.9, linestyle="--", label="limit of a solved step")
    _label(axes, "worst of the step [1]")


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


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
