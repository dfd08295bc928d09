"""Worker processes: control from outside, one task at a time, with replacement of dead ones; and their main function.

No library's pool meets the requirements of a sweep. `concurrent.futures` and loky treat all workers as broken when one
dies. They do not report its signal or its last output, and cannot end a task that runs too long. `multiprocessing` runs
the user's script again in every worker, and a worker with a task outlives a killed parent. Therefore workers are plain
child processes that run `main` and communicate by lines.

Lines are JSON in both directions: the name of one function, then one task each. Results are written to the original
standard output; output of tasks goes to standard error. The process ends with its input or its parent.

The module also runs tasks on a running Dask cluster.

The arithmetic of the tasks is the same there: a worker of the cluster passes each task to a separate child process. So
a task that crashes or hangs does not end a worker of the cluster. The time limit also applies to compiled code that
never returns. The scheduler gives a task whose worker dies to another worker.

The tasks are futures of dask.distributed, as in joblib's Dask backend. That backend reports results to
`joblib.Parallel`, but no errors. It waits forever for a call that the scheduler gives up because too many workers died
(observed with joblib 1.6.0). Here such a task has a row ``lost``, and the sweep continues.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict
from typing import IO, Any

import contactlab
from contactlab.lab.sweeps.tasks import (
    WORKER_VARIABLE,
    FunctionName,
    SweepError,
    SweepTask,
    TaskResult,
    load_function,
    run_task,
)

#: Signals from outside: from the owner of the machine, or from its kernel when memory runs out. Any other end of a
#: process during a task is caused by the task.
FOREIGN = ("SIGKILL", "SIGTERM", "SIGHUP")
READY = b"true\n"  # the reply of a process that has loaded the function
TAIL = 1500  # maximum length [bytes] of the kept standard error
#: Environment variables for the number of BLAS threads.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from contactlab.lab.sweeps.workers import main; main()"
)


class ProcessWorker:
    """A process that runs tasks of one function. One thread uses it; `kill` can be called from any thread.

    A task is run again, up to ``retries`` times, if the process died for external reasons.
    """

    def __init__(self, function: FunctionName, retries: int) -> None:
        self._function, self._retries = function, retries
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes]  # output of the tasks of the process
        self._closed = False
        self._lock = threading.Lock()

    def run(self, text: str, time_limit: float | None) -> TaskResult:
        """Run a task and return its result, with a new process if necessary; raise `SweepError` if none can run it."""
        tries, cause = 0, ""
        while tries <= self._retries and not self._closed:
            tries += 1
            answer = self._try(text, time_limit)
            if isinstance(answer, TaskResult):
                return answer
            cause = answer
        times = f"in each of {tries} tries" if tries > 1 else "in its only try"
        return TaskResult("lost", {}, f"the worker process died {times}, the last time of {cause}")

    def kill(self) -> None:
        """End the process immediately, with its child processes; its task is lost, and no other begins."""
        with self._lock:
            self._closed = True
        self._kill()

    def _try(self, text: str, time_limit: float | None) -> TaskResult | str:
        """Return the result, or the reason why the process died if it is external."""
        if cause := self._start():
            return cause
        self._output.seek(0)  # remove the output of the previous task
        self._output.truncate()
        started, expired = time.monotonic(), threading.Event()

        def expire() -> None:
            # Set first: the end of the process is then known to be ours, without a look at its exit status.
            expired.set()
            self._kill()

        timer = threading.Timer(threading.TIMEOUT_MAX if time_limit is None else time_limit, expire)
        timer.daemon = True
        timer.start()
        try:
            line = self._ask(text)
        finally:
            timer.cancel()
        # A result just after the time limit counts; the process is replaced before the next task.
        if line.endswith(b"\n"):
            return TaskResult(**json.loads(line))
        seconds, (end, output) = time.monotonic() - started, self.wait()
        if expired.is_set():
            return TaskResult("timeout", {}, f"no answer within {time_limit:g} s", seconds)
        if end in FOREIGN or self._closed:
            return f"{end}, from outside or because memory ran out"
        # The order of other loaded libraries differs between processes.
        output = output.partition("\n\nExtension modules:")[0]
        return TaskResult("failed", {}, f"the worker process ended in the task: {end}\n{output}".strip())

    def _start(self) -> str:
        """Start a process that loads the function, if none is alive; return "", or the external cause of its end.

        A process that cannot load the function, or dies in it for another reason, raises a `SweepError`.
        """
        if self._process is not None and self._process.poll() is not None:
            self.wait()  # killed between two tasks: no task was harmed
        # BLAS uses one thread: there is a process for every core, and sums then do not depend on the number of threads.
        threads = {} if any(name in os.environ for name in ONE_THREAD) else dict.fromkeys(ONE_THREAD, "1")
        with self._lock:
            if self._closed:
                return "an end of the sweep"
            if self._process is not None:
                return ""
            try:
                self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  closed with the process
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _START, json.dumps(sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._output,
                    env={**os.environ, **threads, WORKER_VARIABLE: "1"},
                    # Ctrl-C is handled by the sweep, which ends its workers.
                    start_new_session=True,
                )
            except OSError as error:
                raise SweepError(f"a worker process cannot be started: {error}") from error
        answer = self._ask(json.dumps(asdict(self._function)))
        if answer == READY:
            return ""
        if answer.endswith(b"\n"):
            raise SweepError(f"a worker process cannot load {self._function.qualified}: {json.loads(answer)}")
        end, output = self.wait()
        if end in FOREIGN or self._closed:
            return end
        raise SweepError(f"a worker process ended while it loaded {self._function.qualified}: {end}\n{output}".strip())

    def _ask(self, text: str) -> bytes:
        """Send a line; return the reply, or its beginning if the process ends."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        return b""

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()

    def wait(self) -> tuple[str, str]:
        """Wait for the end of the process and release it; return its exit status as text and the end of its output."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return "", ""
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a line that was never read
                stream.close()  # type: ignore[union-attr]
        with self._output as output:
            output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
            text = output.read().decode("utf-8", "replace").strip()
        return {-one.value: one.name for one in signal.Signals}.get(code, f"exit status {code}"), text


def main() -> None:
    """Run the tasks on standard input and write results to standard output; end with the input or the parent."""
    # Output of tasks goes to standard error, and their input is empty: they do not mix with lines of the protocol.
    answers, stream = os.fdopen(os.dup(1), "wb", buffering=0), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    faulthandler.enable(all_threads=False)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        function = load_function(FunctionName(**json.loads(stream.readline())))
    except (Exception, SystemExit) as error:  # noqa: BLE001  reported to the sweep, which ends
        answers.write(json.dumps(f"{type(error).__name__}: {error}").encode() + b"\n")
        return
    answers.write(READY)
    for line in stream:
        answers.write(json.dumps(asdict(run_task(function, line.decode()))).encode() + b"\n")
        sys.stdout.flush()


def _end_with(parent: int) -> None:
    """End this process, also within a task, when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


