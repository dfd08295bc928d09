"""Independent tasks, each run once: in this process, on all cores, or on a Dask cluster.

An experiment is a sweep from a TOML file, either scenes with parameters and seeds, or problems with solvers and
settings.

::

    [sweep]                         # scene or problems, exactly one
    scene = "cube.toml"             # a scene file, beside this one or in a folder below
    seeds = 5                       # 0 .. 4; or a list of whole numbers
    [parameters]                    # lists of values by the paths of the scene, all combined
    stepper.h = [1e-3, 2e-3]
    [spread]                        # standard deviations by path, drawn again for each seed
    "body.cube.velocity" = 0.1

    [sweep]
    problems = ["sets", "one.npz"]  # files and folders beside this one or below, or names of data sets
    tolerance = 1e-9
    [[solver]]                      # a class of lcp, and lists of values of its fields
    name = "APGD"
    max_iterations = [100, 1000]
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import queue
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

from contactlab.lab.datasets.files import SOURCES
from contactlab.lab.errors import SweepError
from contactlab.lab.progress import Progress
from contactlab.lab.sweeps.grids import ProblemGrid, SceneGrid, check_solver
from contactlab.lab.sweeps.tasks import (
    WORKER_VARIABLE,
    FunctionName,
    Store,
    SweepResult,
    SweepTask,
    TaskResult,
    items_of,
    load_function,
    name_of,
    run_task,
    whole,
)
from contactlab.lab.sweeps.workers import ONE_THREAD, ProcessWorker, run_on_cluster
from contactlab.simulation.scene.table import Table, read_document, suggestion
from lcp.interruptible import available_cpus

OUTCOMES = ("done", "failed", "timeout", "lost")

Answers = Iterator[tuple[SweepTask, TaskResult]]


class Family(Protocol):
    """Tasks and the function that runs them, such as `SceneGrid`, `ProblemGrid` and `ImpactGrid`."""

    @property
    def function(self) -> Callable[[Any], dict[str, Any]]:
        """Function that runs a task, at the top level of a module."""

    def tasks(self) -> Sequence[Any]:
        """Return the tasks."""


def sweep(
    function: Callable[[Any], dict[str, Any]] | Family,
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
        ``if __name__ == "__main__":``. Or a family with its own tasks: `SceneGrid` of a scene over parameters and
        seeds, `ProblemGrid` of solvers over problems, `ImpactGrid` of laws over impacts.
    tasks
        Dicts of JSON values, or frozen dataclasses of such values; the function gets the same type, with tuples as
        lists. Of equal tasks only one is run.
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
    if not callable(function):
        if tasks is not None:
            raise SweepError(f"{type(function).__name__} has its tasks: give no others")
        tasks = function.tasks()
        function = function.function
    if tasks is None:
        raise SweepError("a function needs tasks")
    name, items = _check_arguments(function, tasks, jobs, cluster, time_limit, retries, again)
    with contextlib.ExitStack() as stack:
        store = None if out is None else stack.enter_context(Store(Path(out)))
        known = {} if store is None else store.rows
        unique = {item.key: item for item in items}
        left = [item for key, item in unique.items() if key not in known or known[key]["outcome"] in again]
        rows = {key: known[key] for key in unique if key in known}
        answers = _run_tasks(name, left, jobs, cluster, time_limit, retries)
        stack.enter_context(contextlib.closing(answers))
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
    function: Callable[[Any], dict[str, Any]],
    tasks: Sequence[Any],
    jobs: int | None,
    cluster: str | None,
    time_limit: float | None,
    retries: int,
    again: Collection[str],
) -> tuple[FunctionName, list[SweepTask]]:
    """Return the function's location and the tasks, after a check of all arguments of `sweep`."""
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
    tasks = list(tasks)
    classes = {type(task) if dataclasses.is_dataclass(task) else None for task in tasks}
    if len(classes) > 1:
        raise SweepError("tasks must be all dicts, or all of one dataclass")
    name = name_of(function, next(iter(classes), None))
    return name, items_of(name, tasks)


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

    def run(item: SweepTask) -> tuple[SweepTask, TaskResult]:
        worker = idle.get()
        try:
            return item, worker.run(item.text, time_limit)
        finally:
            idle.put(worker)

    threads = ThreadPoolExecutor(len(workers))
    try:
        for done in as_completed([threads.submit(run, item) for item in items]):
            yield done.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        threads.shutdown()
        for worker in workers:
            worker.close()


