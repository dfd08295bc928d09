"""Commands about recorded motions: `contactlab toss`, `identify` and `impact`."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from contactlab import cli as kinds
from contactlab.cli import command, option
from contactlab.lab.datasets import load_cube_tosses
from contactlab.lab.datasets.files import DatasetError, data_path, only_file
from contactlab.lab.datasets.recordings import PlanarImpacts, load_planar_impacts
from contactlab.lab.studies import LEFT_OUT, MODELS, TossReport, format_table, run_tosses
from contactlab.lab.studies.identification.report import finite_or_none
from contactlab.lab.studies.planar_fit import (
    PlanarFit,
    best_of,
    cross_validate,
    every_model,
    format_planar,
    momentum_balance,
    planar_json,
)
from contactlab.lab.sweeps import Progress
from lcp.interruptible import available_cpus, map_threads

#: Defaults of the command, equal to the model's; this module imports nothing heavy.
RIGID = MODELS["rigid"]


@command(
    option("file", type=Path, metavar="FILE", help="the tosses: .npz, its folder, or cube_toss"),
    option("--json", type=kinds.output_file, metavar="OUT", help="write the scores here"),
    option(
        "--model",
        choices=tuple(MODELS),
        default="rigid",
        help="fitted settings: friction only, or also springs and dampers at round corners (default %(default)s)",
    ),
    option("--mu", type=kinds.non_negative, help=f"friction (default: the value of the model, {RIGID.mu} if rigid)"),
    option("--edges", type=kinds.even, help=f"edges k of the pyramid (default {RIGID.edges})"),
    option("--friction", choices=("pyramid", "cone"), help="a pyramid of k edges or the exact cone (default pyramid)"),
    option("--substeps", type=kinds.positive_integer, help=f"steps per sample (default {RIGID.substeps})"),
    option("--workers", type=kinds.positive_integer, help="threads (default: one per core)"),
    epilog="""\
FILE is an .npz of n tosses (pos (N, 3), quat_wxyz (N, 4), eval_ic (n, 13), dt, half_width, mass, inertia, gravity:
floats; offsets (n + 1,), toss_id, eval_start (n,): ints), or the data set cube_toss in the folder that CONTACTLAB_DATA
names; contactlab.lab.datasets.save_cube_tosses writes one, docs/validation.md has the public tosses.
A toss whose simulation fails is counted, listed and omitted from the means; the exit status is then 1.
""",
)
def toss(arguments: argparse.Namespace) -> int:
    """Simulate measured tosses and score them, and print the published table with our row in it."""
    tosses = load_cube_tosses(only_file(data_path(arguments.file)))
    given = {name: getattr(arguments, name) for name in ("mu", "edges", "substeps", "friction")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings = replace(MODELS[arguments.model], **changes)
    with Progress("simulating", "tosses") as progress:
        report = run_tosses(tosses, settings, workers=arguments.workers, progress=progress.update)
    if settings == MODELS["best"]:
        print(LEFT_OUT)
    print(format_table(report))
    print(
        f"{report.steps} steps in {report.seconds:.1f} s; {len(report.failures)} failed tosses; "
        f"worst scaled residual {report.worst_scaled:.1e} (a step is solved at 1e-9)"
    )
    for outcome in report.failures:
        print(f"failed: toss {outcome.index} (id {outcome.toss_id}): {outcome.failure}")
    kinds.write_json(arguments.json, summary(report))
    return 1 if report.failures else 0


def summary(report: TossReport) -> dict[str, object]:
    """Return the scores as JSON values; a number that does not exist (all tosses failed) is null."""
    position, position_std = report.position_percent
    rotation, rotation_std = report.rotation_deg
    return {
        "tosses": report.tosses,
        "failed": len(report.failures),
        "position_percent": finite_or_none(position),
        "position_percent_std": finite_or_none(position_std),
        "rotation_deg": finite_or_none(rotation),
        "rotation_deg_std": finite_or_none(rotation_std),
        "worst_scaled_residual": finite_or_none(report.worst_scaled),
        "steps": report.steps,
        "seconds": round(report.seconds, 3),
        "settings": {
            name: finite_or_none(value) if isinstance(value, float) else value
            for name, value in asdict(report.settings).items()
        },
        "failures": [
            {"index": outcome.index, "toss_id": outcome.toss_id, "reason": outcome.failure}
            for outcome in report.failures
        ],
    }


@command(
    option("data", type=Path, metavar="DATA", help="the recordings: a file, its folder, or a name"),
    option("--robot", type=Path, metavar="FILE", help="URDF or scene file of the recorded robot"),
    option(
        "--parameters", type=kinds.names, default=(), metavar="LIST", help="parameters to identify: mu,restitution,..."
    ),
    option(
        "--set",
        action="append",
        type=kinds.named_value,
        default=[],
        metavar="NAME=VALUE",
        help="start value, or fixed value if NAME is not identified; may be given more than once",
    ),
    option(
        "--holdout",
        type=kinds.non_negative,
        default=0.4,
        metavar="SHARE",
        help="fraction not fitted (default %(default)s)",
    ),
    option("--seed", type=kinds.whole, default=0, help="seed of their selection (default 0)"),
    option("--iterations", type=kinds.positive_integer, default=30, help="maximum number (default %(default)s)"),
    option("--workers", type=kinds.positive_integer, help="threads (default: one per core)"),
    option("--json", type=kinds.output_file, metavar="OUT", help="write the result here"),
    option("--plot", type=kinds.output_file, metavar="PNG", help="draw values with intervals"),
    epilog="""\
