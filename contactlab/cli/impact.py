"""`contactlab impact`: laws and simulations compared with recorded planar impacts and whole drops; with plots."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.cli import arguments as kinds
from contactlab.cli.arguments import command, option
from contactlab.lab.datasets.files import data_path, files_with
from contactlab.lab.datasets.recordings import (
    PlanarImpacts,
    SquareDrops,
    find_planar_impacts,
    find_square_drops,
    load_planar_impacts,
    load_square_drops,
)
from contactlab.lab.errors import DatasetError
from contactlab.lab.progress import Progress
from contactlab.spatial.arrays import FloatArray
from contactlab.studies import planar_tables, square
from contactlab.studies.planar_fit import (
    PlanarFit,
    bootstrap,
    cross_validate,
    every_model,
    momentum_balance,
    score_frozen,
)
from contactlab.studies.square import (
    FALL,
    MODELS,
    SHARED_CALIBRATION,
    SquarePath,
    SquareSettings,
    prepare,
    rotation_sense,
)
from lcp.interruptible import available_cpus, map_threads


@command(
    option("data", type=Path, metavar="DATA", help="the recordings: .npz, a folder, or planar_impacts"),
    option("--folds", type=kinds.positive_integer, default=2, help="folds (default %(default)s: halves)"),
    option("--seed", type=kinds.whole, default=0, help="seed of the folds and the resamples (default 0)"),
    option(
        "--bootstrap",
        type=kinds.positive_integer,
        metavar="N",
        help="single impacts: intervals of the values of the best model of each reading, by N resamples, such as 40 "
        "(takes minutes; default: none)",
    ),
    option(
        "--settings",
        type=Path,
        metavar="FIT.json",
        help="single impacts: score the values of an earlier --json, without fitting",
    ),
    option("--workers", type=kinds.positive_integer, help="threads (default: one per core)"),
    option("--json", type=kinds.output_file, metavar="OUT", help="write the scores here"),
    option("--plots", type=Path, metavar="DIR", help="write plots, .png, into a folder"),
    epilog="""\
DATA is an .npz of n single impacts (pre_vel, post_vel (n, 3) float: vx, vy [m/s], omega [rad/s]; jac_normal,
jac_tangent (n, 3) float: (0, 1, lever) and (1, 0, lever) [m]; flags (n, any) int, 0 where good; mass, inertia floats),
one of n whole drops of a square (x, z, theta (n, m) float, traj_id (n,) int, dt, half_width floats), or a folder with
one file of either or of both. docs/tutorial_impact.md writes a file of your own impacts; docs/validation.md describes
the public recordings.

