"""Errors of shapes and materials."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError
from problem_data.errors import FileError


class ContactError(FieldError):
    """A shape, material or friction pyramid that cannot be used."""


class MeshFileError(ContactError, FileError):
    """A mesh file that cannot be used."""
