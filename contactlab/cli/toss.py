"""`contactlab toss`: simulate measured tosses, score them; of cubes print the published table with our row in it."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.cli import arguments as kinds
from contactlab.lab.datasets import CubeTosses, load_cube_tosses
from contactlab.lab.datasets.fetching import data_path, only_file
from contactlab.lab.datasets.npz import array_names
from contactlab.lab.errors import DatasetError
from contactlab.lab.progress import Progress
from contactlab.studies import MODELS, PUBLISHED, TossReport, TossSettings, format_table, run_tosses, toss_tables
from contactlab.studies.toss_settings import LEFT_OUT

EPILOG = """\
FILE is an .npz of n tosses (pos (N, 3), quat_wxyz (N, 4), eval_ic (n, 13), dt, half_width, mass, inertia, gravity:
floats; offsets (n + 1,), toss_id, eval_start (n,): ints), or the data set cube_toss in the folder that CONTACTLAB_DATA
names; contactlab.lab.datasets.save_cube_tosses writes one, docs/validation.md has the public tosses.
A toss whose simulation fails is counted, listed and left out of the means; the exit status is then 1.
Tosses of the elbow (elbow_toss: pos, quat_wxyz, joint, ...) are scored with --model, --mu, --workers and --json alone:
position in per cent of a block, rotation, angle of the hinge.
--curve scores all tosses once per (mu, k): 44 runs, about five minutes on two cores.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    # The defaults are those of the settings; reading them costs nothing heavy.
    default = MODELS["rigid"]
    add("file", type=Path, metavar="FILE", help="the tosses: .npz, its folder, or cube_toss")
    add("--json", type=kinds.output_file, metavar="OUT", help="write the scores here")
    add(
        "--model",
        choices=tuple(MODELS),
        default="rigid",
        help="fitted settings: friction alone, or also springs and dampers at round corners (default %(default)s)",
    )
    add("--settings", type=Path, metavar="SCORES.json", help="the settings of an earlier --json, in place of --model")
    add(
        "--ensemble-size",
        type=kinds.positive_integer,
        help="1: the path from the measured start; more: the medoid of so many drawn paths (default that of the model)",
    )
    add(
        "--ablation",
        action="store_true",
        help="also score the best model's ingredients: added in turn, and each left out",
    )
    add("--mu", type=kinds.non_negative, help=f"friction (default that of the model; {default.mu} if rigid)")
    add("--edges", type=kinds.even, help=f"edges k of the pyramid (default {default.edges})")
    add("--friction", choices=("pyramid", "cone"), help="a pyramid of k edges or the exact cone (default pyramid)")
    add("--substeps", type=kinds.positive_integer, help=f"steps per sample (default {default.substeps})")
    add("--workers", type=kinds.positive_integer, help="threads (default: one per core)")
    add("--scan-mu", type=kinds.frictions, metavar="LIST", help="also score these: 0.16,0.18 or 0.16:0.2:0.01")
    add("--plot", type=kinds.output_file, metavar="PNG", help="draw the ablation")
    add("--curve", type=kinds.output_file, metavar="PNG", help="scan mu and k; write PNG and CSV")
    add("--curve-edges", type=kinds.cone_list, default=[4, 8, 16, 32], metavar="LIST", help="k of the curve")


def run(arguments: argparse.Namespace) -> int:
    """Score the tosses of a file; exit status 1 if any failed."""
    path = only_file(data_path(arguments.file))
    if "joint" in array_names(path):
        return _elbows(path, arguments)
    tosses = load_cube_tosses(path)
    settings = _settings(arguments)
    report = _score(tosses, settings, arguments.workers, "tosses")
    single = report
    if settings.members > 1:
        single = _score(tosses, replace(settings, members=1), arguments.workers, "single paths")
    if settings == MODELS["best"]:
        print(LEFT_OUT)
    print(format_table(report, single))
    _print_account(report)
    alone = {} if single is report else {"single_path": summary(single)}
    kinds.write_json(arguments.json, summary(report) | alone)
    failed = len(report.failures) + (len(single.failures) if single is not report else 0)
    if arguments.ablation:
        failed += _ablate(tosses, arguments)
    if arguments.scan_mu or arguments.curve:
        failed += _scan(tosses, settings, arguments)
    return 1 if failed else 0


def _elbows(path: Path, arguments: argparse.Namespace) -> int:
    """Score tosses of the elbow; exit status 1 if any failed."""
    from contactlab.studies.identification.report import score
    from contactlab.studies.identification.tosses import ELBOW_MODELS, elbow_recordings

    other = ("edges", "substeps", "friction", "ensemble_size", "settings", "ablation", "scan_mu", "plot", "curve")
    for name in other:
        if getattr(arguments, name):
            raise DatasetError(
                path, "", f"--{name.replace('_', '-')} is for tosses of the cube; these are of the elbow"
            )
    values = dict(ELBOW_MODELS[arguments.model])
    values |= {} if arguments.mu is None else {"mu": arguments.mu}
    tosses = elbow_recordings(path, threads=arguments.workers)
    assert tosses.errors is not None
    found = score(tosses.errors(values, np.arange(len(tosses))))
    found["tosses"] = found.pop("motions")
    print(
        f"{found['tosses']} tosses, {found['failed']} failed: position {found['position_percent']:.2f} % of a block, "
        f"rotation {found['rotation_deg']:.2f} deg, hinge {found['joint_deg']:.2f} deg"
    )
    kinds.write_json(arguments.json, {**found, "settings": values})
    return 1 if found["failed"] else 0


