"""The worker process: loads one function, then runs a task per line of its standard input.

Lines are JSON both ways. The answers go to what was standard output; what tasks print goes to standard error. The
process ends with its parent: a thread reads the input all the time, and its end means that nobody waits for an answer.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import sys
import threading
from dataclasses import asdict

from contactlab.lab.sweeps.tasks import FunctionName, attempt, load_function

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
        say(asdict(attempt(function, line.decode())))
        sys.stdout.flush()


def _read(stream: object, lines: queue.SimpleQueue[bytes]) -> None:
    for line in stream:  # type: ignore[attr-defined]
        lines.put(line)
    os._exit(0)
