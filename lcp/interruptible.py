"""Run compiled code in worker threads so that Ctrl-C works, and measure time limits in CPU seconds.

Compiled code, of this package or of a library, handles no signals. What may take long in one piece is therefore done on
a thread of its own (`run_interruptibly`), while the one that asked waits and hears Ctrl-C at once. What it leaves
behind ends at its next look at the clock.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import ctypes
import functools
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

#: Between two looks at the work of another thread [s].
POLL_SECONDS = 0.05
# What the end of the program waits for code that must not be cut off [s].
_EXIT_WAIT_SECONDS = 15.0


class Cancelled(BaseException):
    """Raised inside a worker thread whose caller no longer waits."""


class _ThreadState(threading.local):
    """Of each thread: seconds that others worked for it, and whether somebody waits for it."""

    elsewhere = 0.0
    given_up: threading.Event | None = None


_thread_state = _ThreadState()


def cpu_seconds() -> float:
    """Seconds of the processor that this thread has taken, with those taken for it; every limit is measured by it.

    Long computations call it now and then. Raises `Cancelled` if no thread waits for this one any more.
    """
    if _thread_state.given_up is not None and _thread_state.given_up.is_set():
        raise Cancelled
    return time.thread_time() + _thread_state.elsewhere


def run_interruptibly(work: Callable[[], T], seconds: float | None = None, *, ends: bool = False) -> T:
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
        _thread_state.given_up = given_up
        try:
            found.append(context.run(work))
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            failed.append(error)
        finally:
            spent[0] = time.thread_time() + _thread_state.elsewhere
            done.set()

    # A daemon: the end of the program does not wait for compiled code that nobody asks for.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not done.wait(POLL_SECONDS):
            cpu_seconds()  # this one may be waited for itself
            if end is not None and time.monotonic() > end:
                raise TimeoutError
    finally:
        given_up.set()
        if ends and not done.is_set():
            atexit.register(_end, thread)
        _thread_state.elsewhere += spent[0] if done.is_set() or seconds is None else seconds
    if failed:
        raise failed.pop()
    return found.pop()


def interruptible(function: F) -> F:
    """Let a function be done as by `run_interruptibly`."""

    @functools.wraps(function)
    def done(*arguments: Any, **named: Any) -> Any:
        return run_interruptibly(lambda: function(*arguments, **named))

    return done  # type: ignore[return-value]


def available_cpus() -> int:
    """Number of processors this process may use; not every system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_threads(work: Callable[[int], T], count: int, threads: int) -> Iterator[tuple[int, T]]:
    """Yield i and what ``work`` does with it, for all i below ``count``, in the order of their ends.

    What it raises goes through. With Ctrl-C, and wherever else the caller leaves, none is begun any more, and those
    under way, which nobody waits for, end at their next look at the clock.
    """
    if threads <= 1 or count <= 1:
        yield from ((i, work(i)) for i in range(count))
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    given_up = threading.Event()
    ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()

    def begin() -> None:
        _thread_state.given_up = given_up

    pool = ThreadPoolExecutor(min(threads, count), initializer=begin)
    try:
        numbers = {pool.submit(work, i): i for i in range(count)}
        for future in numbers:
            future.add_done_callback(ended.put)
        while numbers:
            cpu_seconds()
            with contextlib.suppress(queue.Empty):
                future = ended.get(timeout=POLL_SECONDS)
                yield numbers.pop(future), future.result()
    finally:
        given_up.set()
        pool.shutdown(wait=False, cancel_futures=True)


