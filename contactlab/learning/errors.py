"""The error of tasks and environments."""

from __future__ import annotations

from contactlab.world.errors import SimulationConfigError


class LearningError(SimulationConfigError):
    """A task, an action or a result of a task's function is invalid; the text names it and its value."""