DATA: cube_toss or planar_impacts (names, or files of these), or a robot's own recording with --robot: an
.npz of t, q, tau and, if measured, v, or a .csv with columns t, q0, ..., tau0, ... docs/identify.md describes the
parameters of each, the assumed noise, and the meaning of the intervals.
Exit status: 0 identified, also at a bound; 1 not, with reason and advice in the verdict; 2 bad input; 130 interrupted.
""",
)
def identify(arguments: argparse.Namespace) -> int:
    """Find parameters in recordings, with 95 % intervals."""
    from contactlab.lab.studies.identification.problem import IdentificationError
    from contactlab.lab.studies.identification.report import open_recordings, report

    path = data_path(arguments.data)
    recordings = open_recordings(path, arguments.robot, threads=arguments.workers)
    split = {"share": arguments.holdout, "seed": arguments.seed, "iterations": arguments.iterations}
    try:
        with Progress(f"identify {recordings.title}", "steps") as progress:
            told = {"names": arguments.parameters, "values": dict(arguments.set), "progress": progress.update}
            document = report(recordings, **split, **told)
    except IdentificationError as error:
        raise DatasetError(path, error.field, str(error).partition(": ")[2]) from error
    print("\n".join(_lines(document)))
    kinds.write_json(arguments.json, document)
    if arguments.plot is not None:
        from contactlab.view.plotting import plot_identified

        kinds.write_and_report("picture", lambda: plot_identified(arguments.plot, document))
    return 0 if document["verdict"] in ("found", "at_bound") else 1


def _lines(document: dict[str, Any]) -> list[str]:
    """Return the result as lines of text."""
    rows = document["parameters"]
    width = max(len(name) for name in rows)
    lines = [f"{document['recordings']}: {document['fitted']} fitted, {document['held_back']} held back"]
    for name, one in rows.items():
        between = "not told" if one["low"] is None else f"{one['low']:.5g} to {one['high']:.5g}"
        lines.append(f"{name:<{width}}  {one['value']:10.5g}  ({between}) {one['unit']}".rstrip())
    lines.append(
        f"{document['windows']} windows, {document['standing_out']} stand out, "
        f"{document['without_prediction']} without prediction; noise: {document['noise']}"
    )
    lines.append(f"{document['verdict'].replace('_', ' ')}: {document['why']}. {document['advice']}")
    for part, both in document["scores"].items():
        for which, one in both.items():
            numbers = ", ".join(
                f"{name} {'-' if x is None else format(x, '.4g')}"
                for name, x in one.items()
                if name not in ("motions", "failed")
            )
            lines.append(
                f"{part.replace('_', ' ')}, {which}: {numbers} ({one['motions']} motions, {one['failed']} failed)"
            )
    return lines


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
    data = load_planar_impacts(only_file(data_path(arguments.data), "jac_normal"))
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
    print(format_planar(fits))
    if arguments.plots is not None:
        for plot in plot_impacts(arguments.plots, data, fits):
            print(f"wrote {plot}")
    kinds.write_json(arguments.json, planar_json(fits, balance.values))
    return 0


def plot_impacts(folder: Path, data: PlanarImpacts, fits: Sequence[PlanarFit]) -> list[Path]:
    """Write plots of restitution over speed and of held-out errors; return their paths.

    The first has the curve of the best fit. The second has the fits without additional terms.
    """
    from contactlab.view.plotting import plot_error_curves, plot_restitution

    approach = -np.einsum("ni,ni->n", data.normal, data.before)
    leaves = np.einsum("ni,ni->n", data.normal, data.after)
    clear = approach > 0.1
    ratio = leaves[clear] / approach[clear]
    fit = best_of([fit for fit in fits if "exponent" in fit.model.parameters] or fits)
    numbers = {"exponent": 0.0} | dict(zip(fit.model.parameters, fit.values.tolist(), strict=True))
    law = f"{fit.model.law}, fitted here"
    curves = {f"{one.model.law}, {one.model.reading}": one.errors for one in fits if not one.model.ingredients}
    return [
        plot_restitution(
            folder / "restitution.png", approach[clear], ratio, numbers["e"], numbers["exponent"], law=law
        ),
        plot_error_curves(folder / "impact_errors.png", curves),
    ]
