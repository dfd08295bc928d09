"""Tasks on a Dask cluster that is already running.

Nothing of the tasks' arithmetic changes: a worker of the cluster hands each task to a child process of its own, as a
sweep on one machine does, so that a task which crashes or hangs takes no worker of the cluster with it, and the time
limit holds against compiled code that never returns. A task whose worker dies is given to another by the scheduler.

The tasks are futures of dask.distributed, which joblib's Dask backend would make of them, too. The backend reports
results to `joblib.Parallel` and no errors: a call that the scheduler gives up, because more workers died under it than
it allows, is waited for for ever (seen with joblib 1.6.0). Here it is a row ``lost``, and the sweep continues.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict
from typing import Any

import contactlab
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.tasks import FunctionName, SweepTask, TaskResult
from contactlab.lab.sweeps.worker import ProcessWorker

CONNECT_SECONDS = 15.0
LOOK_SECONDS = 5.0  # between two looks at whether there are workers at all
DESERTED_SECONDS = 60.0  # a cluster without any worker for so long will not get one


def run_on_cluster(
    function: FunctionName, items: Sequence[SweepTask], address: str, time_limit: float | None, retries: int
) -> Iterator[tuple[SweepTask, TaskResult]]:
    """Yield every task with its answer, as they are finished.

    A `SweepError`: no scheduler at the address, no workers, or workers without this contactlab or the function.
    """
    try:
        from distributed import Client
        from distributed.scheduler import KilledWorker
    except ModuleNotFoundError as error:
        raise SweepError(f"a cluster needs {error.name}: pip install '.[lab]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(f"no Dask scheduler answers at {address}: {error}") from error
    run = uuid.uuid4().hex
    finished: queue.SimpleQueue[tuple[SweepTask, Any]] = queue.SimpleQueue()
    deaths = dict.fromkeys((item.key for item in items), 0)
    futures: dict[str, Any] = {}

    def submit(item: SweepTask) -> None:
        given = run, contactlab.__version__, asdict(function), item.text, time_limit, retries
        key = f"contactlab-sweep-{run}-{item.key}-{deaths[item.key]}"
        future = client.submit(run_remote, *given, key=key, pure=False)
        futures[item.key] = future
        future.add_done_callback(lambda ended: finished.put((item, ended)))

    waiting = len(items)
    try:
        for item in items:
            submit(item)
        while waiting:
            item, future = _next(finished, client, address)
            try:
                answer = TaskResult(**future.result(timeout=LOOK_SECONDS))
            except KilledWorker as error:
                # The scheduler has given it to that many workers, and all of them died.
                deaths[item.key] += error.allowed_failures + 1
                if deaths[item.key] <= retries:
                    submit(item)
                    continue
                last = error.last_worker.address
                answer = TaskResult(
                    "lost", {}, f"the worker died in each of {deaths[item.key]} tries, the last time {last}"
                )
            except TimeoutError:
                # Its worker died with the result, and another computes it again.
                finished.put((item, future))
                _require_workers(client, address)
                continue
            except CancelledError as error:
                raise SweepError(f"the scheduler at {address} dropped the tasks: {error}") from error
            except Exception as error:
                raise SweepError(f"the workers of {address} cannot run the tasks: {error}") from error
            futures.pop(item.key)
            waiting -= 1
            yield item, answer
    finally:
        # Tasks under way cannot be cancelled on a worker; their child processes can be ended.
        client.cancel(list(futures.values()), force=True)
        with contextlib.suppress(OSError, TimeoutError, ValueError, RuntimeError):  # a worker may be gone
            client.run(end_run, run, on_error="ignore")
        client.close()


def _next(finished: queue.SimpleQueue[tuple[SweepTask, Any]], client: Any, address: str) -> tuple[SweepTask, Any]:
    """Return the next future that ended; give up when there is nobody left to end one."""
    while True:
        try:
            return finished.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            _require_workers(client, address)


def _require_workers(client: Any, address: str) -> None:
    """Wait for a worker if there is none, but not for ever."""
    given_up = time.monotonic() + DESERTED_SECONDS
    while True:
        try:
            if client.nthreads():
                return
        except (OSError, TimeoutError, ValueError) as error:
            raise SweepError(f"the scheduler at {address} is gone: {error}") from error
        if time.monotonic() > given_up:
            raise SweepError(f"the cluster at {address} has had no worker for {DESERTED_SECONDS:g} s")
        time.sleep(1.0)


MOST_ENDED = 1000

# Of this process, which outlives a sweep: child processes by run, and those that wait for their next task.
_workers: dict[str, list[ProcessWorker]] = {}
_idle: dict[str, list[ProcessWorker]] = {}
_ended: deque[str] = deque(maxlen=MOST_ENDED)
_lock = threading.Lock()


def run_remote(
    run: str, version: str, function: dict[str, str], text: str, time_limit: float | None, retries: int
) -> dict[str, Any]:
    """Run one task in a child process, kept for the next one of the same ``run``; return the fields of a `TaskResult`.

    ``version`` is that of contactlab where the sweep was begun: another one here might compute other rows. ``function``
    holds the fields of a `FunctionName`. A `SweepError`: it cannot be loaded here, or the versions differ.
    """
    if version != contactlab.__version__:
        raise SweepError(f"a worker has contactlab {contactlab.__version__}, the sweep was begun with {version}")
    with _lock:
        if run in _ended:
            raise SweepError("the sweep has ended")
        idle = _idle.setdefault(run, [])
        if not idle:
            idle.append(ProcessWorker(FunctionName(**function), retries))
            _workers.setdefault(run, []).extend(idle)
        worker = idle.pop()
    try:
        return asdict(worker.run(text, time_limit))
    finally:
        with _lock:
            idle.append(worker)
            ended = run in _ended
        if ended:
            worker.close()


def end_run(run: str) -> None:
    """End the child processes of a run: it is over, or given up."""
    with _lock:
        _ended.append(run)
        idle = list(_idle.pop(run, ()))
        workers = _workers.pop(run, [])
    for worker in workers:
        worker.kill()
    for worker in idle:
        worker.close()
