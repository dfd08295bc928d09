"""Environments for learning: one task definition for a `gymnasium.Env` and, over a `Batch`, for a vector environment.

The names exist without gymnasium too, which `Env` and `VectorEnv` need: ``pip install '.[learning]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.learning.env import Env, VectorEnv
from contactlab.learning.task import ActionMap, Controls, LearningError, Noise, Snapshot, Targets, Task, Torques
from contactlab.naming import module_hooks

__all__ = [
    "ActionMap", "Controls", "Env", "LearningError", "Noise", "Snapshot", "Targets", "Task", "Torques", "VectorEnv",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
