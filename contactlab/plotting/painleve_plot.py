"""Where a sliding rod's contact problem has no solution, one, or two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from contactlab.impact import PainleveMap

__all__ = ["plot_painleve"]


def plot_painleve(path: str | Path, scan: PainleveMap, *, title: str = "") -> Path:
    """Draw the number of solutions over angle and friction with the closed-form boundary; write a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    colors = ListedColormap(["#999999", "#d55e00", "#f0f0f0", "#0072b2"])
    mesh = axes.pcolormesh(
        np.degrees(scan.angles),
        scan.mus,
        scan.solutions.T,
        cmap=colors,
        norm=BoundaryNorm([-1.5, -0.5, 0.5, 1.5, 2.5], 4),
        shading="nearest",
    )
    fine = np.linspace(scan.angles.min(), scan.angles.max(), 400)
    from contactlab.impact import painleve_threshold

    axes.plot(np.degrees(fine), painleve_threshold(fine, scan.kappa), color="black", linewidth=1.2, label="closed form")
    axes.set_ylim(float(scan.mus.min()), float(scan.mus.max()))
    axes.set_xlabel("angle of the rod [deg]")
    axes.set_ylabel("coefficient of friction")
    axes.legend(frameon=False, loc="upper right")
    bar = figure.colorbar(mesh, ax=axes, ticks=[-1, 0, 1, 2])
    bar.ax.set_yticklabels(["continuum", "none", "one", "two"])
    figure.suptitle(title)
    path = Path(path)
    figure.savefig(path, dpi=130)
    return path