Single impacts: laws are fitted to folds and scored on the others. The momentum balance determines whether the lever of
the tangent row has the right sign as stored, or must be turned. Every law is fitted in this reading, and three in the
other. --settings FIT.json scores the values of an earlier --json on these impacts, without fitting. Drops are simulated
with values fitted to the public recordings, for any file.
""",
)
def impact(arguments: argparse.Namespace) -> int:
    """Score laws and simulations on recorded planar impacts, single ones and whole drops; with plots."""
    data = data_path(arguments.data)
    frozen = None if arguments.settings is None else kinds.read_json(arguments.settings)
    drops = find_square_drops(data)
    single = drops is None or (data.is_dir() and bool(files_with(data, "jac_normal")))
    if frozen is not None and not single:
        raise DatasetError(data, "", "--settings is for single impacts; these are drops")
    document: dict[str, object] = {}
    failed = False
    if arguments.plots is not None:
        if importlib.util.find_spec("matplotlib") is None:
            print("no plots: matplotlib is missing; pip install '.[viz]'")
            arguments.plots = None
        else:
            arguments.plots.mkdir(parents=True, exist_ok=True)
    if single:
        document |= _score_impacts(find_planar_impacts(data), arguments, frozen)
    if drops is not None:
        scores, failed = _score_drops(drops, arguments)
        document |= scores
    kinds.write_json(arguments.json, document)
    return int(failed)


def _score_impacts(path: Path, arguments: argparse.Namespace, frozen: Any) -> dict[str, object]:
    """Fit all models to single impacts, or use the ``frozen`` ones; print and return the scores."""
    data = load_planar_impacts(path)
    print(f"{len(data)} impacts of {data.path.name}, {data.left_out} left out for a mark of bad quality")
    balance = momentum_balance(data)
    print(balance)
    if frozen is not None:
        try:
            fits = [score_frozen(data, model, values) for model, values in planar_tables.read_frozen(frozen)]
        except ValueError as error:
            raise DatasetError(arguments.settings, "", str(error)) from error
        print(planar_tables.format_planar(fits, published=data.published))
        return _plot_and_report(data, fits, {}, arguments)
    if not 2 <= arguments.folds <= len(data):
        raise DatasetError(data.path, "", f"{len(data)} impacts cannot be dealt to {arguments.folds} folds")
    models = every_model(balance.lever_turned)
    fitted: dict[int, PlanarFit] = {}
    with Progress("fits", "models") as progress:
        # The last law, with springs and the most parameters, takes longest.
        for i, fit in map_threads(
            lambda i: cross_validate(data, models[~i], folds=arguments.folds, seed=arguments.seed),
            len(models),
            arguments.workers or available_cpus(),
        ):
            fitted[len(models) - 1 - i] = fit
            progress.update(len(fitted), len(models))
    fits = [fitted[i] for i in range(len(models))]
    print(planar_tables.format_planar(fits, published=data.published))
    intervals = {}
    if arguments.bootstrap:
        print(f"95 % intervals of the least mean error of each reading, {arguments.bootstrap} resamples:")
    for turned in (not balance.lever_turned, balance.lever_turned) if arguments.bootstrap else ():
        places = [i for i, model in enumerate(models) if model.lever_turned is turned]
        best = min(places, key=lambda i: float(np.mean(fits[i].errors)))
        intervals[best] = bootstrap(data, fits[best], arguments.bootstrap, seed=arguments.seed)
        print(planar_tables.format_intervals(fits[best], intervals[best]))
    return _plot_and_report(data, fits, intervals, arguments)


def _plot_and_report(
    data: PlanarImpacts, fits: list[PlanarFit], intervals: dict[int, FloatArray], arguments: argparse.Namespace
) -> dict[str, object]:
    """Write the requested plots; return the scores."""
    if arguments.plots is not None:
        for plot in plot_impacts(arguments.plots, data, fits):
            print(f"wrote {plot}")
    return planar_tables.planar_json(fits, intervals, momentum_balance(data).values)


def _score_drops(path: Path, arguments: argparse.Namespace) -> tuple[dict[str, object], bool]:
    """Simulate, score and print drops; return the scores and whether a simulation failed."""
    drops = load_square_drops(path)
    paths = prepare(drops, SHARED_CALIBRATION, FALL)
    wild = sum(int(np.count_nonzero(~one.valid)) for one in paths)
    lost = sum(int(one.frame[-1]) + 1 - len(one.frame) for one in paths)
    print(f"{len(drops)} drops of {path.name}: {lost} frames lost, {wild} wild samples left out")
    a, b, clear = rotation_sense(drops, paths, SHARED_CALIBRATION)
    print(f"sense of rotation, from {clear} impacts on one corner: I d_omega = {a:.2f} (-r_x P_z) {b:+.2f} r_z P_x")
    reports = {"held at the start": square.score_static_baseline(drops, paths)}
    with Progress("drops", "models") as progress:
        for i, (name, settings) in enumerate(MODELS.items()):
            reports[name] = square.run_squares(drops, paths, settings, SHARED_CALIBRATION, threads=arguments.workers)
            progress.update(i + 1, len(MODELS))
    print(planar_tables.format_squares(reports))
    print(planar_tables.format_paired(reports))
    print("numbers fitted to the 364 public drops; error: mean over the samples of a drop, then over drops")
    failures = [line for report in reports.values() for line in report.failures]
    for line in failures[:5]:
        print(f"failed: {line}")
    if arguments.plots is not None:
        for plot in plot_drops(arguments.plots, drops, paths, MODELS, reports):
            print(f"wrote {plot}")
    return {"square_drops": planar_tables.squares_json(reports)}, bool(failures)


SHOWN = 4  # drops, from the best predicted to the worst


def plot_impacts(folder: Path, data: PlanarImpacts, fits: Sequence[PlanarFit]) -> list[Path]:
    """Write plots of restitution over speed and of held-out errors; return their paths.

    The first has the curve of the best fit. The second has the fits with the fewest additional terms.
    """
    from contactlab.plotting import plot_error_curves, plot_restitution

    approach = -np.einsum("ni,ni->n", data.normal, data.before)
    leaves = np.einsum("ni,ni->n", data.normal, data.after)
    clear = approach > 0.1
    ratio = leaves[clear] / approach[clear]
    with_speed = [fit for fit in fits if "exponent" in fit.model.parameters]
    fit = planar_tables.best_of(with_speed or fits)
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
    reports: Mapping[str, square.SquareReport],
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
        poses = square.square_poses(drops, path, models[name], SHARED_CALIBRATION)
        off = f"{reports[name].position[i]:.0f} %, {reports[name].rotation[i]:.0f} deg"
        clock = np.asarray(drops.dt / models[name].substeps * np.arange(len(poses)))
        time = np.asarray(drops.dt * path.frame[path.valid])
        shown.append((f"drop {path.number}: {off}", time, path.pose[path.valid], clock, poses))
    return [plot_error_bars(folder / "drop_errors.png", errors), plot_planar_paths(folder / "drops.png", shown)]
