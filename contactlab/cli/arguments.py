"""Commands and their options as data, the types of options, and messages that commands share."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Option:
    """One argument of a command, with the arguments of `argparse.ArgumentParser.add_argument`."""

    names: tuple[str, ...]
    settings: dict[str, Any]


def option(*names: str, **settings: Any) -> Option:
    """Return an argument of a command."""
    return Option(names, settings)


@dataclass(frozen=True)
class OneOf:
    """Mutually exclusive arguments."""

    options: tuple[Option, ...]
    required: bool = False


@dataclass(frozen=True)
class Command:
    """A command: the function that runs it, its arguments, and the end of its help."""

    run: Callable[[argparse.Namespace], int]
    options: tuple[Option | OneOf, ...]
    epilog: str

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Add description, arguments and function of this command to a parser."""
        parser.description, parser.epilog = self.run.__doc__, self.epilog
        for one in self.options:
            if isinstance(one, OneOf):
                group = parser.add_mutually_exclusive_group(required=one.required)
                for inner in one.options:
                    group.add_argument(*inner.names, **inner.settings)
            else:
                parser.add_argument(*one.names, **one.settings)
        parser.set_defaults(run=self.run)


def command(*options: Option | OneOf, epilog: str = "") -> Callable[[Callable[[argparse.Namespace], int]], Command]:
    """Return a decorator that makes a `Command` of a function, whose docstring is the first line of its help."""
    return lambda run: Command(run, options, epilog)


def write_and_report(missing: str, write: Callable[[], Path]) -> None:
    """Write a picture and report it, or report the missing extra."""
    try:
        path = write()
    except ModuleNotFoundError as error:
        print(f"no {missing}: {error.name} is missing; pip install '.[viz]'")
    else:
        print(f"wrote {path}")


def read_json(path: Path) -> Any:
    """Return a document written by an earlier ``--json``."""
    from contactlab.lab.errors import DatasetError

    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # text that is not UTF-8 or not JSON raises ValueError, too
        raise DatasetError(path, "", f"is not readable as JSON: {error}") from error


def write_json(path: Path | None, document: object) -> None:
    """Write a document if a path is given, and report it."""
    if path is not None:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {path}")


def _number(text: str) -> float:
    """Return a finite number from an argument."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not finite")
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number_type(
    read: Callable[[str], Number], holds: Callable[[Number], bool], wanted: str
) -> Callable[[str], Number]:
    """Return an argument parser for numbers that satisfy ``holds``; ``wanted`` ends the error of others."""

    def parse(text: str) -> Number:
        value = read(text)
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text} {wanted}")
        return value

    return parse


positive = _number_type(_number, lambda value: value > 0.0, "is not > 0")
non_negative = _number_type(_number, lambda value: value >= 0.0, "is not >= 0")
tolerance = _number_type(positive, lambda value: 1e-14 <= value < 1.0, "does not lie between 1e-14 and 1")
positive_integer = _number_type(_integer, lambda value: value >= 1, "is not >= 1")
whole = _number_type(_integer, lambda value: value >= 0, "is not >= 0")
#: Number of edges of a friction cone.
even = _number_type(_integer, lambda value: value >= 4 and value % 2 == 0, "is not an even number >= 4")


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
    try:
        return name, float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{number!r} is not a number") from None


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
