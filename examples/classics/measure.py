"""Tools of the classics: the order of an error in h, a table, and the picture that a script writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "0.45"


def order(steps: Any, errors: Any) -> float:
    """Compute the slope of the error over h in logarithms."""
    return float(np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0])


def table(head: str, rows: Any) -> None:
    """Print rows of numbers under a head, with bars between columns and three digits of each number."""
    print(f"| {head} |")
    for row in rows:
        print("| " + " | ".join(x if isinstance(x, str) else f"{x:.3g}" for x in row) + " |")


def paper(columns: int = 1, width: float = 7.0, height: float = 2.8) -> tuple[Figure, Any]:
    """Make an empty figure and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, columns)


def leave(figure: Figure, name: str) -> None:
    """Write a picture into the current folder."""
    figure.savefig(f"{name}.png", dpi=150, facecolor="white")
    print(f"picture: {name}.png")
