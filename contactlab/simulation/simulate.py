"""Many steps in a row, recorded."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contactlab.simulation.driver import Driver, Tau
from contactlab.simulation.errors import SimulationConfigError
from contactlab.simulation.failure import simulation_error
from contactlab.simulation.kernels import layout
from contactlab.simulation.memory import lcp_width
from contactlab.simulation.record import Recording
from contactlab.simulation.record_schema import Rows, start_rows
from contactlab.simulation.state import StepperState
from contactlab.spatial.arrays import finite_number

if TYPE_CHECKING:
    from contactlab.simulation.time_stepping import TimeStepping
    from contactlab.simulation.world import World

__all__ = ["simulate"]


def simulate(
    world: World,
    stepper: TimeStepping,
    duration: float | None = None,
    *,
    steps: int | None = None,
    state: StepperState | None = None,
    tau: Tau = None,
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    chunk_steps: int = 256,
) -> Recording:
    """Step a world and record it.

    Parameters
    ----------
    world, stepper
        What and how.
    duration
        Time to simulate [s]: the least number of steps that covers it. Or ``steps``, exactly one of the two.
    state
        Where to start; `World.initial_state` where not given. Steps are counted from 0 here.
    tau
        Applied generalized force (nv,), or a function of (time, q, v) that returns it; see `TimeStepping.step`.
    path
        Where to keep the record; while the run lasts in chunk files in ``<path>.chunks/``. An existing record there
        is replaced. Without it the record is in memory only.
    progress
        Called with (steps done, steps in all) after every portion.
    chunk_steps
        Steps computed before Python is entered again: Ctrl-C and ``progress`` wait that long.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used.
    SimulationError
        A step that failed, with its problem and the record up to it. The record's chunks stay on disk and
        `Recording.open` opens them; so they do when the run is interrupted.
    """
    total = _steps(stepper, duration, steps)
    portion = _whole("chunk_steps", chunk_steps, 1)
    start = world.initial_state() if state is None else state
    driver = Driver(world, stepper, start, steps=total, tau=tau, chunk_steps=min(portion, max(total, 1)))

    if path is None:
        pieces: list[Rows] = []
        _run(driver, pieces.append, total, progress)
        recording = Recording.of_run(world, stepper, start, pieces)
        if driver.failed:
            raise simulation_error(driver, world, stepper, recording, path=None)
        return recording

    from contactlab.simulation.record_io import RecordWriter, open_recording

    target = Path(path)
    writer = RecordWriter(target, world, stepper)
    try:
        writer.add(start_rows(world.model, start, lcp_width(stepper.edges)))
        writer.flush()
        _run(driver, writer.add, total, progress)
    finally:
        writer.flush()
    if driver.failed:
        raise simulation_error(driver, world, stepper, open_recording(writer.folder), path=target)
    return writer.pack()


def _run(driver: Driver, keep: Callable[[Rows], None], total: int, progress: Callable[[int, int], None] | None) -> None:
    """Advance to the end or a failure; every finished step is kept."""
    while True:
        reason = driver.advance()
        keep(driver.take())
        if progress is not None:
            progress(driver.step, total)
        if reason != layout.CHUNK_FULL:
            return


def _steps(stepper: TimeStepping, duration: float | None, steps: int | None) -> int:
    if (duration is None) == (steps is None):
        raise SimulationConfigError("duration", "give exactly one of duration and steps")
    if steps is not None:
        return _whole("steps", steps, 0)
    seconds = finite_number(duration if duration is not None else 0.0, "duration", SimulationConfigError)
    if seconds < 0.0:
        raise SimulationConfigError("duration", f"must not be negative, got {seconds}")
    # A duration that is a multiple of h up to rounding means that multiple.
    return math.ceil(seconds / stepper.h * (1.0 - 1e-12))


def _whole(field: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SimulationConfigError(field, f"must be a whole number, got {value!r}") from error
    if number < least:
        raise SimulationConfigError(field, f"must be at least {least}, got {number}")
    return number
