"""Routh's diagram of a planar impact, and maps of the number of solutions for a sliding rod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contactlab.impact import ContactMotion, ImpactMap, PainleveMap, RouthDiagram
from contactlab.plotting.figures import legend_above, new_figure, save_figure
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.errors import ImpactError

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
    grey = {"color": "0.35", "linewidth": 1.0}
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
        palette = ListedColormap(list(colors.values()))
        mesh = one.pcolormesh(x, y, kinds.T, cmap=palette, norm=steps, shading="nearest")
        one.grid(visible=False)
    bar = figure.colorbar(mesh, ax=axes, ticks=first + np.arange(len(colors)), label=label)
    bar.ax.set_yticklabels(list(colors))


def _two_axes(axes: Mapping[str, FloatArray]) -> tuple[tuple[str, ...], tuple[FloatArray, ...]]:
    """Return names and values of two parameters; raise for another number."""
    if len(axes) != 2:
        raise ImpactError("found", f"has the parameters {', '.join(axes)}: a picture needs two")
    return tuple(axes), tuple(axes.values())
