"""Errors that name the argument at fault, the entry and the reason; helpers for messages and warnings."""

from __future__ import annotations

import difflib
import numbers
import sys
import warnings
from collections.abc import Iterable
from typing import Any

from problem_data.validation import FileError

MAX_NAMES = 8


class FieldError(ValueError):
    """A value that cannot be used.

    Attributes
    ----------
    field
        Name of the argument or attribute at fault.
    detail
        Reason, with the offending entry and its value.
    """

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(field, detail)
        self.field, self.detail = field, detail

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}"


class SpatialError(FieldError):
    """A pose, quaternion or inertia that is invalid."""


def warn_caller(text: str, category: type[Warning]) -> None:
    """Give a warning at the line that called the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").startswith("contactlab.") and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def check_type(value: object, kind: Any, field: str, error: type[FieldError], wanted: str = "") -> None:
    """Raise ``error`` unless a value has a type, because callers may ignore annotations."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise error(field, f"must be {wanted or f'a {kind.__name__}'}, got {value!r:.100}")


def check_whole(value: object, field: str, error: type[FieldError], least: int) -> None:
    """Raise ``error`` unless a value is a whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise error(field, f"must be a whole number >= {least}, got {value!r}")


def close_names(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the close names, or otherwise all names."""
    names = list(known)
    # Comparing names costs the product of their lengths, so long and very many names are skipped.
    short = [one for one in names[:1000] if len(one) <= 100 and len(str(name)) <= 100]
    close = difflib.get_close_matches(str(name), short, n=3, cutoff=0.5)
    if close:
        return f"; close: {', '.join(map(repr, close))}"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"; there are {', '.join(map(repr, names[:MAX_NAMES])) or 'none'}{more}"


class MultibodyError(FieldError):
    """A model that cannot be built, a body that does not exist, or a state that does not match the model."""


class ContactError(FieldError):
    """A shape, material or friction pyramid that cannot be used."""


class MeshFileError(ContactError, FileError):
    """A mesh file that cannot be used."""


class ImpactError(FieldError):
    """An argument that an impact law cannot use."""
