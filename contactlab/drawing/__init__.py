"""Elements of a picture of a world, whoever draws it: solids, ground, arrows, colours, the states to show.

Nothing here knows a drawing library. `contactlab.viewer` (browser) and `contactlab.plotting` (paper) both draw from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.contact.shapes import Solid
from contactlab.drawing.camera import Camera
from contactlab.drawing.film import Arrows, Film, Filmed, ForceScale, Readout, film_of, shown_steps, state_at
from contactlab.drawing.parts import Part, looks_of, solid_of
from contactlab.drawing.stage import Ground, Stage
from contactlab.naming import doors

__all__ = [
    "Arrows", "Camera", "Film", "Filmed", "ForceScale", "Ground", "Part", "Readout", "Solid", "Stage", "film_of",
    "looks_of", "shown_steps", "solid_of", "state_at",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = doors(__name__, __all__, {})
