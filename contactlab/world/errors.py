"""The error of descriptions: worlds, steppers, states, and arguments of runs."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError

__all__ = ["SimulationConfigError"]


class SimulationConfigError(FieldError):
    """A world, stepper, state or argument of a run that cannot be used; names the field and the offending value."""
