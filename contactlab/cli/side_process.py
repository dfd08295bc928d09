"""A second process that compiles kernels: within one process numba compiles one kernel at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

from lcp.compiler import on_first_compilation
from lcp.compiler.cache import cache_folder
from lcp.compiler.releases import is_tested
from lcp.interruptible import available_cpus


@contextlib.contextmanager
def background_compilation(parts: Iterable[str]) -> Iterator[None]:
    """Compile parts in a second process in parallel; this process loads the results from disk.

    The process is started by the first compilation within the block, if there is a second core and kernels are cached
    on disk. It is ended with the block.
    """
    with contextlib.ExitStack() as stack:

        def start() -> None:
            if is_of_use():
                stack.enter_context(side_process(list(parts), quiet=True))

        with on_first_compilation(start):
            yield


def is_of_use() -> bool:
    """Return True if there is a second core, and a folder for compiled kernels."""
    return available_cpus() > 1 and is_tested("cache") and cache_folder() is not None


def side_command(*parts: str) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a second process that compiles ``parts``, with the modules of this process."""
    command = [sys.executable, "-P", "-m", "contactlab.cli", "warmup", *parts]
    return command, os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)}


@contextlib.contextmanager
def side_process(names: list[str], quiet: bool = False) -> Iterator[subprocess.Popen[str] | None]:
    """Run a second process that compiles these parts, if there are any, until the end of the block.

    Its output is a pipe, and its messages are this process's; ``quiet`` drops both.
    """
    if not names:
        yield None
        return
    command, environment = side_command(*names)
    nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
    output, errors = (nowhere, nowhere) if quiet else (pipe, None)
    with subprocess.Popen(command, env=environment, stdin=nowhere, stdout=output, stderr=errors, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
