"""How solvers came down on one problem: their traces, over iterations and over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import lcp
from contactlab.plotting.paper import new_figure, save_figure


def plot_convergence(
    path: str | Path, results: Mapping[str, lcp.Result | lcp.MLCPResult], *, title: str = "", tolerance: float = 1e-9
) -> Path:
    """Draw the traces of several solves of one problem, over iterations and over seconds, and write a PNG.

    Parameters
    ----------
    path
        The picture.
    results
        Label to result, each of a solve with ``trace=True``. Traces of another quantity than the residual on the
        problem's own data (the artificial variable of Lemke's method) and solves without a trace are drawn as one
        point: what was reached, after how many iterations and how long. Open marks did not solve the problem.
    title
        Written above.
    tolerance
        Drawn as a horizontal line.
    """
    from matplotlib import colormaps

    figure, columns = new_figure(11.0, 4.8, 2)
    least, colors = 1e-17, colormaps["tab20"]
    for axes, by_time in zip(columns, (False, True), strict=True):
        for number, (label, result) in enumerate(results.items()):
            color, marker, trace = colors(number % 20), "osD^v"[number % 5], result.trace
            end = (result.solve_time * 1e3 if by_time else max(result.iterations, 1), result.residual.natural_map)
            if trace is not None and trace.quantity == "natural map" and len(trace):
                x = trace.seconds * 1e3 if by_time else np.maximum(trace.iterations, 1)
                y = np.maximum([*trace.values, end[1]], least)
                axes.plot([*x, max(end[0], float(x[-1]))], y, color=color, linewidth=1.2)
            fill = color if result.solved else "none"
            axes.plot(end[0], max(end[1], least), marker, color=color, markerfacecolor=fill, markersize=6, label=label)
        axes.axhline(tolerance, color="0.6", linewidth=0.8, linestyle="--")
        axes.set(xscale="log", yscale="log", xlabel="time [ms]" if by_time else "iterations")
    columns[1].sharey(columns[0])
    columns[1].tick_params(labelleft=False)
    columns[0].set_ylabel("natural map  max |min(z, Mz + q)|")
    columns[1].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(title)
    return save_figure(figure, path)
