"""Elements of a picture of a world, for any drawing library: solids, ground, arrows, colours, the states to show.

This package does not depend on a drawing library. `contactlab.viewer` (browser) and `contactlab.plotting` (images) use
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.contact.shapes import SurfaceMesh
from contactlab.drawing.film import (
    Arrows,
    ForceScale,
    Playable,
    Playback,
    Readout,
    frame_indices,
    playback_of,
    state_at,
)
from contactlab.drawing.parts import Part, solid_of, visual_meshes
from contactlab.drawing.stage import Camera, Ground, SceneGeometry
from contactlab.naming import module_hooks

__all__ = [
    "Arrows", "Camera", "ForceScale", "Ground", "Part", "Playable", "Playback", "Readout", "SceneGeometry",
    "SurfaceMesh", "frame_indices", "playback_of", "solid_of", "state_at", "visual_meshes",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
