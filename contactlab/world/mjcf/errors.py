"""Errors and warnings about MuJoCo files."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError
from problem_data.errors import FileError


class MjcfError(FieldError, FileError):
    """A MuJoCo file that cannot be used; the field is the element at fault."""


class MjcfWarning(UserWarning):
    """A MuJoCo file of which something is not taken."""
