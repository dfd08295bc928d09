"""The spaces of a task, as gymnasium has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.learning.errors import LearningError
from contactlab.learning.task import Task


def action_space(task: Task) -> Any:
    """Return the space of actions, of float32 as in gymnasium's environments of MuJoCo."""
    from gymnasium.spaces import Box

    return Box(np.asarray(task.actions.low, np.float32), np.asarray(task.actions.high, np.float32), dtype=np.float32)


def observation_space(size: int | None) -> Any:
    """Return the space of observations: any numbers."""
    from gymnasium.spaces import Box

    return Box(-np.inf, np.inf, (size,), np.float64)


def refuse(options: dict[str, Any] | None) -> None:
    """Refuse options of a reset: where runs begin is the task's."""
    if options:
        raise LearningError("options", f"there are none, got {options}: where runs begin is the task's `start`")
