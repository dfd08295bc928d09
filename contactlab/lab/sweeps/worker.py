"""A worker process as its owner sees it: one task at a time, ended and replaced when it hangs or dies."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import asdict

from contactlab.lab.sweeps.attempt import Answer
from contactlab.lab.sweeps.errors import SweepError
from contactlab.lab.sweeps.functions import FunctionName
from contactlab.lab.sweeps.process import Process

__all__ = ["Worker"]

#: Signals that come from outside: the owner of the machine, or its kernel when memory runs out. What else ends a
#: process in the middle of a task is the task's own doing.
FOREIGN = ("SIGKILL", "SIGTERM", "SIGHUP")


class Worker:
    """A process that runs tasks of one function. Used by one thread; `kill` may be called from any.

    Parameters
    ----------
    function
        What it runs.
    retries
        How many times a task is run again after the process died through no fault of the task.
    """

    def __init__(self, function: FunctionName, retries: int) -> None:
        self.function = function
        self._retries = retries
        self._process: Process | None = None
        self._closed = False
        self._lock = threading.Lock()

    def run(self, text: str, time_limit: float | None) -> Answer:
        """Run a task, with a new process where the one before is gone.

        Raises
        ------
        SweepError
            The process cannot be started, or does not find the function.
        """
        tries, told = 0, ""
        while tries <= self._retries and not self._closed:
            tries += 1
            answer = self._try(text, time_limit)
            if isinstance(answer, Answer):
                return answer
            told = answer
        times = f"in each of {tries} tries" if tries > 1 else "in its only try"
        return Answer("lost", {}, f"the worker process died {times}, the last time of {told}")

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

    def _try(self, text: str, time_limit: float | None) -> Answer | str:
        """Return the answer, or what the process died of if that is not the task's fault."""
        process = self._fresh()
        if process is None:
            return "an end of the sweep"
        if not process.greeted and (told := self._greet(process)):
            return told
        process.forget_output()
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
            return Answer(**json.loads(line))
        ended, output = process.ended_by(), process.output()
        self._forget()
        if expired.is_set():
            return Answer("timeout", {}, f"no answer within {time_limit:g} s", time.monotonic() - started)
        if ended in FOREIGN:
            return f"{ended}, which came from outside or for want of memory"
        return Answer("failed", {}, "\n".join(filter(None, [f"the worker process ended in the task: {ended}", output])))

    def _fresh(self) -> Process | None:
        """Return the living process, started where there is none; None once the worker is closed."""
        with self._lock:
            if self._process is not None and not self._process.alive():
                self._process.close()  # idle for long, or killed between two tasks: no task was harmed
                self._process = None
            if self._closed:
                return None
            if self._process is None:
                self._process = Process()
            return self._process

    def _greet(self, process: Process) -> str:
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
        ended, output = process.ended_by(), process.output()
        self._forget()
        if ended in FOREIGN or self._closed:
            return ended
        raise SweepError(f"a worker process ended while it loaded {self.function.qualified}: {ended}\n{output}".strip())

    def _forget(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()
