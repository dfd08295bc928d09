"""Tasks on this machine: in this process, or on worker processes, one thread of ours watching each."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence

from contactlab.lab.sweeps.functions import FunctionName, load_function
from contactlab.lab.sweeps.tasks import Answer, Item, attempt
from contactlab.lab.sweeps.worker import ONE_THREAD, Worker


def run_here(function: FunctionName, items: Sequence[Item]) -> Iterator[tuple[Item, Answer]]:
    """Yield every task with its answer, one after the other, in this process, BLAS on one thread as in workers."""
    loaded = load_function(function)
    with _one_blas_thread():
        for item in items:
            yield item, attempt(loaded, item.text)


def _one_blas_thread() -> contextlib.AbstractContextManager[object]:
    """Keep sums from being split otherwise than in workers, where the library that can is there (extra `lab`)."""
    if any(name in os.environ for name in ONE_THREAD):
        return contextlib.nullcontext()  # somebody has decided, for the workers, too
    try:
        # SciPy has a BLAS of its own, which is found once it is loaded.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return contextlib.nullcontext()
    limits: contextlib.AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def run_on_processes(
    function: FunctionName, items: Sequence[Item], jobs: int, time_limit: float | None, retries: int
) -> Iterator[tuple[Item, Answer]]:
    """Yield every task with its answer, as they are finished, from so many processes.

    Closing the iterator ends the processes at once.
    """
    waiting = deque(items)
    finished: queue.SimpleQueue[tuple[Item, Answer] | BaseException] = queue.SimpleQueue()
    workers = [Worker(function, retries) for _ in range(min(jobs, len(items)))]
    stopped = threading.Event()

    def serve(worker: Worker) -> None:
        try:
            while not stopped.is_set():
                try:
                    item = waiting.popleft()
                except IndexError:
                    return
                finished.put((item, worker.run(item.text, time_limit)))
        except BaseException as error:  # noqa: BLE001  raised again where the sweep is waited for
            finished.put(error)
        finally:
            worker.close()

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in items:
            answered = finished.get()
            if isinstance(answered, BaseException):
                raise answered
            yield answered
    finally:
        stopped.set()
        for worker in workers:
            worker.kill()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
