"""Plots of studies: recorded impacts, drops and tosses with models, identified parameters, convergence of solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import lcp
from contactlab.plotting.figures import CYCLE, legend_above, new_figure, save_figure
from contactlab.spatial.arrays import FloatArray


def plot_restitution(
    path: str | Path, speed: FloatArray, measured: FloatArray, e: float, exponent: float, *, law: str = ""
) -> Path:
    """Draw measured restitution over the speed of approach with the law e (v / 2 m/s)^-exponent; write a PNG.

    Medians of twelfths of the impacts have bootstrap 95 % intervals.

    Parameters
    ----------
    path
        Path of the picture.
    speed, measured
        (n,) speeds of approach [m/s], and ratios of the speeds of separation and approach.
    e, exponent, law
        Parameters and name of the law.
    """
    figure, (one,) = new_figure(6.4, 4.2)
    one.plot(speed, measured, ".", color="0.6", markersize=3, label=f"{len(speed)} impacts")
    order = np.argsort(speed)
    parts = [part for part in np.array_split(order, 12) if part.size]
    middle = [float(np.median(speed[part])) for part in parts]
    medians = np.array([float(np.median(measured[part])) for part in parts])
    low, high = np.array([interval(measured[part]) for part in parts]).T
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
    """Draw the fraction of impacts with an error up to each value, one curve per model; write a PNG.

    Curves that coincide stay visible: each is thinner than the previous one, with other dashes. The legend has the
    medians with their 95 % intervals.
    """
    figure, (one,) = new_figure(6.4, 3.4 + 0.19 * len(errors))
    styles = ("-", "--", ":", "-.")
    for i, (name, values) in enumerate(errors.items()):
        color, style = CYCLE[i % len(CYCLE)], styles[i % len(styles)]
        width = 3.4 - 2.4 * i / max(1, len(errors) - 1)
        ordered = np.sort(values)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        low, high = interval(values)
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


def interval(values: FloatArray, measure: Callable[..., FloatArray] = np.median) -> tuple[float, float]:
    """Return the bootstrap 95 % interval of a median or mean."""
    drawn = np.random.default_rng(0).integers(values.size, size=(400, values.size))
    low, high = np.percentile(measure(values[drawn], axis=1), [2.5, 97.5])
    return float(low), float(high)


#: Maximum number of panels in a row.
COLUMNS = 4


def plot_identified(path: str | Path, document: Mapping[str, Any]) -> Path:
    """Draw every parameter's normal density with its 95 % interval, and their correlations; write a PNG.

    Parameters
    ----------
    path
        Path of the picture.
    document
        The document written by `contactlab identify --json`.
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
        # An interval that ends at a bound is shorter than the one of its normal density.
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
    _correlations(axes[len(names)], names, document["covariance"])
    for one in axes[len(names) + 1 :]:
        one.set_visible(False)
    return save_figure(figure, path)


def _correlations(axes: Any, names: list[str], covariance: list[list[float | None]]) -> None:
    """Draw the matrix of correlations; empty if unknown."""
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


def plot_convergence(
    path: str | Path, results: Mapping[str, lcp.Result | lcp.MLCPResult], *, title: str = "", tolerance: float = 1e-9
) -> Path:
    """Draw the traces of several solves of one problem, over iterations and over seconds, and write a PNG.

    Parameters
    ----------
    path
        Path of the picture.
    results
        Results by label, each of a solve with ``trace=True``. Traces of another quantity than the residual on the
        problem's data (such as the artificial variable of Lemke's method) and solves without a trace are drawn as one
        point: the final residual over iterations and time. Open marks are unsolved problems.
    title
        Title of the picture.
    tolerance
        Tolerance, drawn as a horizontal line.
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
