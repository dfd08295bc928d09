"""Errors of shapes and materials."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError


class ContactError(FieldError):
    """A shape, material or friction pyramid that cannot be used."""
