"""The error of tasks and environments."""

from __future__ import annotations

from contactlab.world.errors import SimulationConfigError


class LearningError(SimulationConfigError):
    """A task, an action or what a function of a task returned that cannot be used; names it and the value."""
