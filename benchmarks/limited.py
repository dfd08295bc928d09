"""Children of a benchmark: what they tell comes back while they work, and one that works too long is ended.

The limit is on the processor's seconds of the child, and the system keeps it: a kernel that is stuck in compiled code
ends like anything else. A child compiles first and then calls `allow`; each call begins anew.
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

MARK = "\x1f"  # begins a line that is told, not printed
MEMORY = 8 * 2**30  # bytes of addresses a child may have


def allow(seconds: float, memory: int = MEMORY) -> None:
    """End this process when it has worked so much longer; it gets a `MemoryError` beyond the memory."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tell(**found: Any) -> None:
    """Hand something to the parent."""
    print(MARK + json.dumps(found), flush=True)


def told(script: Path, arguments: list[str], patience: float) -> Iterator[dict[str, Any]]:
    """Run a script in a child and yield what it tells; at last ``{"died": reason}`` where it did not end by itself.

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
    """Say in a few words what a child died of."""
    if code == -signal.SIGXCPU:
        return "stopped at its limit of the processor's seconds"
    lines = errors.strip().splitlines() or [""]
    if code < 0:
        return f"died of {signal.Signals(-code).name}: {lines[-1]}"[:200]
    return lines[-1][:200] or f"ended with status {code}"
