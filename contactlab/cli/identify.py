"""`contactlab identify`: parameters from recordings, with 95 % intervals."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
from collections.abc import Callable
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
    option("--out", type=Path, metavar="DIR", help="folder of finished results"),
    epilog="""\
DATA: cube_toss or planar_impacts (names, or files of these), or a robot's own recording with --robot: an
.npz of t, q, tau and, if measured, v, or a .csv with columns t, q0, ..., tau0, ... docs/identify.md describes the
parameters of each, the assumed noise, and the meaning of the intervals.
With --out finished results are in DIR; the same command continues where it was stopped, without repetitions.
Exit status: 0 identified, also at a bound; 1 not, with reason and advice in the verdict; 2 bad input; 130 interrupted.
""",
)
def identify(arguments: argparse.Namespace) -> int:
    """Find parameters in recordings, with 95 % intervals."""
    from contactlab.studies.identification.problem import IdentificationError
    from contactlab.studies.identification.report import open_recordings, report

    path = data_path(arguments.data)
    values = dict(arguments.set)
    with contextlib.ExitStack() as stack:
        recordings = open_recordings(path, arguments.robot, threads=arguments.workers)
        kept = _result_store(arguments, path, stack) if arguments.out is not None else lambda name, work: work()
        progress = stack.enter_context(Progress(f"identify {recordings.title}", "steps"))
        try:
            split = {"share": arguments.holdout, "seed": arguments.seed, "iterations": arguments.iterations}
            told: dict[str, Any] = {"kept": kept, "progress": progress.update}
            document = report(recordings, names=arguments.parameters, values=values, **split, **told)
        except IdentificationError as error:
            raise DatasetError(path, error.field, str(error).partition(": ")[2]) from error
    print("\n".join(_lines(document)))
    kinds.write_json(arguments.json, document)
    if arguments.plot is not None:
        from contactlab.plotting import plot_identified

        kinds.write_and_report("picture", lambda: plot_identified(arguments.plot, document))
    return 0 if document["verdict"] in ("found", "at_bound") else 1


def _result_store(
    arguments: argparse.Namespace, path: Path, stack: contextlib.ExitStack
) -> Callable[..., dict[str, Any]]:
    """Return a function that loads a stored result from a folder, or computes and stores it, by data and settings."""
    from contactlab import __version__
    from contactlab.lab.sweeps.tasks import Store

    store = stack.enter_context(Store(arguments.out))
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    files += [arguments.robot] if arguments.robot is not None else []
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    names = ("parameters", "set", "holdout", "seed", "iterations")
    choices = json.dumps([__version__, digests, *(getattr(arguments, name) for name in names)])

    def kept(name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        key = hashlib.sha256(f"{choices} {name}".encode()).hexdigest()[:16]
        if key not in store.rows:
            store.add({"key": key, "outcome": "done", "work": name, "found": work()})
        found: dict[str, Any] = store.rows[key]["found"]
        return found

    return kept


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
