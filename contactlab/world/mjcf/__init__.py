"""MuJoCo files (MJCF) as worlds; mujoco's own reader reads them."""

from __future__ import annotations

from contactlab.world.mjcf.loading import MjcfScene, add_compiled, compile_mjcf, load_mjcf, warn_of
from contactlab.world.mjcf.robot import ActuatorTerm, Keyframe, MjcfActuator, MjcfRobot
from contactlab.world.mjcf.source import MjcfError, MjcfWarning

__all__ = [
    "ActuatorTerm", "Keyframe", "MjcfActuator", "MjcfError", "MjcfRobot", "MjcfScene", "MjcfWarning", "add_compiled",
    "compile_mjcf", "load_mjcf", "warn_of",
]  # fmt: skip
