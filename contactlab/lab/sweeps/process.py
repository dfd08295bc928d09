"""A process of this interpreter that runs `contactlab.lab.sweeps.child`, spoken to in lines."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import IO

from contactlab.lab.sweeps.errors import SweepError
from contactlab.lab.sweeps.functions import WORKER_VARIABLE

__all__ = ["ONE_THREAD", "Process"]

TAIL = 1500  # bytes kept of what it says on standard error
PATIENCE = 5.0  # s, for what it said before it died to arrive
#: What tells BLAS how many threads it may use.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from contactlab.lab.sweeps.child import main; main()"


class Process:
    """A running process; raises a `SweepError` where the machine gives none.

    Attributes
    ----------
    greeted
        Whether it has loaded its function.
    """

    def __init__(self) -> None:
        # BLAS on one thread: there is a process for every core, and sums do not depend on how many share the work.
        threads = {} if any(name in os.environ for name in ONE_THREAD) else dict.fromkeys(ONE_THREAD, "1")
        environment = {**os.environ, **threads, WORKER_VARIABLE: "1"}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                # Ctrl-C is for the sweep, which ends its workers itself.
                start_new_session=True,
            )
        except OSError as error:
            raise SweepError(f"a worker process cannot be started: {error}") from error
        self.greeted = False
        self._said = bytearray()
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=_listen, args=(self._process.stderr, self._said), daemon=True)
        self._listener.start()

    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ask(self, text: str) -> bytes:
        """Send a line; return the one that comes back, or what there is of it where the process ends."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(text.encode() + b"\n")
            stdin.flush()
        except OSError:
            return b""
        return stdout.readline()

    def kill(self) -> None:
        """End it, with what it has started."""
        if self.alive():
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def ended_by(self) -> str:
        """Wait for the end; return the signal's name, or the exit status in words."""
        code = self._process.wait()
        if code >= 0:
            return f"exit status {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def output(self) -> str:
        """Return the end of what a process that has ended said on standard output and error."""
        self._listener.join(PATIENCE)
        return self._said.decode("utf-8", "replace").strip()

    def forget_output(self) -> None:
        """Drop what was said so far: it belongs to the task before."""
        self._said.clear()

    def close(self) -> None:
        """End it and free what it holds."""
        self.kill()
        self._process.wait()
        self._listener.join(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):  # a line that was never read
                stream.close()


def _listen(stream: IO[bytes], said: bytearray) -> None:
    """Keep the end of what a process says, for as long as somebody may say something."""
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            said.extend(chunk)
            del said[:-TAIL]
