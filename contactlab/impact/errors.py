"""Errors of the impact laws."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError


class ImpactError(FieldError):
    """An argument that an impact law cannot use."""
