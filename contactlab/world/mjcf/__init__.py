"""MuJoCo files (MJCF), read by mujoco's own reader, as worlds."""

from __future__ import annotations

from contactlab.world.mjcf.errors import MjcfError, MjcfWarning
from contactlab.world.mjcf.loading import MjcfScene, load_mjcf, warn_of

__all__ = ["MjcfError", "MjcfScene", "MjcfWarning", "load_mjcf", "warn_of"]
