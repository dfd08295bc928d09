"""Options of solvers: what each may be stands beside its default, and is checked at construction.

A value that is refused is named with the solver, the field and the value.
"""

from __future__ import annotations

import copy
import functools
import math
import numbers
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from typing import TYPE_CHECKING, Any

from lcp.errors import ProblemError


class OptionsMeta(ABCMeta):
    """Of solvers: the object with every option at its default is made, and its options checked, once.

    A solver is a value that never changes; to make one takes longer than to solve a small problem. One that holds more
    than its options, as a subclass that counts its calls, is an object of its own each time.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *options: Any, **named: Any) -> Any:
            """Make an object, or hand out the one with the defaults."""
            if options or named:
                return super().__call__(*options, **named)
            plain = cls.__dict__.get("_plain")
            if plain is None:
                plain = super().__call__()
                if _is_value(plain):
                    cls._plain = plain
            return plain


def _is_value(solver: Any) -> bool:
    """Whether an object is of a dataclass itself and holds nothing but options that were not made for it."""
    options = {option.name for option in fields(solver) if option.default_factory is MISSING}
    return "__dataclass_fields__" in vars(type(solver)) and vars(solver).keys() <= options


class Options(metaclass=OptionsMeta):
    """A frozen dataclass whose fields, made by the functions below, say what they may be."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        kind: Any = type(self)
        for name, check in _checks(kind):
            check(self, name)


@functools.cache
def _checks(kind: Any) -> tuple[tuple[str, Callable[[Any, str], None]], ...]:
    """What the options of a class may be, by name."""
    return tuple((option.name, option.metadata["check"]) for option in fields(kind) if "check" in option.metadata)


def integer_option(default: int | None, *, least: int = 0, most: int = sys.maxsize) -> Any:
    """An option that is a whole number in [least, most], or None where that is the default."""
    return _option(default, functools.partial(check_integer, least=least, most=most, optional=default is None))


def real_option(default: float | None, *, least: float, most: float, open_ends: bool = False) -> Any:
    """An option that is a number in [least, most] (``open_ends``: between), or None where that is the default."""
    check = functools.partial(check_real, least=least, most=most, open_ends=open_ends, optional=default is None)
    return _option(default, check)


def positive_option(default: float) -> Any:
    """An option that is a number above zero; infinity stands for no limit."""
    return _option(default, check_positive)


def bool_option(default: bool) -> Any:
    """An option that is True or False."""
    return _option(default, check_bool)


def choice_option(default: str, choices: tuple[str, ...]) -> Any:
    """An option that is one of ``choices``."""
    return _option(default, functools.partial(check_choice, choices=choices))


def _option(default: Any, check: Callable[[Any, str], None]) -> Any:
    return field(default=default, metadata={"check": check})


def check_integer(owner: Any, name: str, *, least: int = 0, most: int = sys.maxsize, optional: bool = False) -> None:
    """Refuse ``owner.name`` unless it is a whole number in [least, most] (or None where ``optional``)."""
    value: Any = getattr(owner, name)
    if optional and value is None:
        return
    whole = type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    if not (whole and least <= value <= most):
        above = whole and value > most
        limit = f" and <= {most}" if above or most < sys.maxsize else ""
        raise ProblemError(f"{type(owner).__name__}.{name} must be a whole number >= {least}{limit}, got {value!r}")


def check_real(
    owner: Any, name: str, *, least: float, most: float, open_ends: bool = False, optional: bool = False
) -> None:
    """Refuse ``owner.name`` unless it is a real number in [least, most] (``open_ends``: strictly between), or None."""
    value = getattr(owner, name)
    if optional and value is None:
        return
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
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_bool(owner: Any, name: str) -> None:
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
    if isinstance(solver, type):
        raise ProblemError(
            f"{name} must be a solver object such as {example}, got the class {solver.__name__}: add (), "
            f"{solver.__name__}()"
        )
    if not hasattr(solver, "solve"):
        raise ProblemError(f"{name} must be a solver object such as {example}, got {solver!r}")


def replace_fields(solver: Any, values: Mapping[str, Any]) -> Any:
    """A copy with other values in these fields. Not `dataclasses.replace`: constructors may take other arguments."""
    changed = copy.copy(solver)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed
