"""What environments are made of: gymnasium's classes and spaces, or stand-ins that say what to install."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from contactlab.learning.errors import LearningError
from contactlab.learning.task import Task

try:
    from gymnasium import Env as BaseEnv
    from gymnasium.vector import VectorEnv as BaseVectorEnv
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("gymnasium"):
        raise

    class BaseEnv:  # type: ignore[no-redef]
        """Stands in for gymnasium's, so that the names of `contactlab.learning` are there without it."""

        def __new__(cls, *_: Any, **__: Any) -> NoReturn:
            """Say what to install."""
            message = "gymnasium is not installed: pip install 'contactlab[learning]'"
            raise ModuleNotFoundError(message, name="gymnasium")

    BaseVectorEnv = BaseEnv

__all__ = ["BaseEnv", "BaseVectorEnv"]


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
