"""Entry point: parse, run one command, turn its errors into one line and an exit status.

Exit status: 0 done; 1 a simulation or a solve failed; 2 bad input (argparse uses 2 for bad arguments, too);
130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import contactlab
from contactlab.cli import demo, explain, impact, race, replay, run, sweep, toss, verify, warmup
from contactlab.lab.errors import DatasetError, RaceError, SweepError
from contactlab.simulation import RecordError
from contactlab.simulation.scene import SceneError
from problem_data import ProblemDataError


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="contactlab", description="A laboratory for rigid bodies in contact, every step certified."
    )
    parser.add_argument("--version", action="version", version=f"contactlab {contactlab.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for command in (run, verify, explain, replay, demo, toss, impact, race, sweep, warmup):
        part = commands.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.HELP,
            description=command.__doc__,
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(part)
        part.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    arguments = build_parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except KeyboardInterrupt:
        print("contactlab: interrupted", file=sys.stderr)
        return 130
    except (DatasetError, ProblemDataError, RaceError, RecordError, SceneError, SweepError, OSError) as error:
        print(f"contactlab: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return status
