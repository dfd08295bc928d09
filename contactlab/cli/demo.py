"""Demonstration commands: `contactlab demo`, cubes and balls thrown onto an incline, and `contactlab tour`.

A second process compiles kernels for the demo, because within one process numba compiles one kernel at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import math
import os
import subprocess
import sys
import webbrowser
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.cli import command, option, positive, positive_integer, print_address, whole, write_and_report
from contactlab.cli.records import StepClock, print_summary, write_html
from contactlab.collision import Box, ConvexPoints, HalfSpace, Material, Sphere
from contactlab.lab.sweeps import Progress
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, SimulationError, TimeStepping, World, WorldBuilder, simulate
from lcp.compiler import on_first_compilation
from lcp.compiler.cache import cache_folder
from lcp.compiler.releases import is_tested
from lcp.interruptible import available_cpus

NAME = "contactlab_demo"
# Parts of `contactlab warmup` that a second process compiles, in the order in which the demo needs them.
SIDE_PARTS = ("sweeps", "fallback", "ledger")


@command(
    option("--out", type=Path, default=Path(), metavar="DIR", help="folder to write into (default: this one)"),
    option("--duration", type=positive, default=4.0, help="simulated seconds (default %(default)s)"),
    option("--seed", type=whole, default=0, help="seed of the random throws (default %(default)s)"),
    epilog=f"Writes {NAME}.npz, {NAME}.html and {NAME}.png.",
)
def demo(arguments: argparse.Namespace) -> int:
    """Throw cubes and balls onto a plane and an incline; needs no data."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not os.access(arguments.out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(arguments.out))
    world, stepper = demo_world(arguments.seed), demo_stepper()
    names = ", ".join(world.model.names)
    print(f"{world.model.nb} bodies ({names}), {arguments.duration:g} s at h = {stepper.h:g} s")
    clock, status = StepClock(), 0
    with background_compilation(SIDE_PARTS):
        try:
            with Progress("simulating", "steps") as progress:
                recording = simulate(world, stepper, arguments.duration, progress=progress.update)
        except SimulationError as error:
            print(f"stopped: {error}")
            recording, status = error.recording, 1
        print_summary(recording, clock)
    _write(recording, arguments.out)
    return status


def _write(recording: Recording, folder: Path) -> None:
    """Write the record, then the pictures that the installed extras permit."""
    from contactlab.view.plotting import save_figure, summary

    record = folder / f"{NAME}.npz"
    recording.save(record)
    print(f"wrote {record}")
    plot, page = folder / f"{NAME}.png", folder / f"{NAME}.html"
    write_and_report(plot.name, lambda: save_figure(summary(recording), plot))
    write_and_report(page.name, lambda: write_html(recording, page))


SLOPE = math.radians(20.0)
FOOT = 1.6  # position of the lower edge of the incline [m]
LANES = 8  # number of bodies, in separate lanes without collisions
LANE_WIDTH = 0.45
H = 2e-3


def demo_stepper() -> TimeStepping:
    """Return the stepper of the demo."""
    return TimeStepping(H, edges=8)


def demo_world(seed: int = 0) -> World:
    """Return the world of the demo, with random throws for a seed."""
    random = np.random.default_rng(seed)
    builder = WorldBuilder(body_contacts=False)
    incline = HalfSpace.through((FOOT, 0.0, 0.0), (-math.sin(SLOPE), 0.0, math.cos(SLOPE)))
    builder.add_half_space("plane", HalfSpace((0.0, 0.0, 1.0), 0.0), Material(0.35, 0.2))
    builder.add_half_space("incline", incline, Material(0.5, 0.2))
    kinds = {
        "cube": (RigidInertia.solid_box(0.5, (0.1, 0.1, 0.1)), Box.cube(0.1), Material(0.4, 0.1)),
        "ball": (RigidInertia.solid_sphere(0.3, 0.1), Sphere(0.1), Material(0.4, 0.7)),
        "gem": (
            RigidInertia(0.3, inertia=0.3 * 0.13**2 / 5.0 * np.eye(3)),
            ConvexPoints(0.13 * np.concatenate((np.eye(3), -np.eye(3)))),
            Material(0.4, 0.1),
        ),
    }
    for lane in range(LANES):
        kind = ("cube", "ball", "cube", "gem")[lane % 4]
        start = _throw(random, (lane - 0.5 * (LANES - 1)) * LANE_WIDTH)
        builder.add_free_body(f"{kind} {lane}", *kinds[kind], *start)
    return builder.build()


def _throw(random: np.random.Generator, y: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a start above the plane, flying towards the incline with some spin."""
    turn = random.normal(size=4)
    position = (random.uniform(-1.4, -0.6), y, random.uniform(0.5, 1.1))
    velocity = (random.uniform(2.0, 3.6), random.uniform(-0.1, 0.1), random.uniform(0.0, 1.5))
    spin = random.uniform(-8.0, 8.0, size=3)
    return np.concatenate((position, turn / np.linalg.norm(turn))), np.concatenate((velocity, spin))


@command(
    option("--no-browser", action="store_true", help="print the address and open no browser"),
    option("--port", type=positive_integer, default=8080, help="where (default %(default)s)"),
    option("--docs", metavar="URL", help="address of the built pages, to which scenes then link"),
    option(
        "--html",
        type=Path,
        metavar="DIR",
        help="write each scene as one HTML file that opens offline, and serve nothing",
    ),
    epilog="It is served to this machine alone, until Ctrl-C. "
    "Keys: N next scene, P previous, R reset, H halt or go on.",
)
def tour(arguments: argparse.Namespace) -> int:
    """Serve six scenes to touch in the browser of this machine."""
    try:
        from contactlab.view.tour import tour, write_replays

        if arguments.html is not None:
            for path in write_replays(arguments.html):
                print(f"wrote {path}")
            return 0

        def announce(url: str) -> None:
            print_address(url, arguments.port)
            if not arguments.no_browser:
                webbrowser.open(url)

        tour(port=arguments.port, docs=arguments.docs, announce=announce)
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing; pip install '.[viz]'")
        return 1
    return 0


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