CONNECT_SECONDS = 15.0


def run_on_cluster(
    function: FunctionName, items: Sequence[SweepTask], address: str, time_limit: float | None, retries: int
) -> Iterator[tuple[SweepTask, TaskResult]]:
    """Yield every task with its result, in the order of completion; while there is no worker, the tasks wait for one.

    It raises a `SweepError` if there is no scheduler at the address, or a worker without this version of contactlab or
    without the function.
    """
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ModuleNotFoundError as error:
        raise SweepError(f"a cluster needs {error.name}: pip install '.[lab]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(f"no Dask scheduler answers at {address}: {error}") from error
    run = uuid.uuid4().hex
    deaths = dict.fromkeys((item.key for item in items), 0)

    def submit(item: SweepTask) -> Any:
        given = run, contactlab.__version__, asdict(function), item.text, time_limit, retries
        key = f"contactlab-sweep-{run}-{item.key}-{deaths[item.key]}"
        return client.submit(run_remote, *given, key=key, pure=False)

    waiting = {submit(item): item for item in items}
    finished = as_completed(waiting, loop=client.loop)
    try:
        for future in finished:
            item = waiting.pop(future)
            try:
                answer = TaskResult(**future.result())
            except KilledWorker as error:
                # The scheduler gave it to this many workers, and all of them died.
                deaths[item.key] += error.allowed_failures + 1
                if deaths[item.key] <= retries:
                    again = submit(item)
                    waiting[again] = item
                    finished.add(again)
                    continue
                tries, place = deaths[item.key], error.last_worker.address
                answer = TaskResult("lost", {}, f"the worker died in each of {tries} tries, the last time {place}")
            except CancelledError as error:
                raise SweepError(f"the scheduler at {address} dropped the tasks: {error}") from error
            except Exception as error:
                raise SweepError(f"the workers of {address} cannot run the tasks: {error}") from error
            yield item, answer
    finally:
        # Running tasks cannot be cancelled on a worker, but their child processes can be ended.
        client.cancel(list(waiting), force=True)
        with contextlib.suppress(OSError, TimeoutError, ValueError, RuntimeError):  # a worker may be gone
            client.run(end_run, run, on_error="ignore")
        client.close()


# State of this process, which outlives a sweep: child processes by run and thread, and the last runs that ended.
_workers: dict[tuple[str, int], ProcessWorker] = {}
_ended: deque[str] = deque(maxlen=1000)


def run_remote(
    run: str, version: str, function: dict[str, str], text: str, time_limit: float | None, retries: int
) -> dict[str, Any]:
    """Run one task in a child process, kept for the next one of the same ``run``; return the fields of a `TaskResult`.

    ``version`` is the version of contactlab that began the sweep, because another version might compute other rows.
    ``function`` holds the fields of a `FunctionName`. It raises a `SweepError` if the function cannot be loaded or the
    versions differ.
    """
    if version != contactlab.__version__:
        raise SweepError(f"a worker has contactlab {contactlab.__version__}, the sweep was begun with {version}")
    worker = _workers.setdefault((run, threading.get_ident()), ProcessWorker(FunctionName(**function), retries))
    if run in _ended:
        worker.kill()
    return asdict(worker.run(text, time_limit))


def end_run(run: str) -> None:
    """End the child processes of a run that is finished or aborted."""
    _ended.append(run)
    for key in [key for key in _workers if key[0] == run]:
        _workers.pop(key).kill()
