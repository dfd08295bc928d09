"""Checks several shapes share."""

from __future__ import annotations

from contactlab.contact.errors import ContactError
from contactlab.spatial.arrays import finite_number

__all__ = ["positive_number"]


def positive_number(value: float, field: str) -> float:
    """``value`` as a float; a `ContactError` names the field where it is not one finite positive number."""
    checked = finite_number(value, field, ContactError)
    if checked <= 0.0:
        raise ContactError(field, f"must be positive, got {checked}")
    return checked
