"""Commands with their options, the types of options, and messages that commands share."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

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