MOST_SEEDS = 1_000_000
MOST_SOLVERS = 1000
_TOP = ("sweep", "parameters", "spread", "solver")
_OF_SCENES = ("scene", "seeds")
_OF_PROBLEMS = ("problems", "tolerance")


def load_experiment(path: str | os.PathLike[str]) -> SceneGrid | ProblemGrid:
    """Return an experiment from a file as an argument of `contactlab.lab.sweep`.

    An invalid file raises `contactlab.simulation.scene.SceneError` with file, line and key.
    """
    path = Path(path)
    root, _ = read_document(path, "experiment file")
    for key in root.values:
        if key not in _TOP:
            raise root.error(key, f"unknown section{suggestion(key, _TOP)}")
    root.required("sweep")
    head = root.table("sweep", ("scene", "seeds", "problems", "tolerance"))
    if head.exactly_one_of("scene", "problems") == "scene":
        _refuse(head, _OF_PROBLEMS, "belongs to problems")
        _refuse(root, ("solver",), "belongs to problems; of a scene it is the parameter stepper.solver")
        parameters = _leaves(root, "parameters", lists=True)
        spread = _leaves(root, "spread", lists=False)
        seeds = _seeds(head)
        if spread and not seeds:
            raise head.error("seeds", "is missing: [spread] draws by the seed")
        return SceneGrid(head.resolve_path("scene", head.text("scene")), parameters, seeds, spread)
    _refuse(head, _OF_SCENES, "belongs to a scene")
    _refuse(root, ("parameters", "spread"), "belongs to a scene; settings of a solver stand in its [[solver]]")
    problems = tuple(
        text if text in SOURCES and not (path.parent / text).exists() else head.resolve_path("problems", text)
        for text in head.strings("problems")
    )
    root.required("solver")
    tolerance = head.number("tolerance") if "tolerance" in head else None
    if tolerance is not None and not 0.0 < tolerance < 1.0:
        raise head.error("tolerance", f"must lie between 0 and 1, got {tolerance:g}")
    return ProblemGrid(problems, _solvers(root), tolerance)


def _refuse(table: Table, keys: tuple[str, ...], detail: str) -> None:
    for key in keys:
        if key in table:
            raise table.error(key, detail)


def _seeds(head: Table) -> tuple[int, ...]:
    """Return the seeds of a sweep file: a list, or a number n for 0 to n - 1."""
    value = head.values.get("seeds", [])
    if not isinstance(value, list):
        return tuple(range(head.integer("seeds", None, 1, MOST_SEEDS)))
    seeds: list[object] = value
    for seed in seeds:
        if not whole(seed, 0):
            raise head.error("seeds", f"must be whole numbers >= 0, got {seed!r}")
    return tuple(value)


def _leaves(root: Table, key: str, *, lists: bool) -> dict[str, Any]:
    """Return the values of a table by dotted path: ``stepper.h = ...`` and ``"stepper.h" = ...`` are the same."""
    if key not in root:
        return {}
    leaves: dict[str, Any] = {}
    _collect(root.table(key, None), "", lists, leaves)
    return leaves


def _collect(table: Table, prefix: str, lists: bool, leaves: dict[str, Any]) -> None:
    for key, value in table.values.items():
        # A quoted key is already a path, or a name with spaces; below other keys, a dotted key is a part of the path.
        name = f'{prefix}"{key}"' if prefix and "." in key else f"{prefix}{key}"
        if isinstance(value, dict):
            _collect(table.table(key, None), f"{name}.", lists, leaves)
        elif lists and (not isinstance(value, list) or not value):
            raise table.error(key, f"must be a list of values, got {value!r}")
        elif name in leaves:
            raise table.error(key, f"'{name}' is given twice")
        else:
            leaves[name] = value


def _solvers(root: Table) -> dict[str, dict[str, list[Any]]]:
    """Return the lists of settings of each solver of a sweep file, by solver name."""
    solvers: dict[str, dict[str, list[Any]]] = {}
    for table in root.tables("solver", None, MOST_SOLVERS):
        name = table.text("name")
        if name in solvers:
            raise table.error("name", f"'{name}' is given twice")
        solvers[name] = {key: value for key, value in table.values.items() if key != "name"}
        given: dict[str, object] = dict(solvers[name])
        for key, value in given.items():
            if not isinstance(value, list) or not value:
                raise table.error(key, f"must be a list of values, got {value!r}")
        with table.wrap_errors("name"):
            check_solver(name, solvers[name])
    return solvers
