"""What every call of a `WorldBuilder` checks; a `SimulationConfigError` names the argument."""

from __future__ import annotations

from collections.abc import Iterable

from contactlab.contact import HeightField
from contactlab.stepping.errors import SimulationConfigError
from contactlab.world.surface import Surface

__all__ = ["check_moves", "check_name", "check_type"]


def check_name(name: object, taken: Iterable[str]) -> None:
    """Refuse a name that is no name, or is taken."""
    if not isinstance(name, str) or not name:
        raise SimulationConfigError("name", f"must be a non-empty string, got {name!r}")
    if name in taken:
        raise SimulationConfigError("name", f"{name!r} is used already")


def check_moves(surfaces: Iterable[Surface]) -> None:
    """Refuse shapes that a kinematic body cannot have."""
    if any(isinstance(surface.shape, HeightField) for surface in surfaces):
        raise SimulationConfigError("shape", "a HeightField must stand still")


def check_type(field: str, value: object, wanted: type) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, wanted):
        raise SimulationConfigError(field, f"must be a {wanted.__name__}, got {type(value).__name__}")
