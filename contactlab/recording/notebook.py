"""Recordings as notebooks show them: a table, and the energy over time as a small drawing in the page itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.world.world import World
from lcp.notebook import html_table

WIDTH, HEIGHT = 360, 70  # pixels
MOST_POINTS = 240
MOST_NAMES = 8


def html_of(title: str, world: World, time: FloatArray, energy: FloatArray, rows: Sequence[tuple[str, object]]) -> str:
    """Return what a notebook shows of a run: its times, its bodies, further rows, its energy (n,) [J]."""
    names = world.model.names
    listed = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
    first = [("time", f"{time[0]:g} .. {time[-1]:g} s")] if len(time) else []
    return html_table(title, [*first, ("bodies", listed), *rows]) + _energy(time, energy)


def _energy(time: FloatArray, energy: FloatArray) -> str:
    """Return a line of the energy over time; nothing of less than two numbers."""
    finite = np.flatnonzero(np.isfinite(energy))
    shown = finite[np.unique(np.linspace(0, len(finite) - 1, MOST_POINTS).astype(np.int64))] if len(finite) else finite
    if len(shown) < 2 or time[shown[-1]] <= time[shown[0]]:
        return ""
    t, E = time[shown], energy[shown]
    low, high = float(E.min()), float(E.max())
    x = (t - t[0]) / (t[-1] - t[0]) * WIDTH
    y = (1.0 - (E - low) / (high - low)) * HEIGHT if high > low else np.full(len(E), 0.5 * HEIGHT)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    drawing = (
        f'<svg width="{WIDTH}" height="{HEIGHT + 4}" viewBox="0 -2 {WIDTH} {HEIGHT + 4}">'
        f'<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="1.5"/></svg>'
    )
    return f"<div>{drawing}<div>energy, {low:.6g} .. {high:.6g} J</div></div>"
