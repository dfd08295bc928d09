"""Progress of a long command."""

from __future__ import annotations

from contactlab.lab.progress import Progress

__all__ = ["Progress"]
