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
from contactlab.simulation.external_contacts import Contacts, supply_of
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

ROUNDING = 1e-6  # part of a step


def simulate(
    world: World,
    stepper: TimeStepping,
    duration: float | None = None,
    *,
    steps: int | None = None,
    state: StepperState | None = None,
    tau: Tau = None,
    contacts: Contacts = None,
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
        Time to simulate [s]: the least number of steps that covers it, so that the last one may end less than h after
        it. Steps are never cut to fit. Or ``steps``, exactly one of the two.
    state
        Where to start; `World.initial_state` where not given. Steps are counted from 0 here.
    tau
        Applied generalized force (nv,), or a function of (time, q, v) that returns it; see `TimeStepping.step`.
    contacts
        Contacts of one's own: a function of (time, q, v) that returns a sequence of `ExternalContact`; see
        `TimeStepping.step`. They are recorded like all others; who goes on from a state of the record gives the
        function again.
    path
        Where to keep the record; while the run lasts in chunk files in ``<path>.chunks/``. An existing record there
        is replaced. Without it the record is in memory only.
    progress
        Called with (steps done, steps in all) after every portion. With a duration and an adaptive stepper the second
        number counts on full steps from here on.
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
    portion = _whole("chunk_steps", chunk_steps, 1)
    start = world.initial_state() if state is None else state
    total, end = _length(stepper, start, duration, steps)
    room = portion if total is None else min(portion, max(total, 1))
    supply = supply_of(world, contacts)
    driver = Driver(world, stepper, start, steps=total, end=end, tau=tau, supply=supply, chunk_steps=room)

    def report() -> None:
        if progress is not None:
            progress(driver.step, _expected(driver, stepper, end) if total is None else total)

    if path is None:
        pieces: list[Rows] = []
        _run(driver, pieces.append, report)
        recording = Recording.of_run(world, stepper, start, pieces)
        if driver.failed:
            raise simulation_error(driver, world, stepper, recording, path=None)
        return recording

    from contactlab.simulation.record_io import RecordWriter, open_recording

    target = Path(path)
    writer = RecordWriter(target, world, stepper)
    try:
        writer.add(start_rows(world, start, lcp_width(stepper.edges)))
        writer.flush()
        _run(driver, writer.add, report)
    finally:
        writer.flush()
    if driver.failed:
        raise simulation_error(driver, world, stepper, open_recording(writer.folder), path=target)
    return writer.pack()


def _run(driver: Driver, keep: Callable[[Rows], None], report: Callable[[], None]) -> None:
    """Advance to the end or a failure; every finished step is kept."""
    while True:
        reason = driver.advance()
        keep(driver.take())
        report()
        if reason != layout.CHUNK_FULL:
            return


def _length(
    stepper: TimeStepping, start: StepperState, duration: float | None, steps: int | None
) -> tuple[int | None, float | None]:
    """Return the number of steps, or, where that depends on how the run goes, the time from which none begins."""
    if (duration is None) == (steps is None):
        raise SimulationConfigError("duration", "give exactly one of duration and steps")
    if steps is not None:
        return _whole("steps", steps, 0), None
    seconds = finite_number(duration if duration is not None else 0.0, "duration", SimulationConfigError)
    if seconds < 0.0:
        raise SimulationConfigError("duration", f"must not be negative, got {seconds}")
    if stepper.adaptive:
        # The time is a sum of many steps: what is missing by less than this is rounding, not a step to make.
        return None, start.time + seconds - ROUNDING * min(stepper.h, seconds)
    # A duration that is a multiple of h up to rounding means that multiple.
    return math.ceil(seconds / stepper.h * (1.0 - 1e-12)), None


def _expected(driver: Driver, stepper: TimeStepping, end: float | None) -> int:
    """Steps in all if every one from here on has the full size."""
    left = 0.0 if end is None else max(0.0, end - driver.time)
    return driver.step + math.ceil(left / stepper.h)


def _whole(field: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SimulationConfigError(field, f"must be a whole number, got {value!r}") from error
    if number < least:
        raise SimulationConfigError(field, f"must be at least {least}, got {number}")
    return number
