"""What a sweep leaves to do for a worker of a cluster: hand the task to a child process."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict
from typing import Any

import contactlab
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.functions import FunctionName
from contactlab.lab.sweeps.worker import Worker

MOST_ENDED = 1000

# Of this process, which outlives a sweep: child processes that wait for their next task, and those at work, by run.
_idle: dict[str, list[Worker]] = {}
_busy: dict[str, list[Worker]] = {}
_ended: deque[str] = deque(maxlen=MOST_ENDED)
_lock = threading.Lock()


def run_remote(
    run: str, version: str, function: dict[str, str], text: str, time_limit: float | None, retries: int
) -> dict[str, Any]:
    """Run one task in a child process, kept for the next one of the same ``run``; return the fields of an `Answer`.

    ``version`` is that of contactlab where the sweep was begun: another one here might compute other rows. ``function``
    holds the fields of a `FunctionName`. A `SweepError`: it cannot be loaded here, or the versions differ.
    """
    if version != contactlab.__version__:
        raise SweepError(f"a worker has contactlab {contactlab.__version__}, the sweep was begun with {version}")
    with _lock:
        waiting = _idle.get(run)
        worker = waiting.pop() if waiting else Worker(FunctionName(**function), retries)
        if run in _ended:
            worker.kill()
        _busy.setdefault(run, []).append(worker)
    try:
        return asdict(worker.run(text, time_limit))
    finally:
        with _lock:
            _busy[run].remove(worker)
            ended = run in _ended
            if not ended:
                _idle.setdefault(run, []).append(worker)
            elif not _busy[run]:
                del _busy[run]
        if ended:
            worker.close()


def end_run(run: str) -> None:
    """End the child processes of a run: it is over, or given up."""
    with _lock:
        _ended.append(run)
        idle, busy = _idle.pop(run, []), list(_busy.get(run, ()))
        if not busy:
            _busy.pop(run, None)
    for worker in busy:
        worker.kill()
    for worker in idle:
        worker.close()
