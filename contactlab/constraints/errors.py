"""Errors of constraints and of sets of them."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError


class ConstraintError(FieldError):
    """A constraint that cannot be built, a group that does not exist, or an argument that does not fit the set."""
