"""A process beside this one that compiles kernels, too: within one, numba compiles one at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from lcp.kernels import when_compiling

__all__ = ["PARTS", "compile_part", "compiling_beside"]

#: What the process is asked for, in this order; see `compile_part`.
PARTS = ("solver", "certificate", "ledger")


@contextlib.contextmanager
def compiling_beside() -> Iterator[None]:
    """Have a second process compile while this one does; what it makes, this one takes from disk.

    It is started by the first compilation within the block, where there is a second core, and ended with the block.
    """
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if len(os.sched_getaffinity(0)) > 1:
            command = [sys.executable, "-m", "contactlab.cli", "warmup", *PARTS]
            quiet = subprocess.DEVNULL
            processes.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))

    try:
        with when_compiling(start):
            yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def compile_part(name: str) -> None:
    """Compile one of `PARTS`: pivoting or certificate as the loop has them in it, or what a record is read with."""
    if name == "ledger":
        _ledger()
    else:
        _inner(name)


def _inner(name: str) -> None:
    import numpy as np

    from contactlab.formulation.kernels.certify import certify
    from lcp.kernels.compiling import compile_inner
    from lcp.kernels.lemke import lemke_drive

    number, vector, matrix, integers = 1.0, np.zeros(1), np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    if name == "solver":
        work = (vector, integers, vector, integers)
        compile_inner(lemke_drive, matrix, vector, vector, True, vector, *work, 1)
    else:
        problem = (number, 1, 1, 1, integers, vector, matrix, matrix, *[vector] * 5)
        compile_inner(certify, *problem, *[vector] * 3, np.zeros((1, 4), dtype=np.int64), vector, vector)


def _ledger() -> None:
    from contactlab.cli.demo_scene import demo_stepper, demo_world
    from contactlab.simulation import Recording
    from contactlab.simulation.driver import Driver

    world, stepper = demo_world(), demo_stepper()
    start = world.initial_state()
    # No step is made: nothing of the loop is compiled.
    recording = Recording.of_run(world, stepper, start, [Driver(world, stepper, start).take()])
    str(recording.ledger)
    recording.poses()
