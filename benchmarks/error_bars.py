"""Bars of the errors of models of recorded motions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.view.plotting.figures import CYCLE, new_figure, save_figure
from contactlab.view.plotting.studies_plot import interval

FloatArray = NDArray[np.float64]


def plot_error_bars(path: str | Path, errors: Mapping[str, tuple[FloatArray, FloatArray]]) -> Path:
    """Draw position [% of side] and rotation [deg] errors of models as bars of means with medians; write a PNG.

    The means have bootstrap 95 % intervals over the motions.

    Parameters
    ----------
    path
        Path of the picture.
    errors
        Position and rotation errors of all motions, (n,) each, by model.
    """
    figure, axes = new_figure(9.6, 0.9 + 0.42 * len(errors), 2)
    for column, (one, label) in enumerate(zip(axes, ("position error [%]", "rotation error [deg]"), strict=True)):
        for row, values in enumerate(errors.values()):
            mean = float(values[column].mean())
            low, high = interval(values[column], np.mean)
            one.barh(row, mean, color=CYCLE[5], height=0.62)
            bar = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
            one.errorbar(mean, row, xerr=bar, color="0.25", capsize=3, linewidth=1.0)
            one.plot(float(np.median(values[column])), row, "|", color="black", markersize=14)
            one.annotate(f"{mean:.1f}", (0.0, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        one.set_yticks(range(len(errors)), list(errors) if column == 0 else [""] * len(errors))
        one.invert_yaxis()
        one.set_xlabel(f"{label}: mean (95 %), | median")
    return save_figure(figure, path)
