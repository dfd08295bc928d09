"""Derivatives of steps, exact but for rounding, with the kinks near by named."""

from __future__ import annotations

from contactlab.linearization.linearization import Kink, Linearization
from contactlab.linearization.linearize import linearize
from contactlab.linearization.parameters import Parameter, parameter

__all__ = ["Kink", "Linearization", "Parameter", "linearize", "parameter"]
