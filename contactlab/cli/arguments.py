"""Argument types that commands share, each of which says what it wanted; and what is said of pictures."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Number = TypeVar("Number", int, float)


def write_and_report(missing: str, write: Callable[[], Path]) -> None:
    """Write a picture and say so, or say that there is none and which extra is missing."""
    try:
        path = write()
    except ModuleNotFoundError as error:
        print(f"no {missing}: {error.name} is missing; pip install '.[viz]'")
    else:
        print(f"wrote {path}")


def write_json(path: Path | None, document: object) -> None:
    """Write a document where a path is given for it, and say so."""
    if path is not None:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {path}")


def _number(text: str) -> float:
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
    """Return a reader of numbers for which a condition holds, in words what they must be."""

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


def frictions(text: str) -> list[float]:
    """Return friction coefficients from ``0.16,0.18`` or ``0.16:0.2:0.01`` (start:stop:step, stop included)."""
    if ":" not in text:
        return [non_negative(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f"{text} is neither a,b,c nor start:stop:step")
    start, stop, step = non_negative(parts[0]), non_negative(parts[1]), positive(parts[2])
    if stop < start:
        raise argparse.ArgumentTypeError(f"{text}: stop lies below start")
    # Rounded: 0.16 + 2 * 0.01 should read 0.18 in tables.
    return [round(start + i * step, 12) for i in range(math.floor((stop - start) / step + 1e-9) + 1)]


def cone_list(text: str) -> list[int]:
    """Return numbers of edges from ``4,8,16``."""
    return [even(part) for part in text.split(",")]


def times(text: str) -> list[float]:
    """Return times from ``0,0.5,1``."""
    return [_number(part) for part in text.split(",")]


def output_file(text: str) -> Path:
    """Return a path whose folder exists and may be written into: found out before a long run, not after it."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {path.parent} does not exist")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder")
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"folder {path.parent} is not one that you may write into")
    return path


def say_address(url: str, port: int) -> None:
    """Print where something is served, and that it is not where it was asked for, if so."""
    if not url.endswith(f":{port}"):
        print(f"port {port} is taken, here is the next free one:", flush=True)
    print(f"{url} (Ctrl-C ends it)", flush=True)
