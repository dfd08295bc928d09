"""What single contacts do: their gaps, and a raster of open, stick and slide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.drawing.palette import MODE_COLORS, MODE_NAMES, hexadecimal
from contactlab.plotting.force_plot import pair_name
from contactlab.plotting.paper import one_page, positive
from contactlab.simulation import OPEN, SLIDE, STICK, Recording
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_gaps", "draw_modes", "gaps", "modes"]

MOST_ROWS = 60
LEAST = 1e-16  # [m]


def draw_gaps(axes: Axes, recording: Recording) -> None:
    """Draw the deepest penetration of each step [m]."""
    deepest = np.full(recording.n_steps, np.nan)
    np.fmax.at(deepest, recording.contacts.step, -recording.contacts.gap)
    axes.semilogy(recording.time[1:], positive(deepest), ".", markersize=2.5, label="deepest penetration")
    axes.set_ylabel("penetration [m]")
    axes.legend(frameon=False, fontsize=8)


def gaps(recording: Recording) -> Figure:
    """Return gaps over time, at the start of each step [m].

    Top: the deepest penetration. Middle: the gap of every contact that carries a force. Bottom: the speed at which
    contacts slide [m/s]; the largest of each step.
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
    carried.set_ylabel("gap of contacts\nunder load [mm]")
    carried.legend(frameon=False, fontsize=8)
    slip = np.full(recording.n_steps, np.nan)
    loaded = contacts.mode != OPEN
    np.fmax.at(slip, contacts.step[loaded], contacts.slip[loaded])
    sliding.semilogy(recording.time[1:], np.maximum(slip, LEAST), ".", markersize=2.5, label="largest slip under load")
    sliding.set_ylabel("slip [m/s]")
    sliding.legend(frameon=False, fontsize=8)
    return figure


def draw_modes(axes: Axes, recording: Recording) -> None:
    """Draw a row per contact, in the order of first touch: grey open, green stick, vermilion slide.

    Of more than 60 contacts those that last longest. A row is one persistent id: a contact that parts and meets again
    comes back to its row.
    """
    from matplotlib.patches import Patch

    contacts = recording.contacts
    ids, first, which, count = np.unique(contacts.id, return_index=True, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-count, kind="stable")[:MOST_ROWS])
    order = kept[np.argsort(contacts.step[first[kept]], kind="stable")]
    row = np.full(len(ids), -1)
    row[order] = np.arange(len(order))
    place = row[which.reshape(-1)]
    starts, ends = recording.time[:-1][contacts.step], recording.time[1:][contacts.step]
    # A thin line for open, so that the modes differ in more than their colour.
    for mode, half in ((OPEN, 0.08), (STICK, 0.4), (SLIDE, 0.25)):
        rows = (contacts.mode == mode) & (place >= 0)
        verts = np.stack((starts, ends, ends, starts), axis=1)[rows]
        level = place[rows][:, None] + np.array([-half, -half, half, half])
        _fill(axes, np.stack((verts, level), axis=-1), hexadecimal(MODE_COLORS[mode]))
    names = [
        pair_name(recording.world, int(contacts.body_a[k]), int(contacts.body_b[k]), int(contacts.half_space[k]))
        for k in first[order]
    ]
    axes.set_yticks(range(len(order)), names if len(order) <= 30 else [""] * len(order), fontsize=7)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_ylabel("contact" if len(order) == len(ids) else f"contact ({len(order)} of {len(ids)})")
    handles = [Patch(color=hexadecimal(MODE_COLORS[mode]), label=MODE_NAMES[mode]) for mode in MODE_COLORS]
    axes.legend(handles=handles, frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))


def _fill(axes: Axes, corners: FloatArray, color: str) -> None:
    from matplotlib.collections import PolyCollection

    axes.add_collection(PolyCollection(list(corners), facecolors=[color], edgecolors="none"))
    axes.autoscale_view(scaley=False)


def modes(recording: Recording) -> Figure:
    """Return the raster of what each contact does over time (`draw_modes`)."""
    count = min(len(np.unique(recording.contacts.id)), MOST_ROWS)
    figure, (axes,) = one_page([max(2.0, 0.16 * count)], "contacts: wide stick, medium slide, thin open")
    draw_modes(axes, recording)
    axes.set_xlim(recording.time[0], max(recording.time[-1], recording.time[0] + 1e-9))
    return figure
