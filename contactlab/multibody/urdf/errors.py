"""Errors and warnings about robot descriptions."""

from __future__ import annotations

from contactlab.multibody.errors import MultibodyError
from contactlab.spatial.errors import warn_caller
from problem_data.errors import FileError


class UrdfError(MultibodyError, FileError):
    """A robot description that cannot be used.

    Attributes
    ----------
    field
        The element at fault, such as ``joint 'elbow' <axis>``.
    detail
        What is wrong with it.
    line
        Where it begins in the file; 0 where no line is to blame.
    source
        The file, "text" for a description given as text.
    """

    def __init__(self, field: str, detail: str, *, line: int = 0, source: str = "text") -> None:
        super().__init__(field, detail)
        self.line = line
        self.source = source

    def __str__(self) -> str:
        place = f"{self.source}, line {self.line}" if self.line else self.source
        return f"{place}: {self.field}: {self.detail}"


class UrdfWarning(UserWarning):
    """A robot description taken although it says something no robot can have, or names meshes that cannot be used."""


def warn_of(text: str) -> None:
    """Give an `UrdfWarning`, attributed to whoever called the library."""
    warn_caller(text, UrdfWarning)
