"""Derivatives of steps."""

from __future__ import annotations

from contactlab.linearization.linearization import Kink, Linearization
from contactlab.linearization.linearize import linearize

__all__ = ["Kink", "Linearization", "linearize"]
