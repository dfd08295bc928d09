"""Recorded impacts, drops and tosses beside what models make of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from contactlab.plotting.paper import CYCLE, legend_above, new_figure, save_figure
from contactlab.spatial.arrays import FloatArray


def plot_restitution(
    path: str | Path, speed: FloatArray, measured: FloatArray, e: float, exponent: float, *, law: str = ""
) -> Path:
    """Draw measured restitution over the speed of approach with the law e (v / 2 m/s)^-exponent; write a PNG.

    Medians of twelfths of the impacts bear their 95 % intervals, of impacts drawn with replacement.

    Parameters
    ----------
    path
        The picture.
    speed, measured
        (n,) speeds of approach [m/s], and of separation over approach.
    e, exponent, law
        Of the law, and what it is called.
    """
    figure, (one,) = new_figure(6.4, 4.2)
    one.plot(speed, measured, ".", color="0.6", markersize=3, label=f"{len(speed)} impacts")
    order = np.argsort(speed)
    parts = [part for part in np.array_split(order, 12) if part.size]
    middle = [float(np.median(speed[part])) for part in parts]
    medians = np.array([float(np.median(measured[part])) for part in parts])
    low, high = np.array([_interval(measured[part], np.median) for part in parts]).T
    bars = np.maximum(0.0, [medians - low, high - medians])
    one.errorbar(middle, medians, bars, fmt="o", color="black", markersize=5, capsize=3, label="medians, 95 %")
    v = np.linspace(max(float(speed.min()), 1e-3), float(speed.max()), 200)
    name = f"{law}: " if law else ""
    reach = f", {v[0]:.2g} to {v[-1]:.2g} m/s"
    curve = np.clip(e * (v / 2.0) ** -exponent, 0.0, 1.0)
    one.plot(v, curve, color=CYCLE[1], label=f"{name}{e:.3f} (v / 2 m/s)$^{{-{exponent:.2f}}}${reach}")
    one.set(ylim=(0.0, 1.0), xlabel="speed of approach [m/s]", ylabel="speed of separation / approach")
    legend_above(one, 2)
    return save_figure(figure, path)


def plot_error_curves(path: str | Path, errors: Mapping[str, FloatArray]) -> Path:
    """Draw the share of impacts with an error up to each value, one curve per model; write a PNG.

    Curves that coincide stay visible: each is thinner than the one before, and dashed in its own way. Medians are named
    with their 95 % intervals.
    """
    figure, (one,) = new_figure(6.4, 3.4 + 0.19 * len(errors))
    styles = ("-", "--", ":", "-.")
    for i, (name, values) in enumerate(errors.items()):
        color, style = CYCLE[i % len(CYCLE)], styles[i % len(styles)]
        width = 3.4 - 2.4 * i / max(1, len(errors) - 1)
        ordered = np.sort(values)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        low, high = _interval(values, np.median)
        label = f"{name}: median {np.median(values):.3f} ({low:.3f} to {high:.3f})"
        one.plot(ordered, share, style, color=color, linewidth=width, label=label)
    one.set(
        xlim=(0.0, float(np.percentile(np.concatenate(list(errors.values())), 99.0))),
        ylim=(0.0, 1.0),
        xlabel="error of an impact left out of the fit",
        ylabel="share of impacts",
    )
    legend_above(one, 1)
    return save_figure(figure, path)


def _interval(values: FloatArray, measure: Callable[..., FloatArray]) -> tuple[float, float]:
    """Return the 95 % interval of a mean or median, of items drawn with replacement."""
    drawn = np.random.default_rng(0).integers(values.size, size=(400, values.size))
    low, high = np.percentile(measure(values[drawn], axis=1), [2.5, 97.5])
    return float(low), float(high)


def plot_error_bars(path: str | Path, errors: Mapping[str, tuple[FloatArray, FloatArray]]) -> Path:
    """Draw position [% of side] and rotation [deg] errors of models as bars of means with medians; write a PNG.

    The means bear their 95 % intervals, of motions drawn with replacement.

    Parameters
    ----------
    path
        The picture.
    errors
        By model: position and rotation errors of all motions, (n,) each.
    """
    figure, axes = new_figure(9.6, 0.9 + 0.42 * len(errors), 2)
    for column, (one, label) in enumerate(zip(axes, ("position error [%]", "rotation error [deg]"), strict=True)):
        for row, values in enumerate(errors.values()):
            mean = float(values[column].mean())
            low, high = _interval(values[column], np.mean)
            one.barh(row, mean, color=CYCLE[5], height=0.62)
            bar = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
            one.errorbar(mean, row, xerr=bar, color="0.25", capsize=3, linewidth=1.0)
            one.plot(float(np.median(values[column])), row, "|", color="black", markersize=14)
            one.annotate(f"{mean:.1f}", (0.0, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        one.set_yticks(range(len(errors)), list(errors) if column == 0 else [""] * len(errors))
        one.invert_yaxis()
        one.set_xlabel(f"{label}: mean (95 %), | median")
    return save_figure(figure, path)


def plot_planar_paths(
    path: str | Path, drops: Sequence[tuple[str, FloatArray, FloatArray, FloatArray, FloatArray]]
) -> Path:
    """Draw recorded and simulated drops, path of the centre and angle over time; write a PNG.

    Parameters
    ----------
    path
        The picture.
    drops
        Of each: its title, times (m,) [s] and poses (m, 3) recorded, times (k,) and poses (k, 3) simulated; poses are
        x, z [m] and angle [rad].
    """
    figure, axes = new_figure(3.1 * len(drops), 5.2, len(drops), 2)
    for k, (title, time, recorded, clock, simulated) in enumerate(drops):
        above, below = axes[k], axes[len(drops) + k]
        above.plot(1e3 * recorded[:, 0], 1e3 * recorded[:, 1], ".", color="0.45", markersize=3, label="recorded")
        above.plot(1e3 * simulated[:, 0], 1e3 * simulated[:, 1], color=CYCLE[1], linewidth=1.2, label="simulated")
        above.set_title(title, fontsize=9)
        above.set_xlabel("x [mm]")
        below.plot(time, np.degrees(recorded[:, 2]), ".", color="0.45", markersize=3)
        below.plot(clock, np.degrees(simulated[:, 2]), color=CYCLE[1], linewidth=1.2)
        below.set_xlabel("time [s]")
        if k == 0:
            above.set_ylabel("height of the centre [mm]")
            below.set_ylabel("angle [deg]")
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    return save_figure(figure, path)


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
    figure, columns = new_figure(10.0, 4.2, 2)
    labels = ("position error [% of block width]", "rotation error [deg]")
    for column, (axes, label) in enumerate(zip(columns, labels, strict=True)):
        for edges in sorted({point[0] for point in points}):
            curve = sorted((point[1], point[2 + column]) for point in points if point[0] == edges)
            axes.plot([x for x, _ in curve], [y for _, y in curve], marker="o", markersize=3.5, label=f"k = {edges}")
        for (name, *values), style in zip(bounds, ("--", ":", "-."), strict=False):
            axes.axhline(
                values[column], color="0.5", linewidth=0.9, linestyle=style, label=f"{name} {values[column]:g}"
            )
        axes.set(xlabel="friction coefficient mu", ylabel=label)
        legend_above(axes, 2)
    return save_figure(figure, path)
