"""Errors of models and their states."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError


class MultibodyError(FieldError):
    """A model that cannot be built, a body that does not exist, or a state that does not fit the model."""
