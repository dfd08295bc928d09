"""`contactlab toss`: simulate measured tosses, score them, and print the published table with our row in it."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from contactlab.cli import arguments as kinds
from contactlab.cli.arguments import command, option
from contactlab.lab.datasets import load_cube_tosses
from contactlab.lab.datasets.files import data_path, only_file
from contactlab.lab.progress import Progress
from contactlab.studies import MODELS, TossReport, format_table, run_tosses
from contactlab.studies.toss import LEFT_OUT

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


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
