"""`contactlab identify`: parameters from recordings, with 95 % intervals."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from contactlab.cli import arguments as kinds
from contactlab.cli.arguments import command, option
from contactlab.lab.datasets.files import data_path
from contactlab.lab.errors import DatasetError
from contactlab.lab.progress import Progress


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
    from contactlab.studies.identification.problem import IdentificationError
    from contactlab.studies.identification.report import open_recordings, report

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
        from contactlab.plotting import plot_identified

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
