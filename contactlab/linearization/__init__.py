"""Derivatives of steps, exact but for rounding, with the kinks near by named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.linearization.linearization import Kink, Linearization
from contactlab.linearization.linearize import linearize
from contactlab.linearization.parameters import Parameter, parameter
from contactlab.linearization.trajectory import Gradient, gradient
from contactlab.naming import module_hooks

__all__ = ["Gradient", "Kink", "Linearization", "Parameter", "gradient", "linearize", "parameter"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
