"""Derivatives of steps, exact to rounding, with the names of nearby kinks.

The equations of a solved step are differentiated on its linear piece, in the step's memory. Modes of contacts and joint
rows follow from the forces. The right-hand side is minus the derivatives, at fixed forces, of the bias h (by inverse
dynamics) and of the rows at v+. One small system for each island gives the derivatives of forces and velocities.

- Redundant forces keep their selection: the compliance is 1e-9 of the smallest response, extrapolated to zero.
- Points and normals of a pair of shapes are differenced, which is accurate to 1e-10 and shows where features change.
- Parameters need no formulas: impulses and laws of the step are computed in two nearby worlds, at the same state.
- Each condition of the piece is a quantity with a gradient, which gives the distance to the end of the piece. One-sided
  derivatives cross conditions that are zero, by Murty's rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.derivatives.linearization import Kink, Linearization, Parameter, parameter
from contactlab.derivatives.linearize import linearize
from contactlab.derivatives.trajectory import Gradient, gradient
from contactlab.naming import module_hooks

__all__ = ["Gradient", "Kink", "Linearization", "Parameter", "gradient", "linearize", "parameter"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
