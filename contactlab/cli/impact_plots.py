"""Plots of `contactlab impact --plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from contactlab import impact
from contactlab.lab.datasets.planar_impacts import PlanarImpacts
from contactlab.lab.datasets.square_drops import SquareDrops
from contactlab.studies.planar_fit import PlanarFit
from contactlab.studies.square import SquareReport, square_poses
from contactlab.studies.square_path import SquarePath
from contactlab.studies.square_settings import MODELS, SHARED_CALIBRATION
from problem_data import ConstraintVelProblemData

SHOWN = 4  # drops, from the best predicted to the worst


def plot_theory(folder: Path) -> list[Path]:
    """Draw Routh's diagram of the rod of `docs/impact.md`, and the map of Painleve's paradox."""
    from contactlab.plotting import plot_painleve, plot_routh

    M, angle = np.diag([1.0, 1.0, 1.0 / 3.0]), 0.5
    x, y = -np.cos(angle), -np.sin(angle)
    rod = ConstraintVelProblemData(M=M, Mv=M @ [-1.0, -1.0, 0.0], N=[[0, 1, x]], F=[[1, 0, -y]], mu=[2.0], r=[1])
    scan = impact.painleve_scan(np.radians(np.linspace(20.0, 88.0, 69)), np.linspace(0.1, 4.0, 40))
    return [
        plot_routh(folder / "routh.png", impact.routh_diagram(rod, restitution=0.8), title="A rod strikes the ground"),
        plot_painleve(folder / "painleve.png", scan, title="A rod that slides: number of solutions"),
    ]


def plot_impacts(folder: Path, data: PlanarImpacts, fits: Sequence[PlanarFit]) -> list[Path]:
    """Draw restitution over speed, and the held-out errors of every law."""
    from contactlab.plotting import plot_error_curves, plot_restitution

    approach = -np.einsum("ni,ni->n", data.normal, data.before)
    leaves = np.einsum("ni,ni->n", data.normal, data.after)
    clear = approach > 0.1
    ratio = leaves[clear] / approach[clear]
    fit = min((fit for fit in fits if "exponent" in fit.model.parameters), key=lambda fit: float(np.mean(fit.errors)))
    numbers = dict(zip(fit.model.parameters, fit.values.tolist(), strict=True))
    curves = {}
    for one in fits:
        if not one.model.ingredients:
            reading = "consistent" if one.model.consistent else "as stored"
            curves[f"{one.model.law}, {reading}"] = one.errors
    return [
        plot_restitution(folder / "restitution.png", approach[clear], ratio, numbers["e"], numbers["exponent"]),
        plot_error_curves(folder / "impact_errors.png", curves),
    ]


def plot_drops(
    folder: Path, drops: SquareDrops, paths: Sequence[SquarePath], reports: Mapping[str, SquareReport]
) -> list[Path]:
    """Draw the errors of every model, and drops from the best to the worst of the last one."""
    from contactlab.plotting import plot_error_bars, plot_planar_paths

    errors = {
        name: (report.position[report.ran], report.rotation[report.ran])
        for name, report in reports.items()
        if name in MODELS
    }
    name = list(MODELS)[-1]
    ran = np.flatnonzero(reports[name].ran)
    order = ran[np.argsort((reports[name].position + reports[name].rotation)[ran])]
    places = [int(order[int(share * (len(order) - 1))]) for share in np.linspace(0.05, 0.95, SHOWN)]
    shown = []
    for i in places:
        path = paths[i]
        poses = square_poses(drops, path, MODELS[name], SHARED_CALIBRATION)
        off = f"{reports[name].position[i]:.0f} %, {reports[name].rotation[i]:.0f} deg"
        clock = np.asarray(drops.dt / MODELS[name].substeps * np.arange(len(poses)))
        time = np.asarray(drops.dt * path.frame[path.good])
        shown.append((f"drop {path.number}: {off}", time, path.pose[path.good], clock, poses))
    return [
        plot_error_bars(folder / "drop_errors.png", errors),
        plot_planar_paths(folder / "drops.png", shown),
    ]
