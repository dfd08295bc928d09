"""Argument types shared by commands: each says what it wanted when it is not given it."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

__all__ = [
    "cone_list",
    "even",
    "frictions",
    "non_negative",
    "output_file",
    "positive",
    "positive_integer",
    "seed",
    "times",
]


def positive(text: str) -> float:
    """Return a finite number > 0."""
    value = _number(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not > 0")
    return value


def non_negative(text: str) -> float:
    """Return a finite number >= 0."""
    value = _number(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not >= 0")
    return value


def positive_integer(text: str) -> int:
    """Return a whole number >= 1."""
    value = _integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not >= 1")
    return value


def seed(text: str) -> int:
    """Return a seed: a whole number >= 0."""
    value = _integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is not >= 0")
    return value


def even(text: str) -> int:
    """Return a number of edges of the friction cone: even, >= 4."""
    value = _integer(text)
    if value < 4 or value % 2:
        raise argparse.ArgumentTypeError(f"{text} is not an even number >= 4")
    return value


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
    """Return a path whose folder exists: found out before a long run, not after it."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {path.parent} does not exist")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder")
    return path


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
