"""Checks of solver options: refused at construction, with the solver, the field and the value in the text."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any

from lcp.errors import ProblemError


def check_whole(owner: Any, name: str, *, least: int = 0, most: int = sys.maxsize, optional: bool = False) -> None:
    """Refuse ``owner.name`` unless it is a whole number in [least, most] (or None where ``optional``)."""
    value: Any = getattr(owner, name)
    if optional and value is None:
        return
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (whole and least <= value <= most):
        above = whole and value > most
        limit = f" and <= {most}" if above or most < sys.maxsize else ""
        raise ProblemError(f"{type(owner).__name__}.{name} must be a whole number >= {least}{limit}, got {value!r}")


def check_real(
    owner: Any, name: str, *, least: float = -math.inf, most: float = math.inf, open_ends: bool = False
) -> None:
    """Refuse ``owner.name`` unless it is a real number in [least, most] (``open_ends``: strictly between)."""
    value = getattr(owner, name)
    given = number(value)
    if not (least < given < most if open_ends else least <= given <= most):
        sign = "<" if open_ends else "<="
        raise ProblemError(
            f"{type(owner).__name__}.{name} must satisfy {least} {sign} {name} {sign} {most}, got {value!r}"
        )


def check_positive(owner: Any, name: str) -> None:
    """Refuse ``owner.name`` unless it is a number above zero (infinity admitted, for limits)."""
    value = getattr(owner, name)
    if not number(value) > 0.0:
        raise ProblemError(f"{type(owner).__name__}.{name} must be positive, got {value!r}")


def number(value: object) -> float:
    """The value of a real number; NaN of anything else, and of what is beyond double precision."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_flag(owner: Any, name: str) -> None:
    """Refuse ``owner.name`` unless it is True or False."""
    value = getattr(owner, name)
    if not isinstance(value, bool):
        raise ProblemError(f"{type(owner).__name__}.{name} must be True or False, got {value!r}")


def check_choice(owner: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse ``owner.name`` unless it is one of ``choices``."""
    value = getattr(owner, name)
    if value not in choices:
        raise ProblemError(f"{type(owner).__name__}.{name} must be one of {', '.join(choices)}, got {value!r}")


def check_solver(name: str, solver: Any, example: str = "Lemke()") -> None:
    """Refuse what has no ``solve``, and a class where one of its objects is meant; ``name`` says what was given."""
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise ProblemError(f"{name} must be a solver object such as {example}, got {solver!r}")
