"""Children of a benchmark: their reports are read during their work, and a child that works too long is ended.

The limit is on the processor's seconds of the child, and the system enforces it, also in a kernel that does not return.
A child compiles first and then calls `allow`; each call starts the limit again.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARK = "\x1f"  # start of a line that is a report, not printed text
MEMORY = 8 * 2**30  # bytes of address space of a child


def allow(seconds: float, memory: int = MEMORY) -> None:
    """End this process after this many more seconds of work; beyond the memory limit it gets a `MemoryError`."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tell(**found: Any) -> None:
    """Report something to the parent."""
    print(MARK + json.dumps(found), flush=True)


def told(script: Path, arguments: list[str], patience: float) -> Iterator[dict[str, Any]]:
    """Run a script in a child and yield its reports; finally ``{"died": reason}`` if it did not end normally.

    After ``patience`` seconds of the wall it is killed.
    """
    call = [sys.executable, str(script), *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            timer = threading.Timer(patience, child.kill)
            timer.start()
            try:
                assert child.stdout is not None
                for line in child.stdout:
                    if line.startswith(MARK):
                        yield json.loads(line[1:])
                    else:
                        print(line, end="", flush=True)
                code = child.wait()
            finally:
                timer.cancel()
                child.kill()
        if code:
            errors.seek(0)
            yield {"died": _reason(code, errors.read())}


def _reason(code: int, errors: str) -> str:
    """Return a short text about the end of a child."""
    if code == -signal.SIGXCPU:
        return "stopped at its limit of the processor's seconds"
    lines = errors.strip().splitlines() or [""]
    if code < 0:
        return f"died of {signal.Signals(-code).name}: {lines[-1]}"[:200]
    return lines[-1][:200] or f"ended with status {code}"
