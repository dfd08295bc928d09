"""Error of the simulated cube tosses over the friction coefficient, one curve per friction cone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["plot_toss_curve"]


def plot_toss_curve(
    path: str | Path,
    points: Sequence[tuple[int, float, float, float]],
    bounds: Sequence[tuple[str, float, float]] = (),
) -> Path:
    """Draw position and rotation error over mu and write a PNG.

    Parameters
    ----------
    path
        The picture.
    points
        (edges of the cone, mu, position error [% of the block width], rotation error [deg]), in any order.
    bounds
        (label, position error, rotation error) drawn as horizontal lines: published rows, at most three.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    labels = ("position error [% of block width]", "rotation error [deg]")
    for column, (axes, label) in enumerate(zip(figure.subplots(1, 2), labels, strict=True)):
        for edges in sorted({point[0] for point in points}):
            curve = sorted((point[1], point[2 + column]) for point in points if point[0] == edges)
            axes.plot([x for x, _ in curve], [y for _, y in curve], marker="o", markersize=3.5, label=f"k = {edges}")
        for (name, *values), style in zip(bounds, ("--", ":", "-."), strict=False):
            axes.axhline(
                values[column], color="0.5", linewidth=0.9, linestyle=style, label=f"{name} {values[column]:g}"
            )
        axes.set_xlabel("friction coefficient mu")
        axes.set_ylabel(label)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    path = Path(path)
    figure.savefig(path, dpi=130)
    return path
