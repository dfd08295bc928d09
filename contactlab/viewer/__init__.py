"""Worlds and recordings in the browser. Needs the extra `viz` (viser); heavy libraries are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.viewer.film_view import FrameSource, Live, PlaybackView, live, show, write_html_replay, write_page
from contactlab.viewer.scene import aim_camera, serving

__all__ = [
    "FrameSource",
    "PlaybackView",
    "Live",
    "aim_camera",
    "live",
    "serving",
    "show",
    "write_html_replay",
    "write_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})
