"""The clock that limits of time are measured by, and Ctrl-C heard while compiled code works.

Compiled code, ours as that of libraries, hears no signal. What may take long in one piece is therefore done on a thread
of its own (`heard`), while the one that asked waits and hears Ctrl-C at once. What it leaves behind ends at its next
look at the clock.
"""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Between two looks at the work of another thread [s].
_LOOK = 0.05
# What the end of the program waits for code that must not be cut off [s].
_PATIENCE = 15.0


class GivenUp(BaseException):
    """Nobody waits any more for what this thread does."""


class _Own(threading.local):
    """Of each thread: seconds that others worked for it, and whether somebody waits for it."""

    elsewhere = 0.0
    given_up: threading.Event | None = None


_own = _Own()


def processor_seconds() -> float:
    """Seconds of the processor that this thread has taken, with those taken for it; every limit is measured by it.

    Whoever works long asks now and then. A `GivenUp` where nobody waits any more.
    """
    if _own.given_up is not None and _own.given_up.is_set():
        raise GivenUp
    return time.thread_time() + _own.elsewhere


def heard(work: Callable[[], T], seconds: float | None = None, *, ends: bool = False) -> T:
    """Return what ``work`` does, on a thread of its own while this one hears Ctrl-C; it has this one's context.

    On a thread other than the main one, which hears none, it is done at once, but where it may take ``seconds`` of the
    clock at most: a `TimeoutError` after that. ``ends``: it breaks where the program ends under it, which therefore
    bids it end and waits a little.
    """
    if seconds is None and threading.current_thread() is not threading.main_thread():
        return work()
    context, given_up, done = contextvars.copy_context(), threading.Event(), threading.Event()
    found: list[T] = []
    failed: list[BaseException] = []
    spent = [0.0]

    def run() -> None:
        _own.given_up = given_up
        try:
            found.append(context.run(work))
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            failed.append(error)
        finally:
            spent[0] = time.thread_time() + _own.elsewhere
            done.set()

    # A daemon: the end of the program does not wait for compiled code that nobody asks for.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not done.wait(_LOOK):
            processor_seconds()  # this one may be waited for itself
            if end is not None and time.monotonic() > end:
                raise TimeoutError
    finally:
        given_up.set()
        if ends and not done.is_set():
            atexit.register(_end, thread)
        _own.elsewhere += spent[0] if done.is_set() or seconds is None else seconds
    if failed:
        raise failed.pop()
    return found.pop()


def _end(thread: threading.Thread) -> None:
    """Bid a thread end, and wait for it."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(GivenUp))
        thread.join(_PATIENCE)
