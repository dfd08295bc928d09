"""Errors about a value handed in: every one names the field and says what is wrong with which entry."""

from __future__ import annotations


class FieldError(ValueError):
    """A value that cannot be used.

    Attributes
    ----------
    field
        Name of the argument or attribute at fault.
    detail
        What is wrong, with the offending entry and its value.
    """

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(field, detail)
        self.field, self.detail = field, detail

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}"


class SpatialError(FieldError):
    """A pose, quaternion or inertia that is none."""
