"""Errors of the bridge from a model to problem data."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError


class BridgeError(FieldError):
    """A contact, limit, drive or option that cannot be used; `field` names it, in a list with its place."""
