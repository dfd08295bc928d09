"""`contactlab impact`: fit impact laws to recorded planar impacts and score them on impacts left out of the fit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from contactlab.cli import arguments as kinds
from contactlab.cli.progress import Progress

__all__ = ["add_parser", "run"]

EPILOG = """\
DATA is an .npz of impacts (arrays pre_vel, post_vel, jac_normal, jac_tangent, flags, mass, inertia), or a folder that
holds one. Both readings of the tangent row are scored: as stored, and with the sense of its lever turned.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "impact",
        help="fit impact laws to recorded planar impacts and score them",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="the impacts: .npz, a folder, or planar_impacts")
    parser.add_argument("--folds", type=kinds.positive_integer, default=2, help="folds (default %(default)s: halves)")
    parser.add_argument("--seed", type=kinds.seed, default=0, help="of the folds and the resamples (default 0)")
    parser.add_argument(
        "--bootstrap",
        type=kinds.positive_integer,
        default=40,
        metavar="N",
        help="resamples for the intervals of the best model of each reading (default %(default)s)",
    )
    parser.add_argument("--json", type=kinds.output_file, metavar="OUT", help="write the scores here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit, score, print; exit status 0."""
    from contactlab.lab.datasets.fetching import data_path
    from contactlab.lab.datasets.planar_impacts import find_planar_impacts, load_planar_impacts
    from contactlab.lab.errors import DatasetError
    from contactlab.lab.planar_fit import bootstrap, cross_validate, every_model, momentum_balance
    from contactlab.lab.planar_table import format_intervals, format_planar, planar_json

    data = load_planar_impacts(find_planar_impacts(data_path(arguments.data)))
    if not 2 <= arguments.folds <= len(data):
        raise DatasetError(data.path, "", f"{len(data)} impacts cannot be dealt to {arguments.folds} folds")
    models = every_model()
    fits = []
    with Progress("fits", "models") as progress:
        for i, model in enumerate(models):
            fits.append(cross_validate(data, model, folds=arguments.folds, seed=arguments.seed))
            progress.update(i + 1, len(models))
    balance = momentum_balance(data)
    print(f"{len(data)} impacts of {data.path.name}, {data.left_out} left out for a mark of bad quality")
    print(format_planar(fits))
    print(
        f"momentum balance of the measured changes: P_theta = {balance[0]:.3f} n_theta P_y "
        f"{balance[1]:+.3f} d_theta P_x {1e3 * balance[2]:+.2f} mm P_y (rigid: 1, 1, 0);\n"
        f"the lever d_theta of the tangent row has the {'wrong' if balance[1] < 0.0 else 'right'} sign as stored"
    )
    print(f"95 % intervals of the least mean error of each reading, {arguments.bootstrap} resamples:")
    intervals = {}
    for consistent in (False, True):
        places = [i for i, model in enumerate(models) if model.consistent is consistent]
        best = min(places, key=lambda i: float(np.mean(fits[i].errors)))
        intervals[best] = bootstrap(data, fits[best], arguments.bootstrap, seed=arguments.seed)
        print(format_intervals(fits[best], intervals[best]))
    if arguments.json is not None:
        document = planar_json(fits, intervals, balance)
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {arguments.json}")
    return 0
