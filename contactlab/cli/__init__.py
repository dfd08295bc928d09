"""The command line: one file per command, `argparse` only, heavy libraries imported when a command runs."""

from __future__ import annotations

from contactlab.cli.main import main

__all__ = ["main"]
