"""The error of descriptions: worlds, steppers, states, and arguments of runs."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator

from contactlab.multibody.spatial.arrays import FieldError
from problem_data.validation import FileError


class SimulationConfigError(FieldError):
    """Error in a world, stepper, state or argument of a run; names the field and the value."""


class RobotFileError(SimulationConfigError, FileError):
    """Error in a robot's file that does not describe a valid world."""


@contextlib.contextmanager
def blaming_file(kind: type[FieldError] = RobotFileError) -> Iterator[None]:
    """Convert errors of models, shapes and worlds about a file's contents to errors of the file."""
    try:
        yield
    except FileError:
        raise
    except FieldError as error:
        raise kind(error.field, error.detail) from error


def check_type(field: str, value: object, wanted: type) -> None:
    """Raise if a value has another type."""
    if not isinstance(value, wanted):
        raise SimulationConfigError(field, f"must be a {wanted.__name__}, got {type(value).__name__}")


def whole_number(field: str, value: object, least: int, most: int | None = None) -> int:
    """Return a whole number from ``least`` to ``most``, or raise a `SimulationConfigError`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # checked by doing
    except TypeError as error:
        raise SimulationConfigError(field, f"must be a whole number, got {value!r}") from error
    if number < least:
        raise SimulationConfigError(field, f"must be at least {least}, got {number}")
    if most is not None and number > most:
        raise SimulationConfigError(field, f"must be at most {most}, got {number}")
    return number
