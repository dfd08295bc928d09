"""Replays of recordings. Needs the extra `viz` (viser); nothing heavy is imported before a replay is written."""

from __future__ import annotations

from contactlab.viewer.html_replay import write_html_replay

__all__ = ["write_html_replay"]
