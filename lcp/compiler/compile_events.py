"""Events of a compilation: it is announced, counted and timed, and starts waiting functions.

numba sends these events only for compilations, not for kernels read from disk.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "CompilationCounter",
    "announce_compilations",
    "compiling",
    "compilation_seconds",
    "count_as_waiting",
    "count_compilations",
    "on_first_compilation",
]

# The message at the first compilation of a process. Kernels read from disk need none. A world or call of a new kind is
# compiled once per machine.
_words = [
    "compiling kernels that are new to this machine: up to half a minute, once for each kind of world "
    "(contactlab warmup compiles all ahead)"
]

# Compilations in progress, nested: numba's lock admits one compiling thread at a time.
_begun: list[object] = []


class _Waited(threading.local):
    seconds = 0.0


_waited = _Waited()

# Functions to be called at the next compilation.
_actions: list[Callable[[], object]] = []


class CompilationCounter:
    """Counter of the compilations so far.

    Attributes
    ----------
    compiled
        Kernels compiled in this process since the count began, by any package, without kernels loaded from disk.
    """

    def __init__(self) -> None:
        self.compiled = 0


@contextlib.contextmanager
def count_compilations() -> Iterator[CompilationCounter]:
    """Count the kernels compiled within the block, whose time a measurement must exclude."""
    from numba.core import event

    watch = CompilationCounter()
    with event.install_recorder("numba:compile") as recorder:
        try:
            yield watch
        finally:
            watch.compiled = sum(1 for _, seen in recorder.buffer if seen.is_start)


@contextlib.contextmanager
def on_first_compilation(action: Callable[[], object]) -> Iterator[None]:
    """Call ``action`` at the first compilation within the block, if the cache does not make compilation unnecessary."""
    _actions.append(action)
    try:
        yield
    finally:
        if action in _actions:
            _actions.remove(action)


@functools.cache
def announce_compilations() -> None:
    """Register the announcement of compilations of kernels, at the first call."""
    from numba.core import event

    class Announcer(event.Listener):
        def on_start(self, event: Any) -> None:
            _begun.append(event)
            if hasattr(event.data["dispatcher"], "is_kernel"):
                compilation_begins()

        def on_end(self, event: Any) -> None:
            _begun.pop()

    event.register("numba:compile", Announcer())


def compiling() -> bool:
    """Return True if this process compiles at present."""
    return bool(_begun)


def compilation_seconds() -> float:
    """Return the seconds for which this thread has waited for kernels, compiled or read; timings exclude them."""
    return _waited.seconds


@contextlib.contextmanager
def count_as_waiting() -> Iterator[None]:
    """Count the block as time in which this thread waits for a kernel."""
    began = time.perf_counter()
    try:
        yield
    finally:
        _waited.seconds += time.perf_counter() - began


def compilation_begins() -> None:
    """Call functions that wait for a compilation, and print the reason for the delay once per process."""
    while _actions:
        _actions.pop()()
    _say()


def _say() -> None:
    # Each compiling thread calls this; only the first one finds the message.
    with contextlib.suppress(IndexError):
        print(f"contactlab: {_words.pop()} ...", file=sys.stderr, flush=True)
