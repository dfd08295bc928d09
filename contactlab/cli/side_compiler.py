"""A process beside this one that compiles kernels, too: within one, numba compiles one at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from contactlab.cli.demo_scene import demo_stepper, demo_world
from contactlab.simulation import Recording, TimeStepping, World
from contactlab.stepping.driver import Driver
from contactlab.stepping.kernels import layout
from lcp.compiler import when_compiling
from lcp.compiler.cache import cache_folder
from lcp.compiler.releases import tried
from lcp.hearing import all_cores

#: What the process is asked for, in this order; see `compile_part`.
PARTS = ("nearer", "ledger", "forces")


@contextlib.contextmanager
def background_compilation() -> Iterator[None]:
    """Have a second process compile while this one does; what it makes, this one takes from disk.

    It is started by the first compilation within the block, where there is a second core and kernels are kept on disk,
    and ended with the block.
    """
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if is_of_use():
            quiet = subprocess.DEVNULL
            command, environment = side_command(*PARTS)
            processes.append(subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=quiet))

    try:
        with when_compiling(start):
            yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def is_of_use() -> bool:
    """Return True if there is a second core, and a folder to hand over compiled kernels."""
    return all_cores() > 1 and tried("cache") and cache_folder() is not None


def side_command(*parts: str) -> tuple[list[str], dict[str, str]]:
    """The second process' command and environment: its modules come from where this one's do, not from its folder."""
    command = [sys.executable, "-P", "-m", "contactlab.cli", "warmup", *parts]
    return command, os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)}


def compile_part(name: str) -> None:
    """Compile one of `PARTS`: the parts of the loop that find forces, and what a record is read with."""
    {"nearer": _compile_refinement, "ledger": _ledger, "forces": _forces}[name]()


def _compile_refinement() -> None:
    """Compile the last stages of the loop; most kernels of the previous strategies are read from disk."""
    _demo()[2].find_part(layout.NEARER)


def _forces() -> None:
    """All attempts at forces, which take longest."""
    driver = _demo()[2]
    for place in (layout.NEARER, layout.ATTEMPTS):
        driver.find_part(place)


def _demo() -> tuple[World, TimeStepping, Driver]:
    """Return the demo, and the memory of a run of it."""
    world, stepper = demo_world(), demo_stepper()
    return world, stepper, Driver(world, stepper, world.initial_state())


def _ledger() -> None:
    world, stepper, driver = _demo()
    # No step is made: nothing of the loop is compiled.
    recording = Recording.of_run(world, stepper, world.initial_state(), [driver.take()])
    str(recording.ledger)
    recording.poses()