class _WorkerThread:
    """A thread that waits for work, does it and waits again; locks hand it over in some microseconds."""

    def __init__(self) -> None:
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        # What is being done, None for nothing, with which it ends; what it raised. In a list, so that the thread does
        # not keep this alive.
        self._work: list[Callable[[], None] | None] = [None]
        self._raised: list[BaseException] = []
        # A daemon: it waits for ever where nobody ends it before the end of the program.
        threading.Thread(target=_serve, args=(self._go, self._done, self._work, self._raised), daemon=True).start()
        weakref.finalize(self, _let_go, self._go)

    def begin(self, work: Callable[[], None]) -> None:
        """Begin it; what was begun before has ended."""
        self._work[0] = work
        self._go.release()

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, or does within so many seconds."""
        # The lock only wakes: Ctrl-C may come between the taking of a lock and whatever would be noted of it.
        if self._work[0] is not None:
            self._done.acquire(timeout=seconds)
        return self._work[0] is None

    def raised(self) -> list[BaseException]:
        """Take what it raised."""
        found, self._raised[:] = list(self._raised), []
        return found


def _let_go(lock: threading.Lock) -> None:
    """Release a lock, which at the end of the program may be free."""
    if lock.locked():
        lock.release()


def _serve(
    go: threading.Lock,
    done: threading.Lock,
    given: list[Callable[[], None] | None],
    raised: list[BaseException],
) -> None:
    while True:
        go.acquire()
        work = given[0]
        if work is None:
            return
        raised.clear()
        try:
            work()
        except BaseException as error:  # noqa: BLE001  handed on
            raised.append(error)
        given[0] = work = None
        # Nobody else releases it; it is free already where nobody waited the last time.
        if done.locked():
            done.release()


def _run_member(work: Callable[[int], None], number: int, given_up: threading.Event) -> None:
    """Do a member's part of what others may give up."""
    _thread_state.given_up = given_up
    try:
        work(number)
    finally:
        _thread_state.given_up = None


class ThreadTeam:
    """Threads that stay, for one piece of work after the other: to begin them takes as long as many a piece.

    Parameters
    ----------
    threads
        How many work, the one that asks included.
    """

    def __init__(self, threads: int) -> None:
        self._others, self._process = threads - 1, 0
        self._of_this_process()

    def _of_this_process(self) -> None:
        """Have members: of a process that was forked only the thread that asked for it is left."""
        if self._process != os.getpid():
            self._members = [_WorkerThread() for _ in range(self._others)]
            self._given_up, self._process = threading.Event(), os.getpid()

    def work(self, work: Callable[[int], None], threads: int | None = None) -> None:
        """Do the same work on every thread, given its number, and on so many at most; return when all are done.

        What it raises goes through. With Ctrl-C, and whatever else ends it here, it ends elsewhere at the next look at
        the clock, which is waited for: whatever it works on is nobody's afterwards.
        """
        self._of_this_process()
        # Ctrl-C twice leaves some at work.
        self._wait(self._members)
        members = self._members if threads is None else self._members[: threads - 1]
        try:
            self.begin(work, len(members) + 1)
            work(0)
            self._wait(members)
        except BaseException:
            self._give_up()
            raise
        self._hand_on()

    def begin(self, work: Callable[[int], None], threads: int) -> None:
        """Start the same work on the other threads that are free, without waiting; see `end`."""
        self._of_this_process()
        for number, member in enumerate(self._members[: threads - 1], 1):
            if member.ended(0.0):
                member.begin(functools.partial(_run_member, work, number, self._given_up))

    def end(self, given_up: bool = False) -> None:
        """Wait until what was begun has ended, which it does by itself, or at its next look at the clock."""
        self._of_this_process()
        if given_up:
            self._give_up()
            return
        self._wait(self._members)
        self._hand_on()

    def _hand_on(self) -> None:
        """Raise what the first of them raised."""
        for error in [error for member in self._members for error in member.raised()][:1]:
            raise error

    def _give_up(self) -> None:
        """Bid all end, and wait for it, whatever comes; nobody asks what they raise."""
        given_up, self._given_up = self._given_up, threading.Event()
        given_up.set()
        while not all(member.ended(POLL_SECONDS) for member in self._members):
            pass
        for member in self._members:
            member.raised()

    def _wait(self, members: list[_WorkerThread]) -> None:
        """Wait until they have ended."""
        for member in members:
            while not member.ended(POLL_SECONDS):
                cpu_seconds()


class _ThreadTeams(threading.local):
    """Of each thread: of how many its crew is, and the crew."""

    kept: tuple[int, ThreadTeam | None] = (0, None)


_thread_teams = _ThreadTeams()


def thread_team(threads: int) -> ThreadTeam:
    """A crew of at least so many for this thread alone, kept for the next time: threads take 0.1 ms each to begin."""
    size, crew = _thread_teams.kept
    if crew is None or size < threads:
        crew = ThreadTeam(threads)
        _thread_teams.kept = threads, crew
    return crew


def _end(thread: threading.Thread) -> None:
    """Bid a thread end, and wait for it."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled))
        thread.join(_EXIT_WAIT_SECONDS)
