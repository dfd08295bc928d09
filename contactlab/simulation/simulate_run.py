"""Many steps in a row, recorded."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from contactlab.recording.failure import simulation_error
from contactlab.recording.notices import warn_of
from contactlab.recording.recording import Recording
from contactlab.recording.writer import RecordWriter
from contactlab.simulation.notice_monitor import default_progress
from contactlab.spatial.arrays import finite_number
from contactlab.stepping.driver import Driver, Targets, Tau, acquire_driver, release_driver
from contactlab.stepping.external_contacts import Contacts, contact_supplier
from contactlab.stepping.memory import LITTLE, memory_bytes
from contactlab.stepping.record_schema import Rows, rows_of_chunks
from contactlab.stepping.step_result import StepResult
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.stepping.wrenches import WrenchLaw, with_wrenches
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.state import StepperState
from contactlab.world.world import World
from lcp.compiler import compilation_seconds
from lcp.interruptible import cpu_seconds

ROUNDING = 1e-6  # part of a step

# A portion of a run: short enough that Ctrl-C does not wait long, and of no more steps than this.
PORTION_SECONDS = 0.1
MAX_STEPS = 256
# Steps in a chunk that is kept in memory, and velocities in it.
ROOM_STEPS, MAX_CHUNK_VELOCITIES = 4096, 1_000_000


def simulate(
    world: World,
    stepper: TimeStepping,
    duration: float | None = None,
    *,
    steps: int | None = None,
    state: StepperState | None = None,
    tau: Tau = None,
    contacts: Contacts = None,
    targets: Targets = None,
    f_ext: WrenchLaw = None,
    path: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[StepResult], None] | None = None,
    chunk_steps: int | None = None,
    flush_seconds: float = 1.0,
    stamp: Mapping[str, str] | None = None,
) -> Recording:
    """Step a world and record it.

    Parameters
    ----------
    world, stepper
        The world, and its stepper.
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
    targets
        Targets of drives by their names, in place of the world's: a number [rad, m, rad/s, m/s], or a function
        of time that returns it, asked once per step for the time at its end. Or a law of feedback: one function of
        (time, q, v) at the start of the step, like the one for ``tau``, asked once per step. It returns all of them, an
        array in the order of `World.joint_actions` or numbers by name. What they were is in the record.
    f_ext
        Wrenches on bodies, or a function of (time, q, v) that returns them; see `TimeStepping.step`.
    path
        Where to keep the record; while the run lasts in chunk files in ``<path>.chunks/``. Without it the record is in
        memory only. What stands there already, a file or the chunks of a run that was stopped, is an error unless
        ``resume`` or ``overwrite`` says what to do with it.
    resume
        Go on with the record at ``path`` up to ``duration`` or ``steps``, counted from its beginning; where there is
        none, begin it. World and stepper must be the record's. The result is, bit for bit, the record of a run which
        was never stopped, where ``tau``, ``contacts``, ``targets`` and ``f_ext`` depend on their arguments alone.
        A record that is as long already is returned as it is.
    overwrite
        Replace what stands at ``path``: chunks of a run that was stopped at once, a whole file when this run is done.
    progress
        Called with (steps done, steps in all) after every portion. With a duration and an adaptive stepper the second
        number counts on full steps from here on. None: a run of more than five seconds says so itself, in one line of
        the terminal that standard error is; elsewhere, and of runs side by side, nothing is said.
    watch
        Called with the result of every step, as `TimeStepping.step` returns it; with ``chunk_steps``, of every so many
        steps and of the last one. `contactlab.viewer.live` shows them.
    chunk_steps
        Steps computed before Python is entered again: Ctrl-C, ``progress`` and ``watch`` wait that long. None: 1 with
        ``watch``; otherwise at most 256, and as many as take about a tenth of a second.
    flush_seconds
        With ``path``: the longest time [s] between two chunk files, but for the portion under way. A run that is
        killed loses no more than what it computed in the last ``flush_seconds`` and that portion.
    stamp
        Further entries of the record's ``environment``.

    Warns
    -----
    ImplausibleWarning
        No step failed, and the run should be doubted all the same: see `Recording.notices`.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used.
    SimulationError
        A step that failed, with its problem and the record up to it. The record's chunks stay on disk and
        `Recording.open` opens them; so they do when the run is interrupted.
    RecordError
        The record to go on with cannot be read, or is of another run; or one stands at ``path``, and nothing was said
        of it.
    RecordWriteError
        The disk refuses; where nothing can be written, before the first step. What was written before stands, and the
        run can be gone on with.
    """
    check_run(world, stepper, state)
    portion = None if chunk_steps is None else whole_number("chunk_steps", chunk_steps, 1)
    if portion is None and watch is not None:
        portion = 1
    interval = finite_number(flush_seconds, "flush_seconds", SimulationConfigError, least=0.0)
    if resume and path is None:
        raise SimulationConfigError("resume", "needs the path of the record to go on with")
    if resume and overwrite:
        raise SimulationConfigError("overwrite", "replaces what `resume` would go on with: give one of them")
    if resume and state is not None:
        raise SimulationConfigError("state", "is the record's where resume is given")
    begin = world.initial_state() if state is None else state
    tau = with_wrenches(world, tau, f_ext)
    supply = contact_supplier(world, contacts)
    target = None if path is None else Path(path)
    with contextlib.ExitStack() as held:
        writer = None
        if resume and target is not None:
            writer = RecordWriter.resume(target, world, stepper, with_tau=tau is not None, flush_seconds=interval)
        stepper = stepper.in_world(world) if writer is None else writer.stepper
        start, done = (begin, 0) if writer is None else (held.enter_context(writer).state, writer.done)
        total, end = _length(stepper, begin if writer is None else writer.start, duration, steps)
        _check_memory(world, stepper, start, done, total, end, target)
        # In memory nothing is taken out of the chunk before it is full.
        at_once = target is None and watch is None and portion is None
        room = max(MAX_STEPS, min(ROOM_STEPS, MAX_CHUNK_VELOCITIES // max(1, world.nv))) if at_once else MAX_STEPS
        driver = acquire_driver(
            world,
            stepper,
            start,
            first=done,
            steps=total,
            end=end,
            tau=tau,
            supply=supply,
            targets=targets,
            chunk_steps=min(portion or room, room if total is None else max(total, 1)),
        )
        if progress is None:
            progress = default_progress(held, done)
        report = _reporter(driver, world, stepper, start, total, end, progress, watch)
        if target is None:
            chunks: list[Rows] = []
            timings: list[Rows] = []

            def keep(chunk: Rows, timing: Rows) -> None:
                if chunk:
                    chunks.append(chunk)
                timings.append(timing)

            _run(driver, keep, report, portion, at_once=at_once)
            recording = Recording.of_run(world, stepper, start, [*chunks, *timings], stamp)
            if driver.failed:
                raise simulation_error(driver, recording)
            release_driver(driver)
            warn_of(recording.notices)
            return recording

        if writer is None:
            # Not before the driver has found nothing wrong with the arguments: here the record before is given up.
            writer = held.enter_context(
                RecordWriter.begin(
                    target, world, stepper, start, flush_seconds=interval, stamp=stamp or {}, overwrite=overwrite
                )
            )
        try:
            add = writer.add
            _run(driver, lambda chunk, timing: add({**rows_of_chunks([chunk]), **timing}), report, portion)
        finally:
            writer.flush()
        if driver.failed:
            raise simulation_error(driver, Recording.open(target), path=target)
        release_driver(driver)
        recording = writer.pack()
        warn_of(recording.notices)
        return recording


def _check_memory(
    world: World,
    stepper: TimeStepping,
    start: StepperState,
    done: int,
    total: int | None,
    end: float | None,
    target: Path | None,
) -> None:
    """Refuse more steps than can be kept, as of a step too short by orders of magnitude, before the first one."""
    left = total - done if total is not None else (end - start.time) / stepper.h if end is not None else 0
    size = 8.0 * left * (world.nq + world.nv + 4)
    if target is None and size <= LITTLE:
        return
    if target is None:
        there, place, advice = memory_bytes(), "memory", "a longer h, or `path` to keep it on disk"
    else:
        folder = next(folder for folder in target.absolute().parents if folder.exists())
        there, place, advice = shutil.disk_usage(folder).free, "disk", "a longer h"
    if size > there:
        detail = f"at {stepper.h:g} s these are {left:.3g} steps, a record of {size / 1e9:.3g} GB at least"
        raise SimulationConfigError("h", f"{detail}, and there are {there / 1e9:.3g} GB of {place}: take {advice}")


def _reporter(
    driver: Driver,
    world: World,
    stepper: TimeStepping,
    start: StepperState,
    total: int | None,
    end: float | None,
    progress: Callable[[int, int], None] | None,
    watch: Callable[[StepResult], None] | None,
) -> Callable[[Rows], None]:
    """Return what tells the caller of a portion."""
    before = start

    def report(chunk: Rows) -> None:
        nonlocal before
        if progress is not None:
            # Where the number of steps is not known: if every one from here on has the full size.
            left = 0.0 if end is None else max(0.0, end - driver.time)
            progress(driver.step, driver.step + math.ceil(left / stepper.h) if total is None else total)
        if watch is not None and chunk["time"].size:
            now = driver.state()
            watch(StepResult.of_rows(world, stepper, before, chunk, now, driver.step - 1))
            before = now

    return report


def _run(
    driver: Driver,
    keep: Callable[[Rows, Rows], None],
    report: Callable[[Rows], None],
    portion: int | None,
    *,
    at_once: bool = False,
) -> None:
    """Advance to the end or a failure, in portions of so many steps, or of a tenth of a second; keep what is done.

    ``at_once``: rows are taken when the chunk is full, or the run has ended, and not reported.
    """
    steps = 1 if portion is None else portion
    while True:
        cpu_seconds()  # on a thread of a batch nobody may be waiting any more
        # Steps are timed, not the compiler, which some of them wait for.
        first, before = driver.step, time.perf_counter() - compilation_seconds()
        goes_on = driver.advance(steps)
        seconds = time.perf_counter() - compilation_seconds() - before
        full = not goes_on or driver.step < first + steps
        chunk: Rows = driver.detach_chunk(away=at_once, goes_on=goes_on) if full or not at_once else {}
        timing: Rows = {}
        if driver.step > first:
            timing = {"timing_step": np.array([driver.step]), "timing_seconds": np.array([seconds])}
        keep(chunk, timing)
        if driver.step > first or not at_once:
            report(chunk)
        if not goes_on:
            return
        if portion is None:
            # Within a factor of two of what was measured: the next steps may have more contacts.
            wanted = steps * max(0.5, min(2.0, PORTION_SECONDS / max(seconds, 1e-9)))
            steps = max(1, min(MAX_STEPS, int(wanted)))


def _length(
    stepper: TimeStepping, start: StepperState, duration: float | None, steps: int | None
) -> tuple[int | None, float | None]:
    """Return the number of steps, or, where that depends on how the run goes, the time from which none begins."""
    if (duration is None) == (steps is None):
        raise SimulationConfigError("duration", "give exactly one of duration and steps")
    if steps is not None:
        return whole_number("steps", steps, 0), None
    seconds = finite_number(duration if duration is not None else 0.0, "duration", SimulationConfigError, least=0.0)
    if stepper.adaptive:
        # The time is a sum of many steps: a rest below this is rounding, not a step to make.
        return None, start.time + seconds - ROUNDING * min(stepper.h, seconds)
    # A duration that is a multiple of h up to rounding means that multiple.
    return math.ceil(seconds / stepper.h * (1.0 - 1e-12)), None
