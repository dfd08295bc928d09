"""Six scenes to touch in the browser, each made by twenty lines that are shown; `contactlab tour`.

Needs the extra `viz` (viser). The server listens at 127.0.0.1 alone.
"""

from __future__ import annotations

from contactlab.tour.guide import SCENES, Guide, tour, write_replays
from contactlab.tour.scene import Scene, Slider

__all__ = ["SCENES", "Guide", "Scene", "Slider", "tour", "write_replays"]
