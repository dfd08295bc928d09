"""The command line: parse, run one command, convert its errors to one line and an exit status.

There is one file per group of commands. Only `argparse` is used, and heavy libraries are imported when a command runs.

Exit status: 0 done; 1 a simulation or a solve failed; 2 bad input (argparse uses 2 for bad arguments, too);
130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence

import contactlab

__all__ = ["main"]

#: By name: the module with the command of this name, and its line in the list of commands. Only the requested module is
#: imported, because together they import the whole library.
COMMANDS = {
    "run": ("records", "simulate a scene file and write its record"),
    "verify": ("records", "check every step of a record again, independently"),
    "explain": ("records", "explain a step that failed, from the files it left"),
    "replay": ("records", "look at a record: live in the browser, as HTML, as a picture, as plots"),
    "demo": ("demo", "throw cubes and balls; write a replay, a plot and the record"),
    "tour": ("demo", "six scenes to touch in the browser: throw, grip, push, strike, solve, compare"),
    "toss": ("recordings", "simulate real cube tosses and score them"),
    "identify": ("recordings", "parameters from recordings, with intervals"),
    "impact": ("recordings", "score impact laws and simulations on recorded planar impacts"),
    "race": ("experiments", "race solvers on files of problems; rows, profiles, one-file report"),
    "conform": ("experiments", "test engines against closed forms and known complaints; scores and reasons"),
    "sweep": ("experiments", "run a scene over parameters and seeds"),
    "warmup": ("warmup", "compile the kernels once, ahead of the first run"),
}


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands; only modules of commands in ``argv`` are imported, for their arguments."""
    parser = argparse.ArgumentParser(
        prog="contactlab",
        description="An LCP/MLCP contact-solver toolkit: time-stepping simulation, impact studies, solver research.",
    )
    parser.add_argument("--version", action="version", version=f"contactlab {contactlab.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, (module, line) in COMMANDS.items():
        part = commands.add_parser(name, help=line, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in argv:
            getattr(importlib.import_module(f"contactlab.cli.{module}"), name)(part)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: the command's, 2 after a printed error, 130 if interrupted."""
    words = sys.argv[1:] if argv is None else argv
    arguments = build_parser(words).parse_args(words)

    from contactlab.lab import RaceError, SweepError
    from problem_data import ProblemDataError
    from problem_data.validation import FileError

    try:
        status: int = arguments.run(arguments)
        if argv is None:
            # The process ends, and after a compilation its last garbage collection would take 2 s.
            gc.freeze()
    except KeyboardInterrupt:
        print("contactlab: interrupted", file=sys.stderr)
        return 130
    except (FileError, ProblemDataError, RaceError, SweepError, OSError) as error:
        print(f"contactlab: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return status
