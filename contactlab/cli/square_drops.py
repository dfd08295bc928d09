"""The part of `contactlab impact` that is about whole drops of a square."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from contactlab.cli.progress import Progress

__all__ = ["score_drops"]


def score_drops(path: Path, arguments: argparse.Namespace) -> tuple[dict[str, object], bool]:
    """Simulate, score and print drops; return the scores and whether a simulation failed."""
    from contactlab.lab.datasets.square_drops import load_square_drops
    from contactlab.lab.errors import DatasetError
    from contactlab.studies.planar_tables import format_squares, format_squares_fit, squares_json
    from contactlab.studies.square import held_still, run_squares
    from contactlab.studies.square_fit import SquareFit, SquareGrid, fit_squares
    from contactlab.studies.square_path import prepare
    from contactlab.studies.square_sense import rotation_sense
    from contactlab.studies.square_settings import FALL, GRIDS, MODELS, SHARED_CALIBRATION

    drops = load_square_drops(path)
    if arguments.fit and not 2 <= arguments.folds <= len(drops):
        raise DatasetError(path, "", f"{len(drops)} drops cannot be dealt to {arguments.folds} folds")
    paths = prepare(drops, SHARED_CALIBRATION, FALL)
    wild = sum(int(np.count_nonzero(~one.good)) for one in paths)
    lost = sum(int(one.frame[-1]) + 1 - len(one.frame) for one in paths)
    print(f"{len(drops)} drops of {path.name}: {lost} frames lost, {wild} wild samples left out")
    a, b, clear = rotation_sense(drops, paths, SHARED_CALIBRATION)
    print(f"sense of rotation, from {clear} impacts on one corner: I d_omega = {a:.2f} (-r_x P_z) {b:+.2f} r_z P_x")
    reports = {"held at the start": held_still(drops, paths)}
    with Progress("drops", "models") as progress:
        for i, (name, settings) in enumerate(MODELS.items()):
            reports[name] = run_squares(drops, paths, settings, SHARED_CALIBRATION, threads=arguments.workers)
            progress.update(i + 1, len(MODELS))
    print(format_squares(reports))
    print("numbers fitted to the 364 public drops; error: mean over the samples of a drop, then over drops")
    failures = [line for report in reports.values() for line in report.failures]
    for line in failures[:5]:
        print(f"failed: {line}")
    fits: dict[str, SquareFit] = {}
    if arguments.fit:
        for name, values in GRIDS.items():
            with Progress(name, "points") as progress:
                grid = SquareGrid.run(
                    drops,
                    paths,
                    MODELS[name],
                    values,
                    SHARED_CALIBRATION,
                    threads=arguments.workers,
                    progress=progress.update,
                )
            fits[name] = fit_squares(grid, folds=arguments.folds, seed=arguments.seed)
            print(format_squares_fit(name, fits[name]))
    if arguments.plots is not None:
        from contactlab.cli.impact_plots import plot_drops

        for plot in plot_drops(arguments.plots, drops, paths, reports):
            print(f"wrote {plot}")
    return {"square_drops": squares_json(reports, fits)}, bool(failures)
