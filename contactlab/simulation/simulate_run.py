"""Run of many steps with a record."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.multibody.spatial.arrays import finite_number
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.notices import warn_of
from contactlab.simulation.recording.run_reports import simulation_error
from contactlab.simulation.recording.writer import RecordWriter
from contactlab.simulation.single_step import StepResult
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import Contacts, Targets, Tau, contact_supplier
from contactlab.simulation.stepping.driver import Driver, acquire_driver, release_driver
from contactlab.simulation.stepping.memory import LITTLE, memory_bytes
from contactlab.simulation.stepping.prepared import check_run
from contactlab.simulation.stepping.record_schema import Rows, rows_of_chunks
from contactlab.simulation.stepping.wrenches import WrenchLaw, with_wrenches
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.world import StepperState, World
from lcp.compiler import compilation_seconds
from lcp.interruptible import raise_if_cancelled

ROUNDING = 1e-6  # fraction of a step

# Duration of a portion of a run: Ctrl-C waits at most about this long.
PORTION_SECONDS = 0.1
MAX_STEPS = 256
# Maximum number of steps, and of velocities, in a chunk in memory.
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
        Time to simulate [s]: the minimum number of steps that covers it, so that the last one may end less than h
        later. Steps are never shortened. Or ``steps``, exactly one of the two.
    state
        State at the start; by default `World.initial_state`. Steps are counted from 0 here.
    tau
        Applied generalized force (nv,), or a function of (time, q, v) that returns it; see `step`.
    contacts
        External contacts: a function of (time, q, v) that returns a sequence of `ExternalContact`; see
        `step`. They are recorded like all others. A run that continues from a state of the record needs
        the function again.
    targets
        Targets of drives by name, in place of the world's: a number [rad, m, rad/s, m/s], or a function of time that
        returns it, called once per step for the time at its end. Or a feedback law: one function of (time, q, v) at
        the start of the step, called once per step. It returns all targets, as an array in the order of
        `World.joint_actions` or as numbers by name. The record contains the targets.
    f_ext
        Wrenches on bodies, or a function of (time, q, v) that returns them; see `step`.
    path
        Path of the record; during the run it is in chunk files in ``<path>.chunks/``. Without it the record is only in
        memory. An existing file, or the chunks of a stopped run, is an error without ``resume`` or ``overwrite``.
    resume
        Continue the record at ``path`` up to ``duration`` or ``steps``, counted from its beginning; begin it if there
        is none. World and stepper must be the record's. The result is, bit for bit, the record of a run without
        interruption, if ``tau``, ``contacts``, ``targets`` and ``f_ext`` depend only on their arguments. A record that
        is already as long is returned unchanged.
    overwrite
        Replace the record at ``path``: chunks of a stopped run immediately, a complete file at the end of this run.
    progress
        Called with (steps done, steps in all) after every portion. With a duration and an adaptive stepper the second
        number assumes full steps from here on. None: a run of more than five seconds reports its progress in one line,
        if standard error is a terminal; parallel runs report nothing.
    watch
        Called with the result of every step, as `step` returns it; with ``chunk_steps``, only after each
        chunk and after the last step. `contactlab.view.viewer.live` shows the results.
    chunk_steps
        Number of steps before the loop returns to Python: Ctrl-C, ``progress`` and ``watch`` wait that long. None: 1
        with ``watch``; otherwise at most 256, and about a tenth of a second.
    flush_seconds
        With ``path``: the maximum time [s] between two chunk files, plus the portion in progress. A killed run loses
        only the steps of this time.
    stamp
        Additional entries of the record's ``environment``.

    Warns
    -----
    ImplausibleWarning
        No step failed, but the run is doubtful: see `Recording.notices`.

    Raises
    ------
    SimulationConfigError
        An argument is invalid.
    SimulationError
        A step failed; the error has its problem and the record up to it. The record's chunks stay on disk, also after
        an interruption, and `Recording.open` opens them.
    RecordError
        The record to continue cannot be read, or belongs to another run; or a record exists at ``path`` without
        ``resume`` or ``overwrite``.
    RecordWriteError
        The disk cannot be written; if nothing can be written, before the first step. Earlier chunks stay, and the run
        can be resumed.
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
        # In memory, rows are taken from the chunk only when it is full.
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
        before = start

        def report(chunk: Rows) -> None:
            nonlocal before
            if progress is not None:
                # If the number of steps is unknown, assume full steps.
                left = 0.0 if end is None else max(0.0, end - driver.time)
                progress(driver.step, driver.step + math.ceil(left / stepper.h) if total is None else total)
            if watch is not None and chunk["time"].size:
                now = driver.state()
                watch(StepResult.of_rows(world, stepper, before, chunk, now, driver.step - 1))
                before = now

        if target is not None and writer is None:
            # After the driver has checked the arguments, because this discards the old record.
            given: dict[str, Any] = {"flush_seconds": interval, "stamp": stamp or {}, "overwrite": overwrite}
            writer = held.enter_context(RecordWriter.begin(target, world, stepper, start, **given))
        pieces: list[Rows] = []

        def keep(chunk: Rows, timing: Rows) -> None:
            if writer is None:
                pieces.extend(piece for piece in (chunk, timing) if piece)
            else:
                writer.add({**rows_of_chunks([chunk]), **timing})

        try:
            _run(driver, keep, report, portion, at_once=at_once)
        finally:
            if writer is not None:
                writer.flush()
        if driver.failed and target is not None:
            raise simulation_error(driver, Recording.open(target), path=target)
        recording = Recording.of_run(world, stepper, start, pieces, stamp) if writer is None else writer.pack()
        if driver.failed:
            raise simulation_error(driver, recording)
        release_driver(driver)
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
    """Raise before the first step if the steps do not fit memory or disk, for example because h is far too small."""
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
        raise SimulationConfigError("h", f"{detail}, and there are {there / 1e9:.3g} GB of {place}: use {advice}")


def _run(
    driver: Driver,
    keep: Callable[[Rows, Rows], None],
    report: Callable[[Rows], None],
    portion: int | None,
    *,
    at_once: bool = False,
) -> None:
    """Advance to the end or a failure, in portions of ``portion`` steps or a tenth of a second, and keep the rows.

    ``at_once``: take the rows only when the chunk is full or the run has ended, and report nothing.
    """
    steps = 1 if portion is None else portion
    while True:
        raise_if_cancelled()
        # Measure the steps without the compilation that some of them wait for.
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
            # At most a factor of two at a time, because the next steps may have more contacts.
            wanted = steps * max(0.5, min(2.0, PORTION_SECONDS / max(seconds, 1e-9)))
            steps = max(1, min(MAX_STEPS, int(wanted)))


def _length(
    stepper: TimeStepping, start: StepperState, duration: float | None, steps: int | None
) -> tuple[int | None, float | None]:
    """Return the number of steps, or the time from which no step begins if the number depends on the run."""
    if (duration is None) == (steps is None):
        raise SimulationConfigError("duration", "give exactly one of duration and steps")
    if steps is not None:
        return whole_number("steps", steps, 0), None
    seconds = finite_number(duration if duration is not None else 0.0, "duration", SimulationConfigError, least=0.0)
    if stepper.adaptive:
        # The time is a sum of many steps: a remainder below this is rounding, not a step.
        return None, start.time + seconds - ROUNDING * min(stepper.h, seconds)
    # A duration that is a multiple of h up to rounding is this multiple.
    return math.ceil(seconds / stepper.h * (1.0 - 1e-12)), None


# Seconds before the first line, and between two lines.
PATIENCE = 5.0
PAUSE = 1.0
# Return to the beginning of the line and erase it.
EMPTY = "\r\x1b[K"


def default_progress(held: contextlib.ExitStack, before: int = 0) -> Callable[[int, int], None] | None:
    """Return the default ``progress`` of a run after ``before`` steps; None without a terminal.

    The line goes to standard error if it is a terminal, only from the main thread of the main process: a program with
    many runs reports its own progress. The line is erased at the end, or with ``held``.
    """
    looked_at = sys.stderr is not None and sys.stderr.isatty()
    alone = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
    if not (looked_at and alone):
        return None
    begun = time.monotonic()
    last = begun + PATIENCE - PAUSE
    shown = False

    def say(text: str) -> None:
        nonlocal shown
        if text or shown:
            print(EMPTY + text, end="", file=sys.stderr, flush=True)
        shown = bool(text)

    def update(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total:
            say("")
        elif now - last >= PAUSE and done > before:
            last = now
            left = (now - begun) * (total - done) / (done - before)
            say(f"simulate: {done} of {total} steps, {now - begun:.0f} s, about {left:.0f} s to go")

    held.callback(say, "")
    return update
