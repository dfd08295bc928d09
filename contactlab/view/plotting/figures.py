"""Figures without a window, and their common axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.view.drawing.parts import require_viz

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours for lines, distinguishable with any kind of colour vision; beyond 7 lines also by dashes.
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, heights: list[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure of a size [inches] for a PNG, and its axes row by row, with a faint grid.

    With the ``heights`` of the rows, the axes of a column have a common horizontal axis.
    """
    with require_viz():
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    grid = figure.subplots(rows, columns, squeeze=False, sharex="col" if heights else "none", height_ratios=heights)
    axes = list(grid.ravel())
    for one in axes:
        one.grid(alpha=0.25)
    return figure, axes


def one_page(heights: list[float], title: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with one axes per height [inches], in a column with a common time axis."""
    figure, axes = new_figure(9.0, sum(heights) + 0.6, rows=len(heights), heights=heights)
    from cycler import cycler

    for one in axes:
        one.set_prop_cycle(cycler(linestyle=["-", "--", ":"]) * cycler(color=CYCLE))
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title, fontsize=10)
    return figure, axes


def legend_above(axes: Axes, columns: int = 4) -> None:
    """Put the legend above the axes, so that it hides no data."""
    axes.legend(
        frameon=False, fontsize=8, ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2
    )


def positive(values: FloatArray) -> FloatArray:
    """Return the values with NaN for values that are not positive, for logarithmic axes."""
    return np.where(values > 0.0, values, np.nan)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the path's suffix, and return the path."""
    path = Path(path)
    figure.savefig(path)
    return path
