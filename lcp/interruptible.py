"""Run compiled code in worker threads so that Ctrl-C works, and measure time limits in CPU seconds.

Compiled code, of this package or of a library, handles no signals. Therefore work that can take long runs in a worker
thread (`run_interruptibly`), while the caller waits and handles Ctrl-C immediately. Abandoned work ends when it next
reads the clock.
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

#: Seconds between two polls of another thread's work.
POLL_SECONDS = 0.05
# Seconds that the exit of the program waits for code that must not be cut off.
_EXIT_WAIT_SECONDS = 15.0


class Cancelled(BaseException):
    """Raised inside a worker thread whose caller no longer waits."""


class _ThreadState(threading.local):
    """State of a thread: CPU seconds of others that worked for it, whether its caller still waits, and its team."""

    elsewhere = 0.0
    given_up: threading.Event | None = None
    team: tuple[int, ThreadTeam | None] = (0, None)


_thread_state = _ThreadState()


def raise_if_cancelled() -> None:
    """Raise `Cancelled` if no thread waits for this one any more; long computations call it now and then."""
    given_up = _thread_state.given_up
    if given_up is not None and given_up.is_set():
        raise Cancelled


def cpu_seconds() -> float:
    """Return the CPU seconds of this thread and of the threads that worked for it; all time limits use them.

    Raises `Cancelled` as `raise_if_cancelled`, which takes less time than the clock.
    """
    raise_if_cancelled()
    return time.thread_time() + _thread_state.elsewhere


def run_interruptibly(work: Callable[[], T], seconds: float | None = None, *, ends: bool = False) -> T:
    """Return the result of ``work()``, run in a worker thread in this thread's context while this one handles Ctrl-C.

    A thread other than the main one does not handle Ctrl-C, so it runs the work itself, unless ``seconds`` limits the
    time: then a `TimeoutError` is raised after that. ``ends``: the work fails if the program exits during it; so the
    exit cancels it and waits a little.
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

    # A daemon thread: the exit of the program does not wait for compiled code that nobody needs.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not done.wait(POLL_SECONDS):
            raise_if_cancelled()
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
    """Decorate a function to run by `run_interruptibly`."""

    @functools.wraps(function)
    def done(*arguments: Any, **named: Any) -> Any:
        return run_interruptibly(lambda: function(*arguments, **named))

    return done  # type: ignore[return-value]


def available_cpus() -> int:
    """Return the number of processors that this process may use; not every system reports it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_threads(work: Callable[[int], T], count: int, threads: int) -> Iterator[tuple[int, T]]:
    """Yield i and the result of ``work(i)``, for all i below ``count``, in the order of completion.

    Its exceptions are raised here. After Ctrl-C, and if the caller stops the iteration, no work is started any more,
    and running work ends when it next reads the clock.
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
            raise_if_cancelled()
            with contextlib.suppress(queue.Empty):
                future = ended.get(timeout=POLL_SECONDS)
                yield numbers.pop(future), future.result()
    finally:
        given_up.set()
        pool.shutdown(wait=False, cancel_futures=True)


class _WorkerThread:
    """Thread that waits for work, does it and waits again; locks hand it over in some microseconds."""

    def __init__(self) -> None:
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        # The present work (None for no work) and its exception. They are in a list, so that the thread keeps no
        # reference to this object.
        self._work: list[Callable[[], None] | None] = [None]
        self._raised: list[BaseException] = []
        # A daemon thread: without `_end` it waits until the program exits.
        threading.Thread(target=_serve, args=(self._go, self._done, self._work, self._raised), daemon=True).start()
        weakref.finalize(self, _let_go, self._go)

    def begin(self, work: Callable[[], None]) -> None:
        """Start the work; the previous work has ended."""
        self._work[0] = work
        self._go.release()

    def ended(self, seconds: float) -> bool:
        """Return True if the work has ended, or ends within these seconds."""
        # The lock only wakes: Ctrl-C can come between acquiring a lock and storing a note about it.
        if self._work[0] is not None:
            self._done.acquire(timeout=seconds)
        return self._work[0] is None

    def raised(self) -> list[BaseException]:
        """Return the exception of the work, and forget it."""
        found, self._raised[:] = list(self._raised), []
        return found


def _let_go(lock: threading.Lock) -> None:
    """Release a lock, which can be free already at the exit of the program."""
    if lock.locked():
        lock.release()


def _serve(
    go: threading.Lock,
    done: threading.Lock,
    given: list[Callable[[], None] | None],
    raised: list[BaseException],
) -> None:
    """Run the functions in ``given`` one after another, each after ``go``; None ends the thread."""
    while True:
        go.acquire()
        work = given[0]
        if work is None:
            return
        raised.clear()
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised by the caller
            raised.append(error)
        given[0] = work = None
        # No other thread releases it; it is already free if no thread waited the last time.
        if done.locked():
            done.release()


def _run_member(work: Callable[[int], None], number: int, given_up: threading.Event) -> None:
    """Do one member's share of work that others can cancel."""
    _thread_state.given_up = given_up
    try:
        work(number)
    finally:
        _thread_state.given_up = None


class ThreadTeam:
    """Threads that are reused for successive pieces of work, because starting a thread can take as long as the work.

    Parameters
    ----------
    threads
        How many work, the one that asks included.
    """

    def __init__(self, threads: int) -> None:
        self._others, self._process = threads - 1, 0
        self._of_this_process()

    def _of_this_process(self) -> None:
        """Create the members; in a forked process only the calling thread is left."""
        if self._process != os.getpid():
            self._members = [_WorkerThread() for _ in range(self._others)]
            self._given_up, self._process = threading.Event(), os.getpid()

    def work(self, work: Callable[[int], None], threads: int | None = None) -> None:
        """Do the same work on at most this many threads, called with their numbers; return when all are done.

        Exceptions are raised here. After Ctrl-C or an exception, the other threads are cancelled and end when they next
        read the clock, and this call waits for them. Their data are then not used any more.
        """
        self._of_this_process()
        # A second Ctrl-C leaves some threads at work.
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
        """Start the same work on the other free threads, without waiting; see `end`."""
        self._of_this_process()
        for number, member in enumerate(self._members[: threads - 1], 1):
            if member.ended(0.0):
                member.begin(functools.partial(_run_member, work, number, self._given_up))

    def end(self, given_up: bool = False) -> None:
        """Wait for the started work; it ends by itself, or when it next reads the clock."""
        self._of_this_process()
        if given_up:
            self._give_up()
            return
        self._wait(self._members)
        self._hand_on()

    def _hand_on(self) -> None:
        """Raise the first exception of the members."""
        for error in [error for member in self._members for error in member.raised()][:1]:
            raise error

    def _give_up(self) -> None:
        """Cancel all members and wait for them; their exceptions are ignored."""
        given_up, self._given_up = self._given_up, threading.Event()
        given_up.set()
        while not all(member.ended(POLL_SECONDS) for member in self._members):
            pass
        for member in self._members:
            member.raised()

    def _wait(self, members: list[_WorkerThread]) -> None:
        """Wait until all members have ended."""
        for member in members:
            while not member.ended(POLL_SECONDS):
                raise_if_cancelled()


def thread_team(threads: int) -> ThreadTeam:
    """Return a team of at least this size for this thread; it is reused, because starting a thread takes 0.1 ms."""
    size, crew = _thread_state.team
    if crew is None or size < threads:
        crew = ThreadTeam(threads)
        _thread_state.team = threads, crew
    return crew


def _end(thread: threading.Thread) -> None:
    """Tell a thread to end, and wait for it."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled))
        thread.join(_EXIT_WAIT_SECONDS)
