"""Plots of `contactlab impact --plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.planar_impacts import PlanarImpacts
from contactlab.lab.datasets.square_drops import SquareDrops
from contactlab.studies.planar_fit import PlanarFit
from contactlab.studies.planar_tables import best_of
from contactlab.studies.square import SquareReport, square_poses
from contactlab.studies.square_path import SquarePath
from contactlab.studies.square_settings import SHARED_CALIBRATION, SquareSettings

SHOWN = 4  # drops, from the best predicted to the worst


def plot_impacts(folder: Path, data: PlanarImpacts, fits: Sequence[PlanarFit]) -> list[Path]:
    """Draw restitution over speed, and the held-out errors of every law."""
    from contactlab.plotting import plot_error_curves, plot_restitution

    approach = -np.einsum("ni,ni->n", data.normal, data.before)
    leaves = np.einsum("ni,ni->n", data.normal, data.after)
    clear = approach > 0.1
    ratio = leaves[clear] / approach[clear]
    with_speed = [fit for fit in fits if "exponent" in fit.model.parameters]
    fit = best_of(with_speed or fits)
    numbers = {"exponent": 0.0} | dict(zip(fit.model.parameters, fit.values.tolist(), strict=True))
    law = f"{fit.model.law}, {'frozen' if fit.frozen else 'fitted here'}"
    curves = {}
    fewest = min(len(one.model.ingredients) for one in fits)
    for one in fits:
        if len(one.model.ingredients) == fewest:
            curves[f"{one.model.law}, {one.model.reading}"] = one.errors
    return [
        plot_restitution(
            folder / "restitution.png", approach[clear], ratio, numbers["e"], numbers["exponent"], law=law
        ),
        plot_error_curves(folder / "impact_errors.png", curves),
    ]


def plot_drops(
    folder: Path,
    drops: SquareDrops,
    paths: Sequence[SquarePath],
    models: Mapping[str, SquareSettings],
    reports: Mapping[str, SquareReport],
) -> list[Path]:
    """Draw the errors of every model, and drops from the best to the worst of the last one."""
    from contactlab.plotting import plot_error_bars, plot_planar_paths

    errors = {
        name: (report.position[report.ran], report.rotation[report.ran])
        for name, report in reports.items()
        if name in models
    }
    name = list(models)[-1]
    ran = np.flatnonzero(reports[name].ran)
    order = ran[np.argsort((reports[name].position + reports[name].rotation)[ran])]
    places = [int(order[int(share * (len(order) - 1))]) for share in np.linspace(0.05, 0.95, SHOWN)]
    shown = []
    for i in places:
        path = paths[i]
        poses = square_poses(drops, path, models[name], SHARED_CALIBRATION)
        off = f"{reports[name].position[i]:.0f} %, {reports[name].rotation[i]:.0f} deg"
        clock = np.asarray(drops.dt / models[name].substeps * np.arange(len(poses)))
        time = np.asarray(drops.dt * path.frame[path.good])
        shown.append((f"drop {path.number}: {off}", time, path.pose[path.good], clock, poses))
    return [
        plot_error_bars(folder / "drop_errors.png", errors),
        plot_planar_paths(folder / "drops.png", shown),
    ]
