"""A worker process as its owner sees it, one task at a time, ended and replaced when it hangs or dies; and its inside.

No library's pool does what a sweep promises. `concurrent.futures` and loky count all their workers as broken when one
dies, tell neither its signal nor its last words, and end no task that has run too long; `multiprocessing` runs the
user's script again in every worker, and a worker at a task outlives an owner that was killed. Hence plain child
processes, which run `main` and are spoken to in lines.

Lines are JSON both ways: the name of one function, then a task each. The answers go to what was standard output; what
tasks print goes to standard error. The process ends with its parent: a thread reads the input all the time, and its end
means that nobody waits for an answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from typing import IO

from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.tasks import WORKER_VARIABLE, FunctionName, TaskResult, load_function, run_task

#: Signals that come from outside: the owner of the machine, or its kernel when memory runs out. What else ends a
#: process in the middle of a task is the task's own doing.
FOREIGN = ("SIGKILL", "SIGTERM", "SIGHUP")
TAIL = 1500  # bytes kept of what it says on standard error
#: What tells BLAS how many threads it may use.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from contactlab.lab.sweeps.worker import main; main()"
)


class ProcessWorker:
    """A process that runs tasks of one function. Used by one thread; `kill` may be called from any.

    A task is run again, up to ``retries`` times, after the process died through no fault of the task.
    """

    def __init__(self, function: FunctionName, retries: int) -> None:
        self.function = function
        self._retries = retries
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes]  # of the process, what its tasks print
        self._closed = False
        self._lock = threading.Lock()

    def run(self, text: str, time_limit: float | None) -> TaskResult:
        """Run a task, with a new process where the one before is gone; a `SweepError` where none can do it."""
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
        """End the process now; a task under way is lost, and no other is begun."""
        with self._lock:
            self._closed = True
        self._kill()

    def close(self) -> None:
        """End the process; for its owner, when there is nothing more to run."""
        self.kill()
        self._wait()

    def _try(self, text: str, time_limit: float | None) -> TaskResult | str:
        """Return the answer, or what the process died of if that is not the task's fault."""
        if cause := self._start():
            return cause
        self._output.seek(0)  # what was printed belongs to the task before
        self._output.truncate()
        started = time.monotonic()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._kill()

        timer = threading.Timer(time_limit or 0.0, expire)
        timer.daemon = True
        if time_limit is not None:
            timer.start()
        try:
            line = self._ask(text)
        finally:
            timer.cancel()
        # An answer may come when the time is just over: it counts, and the process is replaced at the next task.
        if line.endswith(b"\n"):
            return TaskResult(**json.loads(line))
        end, output = self._wait()
        if expired.is_set():
            return TaskResult("timeout", {}, f"no answer within {time_limit:g} s", time.monotonic() - started)
        if end in FOREIGN:
            return f"{end}, which came from outside or for want of memory"
        # Other loaded libraries are listed in an order that differs between processes.
        output = output.partition("\n\nExtension modules:")[0]
        return TaskResult("failed", {}, f"the worker process ended in the task: {end}\n{output}".strip())

    def _start(self) -> str:
        """Start a process that knows the function if none lives; return what it died of if not by its own fault."""
        if self._process is not None and self._process.poll() is not None:
            self._wait()  # idle for long, or killed between two tasks: no task was harmed
        # BLAS on one thread: there is a process for every core, and sums do not depend on how many share the work.
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
                    # Ctrl-C is for the sweep, which ends its workers itself.
                    start_new_session=True,
                )
            except OSError as error:
                raise SweepError(f"a worker process cannot be started: {error}") from error
        answer = {}
        with contextlib.suppress(ValueError):
            answer = json.loads(self._ask(json.dumps(asdict(self.function))))
        if "refused" in answer:
            raise SweepError(f"a worker process cannot load {self.function.qualified}: {answer['refused']}")
        if "ready" in answer:
            return ""
        end, output = self._wait()
        if end in FOREIGN or self._closed:
            return end
        raise SweepError(f"a worker process ended while it loaded {self.function.qualified}: {end}\n{output}".strip())

    def _ask(self, text: str) -> bytes:
        """Send a line; return the one that comes back, or what there is of it where the process ends."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        return b""

    def _kill(self) -> None:
        """End the process, with those that it has started."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()

    def _wait(self) -> tuple[str, str]:
        """Wait for the end of the process and free it; return its exit status in words and the end of its output."""
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
        names = {-one.value: one.name for one in signal.Signals}
        return names.get(code, f"exit status {code}"), text


IDLE_SECONDS = 300.0  # a worker nobody has given a task for so long is not needed any more


def main() -> None:
    """Serve tasks until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    faulthandler.enable(all_threads=False)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    stream = os.fdopen(os.dup(0), "rb")
    # Tasks that read standard input find it empty, and take no line of ours.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    threading.Thread(target=_read, args=(stream, lines), daemon=True).start()

    def say(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer).encode() + b"\n")

    try:
        function = load_function(FunctionName(**json.loads(lines.get())))
    except (Exception, SystemExit) as error:  # noqa: BLE001  told to the sweep, which cannot go on
        say({"refused": f"{type(error).__name__}: {error}"})
        os._exit(0)  # as below: the thread that reads cannot be ended
    say({"ready": True})
    while True:
        try:
            line = lines.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            os._exit(0)
        say(asdict(run_task(function, line.decode())))
        sys.stdout.flush()


def _read(stream: object, lines: queue.SimpleQueue[bytes]) -> None:
    for line in stream:  # type: ignore[attr-defined]
        lines.put(line)
    os._exit(0)
