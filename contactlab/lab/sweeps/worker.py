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
PATIENCE = 5.0  # s, for what it said before it died to arrive
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
        self._process: _Process | None = None
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
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process; for its owner, when there is nothing more to run."""
        self.kill()
        self._forget()

    def _try(self, text: str, time_limit: float | None) -> TaskResult | str:
        """Return the answer, or what the process died of if that is not the task's fault."""
        process = self._fresh()
        if process is None:
            return "an end of the sweep"
        if not process.greeted and (cause := self._send_function(process)):
            return cause
        process.tail.clear()  # it belongs to the task before
        started = time.monotonic()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(time_limit or 0.0, expire)
        timer.daemon = True
        if time_limit is not None:
            timer.start()
        try:
            line = process.ask(text)
        finally:
            timer.cancel()
        # An answer may come when the time is just over: it counts, and the process is replaced at the next task.
        if line.endswith(b"\n"):
            return TaskResult(**json.loads(line))
        end, output = process.end()
        self._forget()
        if expired.is_set():
            return TaskResult("timeout", {}, f"no answer within {time_limit:g} s", time.monotonic() - started)
        if end in FOREIGN:
            return f"{end}, which came from outside or for want of memory"
        # Other loaded libraries are listed in an order that differs between processes.
        output = output.partition("\n\nExtension modules:")[0]
        return TaskResult(
            "failed", {}, "\n".join(filter(None, [f"the worker process ended in the task: {end}", output]))
        )

    def _fresh(self) -> _Process | None:
        """Return the living process, started if there is none; None once the worker is closed."""
        with self._lock:
            if self._process is not None and not self._process.alive():
                self._process.close()  # idle for long, or killed between two tasks: no task was harmed
                self._process = None
            if self._closed:
                return None
            if self._process is None:
                self._process = _Process()
            return self._process

    def _send_function(self, process: _Process) -> str:
        """Tell a new process its function; return what it died of, if it did so through no fault of its own."""
        line = process.ask(json.dumps(asdict(self.function)))
        answer = {}
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
        if "refused" in answer:
            raise SweepError(f"a worker process cannot load {self.function.qualified}: {answer['refused']}")
        if "ready" in answer:
            process.greeted = True
            return ""
        end, output = process.end()
        self._forget()
        if end in FOREIGN or self._closed:
            return end
        raise SweepError(f"a worker process ended while it loaded {self.function.qualified}: {end}\n{output}".strip())

    def _forget(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()


class _Process:
    """A running process; raises a `SweepError` where the machine gives none."""

    def __init__(self) -> None:
        # BLAS on one thread: there is a process for every core, and sums do not depend on how many share the work.
        threads = {} if any(name in os.environ for name in ONE_THREAD) else dict.fromkeys(ONE_THREAD, "1")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **threads, WORKER_VARIABLE: "1"},
                # Ctrl-C is for the sweep, which ends its workers itself.
                start_new_session=True,
            )
        except OSError as error:
            raise SweepError(f"a worker process cannot be started: {error}") from error
        self.greeted = False  # whether it has loaded its function
        self.tail = bytearray()  # the end of what it said on standard output and error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._listener = threading.Thread(target=_listen, args=(self._process.stderr, self.tail), daemon=True)
        self._listener.start()

    def alive(self) -> bool:
        """Return True if it has not ended."""
        return self._process.poll() is None

    def ask(self, text: str) -> bytes:
        """Send a line; return the one that comes back, or what there is of it where the process ends."""
        try:
            self._stdin.write(text.encode() + b"\n")
            self._stdin.flush()
        except OSError:
            return b""
        return self._stdout.readline()

    def kill(self) -> None:
        """End it, with what it has started."""
        if self.alive():
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def end(self) -> tuple[str, str]:
        """Wait for the end; return the signal's name, or the exit status in words, and its last words."""
        code = self._process.wait()
        self._listener.join(PATIENCE)
        output = self.tail.decode("utf-8", "replace").strip()
        if code >= 0:
            return f"exit status {code}", output
        try:
            return signal.Signals(-code).name, output
        except ValueError:
            return f"signal {-code}", output

    def close(self) -> None:
        """End it and free what it holds."""
        self.kill()
        self._process.wait()
        self._listener.join(PATIENCE)
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):  # a line that was never read
                stream.close()


def _listen(stream: IO[bytes], tail: bytearray) -> None:
    """Keep the end of what a process says, for as long as somebody may say something."""
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            tail.extend(chunk)
            del tail[:-TAIL]


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
