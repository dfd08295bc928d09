"""What was identified: values with their intervals, and how they hang together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.plotting.paper import CYCLE, new_figure, save_figure

#: Panels side by side.
COLUMNS = 4


def plot_identified(path: str | Path, document: Mapping[str, Any]) -> Path:
    """Draw every parameter's normal density with its 95 % interval, and their correlations; write a PNG.

    Parameters
    ----------
    path
        The picture.
    document
        What `contactlab identify --json` writes.
    """
    names = list(document["parameters"])
    rows = -(-(len(names) + 1) // COLUMNS)
    columns = -(-(len(names) + 1) // rows)
    figure, axes = new_figure(3.0 * columns, 2.6 * rows, columns, rows)
    for k, (name, found) in enumerate(document["parameters"].items()):
        one, variance = axes[k], document["covariance"][k][k]
        label = f"{name} [{found['unit']}]" if found["unit"] else name
        one.set(xlabel=label, yticks=[])
        one.locator_params(axis="x", nbins=5)
        value, low, high = found["value"], found["low"], found["high"]
        if low is None or not variance:
            one.annotate("not told", (0.5, 0.5), xycoords="axes fraction", ha="center")
            continue
        # An interval that ends at a bound is shorter than its normal density has it: nothing lies beyond.
        ends = (
            (low if value - low < 1.8 * variance**0.5 else value - 4.0 * variance**0.5),
            (high if high - value < 1.8 * variance**0.5 else value + 4.0 * variance**0.5),
        )
        x = np.linspace(*ends, 200)
        density = np.exp(-0.5 * (x - value) ** 2 / variance)
        one.plot(x, density, color=CYCLE[0], linewidth=1.2)
        inside = (x >= low) & (x <= high)
        one.fill_between(x[inside], density[inside], color=CYCLE[0], alpha=0.25, linewidth=0)
        nominal = document["nominal"].get(name)
        if nominal is not None and x[0] <= nominal <= x[-1]:
            one.axvline(nominal, color=CYCLE[1], linestyle="--", linewidth=1.0)
        one.set_title(f"{value:.4g} ({low:.4g} to {high:.4g})", fontsize=8)
        one.set_ylim(0.0, 1.1)
    _correlations(figure, axes[len(names)], names, document["covariance"])
    for one in axes[len(names) + 1 :]:
        one.set_visible(False)
    return save_figure(figure, path)


def _correlations(figure: Any, axes: Any, names: list[str], covariance: list[list[float | None]]) -> None:
    """Draw the matrix of correlations; empty where it is not known."""
    C = np.array([[np.nan if x is None else x for x in row] for row in covariance])
    scale = np.sqrt(np.diag(C))
    with np.errstate(invalid="ignore", divide="ignore"):
        R = C / np.outer(scale, scale)
    axes.grid(visible=False)
    axes.imshow(R, cmap="RdBu", vmin=-1.0, vmax=1.0)
    for (i, j), value in np.ndenumerate(R):
        if np.isfinite(value):
            dark = abs(value) > 0.6
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title("correlations", fontsize=8)
