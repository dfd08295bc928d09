"""`contactlab conform`: engines held to closed forms and known complaints, every score computed."""

from __future__ import annotations

import argparse

from contactlab.cli import arguments as kinds
from contactlab.lab.progress import Progress

EPILOG = """\
ENGINE is ours, ours:cone, mujoco, mujoco:elliptic, mujoco:noslip, drake, drake:sap, drake:tamsi, drake:similar,
drake:lagged, or path.py:Name, an engine of your own; its file is executed. Each runs in a process of its own.
What an engine loses is no failure of the command: the exit status is 1 only if no case could be held to any engine.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("engines", nargs="*", default=["ours"], metavar="ENGINE", help="engines (default: ours)")
    parser.add_argument(
        "--filter", action="append", default=[], metavar="NAME", help="only cases with this in the name"
    )
    parser.add_argument(
        "--time-limit", type=kinds.positive, default=120.0, metavar="S", help="for a case (default: 120)"
    )
    parser.add_argument("--list", action="store_true", help="list the cases and their sources, run none")
    parser.add_argument("--out", type=kinds.output_file, metavar="FILE", help="report as one HTML file")
    parser.add_argument("--json", type=kinds.output_file, metavar="FILE", help="scores, figures and reasons as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the suite, print the table; exit status 1 if nothing was held to anything."""
    from contactlab.conformance import CASES, conform
    from contactlab.lab.errors import RaceError

    if arguments.list:
        for case in CASES:
            print(f"{case.name}: {case.question} {case.source}.")
        return 0
    with Progress("conform", "cases") as progress:
        try:
            report = conform(
                arguments.engines, arguments.filter, seconds=arguments.time_limit, progress=progress.update
            )
        except ValueError as error:
            raise RaceError(str(error)) from error
    print(report)
    if arguments.out is not None:
        print(f"wrote {report.to_html(arguments.out)}")
    kinds.write_json(arguments.json, report.as_data())
    return 0 if any(report.score(name)[1] for name in report.engines) else 1
