"""Replays of recordings. Needs the extra `viz` (viser); nothing heavy is imported before a replay is shown."""

from __future__ import annotations

from contactlab.viewer.html_replay import write_html_replay
from contactlab.viewer.live_replay import serve_replay

__all__ = ["serve_replay", "write_html_replay"]
