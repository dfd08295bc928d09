"""Sweeps: many independent tasks, each run once: in this process, on all cores, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contactlab.lab.sweeps.grids import SceneGrid, run_scene
from contactlab.lab.sweeps.tasks import (
    WORKER_VARIABLE,
    FunctionName,
    Store,
    SweepError,
    SweepResult,
    SweepTask,
    TaskResult,
    load_function,
    name_of,
    run_task,
    to_sweep_task,
    whole,
)
from contactlab.lab.sweeps.workers import ONE_THREAD, ProcessWorker, run_on_cluster
from lcp.compiler import compiling
from lcp.interruptible import available_cpus, map_threads

__all__ = ["SceneGrid", "SweepError", "SweepResult", "sweep"]


OUTCOMES = ("done", "failed", "timeout", "lost")


def sweep(
    function: Callable[[Any], dict[str, Any]] | SceneGrid,
    tasks: Sequence[Any] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    time_limit: float | None = None,
    retries: int = 2,
    again: Collection[str] = (),
    progress: bool | Callable[[int, int], None] = False,
) -> SweepResult:
    """Run a function on every task and return the rows in the order of the tasks.

    If the function depends only on its task, the rows are equal bit for bit, except for times, wherever they are
    computed. Random numbers must use a seed from the task. BLAS rounds differently with another number of threads.
    Therefore tasks use one thread, in workers and, if `threadpoolctl` is installed, in this process, unless
    ``OMP_NUM_THREADS`` or a similar variable is set.

    Parameters
    ----------
    function
        Function of a task that returns a dict of numbers, strings, booleans, None, and lists of them; NumPy values are
        converted. It is at the top level of a module, or of a script that calls `sweep` under
        ``if __name__ == "__main__":``. Or a `SceneGrid`, a scene over parameters and seeds, which has its own tasks.
    tasks
        Dicts of JSON values; the function gets tuples as lists. Of equal tasks only one is run.
    out
        Folder of the rows: ``rows.jsonl``, one line per task, written as soon as the task is finished, and ``rows.csv``
        at the end. Tasks in the file are not run again, so that a sweep that was interrupted, killed or given more
        tasks continues. Only one sweep at a time can write to a folder.
    jobs
        Number of worker processes; None for one per core. With 1, tasks run in this process, which ends if a task
        crashes; with a ``time_limit`` a single job is a worker process, too.
    cluster
        Address of the scheduler of a running Dask cluster, such as ``tcp://127.0.0.1:8786``, in place of ``jobs``. See
        `contactlab.lab.sweeps.workers`.
    time_limit
        Time limit of a task [s], counted after its worker has loaded the function. The worker process is then killed
        and replaced.
    retries
        Number of further runs of a task whose worker died for external reasons: SIGKILL, SIGTERM or SIGHUP, which come
        from outside or because memory ran out, or a dead machine of a cluster. After any other end of a worker, the
        outcome of the task is ``failed``.
    again
        Outcomes (``failed``, ``timeout``, ``lost``) of rows in the folder whose tasks are run again.
    progress
        True for a bar on standard error, or a function of (finished tasks, all tasks).

    Returns
    -------
    SweepResult
        The rows. A task that raises, crashes, hangs or is lost has a row with this outcome, and does not stop the
        sweep.

    Raises
    ------
    SweepError
        The function or a task cannot be sent to a worker; the folder is in use, damaged or not writable; or the cluster
        is not available.

    Notes
    -----
    Ctrl-C ends the workers immediately and leaves the folder as it is.
    """
    if isinstance(function, SceneGrid):
        if tasks is not None:
            raise SweepError("a SceneGrid has its tasks: give no others")
        tasks, function = function.tasks(), run_scene
    if tasks is None:
        raise SweepError("a function needs tasks")
    _check_arguments(jobs, cluster, time_limit, retries, again)
    name = name_of(function)
    items = [to_sweep_task(name, i, task) for i, task in enumerate(tasks)]
    with contextlib.ExitStack() as stack:
        store = None if out is None else stack.enter_context(Store(Path(out)))
        known = {} if store is None else store.rows
        unique = {item.key: item for item in items}
        left = [item for key, item in unique.items() if key not in known or known[key]["outcome"] in again]
        rows = {key: known[key] for key in unique if key in known}
        answers = stack.enter_context(contextlib.closing(_run_tasks(name, left, jobs, cluster, time_limit, retries)))
        report = _reporter(progress, stack)
        done = len(unique) - len(left)
        report(done, len(unique))
        for item, answer in answers:
            rows[item.key] = _row(item, answer)
            if store is not None:
                store.add(rows[item.key])
            done += 1
            report(done, len(unique))
        ordered = [dict(rows[item.key]) for item in items]
        if store is not None:
            store.finish(ordered)
        return SweepResult(ordered, len(left), None if store is None else store.folder)


def _check_arguments(
    jobs: int | None, cluster: str | None, time_limit: float | None, retries: int, again: Collection[str]
) -> None:
    """Raise a `SweepError` for the first invalid argument of `sweep`."""
    if os.environ.get(WORKER_VARIABLE):
        raise SweepError('a sweep within a worker of a sweep: put the call under if __name__ == "__main__":')
    outcomes_given = not isinstance(again, str) and all(outcome in OUTCOMES for outcome in again)
    for holds, message in (
        (jobs is None or whole(jobs, 1), f"jobs must be a whole number of at least 1, got {jobs!r}"),
        (jobs is None or cluster is None, "give jobs or cluster, not both: the cluster's workers are its own affair"),
        (
            time_limit is None or 0.0 < time_limit < math.inf,
            f"time_limit must be a positive number of seconds, got {time_limit!r}",
        ),
        (whole(retries, 0), f"retries must be a whole number of at least 0, got {retries!r}"),
        (outcomes_given, f"again must hold outcomes, of {', '.join(OUTCOMES)}; got {again!r}"),
    ):
        if not holds:
            raise SweepError(message)


def _run_tasks(
    name: FunctionName,
    items: list[SweepTask],
    jobs: int | None,
    cluster: str | None,
    time_limit: float | None,
    retries: int,
) -> Generator[tuple[SweepTask, TaskResult], None, None]:
    """Run the tasks on a cluster, in this process or in worker processes; yield each with its result."""
    if not items:
        return
    if cluster is not None:
        yield from run_on_cluster(name, items, cluster, time_limit, retries)
    elif jobs == 1 and time_limit is None:
        yield from run_here(name, items)
    else:
        yield from run_on_processes(name, items, jobs or available_cpus(), time_limit, retries)


def _row(item: SweepTask, answer: TaskResult) -> dict[str, Any]:
    """Return the row of a finished task: key, outcome, error, seconds, the entries of the task and the returned values.

    The task's entries are read from its JSON text, like all rows of the folder.
    """
    row: dict[str, Any] = {"key": item.key, "outcome": answer.outcome}
    if answer.outcome != "done":
        row["error"] = answer.error
    row["seconds"] = answer.seconds
    return {**row, **json.loads(item.text), **answer.values}


def _reporter(progress: bool | Callable[[int, int], None], stack: contextlib.ExitStack) -> Callable[[int, int], None]:
    if progress is True:
        return stack.enter_context(Progress("sweeping", "tasks")).update
    return progress if callable(progress) else lambda done, total: None


def run_here(function: FunctionName, items: Sequence[SweepTask]) -> Iterator[tuple[SweepTask, TaskResult]]:
    """Yield every task with its result, in order, in this process, with one BLAS thread as in workers."""
    loaded = load_function(function)
    with _one_blas_thread():
        for item in items:
            yield item, run_task(loaded, item.text)


def _one_blas_thread() -> contextlib.AbstractContextManager[object]:
    """Limit BLAS to one thread, as in workers, if the library for this is installed (extra `lab`)."""
    if any(name in os.environ for name in ONE_THREAD):
        return contextlib.nullcontext()  # the user has set it, for the workers, too
    try:
        # SciPy contains a BLAS library, which is found after it is loaded.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return contextlib.nullcontext()
    limits: contextlib.AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def run_on_processes(
    function: FunctionName, items: Sequence[SweepTask], jobs: int, time_limit: float | None, retries: int
) -> Iterator[tuple[SweepTask, TaskResult]]:
    """Yield every task with its result, in the order of completion, from ``jobs`` processes.

    Closing the iterator ends the processes immediately.
    """
    workers = [ProcessWorker(function, retries) for _ in range(min(jobs, len(items)))]
    idle: queue.SimpleQueue[ProcessWorker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def run(i: int) -> TaskResult:
        worker = idle.get()
        try:
            return worker.run(items[i].text, time_limit)
        finally:
            idle.put(worker)

    try:
        for i, answer in map_threads(run, len(items), len(workers)):
            yield items[i], answer
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()


if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Progress:
    """Context manager that reports progress; ``update(done, total)`` can be called arbitrarily often.

    It writes to standard error, because standard output is for results. Without a terminal, or without rich (extra
    `viz`), it writes a line at each quarter of the work, and between these at most every ten seconds.
    """

    interval = 10.0

    def __init__(self, label: str, unit: str = "") -> None:
        self._label = label
        self._unit = f" {unit}" if unit else ""
        self._bar = _rich_bar() if sys.stderr.isatty() else None
        self._quarter = 0

    def __enter__(self) -> Progress:
        self._started = self._last = time.monotonic()
        if self._bar is not None:
            self._task = self._bar.add_task(self._label, total=None)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float) -> None:
        """Report the progress of the work."""
        if self._bar is not None:
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
