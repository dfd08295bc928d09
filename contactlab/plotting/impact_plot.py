"""Routh's diagram of a planar impact, and maps of the number of solutions for a sliding rod."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from contactlab.impact import ContactMotion, ImpactMap, PainleveMap, RouthDiagram
from contactlab.plotting.figures import legend_above, new_figure, save_figure
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ImpactError

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
    axes.plot(diagram.sticking_line(p_n), p_n, color="0.35", linewidth=1.0, linestyle="--", label="sticking, $u_t = 0$")
    axes.plot(
        p_t, diagram.compression_line(p_t), color="0.35", linewidth=1.0, linestyle=":", label="compression, $u_n = 0$"
    )
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
    from matplotlib.colors import BoundaryNorm, ListedColormap

    (x_name, x), (y_name, y) = _two_axes(found.axes)
    figure, (axes,) = new_figure(6.4, 4.8)
    axes.grid(visible=False)
    shown = {
        "undecided": "#999999",
        "none: it jams": "#d55e00",
        "one: it leaves": "#ffffff",
        "one: it slides": "#dddddd",
    }
    shown |= {"one: it sticks": "#f0e442", "several": "#0072b2"}
    kinds = np.where(found.solutions > 1, len(shown) - 2, found.mode)
    steps = BoundaryNorm(np.arange(-1.5, len(shown) - 1.0), len(shown))
    mesh = axes.pcolormesh(x, y, kinds.T, cmap=ListedColormap(list(shown.values())), norm=steps, shading="nearest")
    if boundary is not None:
        axes.plot(boundary[:, 0], boundary[:, 1], color="black", linewidth=1.2, label="closed form")
        legend_above(axes)
    x_label, y_label = (x_name, y_name) if labels is None else labels
    axes.set(ylim=(float(y.min()), float(y.max())), xlabel=x_label, ylabel=y_label)
    bar = figure.colorbar(mesh, ax=axes, ticks=np.arange(-1, len(shown) - 1), label="accelerations")
    bar.ax.set_yticklabels(list(shown))
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
    from matplotlib.colors import BoundaryNorm, ListedColormap

    (x_name, x), (y_name, y) = _two_axes(found.axes)
    count = len(found.laws)
    figure, axes = new_figure(2.2 * count + 1.6, 5.0, count, 2)
    x_label, y_label = (x_name, y_name) if labels is None else labels
    shown = found.energy_ratio[:, restitution]
    known = shown[np.isfinite(shown)]
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    kinds = list(ContactMotion)
    colors = ListedColormap(["#000000", "#999999", "#d55e00", "#f0f0f0", "#0072b2"])
    steps = BoundaryNorm([kind - 0.5 for kind in kinds] + [kinds[-1] + 0.5], len(kinds))
    for i, law in enumerate(found.laws):
        above, below = axes[i], axes[count + i]
        energy = above.pcolormesh(x, y, shown[i].T, vmin=least, vmax=most, shading="nearest")
        if found.energy_gain_mask[i, restitution].any():
            above.contour(x, y, found.energy_gain_mask[i, restitution].T, [0.5], colors="white", linewidths=1.2)
        motion = below.pcolormesh(x, y, found.motion[i, restitution].T, cmap=colors, norm=steps, shading="nearest")
        above.set_title(law, fontsize=9)
        below.set_xlabel(x_label)
        for one in (above, below):
            one.grid(visible=False)
            if i == 0:
                one.set_ylabel(y_label)
    figure.colorbar(energy, ax=axes[:count], label="energy after / before")
    bar = figure.colorbar(motion, ax=axes[count:], ticks=kinds)
    bar.ax.set_yticklabels([kind.name.lower().replace("_", " ") for kind in kinds])
    coefficient = f"e = {found.restitutions[restitution]:g}"
    figure.suptitle(f"{title}, {coefficient}" if title else coefficient)
    return save_figure(figure, path)


def _two_axes(axes: Mapping[str, FloatArray]) -> list[tuple[str, FloatArray]]:
    if len(axes) != 2:
        raise ImpactError("found", f"has the parameters {', '.join(axes)}: a picture needs two")
    return list(axes.items())
