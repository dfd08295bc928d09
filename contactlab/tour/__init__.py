"""Six interactive scenes in the browser, each with its twenty lines of code; `contactlab tour`.

Needs the extra `viz` (viser). The server listens only at 127.0.0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.tour.guide import TourPanel, tour, write_replays
from contactlab.tour.scenes import SCENES, Slider, TourScene

__all__ = ["SCENES", "Slider", "TourPanel", "TourScene", "tour", "write_replays"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
