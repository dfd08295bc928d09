"""Scenes from TOML files."""

from __future__ import annotations

from contactlab.simulation.scene.errors import SceneError
from contactlab.simulation.scene.loading import Scene, load_scene

__all__ = ["Scene", "SceneError", "load_scene"]
