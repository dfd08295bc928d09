"""Events of a compilation: it is announced, counted, timed, and starts waiting functions.

numba's events come from compilations alone, not from kernels taken from disk.
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

# What is said at the first compilation of a process. What is taken from disk is none; a world or call of a kind that
# this machine has not met before is, and for that kind it is once per machine.
_words = [
    "compiling kernels that are new to this machine: up to half a minute, once for each kind of world "
    "(contactlab warmup compiles all ahead)"
]

# Compilations in progress, one within another: numba's lock lets one thread compile at a time.
_begun: list[object] = []


class _Waited(threading.local):
    seconds = 0.0


_waited = _Waited()

# What is to be done at the next compilation.
_actions: list[Callable[[], object]] = []


class CompilationCounter:
    """Counts of the compilations so far.

    Attributes
    ----------
    compiled
        Kernels compiled in this process since the watch began, by whatever package; those loaded from disk not counted.
    """

    def __init__(self) -> None:
        self.compiled = 0


@contextlib.contextmanager
def count_compilations() -> Iterator[CompilationCounter]:
    """Count of the kernels compiled within the block: what a clock must not count."""
    from numba.core import event

    watch = CompilationCounter()
    with event.install_recorder("numba:compile") as recorder:
        try:
            yield watch
        finally:
            watch.compiled = sum(1 for _, seen in recorder.buffer if seen.is_start)


@contextlib.contextmanager
def on_first_compilation(action: Callable[[], object]) -> Iterator[None]:
    """Call ``action`` at the first compilation within the block, if there is any that the cache does not spare."""
    _actions.append(action)
    try:
        yield
    finally:
        if action in _actions:
            _actions.remove(action)


@functools.cache
def announce_compilations() -> None:
    """Listen to compilations of kernels, from the first call on."""
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
    """Whether this process compiles right now."""
    return bool(_begun)


def compilation_seconds() -> float:
    """Seconds for which this thread has waited for kernels, compiled or read: what a clock of its steps leaves out."""
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
    """Do what waits for a compilation, and say once per process what takes so long."""
    while _actions:
        _actions.pop()()
    _say()


def _say() -> None:
    # Each thread that compiles comes here; only the first one finds the word.
    with contextlib.suppress(IndexError):
        print(f"contactlab: {_words.pop()} ...", file=sys.stderr, flush=True)