def summary(report: TossReport) -> dict[str, object]:
    """Return the scores as JSON values; a number that does not exist (all tosses failed) is null."""
    position, position_std = report.position_percent
    rotation, rotation_std = report.rotation_deg
    return {
        "tosses": report.tosses,
        "failed": len(report.failures),
        "position_percent": _number(position),
        "position_percent_std": _number(position_std),
        "rotation_deg": _number(rotation),
        "rotation_deg_std": _number(rotation_std),
        "worst_scaled_residual": _number(report.worst_scaled),
        "steps": report.steps,
        "seconds": round(report.seconds, 3),
        "settings": {
            name: _number(value) if isinstance(value, float) else value
            for name, value in asdict(report.settings).items()
        },
        "failures": [
            {"index": outcome.index, "toss_id": outcome.toss_id, "reason": outcome.failure}
            for outcome in report.failures
        ],
    }


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that replace settings of the model, None where an option is not given."""
    values = {name: getattr(arguments, name) for name in ("edges", "substeps", "friction")}
    return {**values, "members": arguments.ensemble_size}


def _settings(arguments: argparse.Namespace) -> TossSettings:
    """Return the settings of the model, with what the command line says otherwise."""
    given = {"mu": arguments.mu, **_overrides(arguments)}
    model = MODELS[arguments.model]
    if arguments.settings is not None:
        try:
            model = TossSettings.read(json.loads(arguments.settings.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:  # what is no UTF-8 or no JSON is a ValueError, too
            raise DatasetError(arguments.settings, "", str(error)) from error
    return replace(model, **{name: value for name, value in given.items() if value is not None})


def _ablate(tosses: CubeTosses, arguments: argparse.Namespace) -> int:
    """Score the ingredients of the best model and print them; return the number of failed tosses."""
    given = {name: value for name, value in _overrides(arguments).items() if value is not None}
    rows = []
    for row in toss_tables.ablations():
        report = _score(tosses, replace(row.settings, **given), arguments.workers, row.name)
        rows.append((row.name, report))
    print(toss_tables.format_ablation(rows))
    if arguments.plot is not None:
        _draw_ablation(arguments.plot, rows)
    return sum(len(report.failures) for _, report in rows)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _score(tosses: CubeTosses, settings: TossSettings, workers: int | None, label: str) -> TossReport:
    """Run all tosses under one setting, with progress."""
    with Progress(label, "tosses") as progress:
        return run_tosses(tosses, settings, workers=workers, progress=progress.update)


def _print_account(report: TossReport) -> None:
    """Print what a mean does not tell: how many solves, how well, how long, and every failure."""
    print(
        f"{report.steps} steps in {report.seconds:.1f} s; {len(report.failures)} failed tosses; "
        f"worst scaled residual {report.worst_scaled:.1e} (a step is solved at 1e-9)"
    )
    for outcome in report.failures:
        print(f"failed: toss {outcome.index} (id {outcome.toss_id}): {outcome.failure}")


def _scan(tosses: CubeTosses, settings: TossSettings, arguments: argparse.Namespace) -> int:
    """Score a grid of mu and k, print it, write picture and numbers; return the number of failed tosses."""
    cones = arguments.curve_edges if arguments.curve else [settings.edges]
    print(toss_tables.SCAN_HEADER)
    reports = []
    for report in toss_tables.scan_tosses(
        tosses, settings, arguments.scan_mu or toss_tables.CURVE_MU, cones, workers=arguments.workers
    ):
        reports.append(report)
        print(toss_tables.format_scan_row(report), flush=True)
    if arguments.curve:
        table = toss_tables.write_csv(arguments.curve.with_suffix(".csv"), reports)
        print(f"wrote {table}")
        _draw(arguments.curve, reports)
    return sum(len(report.failures) for report in reports)


def _draw_ablation(path: Path, rows: list[tuple[str, TossReport]]) -> None:
    """Draw the errors of every line, or say which extra is missing."""
    from contactlab.plotting import plot_error_bars

    errors = {}
    for name, report in rows:
        ran = [one for one in report.outcomes if not one.failure]
        position, rotation = ([getattr(one, field) for one in ran] for field in ("position_percent", "rotation_deg"))
        errors[name] = (np.array(position), np.array(rotation))
    kinds.write_and_report("picture", lambda: plot_error_bars(path, errors))


def _draw(path: Path, reports: list[TossReport]) -> None:
    """Draw the curve, or say which extra is missing."""
    from contactlab.plotting import plot_toss_curve

    points = [
        (report.settings.edges, report.settings.mu, report.position_percent[0], report.rotation_deg[0])
        for report in reports
    ]
    bounds = [(row.simulator, row.position_percent, row.rotation_deg) for row in PUBLISHED]
    kinds.write_and_report("picture", lambda: plot_toss_curve(path, points, bounds))
