"""Whether kernels were compiled while something ran: what a clock must not count.

Not a kernel; it stands here because it knows numba, as `lcp.kernels` alone does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CompileWatch", "watch_compilation"]


class CompileWatch:
    """What was seen so far.

    Attributes
    ----------
    compiled
        Kernels compiled in this process since the watch began, by whatever package; those loaded from disk not counted.
    """

    def __init__(self) -> None:
        self.compiled = 0


@contextmanager
def watch_compilation() -> Iterator[CompileWatch]:
    """Count kernels compiled within the block."""
    from numba.core import event

    watch = CompileWatch()
    with event.install_recorder("numba:compile") as recorder:
        try:
            yield watch
        finally:
            watch.compiled = sum(1 for _, seen in recorder.buffer if seen.is_start)
