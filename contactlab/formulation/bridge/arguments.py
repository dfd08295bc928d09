"""Checks of single numbers and choices handed to the bridge."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from contactlab.formulation.bridge.errors import BridgeError
from contactlab.spatial.arrays import finite_number

T = TypeVar("T")


def number(value: float, field: str, *, infinite: bool = False) -> float:
    """A finite number, or also -inf and inf."""
    if type(value) is float and math.isfinite(value):
        return value  # limits of a description pass here by the dozen
    if infinite and value is None:
        raise BridgeError(field, "must be a number, got None: math.inf, the default, is no limit")
    if infinite and value in (math.inf, -math.inf):
        return float(value)
    return finite_number(value, field, BridgeError)


def at_least_zero(value: float, field: str, *, infinite: bool = False) -> float:
    """A number that is not negative."""
    checked = number(value, field, infinite=infinite)
    if checked < 0.0:
        raise BridgeError(field, f"must not be negative, got {checked}")
    return checked


def share(value: float, field: str) -> float:
    """A number from 0 to 1."""
    checked = number(value, field)
    if not 0.0 <= checked <= 1.0:
        raise BridgeError(field, f"must lie between 0 and 1, got {checked}")
    return checked


def several(values: Iterable[T], field: str) -> tuple[T, ...]:
    """The values of a list, or of anything else that can be gone through."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise BridgeError(field, f"must be several, in a list, got {type(values).__name__}")
    return tuple(values)
