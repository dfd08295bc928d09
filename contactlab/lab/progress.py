"""Progress of a long command: a bar on a terminal with rich, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from lcp.compiler import compiling

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress:
    """Context manager that says what is being done; ``update(done, total)`` may be called as often as one likes.

    Written to standard error: standard output carries results. Without a terminal, or without rich (extra `viz`),
    a line is written each quarter of the way and at most every ten seconds in between.
    """

    interval = 10.0

    def __init__(self, label: str, unit: str = "") -> None:
        self._label = label
        self._unit = f" {unit}" if unit else ""
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._quarter = 0
        self._started = self._last = time.monotonic()

    def __enter__(self) -> Progress:
        self._started = self._last = time.monotonic()
        if sys.stderr.isatty():
            self._bar = _rich_bar()
            if self._bar is not None:
                self._task = self._bar.add_task(self._label, total=None)
                self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float) -> None:
        """Say how far the work is."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        now = time.monotonic()
        quarter = int(4 * done / total) if total > 0 else 4
        if quarter > self._quarter or now - self._last >= self.interval:
            self._quarter, self._last = quarter, now
            line = f"{self._label}: {done:g} of {total:g}{self._unit}, {now - self._started:.1f} s"
            print(line, file=sys.stderr, flush=True)


def _rich_bar() -> RichProgress | None:
    """Return a bar on standard error, or None without rich; it says so while the work waits for the compiler."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text
    except ImportError:
        return None

    class What(TextColumn):
        def render(self, task: Any) -> Text:
            return Text("compiling") if compiling() else super().render(task)

    columns = What("{task.description}"), BarColumn(), MofNCompleteColumn()
    return RichProgress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))
