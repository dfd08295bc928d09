"""Scenes from TOML files."""

from __future__ import annotations

from contactlab.simulation.scene.loading import load_scene
from contactlab.simulation.scene.parsing import Scene
from contactlab.simulation.scene.table import SceneError

__all__ = ["Scene", "SceneError", "load_scene"]
