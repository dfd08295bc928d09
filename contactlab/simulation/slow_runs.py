"""What a run says of itself that takes long and was given no ``progress``: one line of a terminal, gone at its end."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

# Seconds before the first line, and between two of them.
PATIENCE = 5.0
PAUSE = 1.0
# Back to the beginning of the line, which is emptied.
EMPTY = "\r\x1b[K"


def said_of_slow_runs(held: ExitStack, before: int = 0) -> Callable[[int, int], None] | None:
    """Return the ``progress`` of a run that was given none, with so many steps ``before``; None where nobody looks on.

    Written to standard error where that is a terminal, by the main thread of the main process alone: whoever has many
    runs says himself how far they are. The line is taken away at the end, or with what ``held`` holds.
    """
    looked_at = sys.stderr is not None and sys.stderr.isatty()
    alone = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
    if not (looked_at and alone):
        return None
    begun = time.monotonic()
    last = begun + PATIENCE - PAUSE
    shown = False

    def say(text: str) -> None:
        nonlocal shown
        if text or shown:
            print(EMPTY + text, end="", file=sys.stderr, flush=True)
        shown = bool(text)

    def update(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total:
            say("")
        elif now - last >= PAUSE and done > before:
            last = now
            left = (now - begun) * (total - done) / (done - before)
            say(f"simulate: {done} of {total} steps, {now - begun:.0f} s, about {left:.0f} s to go")

    held.callback(say, "")
    return update
