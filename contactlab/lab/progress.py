"""Progress of a long command: a bar on a terminal with rich, otherwise occasional lines."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from lcp.compiler import compiling

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress:
    """Context manager that reports progress; ``update(done, total)`` can be called arbitrarily often.

    It writes to standard error, because standard output is for results. Without a terminal, or without rich (extra
    `viz`), it writes a line at each quarter of the work, and between these at most every ten seconds.
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
        """Report the progress of the work."""
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
    """Return a bar on standard error, or None without rich; it shows when the work waits for the compiler."""
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
