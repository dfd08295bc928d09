"""Entry point: parse, run one command, turn its errors into one line and an exit status.

Exit status: 0 done; 1 a simulation or a solve failed; 2 bad input (argparse uses 2 for bad arguments, too);
130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

import contactlab

#: The module of each command has its name, with `EPILOG`, `add_arguments` and `run`. Only the one that is asked for
#: is imported: between them they reach the whole library.
COMMANDS = {
    "run": "simulate a scene file and write its record",
    "verify": "check every step of a record again, independently",
    "explain": "explain a step that failed, from the files it left",
    "replay": "look at a record: live in the browser, as HTML, as a picture, as plots",
    "demo": "throw cubes and balls; write a replay, a plot and the record",
    "tour": "six scenes to touch in the browser: throw, grip, push, strike, solve, compare",
    "toss": "simulate real cube tosses and score them",
    "identify": "parameters from recordings, with intervals",
    "impact": "score impact laws and simulations on recorded planar impacts",
    "race": "race solvers on files of problems; rows, profiles, one-file report",
    "conform": "hold engines to closed forms and known complaints; scores and reasons",
    "sweep": "run a scene over parameters and seeds, or solvers over problems",
    "warmup": "compile the kernels once, ahead of the first run",
}


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of those that the command line names."""
    parser = argparse.ArgumentParser(
        prog="contactlab",
        description="An LCP/MLCP contact-solver toolkit: time-stepping simulation, impact studies, solver research.",
    )
    parser.add_argument("--version", action="version", version=f"contactlab {contactlab.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, line in COMMANDS.items():
        if name not in argv:
            commands.add_parser(name, help=line)
            continue
        command = importlib.import_module(f"contactlab.cli.{name}")
        part = commands.add_parser(
            name,
            help=line,
            description=command.__doc__,
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(part)
        part.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    arguments = build_parser(words).parse_args(words)

    from contactlab.lab.errors import DatasetError, RaceError, SweepError
    from contactlab.simulation import RecordError
    from contactlab.simulation.scene import SceneError
    from problem_data import ProblemDataError

    try:
        status: int = arguments.run(arguments)
    except KeyboardInterrupt:
        print("contactlab: interrupted", file=sys.stderr)
        return 130
    except (DatasetError, ProblemDataError, RaceError, RecordError, SceneError, SweepError, OSError) as error:
        print(f"contactlab: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return status
