"""`contactlab impact`: laws fitted to recorded planar impacts, and scored on those left out; with plots."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contactlab.cli import arguments as kinds
from contactlab.cli.arguments import command, option
from contactlab.lab.datasets.files import data_path
from contactlab.lab.datasets.recordings import PlanarImpacts, find_planar_impacts, load_planar_impacts
from contactlab.lab.errors import DatasetError
from contactlab.lab.progress import Progress
from contactlab.studies import planar_tables
from contactlab.studies.planar_fit import PlanarFit, cross_validate, every_model, momentum_balance
from lcp.interruptible import available_cpus, map_threads


@command(
    option("data", type=Path, metavar="DATA", help="the recordings: .npz, a folder, or planar_impacts"),
    option("--folds", type=kinds.positive_integer, default=2, help="folds (default %(default)s: halves)"),
    option("--seed", type=kinds.whole, default=0, help="seed of the folds (default 0)"),
    option("--workers", type=kinds.positive_integer, help="threads (default: one per core)"),
    option("--json", type=kinds.output_file, metavar="OUT", help="write the scores here"),
    option("--plots", type=Path, metavar="DIR", help="write plots, .png, into a folder"),
    epilog="""\
DATA is an .npz of n single impacts (pre_vel, post_vel (n, 3) float: vx, vy [m/s], omega [rad/s]; jac_normal,
jac_tangent (n, 3) float: (0, 1, lever) and (1, 0, lever) [m]; flags (n, any) int, 0 where good; mass, inertia floats),
or a folder with one. docs/tutorial_impact.md writes a file of your own impacts; docs/validation.md describes the public
recordings.

Laws are fitted to folds and scored on the others. The momentum balance determines whether the lever of the tangent row
has the right sign as stored, or must be turned. Every law is fitted in this reading, and three in the other.
""",
)
def impact(arguments: argparse.Namespace) -> int:
    """Fit impact laws to recorded planar impacts, and score them on impacts left out; with plots."""
    data = load_planar_impacts(find_planar_impacts(data_path(arguments.data)))
    if arguments.plots is not None:
        if importlib.util.find_spec("matplotlib") is None:
            print("no plots: matplotlib is missing; pip install '.[viz]'")
            arguments.plots = None
        else:
            arguments.plots.mkdir(parents=True, exist_ok=True)
    print(f"{len(data)} impacts of {data.path.name}, {data.left_out} left out for a mark of bad quality")
    balance = momentum_balance(data)
    print(balance)
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
    print(planar_tables.format_planar(fits))
    if arguments.plots is not None:
        for plot in plot_impacts(arguments.plots, data, fits):
            print(f"wrote {plot}")
    kinds.write_json(arguments.json, planar_tables.planar_json(fits, balance.values))
    return 0


def plot_impacts(folder: Path, data: PlanarImpacts, fits: Sequence[PlanarFit]) -> list[Path]:
    """Write plots of restitution over speed and of held-out errors; return their paths.

    The first has the curve of the best fit. The second has the fits without additional terms.
    """
    from contactlab.plotting import plot_error_curves, plot_restitution

    approach = -np.einsum("ni,ni->n", data.normal, data.before)
    leaves = np.einsum("ni,ni->n", data.normal, data.after)
    clear = approach > 0.1
    ratio = leaves[clear] / approach[clear]
    with_speed = [fit for fit in fits if "exponent" in fit.model.parameters]
    fit = planar_tables.best_of(with_speed or fits)
    numbers = {"exponent": 0.0} | dict(zip(fit.model.parameters, fit.values.tolist(), strict=True))
    law = f"{fit.model.law}, fitted here"
    curves = {f"{one.model.law}, {one.model.reading}": one.errors for one in fits if not one.model.ingredients}
    return [
        plot_restitution(
            folder / "restitution.png", approach[clear], ratio, numbers["e"], numbers["exponent"], law=law
        ),
        plot_error_curves(folder / "impact_errors.png", curves),
    ]
