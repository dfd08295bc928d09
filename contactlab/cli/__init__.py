"""The command line: parse, run one command, convert its errors to one line and an exit status.

There is one file per group of commands, and this module has the options, types of options and messages that they
share. Only `argparse` is used, and heavy libraries are imported when a command runs.

Exit status: 0 done; 1 a simulation or a solve failed; 2 bad input (argparse uses 2 for bad arguments, too);
130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import contactlab

Number = TypeVar("Number", int, float)


#: Function that adds arguments to a parser, or to a group of one.
Add = Callable[[Any], object]


def option(*names: str, **settings: Any) -> Add:
    """Return an argument of a command, as for `argparse.ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **settings)


def one_of(*options: Add) -> Add:
    """Return arguments that exclude each other."""

    def add(parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group()
        for one in options:
            one(group)

    return add


def command(*options: Add, epilog: str = "") -> Callable[[Callable[[argparse.Namespace], int]], Add]:
    """Return a decorator that makes of a function the one that fills its parser; its docstring begins its help."""

    def decorate(run: Callable[[argparse.Namespace], int]) -> Add:
        def fill(parser: argparse.ArgumentParser) -> None:
            parser.description, parser.epilog = run.__doc__, epilog
            for one in options:
                one(parser)
            parser.set_defaults(run=run)

        return fill

    return decorate


def write_and_report(missing: str, write: Callable[[], Path]) -> None:
    """Write a picture and report it, or report the missing extra."""
    try:
        path = write()
    except ModuleNotFoundError as error:
        print(f"no {missing}: {error.name} is missing; pip install '.[viz]'")
    else:
        print(f"wrote {path}")


def write_json(path: Path | None, document: object) -> None:
    """Write a document if a path is given, and report it."""
    if path is not None:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {path}")


def _number_type(
    read: Callable[[str], Number], wanted: str, holds: Callable[[Number], bool] = lambda value: True
) -> Callable[[str], Number]:
    """Return an argument parser for finite numbers that satisfy ``holds``; ``wanted`` ends the error of others."""

    def parse(text: str) -> Number:
        try:
            value = read(text)
        except ValueError:
            kind = "whole number" if read is int else "number"
            raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}") from None
        if not math.isfinite(value) or not holds(value):
            raise argparse.ArgumentTypeError(f"{text} {wanted if math.isfinite(value) else 'is not finite'}")
        return value

    return parse


_number = _number_type(float, "")
positive = _number_type(float, "is not > 0", lambda value: value > 0.0)
non_negative = _number_type(float, "is not >= 0", lambda value: value >= 0.0)
tolerance = _number_type(float, "does not lie between 1e-14 and 1", lambda value: 1e-14 <= value < 1.0)
positive_integer = _number_type(int, "is not >= 1", lambda value: value >= 1)
whole = _number_type(int, "is not >= 0", lambda value: value >= 0)
#: Number of edges of a friction cone.
even = _number_type(int, "is not an even number >= 4", lambda value: value >= 4 and value % 2 == 0)


def times(text: str) -> list[float]:
    """Return times from ``0,0.5,1``."""
    return [_number(part) for part in text.split(",")]


def names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as ``mu,restitution``, without repetitions."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names, each once: mu,restitution")
    return parts


def named_value(text: str) -> tuple[str, float]:
    """Return name and number of ``NAME=VALUE``."""
    name, equals, number = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, _number(number)


def output_file(text: str) -> Path:
    """Return a path whose folder exists and is writable; checked before a long run, not after it."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {path.parent} does not exist")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder")
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"folder {path.parent} is not one that you may write into")
    return path


def print_address(url: str, port: int) -> None:
    """Print the address of a server, and a note if its port differs from the requested one."""
    if not url.endswith(f":{port}"):
        print(f"port {port} is taken, here is the next free one:", flush=True)
    print(f"{url} (Ctrl-C ends it)", flush=True)


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
