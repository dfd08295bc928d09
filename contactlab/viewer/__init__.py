"""Worlds and recordings in the browser. Needs the extra `viz` (viser); nothing heavy is imported before it is used."""

from __future__ import annotations

from contactlab.viewer.html_replay import write_html_replay
from contactlab.viewer.live import Live, live
from contactlab.viewer.replay import show

__all__ = ["Live", "live", "show", "write_html_replay"]
