"""Plots of studies: impacts and their laws, recorded motions, identified parameters, convergence of solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lcp
from contactlab.impact import ContactMotion, ImpactMap, PainleveMap, RouthDiagram
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, IntArray
from contactlab.view.plotting.figures import CYCLE, legend_above, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Marks of equal ends are nested. All follow Routh's path; `compare` calls these laws sequential.
_ENDS = {"newton": ("#0072b2", 14.0), "poisson": ("#d55e00", 9.0), "stronge": ("#009e73", 4.0)}


def plot_routh(path: str | Path, diagram: RouthDiagram, *, title: str = "") -> Path:
    """Draw path, lines of sticking and compression, friction edges and the end under each law; write a PNG.

    Raises
    ------
    ImpactError
        The contact is not planar, or no law has a solution.
    """
    if not diagram.planar:
        detail = f"is of a contact with {len(diagram.u_minus) - 1} tangents along which the bodies move"
        raise ImpactError("diagram", f"{detail}: a picture needs one, of a planar contact")
    if not diagram.impulse_paths:
        raise ImpactError("diagram", f"has no course: {next(iter(diagram.failures.values()))}")
    figure, (axes,) = new_figure(6.4, 5.2)
    paths = {law: diagram.path(law) for law in diagram.impulse_paths}
    every = np.vstack([*paths.values(), np.zeros((1, 2))])
    height = 1.15 * float(every[:, 0].max())
    reach = 1.3 * max(float(np.abs(every[:, 1]).max()), diagram.contact.mu * height * 0.3, 1e-12 * height)
    p_n, p_t = np.array([0.0, height]), np.array([-reach, reach])
    grey: dict[str, Any] = {"color": "0.35", "linewidth": 1.0}
    axes.plot(diagram.sticking_line(p_n), p_n, linestyle="--", label="sticking, $u_t = 0$", **grey)
    axes.plot(p_t, diagram.compression_line(p_t), linestyle=":", label="compression, $u_n = 0$", **grey)
    for sign in (-1.0, 1.0):
        label = f"friction, $|p_t| = {diagram.contact.mu:g}\\, p_n$" if sign > 0.0 else None
        axes.plot(sign * diagram.contact.mu * p_n, p_n, color="0.7", linewidth=1.0, zorder=0, label=label)
    longest = max(paths.values(), key=lambda course: float(course[-1, 0]))
    axes.plot(longest[:, 1], longest[:, 0], color="0.1", linewidth=1.8, label="course")
    for law, course in paths.items():
        color, size = _ENDS[law]
        label = f"{law.title()}, sequential, e = {diagram.restitution:g}"
        (end,) = axes.plot(course[-1, 1], course[-1, 0], "o", color=color, markersize=size, label=label)
        end.set(markerfacecolor="none", markeredgewidth=1.8, clip_on=False)
    axes.set(
        xlim=(-reach, reach),
        ylim=(0.0, height),
        xlabel="tangential impulse $p_t$ [N s]",
        ylabel="normal impulse $p_n$ [N s]",
    )
    legend_above(axes, 2)
    figure.suptitle(title)
    return save_figure(figure, path)


def plot_painleve(
    path: str | Path,
    found: PainleveMap,
    *,
    boundary: FloatArray | None = None,
    labels: tuple[str, str] | None = None,
    title: str = "",
) -> Path:
    """Draw the number of accelerations, and the contact mode if there is only one; write a PNG.

    Parameters
    ----------
    path
        Path of the picture.
    found
        A map over two parameters: the first is horizontal, the second vertical.
    boundary
        Curve (n, 2) of the second parameter over the first, from a closed form.
    labels
        Labels of the two axes; by default the names of the parameters.
    title
        Title of the picture.

    Raises
    ------
    ImpactError
        The map does not have two parameters.
    """
    names, (x, y) = _two_axes(found.axes)
    figure, (axes,) = new_figure(6.4, 4.8)
    shown = {
        "undecided": "#999999",
        "none: it jams": "#d55e00",
        "one: it leaves": "#ffffff",
        "one: it slides": "#dddddd",
        "one: it sticks": "#f0e442",
        "several": "#0072b2",
    }
    kinds = np.where(found.solutions > 1, len(shown) - 2, found.mode)
    _draw_kinds(figure, [axes], x, y, [kinds], shown, -1, label="accelerations")
    if boundary is not None:
        axes.plot(boundary[:, 0], boundary[:, 1], color="black", linewidth=1.2, label="closed form")
        legend_above(axes)
    x_label, y_label = labels or names
    axes.set(ylim=(float(y.min()), float(y.max())), xlabel=x_label, ylabel=y_label)
    figure.suptitle(title)
    return save_figure(figure, path)


def plot_impact_map(
    path: str | Path, found: ImpactMap, restitution: int = 0, *, labels: tuple[str, str] | None = None, title: str = ""
) -> Path:
    """Draw remaining energy and final motion over the two parameters of a sweep, a column per law; write a PNG.

    Parameters
    ----------
    path, found, labels, title
        As for `plot_painleve`.
    restitution
        Index of the coefficient in ``found.restitutions``.

    Raises
    ------
    ImpactError
        The map does not have two parameters.
    """
    names, (x, y) = _two_axes(found.axes)
    x_label, y_label = labels or names
    count = len(found.laws)
    figure, axes = new_figure(2.2 * count + 1.6, 5.0, count, 2)
    shown = found.energy_ratio[:, restitution]
    known = shown[np.isfinite(shown)]
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    for i, law in enumerate(found.laws):
        energy = axes[i].pcolormesh(x, y, shown[i].T, vmin=least, vmax=most, shading="nearest")
        axes[i].grid(visible=False)
        if found.energy_gain_mask[i, restitution].any():
            axes[i].contour(x, y, found.energy_gain_mask[i, restitution].T, [0.5], colors="white", linewidths=1.2)
        axes[i].set_title(law, fontsize=9)
        axes[count + i].set_xlabel(x_label)
    for one in (axes[0], axes[count]):
        one.set_ylabel(y_label)
    figure.colorbar(energy, ax=axes[:count], label="energy after / before")
    colors = ("#000000", "#999999", "#d55e00", "#f0f0f0", "#0072b2")
    motions = {kind.name.lower().replace("_", " "): color for kind, color in zip(ContactMotion, colors, strict=True)}
    _draw_kinds(figure, axes[count:], x, y, found.motion[:, restitution], motions, min(ContactMotion))
    coefficient = f"e = {found.restitutions[restitution]:g}"
    figure.suptitle(f"{title}, {coefficient}" if title else coefficient)
    return save_figure(figure, path)


def _draw_kinds(
    figure: Figure,
    axes: list[Axes],
    x: FloatArray,
    y: FloatArray,
    panels: Sequence[IntArray] | IntArray,
    colors: Mapping[str, str],
    first: int,
    label: str = "",
) -> None:
    """Fill each axes with a map of kinds, numbered from ``first`` in the order of their colours, and add one legend."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    steps = BoundaryNorm(first - 0.5 + np.arange(len(colors) + 1), len(colors))
    for one, kinds in zip(axes, panels, strict=True):
        mesh = one.pcolormesh(x, y, kinds.T, cmap=ListedColormap(list(colors.values())), norm=steps, shading="nearest")
        one.grid(visible=False)
    figure.colorbar(mesh, ax=axes, ticks=first + np.arange(len(colors)), label=label).ax.set_yticklabels(list(colors))


def _two_axes(axes: Mapping[str, FloatArray]) -> tuple[tuple[str, ...], tuple[FloatArray, ...]]:
    """Return names and values of two parameters; raise for another number."""
    if len(axes) != 2:
        raise ImpactError("found", f"has the parameters {', '.join(axes)}: a picture needs two")
    return tuple(axes), tuple(axes.values())


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
        one.set(xlabel=f"{name} [{found['unit']}]" if found["unit"] else name, yticks=[])
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
