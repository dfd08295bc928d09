"""Elements of a picture of a world, whoever draws it: solids, ground, arrows, colours, the states to show.

Nothing here knows a drawing library. `contactlab.viewer` (browser) and `contactlab.plotting` (paper) both draw from it.
"""

from __future__ import annotations

from contactlab.contact.shapes import Solid
from contactlab.drawing.arrows import Arrows, ForceScale
from contactlab.drawing.camera import Camera
from contactlab.drawing.film import Film, Filmed, film_of, shown_steps, state_at
from contactlab.drawing.looks import looks_of
from contactlab.drawing.parts import Part, solid_of
from contactlab.drawing.readout import Readout
from contactlab.drawing.stage import Ground, Stage

__all__ = [
    "Arrows",
    "Camera",
    "Film",
    "Filmed",
    "ForceScale",
    "Ground",
    "Part",
    "Readout",
    "Solid",
    "Stage",
    "film_of",
    "looks_of",
    "shown_steps",
    "solid_of",
    "state_at",
]
