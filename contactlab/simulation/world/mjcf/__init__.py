"""MuJoCo files (MJCF) as worlds; mujoco's own reader reads them."""

from __future__ import annotations

from contactlab.simulation.world.builder import MjcfScene, load_mjcf, load_mjcf_world
from contactlab.simulation.world.mjcf.reading import add_compiled, compile_mjcf, warn_of
from contactlab.simulation.world.mjcf.robot import ActuatorTerm, Keyframe, MjcfActuator, MjcfRobot
from contactlab.simulation.world.mjcf.source import MjcfError, MjcfWarning

__all__ = [
    "ActuatorTerm", "Keyframe", "MjcfActuator", "MjcfError", "MjcfRobot", "MjcfScene", "MjcfWarning", "add_compiled",
    "compile_mjcf", "load_mjcf", "load_mjcf_world", "warn_of",
]  # fmt: skip
