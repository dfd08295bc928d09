"""A process beside this one that compiles kernels, too: within one, numba compiles one at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lcp.kernels import when_compiling

if TYPE_CHECKING:
    from contactlab.simulation import TimeStepping, World
    from contactlab.stepping.driver import Driver

__all__ = ["PARTS", "compile_part", "compiling_beside", "side_command"]

#: What the process is asked for, in this order; see `compile_part`.
PARTS = ("solver", "end", "ledger")


@contextlib.contextmanager
def compiling_beside() -> Iterator[None]:
    """Have a second process compile while this one does; what it makes, this one takes from disk.

    It is started by the first compilation within the block, where there is a second core, and ended with the block.
    """
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if _cores() > 1:
            quiet = subprocess.DEVNULL
            command, environment = side_command()
            processes.append(subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=quiet))

    try:
        with when_compiling(start):
            yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def side_command() -> tuple[list[str], dict[str, str]]:
    """The second process' command and environment: its modules come from where this one's do, not from its folder."""
    command = [sys.executable, "-P", "-m", "contactlab.cli", "warmup", *PARTS]
    return command, os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)}


def _cores() -> int:
    # Not every system says on how many of its cores a process may run.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_part(name: str) -> None:
    """Compile one of `PARTS`: pivoting, the end of a step, both as the loop has them in it; what a record is read with.

    The loop comes to the end of a step last, and within that to the first of these kernels.
    """
    {"solver": _solver, "end": _end, "ledger": _ledger}[name]()


def _solver() -> None:
    import numpy as np

    from lcp.kernels.compiling import compile_inner
    from lcp.kernels.lemke import lemke_drive

    vector, integers = np.zeros(1), np.zeros(1, dtype=np.int64)
    work = (vector, integers, vector, integers)
    compile_inner(lemke_drive, np.zeros((1, 1)), vector, vector, True, vector, *work, 1)


def _end() -> None:
    import numpy as np

    from contactlab.formulation.kernels.certify import certify
    from contactlab.formulation.kernels.rows import Rows
    from contactlab.multibody.kernels.configurations import integrate_configuration
    from contactlab.stepping import arrays_of
    from contactlab.stepping.kernels import finish, projection, rows, sleeping
    from lcp.kernels.compiling import compile_inner

    whole, _, driver = _demo()
    world, work, island, chunk = arrays_of(whole).packed, driver.work, driver.island, driver.chunk
    control = driver.control
    compile_inner(sleeping.count_rest, world, work, 0, driver.parameters, 1.0)
    compile_inner(finish.measure, world, work.W, work.q, work.scratch, work.energy)
    compile_inner(integrate_configuration, world.ints, world.floats, work.q, work.v, 1.0, work.q)
    compile_inner(sleeping.keep_asleep, world, work)
    compile_inner(projection.shift_island, world, work, island, chunk, control)
    compile_inner(projection.pose_projection, world, work, island, control, 1.0)
    compile_inner(rows.write_island, island, chunk, control, 0)
    compile_inner(rows.write_rows, world, work, island, chunk, control, 1.0)
    vector, matrix = work.v, np.zeros((1, 1))
    terms = (vector, vector, vector, vector, vector, vector, vector)
    problem = Rows(1.0, 1, 1, 1, 0, island.r, vector, matrix, matrix, *terms, island.spans)
    compile_inner(certify, problem, matrix, False, *[vector] * 5)


def _demo() -> tuple[World, TimeStepping, Driver]:
    """The demo, and the memory of a run of it for its types."""
    from contactlab.cli.demo_scene import demo_stepper, demo_world
    from contactlab.stepping.driver import Driver

    world, stepper = demo_world(), demo_stepper()
    return world, stepper, Driver(world, stepper, world.initial_state())


def _ledger() -> None:
    from contactlab.simulation import Recording

    world, stepper, driver = _demo()
    # No step is made: nothing of the loop is compiled.
    recording = Recording.of_run(world, stepper, world.initial_state(), [driver.take()])
    str(recording.ledger)
    recording.poses()
