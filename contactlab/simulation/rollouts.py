"""Many short runs under given controls, on threads: states in, states out, nothing of Python in the steps."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.recording.failure import simulation_error
from contactlab.recording.long_steps import Moves
from contactlab.recording.plausibility import ImplausibleWarning, Notice, too_long
from contactlab.recording.recording import Recording
from contactlab.simulation.batch import all_cores
from contactlab.simulation.watching import Watch
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from contactlab.stepping.driver import Driver
from contactlab.stepping.kernels import layout
from contactlab.stepping.kinematic import poses_at
from contactlab.stepping.prepared import checked_state, prepare
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.state import StepperState
from contactlab.world.world import World
from lcp.hearing import on_threads, processor_seconds

# Steps after which the compiled loop returns, so that Ctrl-C is heard.
PORTION = 256
# Steps whose motion is looked at together, afterwards.
LOOKED_AT = 50_000


@dataclass(frozen=True, eq=False)
class Rollout:
    """What became of B runs.

    Attributes
    ----------
    q, v
        (B, steps + 1, nq) and (B, steps + 1, nv): the states, that at the start first. After a step that failed, NaN.
    failed
        (B,) whether a run stopped early.
    errors
        Why, for each run; None for those that ended well. The record of a `SimulationError` is of no step: it holds the
        state at which the failed one began.
    notices
        What no certificate says (`Recording.notices`), the worst of each kind over all runs; the text says where.
    """

    q: FloatArray
    v: FloatArray
    failed: np.ndarray[tuple[int], np.dtype[np.bool_]]
    errors: tuple[Exception | None, ...]
    notices: tuple[Notice, ...] = ()


def rollout(
    world: World,
    stepper: TimeStepping,
    states: Sequence[StepperState],
    *,
    taus: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    steps: int | None = None,
    threads: int | None = None,
) -> Rollout:
    """Run a world from many states under given controls; each run has the bits that `simulate` gives it alone.

    Parameters
    ----------
    world, stepper
        What and how. A world of kinematic bodies, or with constraints of the user's own, enters Python in every step.
    states
        B states to start from.
    taus
        (B, steps, nv) applied generalized forces of every step; None for none.
    targets
        (B, steps, nd) targets of the drives, in the order of `World.joint_actions`; None for the world's.
    steps
        How many; not needed where ``taus`` or ``targets`` say so.
    threads
        Runs under way at a time; None for as many as the process has processors.

    Warns
    -----
    ImplausibleWarning
        No step failed, and some run should be doubted all the same: see `Rollout.notices`.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used, before any run begins.
    """
    check_run(world, stepper)
    if not isinstance(states, Sequence):
        detail = f"must be a sequence of B states, got {type(states).__name__}: `[world.initial_state()] * B` makes one"
        raise SimulationConfigError("states", detail)
    prepared, begins = prepare(world, stepper), list(states)
    for i, state in enumerate(begins):
        checked_state(prepared, state, f"states[{i}]")
    B, drives = len(begins), len(world.joint_actions.drives)
    length = None if steps is None else whole_number("steps", steps, 0)
    forces = None if taus is None else finite_array(taus, "taus", (B, length, world.nv), SimulationConfigError)
    length = length if forces is None else forces.shape[1]
    aims = None if targets is None else finite_array(targets, "targets", (B, length, drives), SimulationConfigError)
    wanted = length if aims is None else aims.shape[1]
    if wanted is None:
        raise SimulationConfigError("steps", "say how many, or give taus or targets (B, steps, n)")
    workers = all_cores() if threads is None else whole_number("threads", threads, 1)
    q, v = np.full((B, wanted + 1, world.nq), np.nan), np.full((B, wanted + 1, world.nv), np.nan)
    times = np.full((B, wanted + 1), np.nan)
    errors: list[Exception | None] = [None] * B
    watch = Watch(world, stepper)
    told: list[Notice] = []
    own, portion = threading.local(), min(PORTION, max(wanted, 1))

    def one(i: int) -> None:
        if not hasattr(own, "driver"):
            own.driver = Driver(world, stepper, begins[i], steps=wanted, chunk_steps=portion, aside=True)
        driver: Driver = own.driver
        try:
            driver.restart(begins[i])
            driver.schedule(None if forces is None else forces[i], None if aims is None else aims[i])
            q[i, 0], v[i, 0], times[i, 0] = begins[i].q, begins[i].v, begins[i].time
            one_watch = watch.anew(lambda step: f"step {step} of run {i}")
            _run(driver, q[i], v[i], times[i], one_watch, one_watch.energy_of(begins[i]))
            told.extend(one_watch.notices)
        except Exception as error:  # noqa: BLE001  reported in the result, one by one
            errors[i] = error
        if driver.failed:
            # Without the steps before, of which those in portions that were full are gone.
            driver.empty()
            recording = Recording.of_run(world, stepper, driver.state(), [driver.take()])
            errors[i] = simulation_error(driver, recording)

    if B:
        # The first run alone: the compiler is not entered from two threads at once.
        one(0)
        for _ in on_threads(lambda i: one(i + 1), B - 1, workers):
            pass
    told.extend(_long(world, q, v, times))
    worst = [max((n for n in told if n.kind == kind), key=lambda n: n.worst) for kind in sorted({n.kind for n in told})]
    for notice in worst:
        warnings.warn(notice.text, ImplausibleWarning, stacklevel=2)
    failed = np.array([error is not None for error in errors], dtype=np.bool_)
    return Rollout(q, v, failed, tuple(errors), tuple(worst))


def _run(
    driver: Driver, q: FloatArray, v: FloatArray, times: FloatArray, watch: Watch, energy: tuple[float, float]
) -> None:
    """Make all steps; write the states and times after them, and look at contacts and impacts."""
    done, unsolved = 0, driver.uncertified
    if times[0] == 0.0:
        watch.start(q[0])
    while True:
        processor_seconds()  # nobody may be waiting any more
        reason = driver.advance()
        count, chunk = driver.step - done, driver.chunk
        after = slice(done + 1, driver.step + 1)
        q[after], v[after], times[after] = chunk.q[:count], chunk.v[:count], chunk.time[:count]
        if driver.uncertified > unsolved:
            unsolved = driver.uncertified
            watch.islands(driver)
        if count:
            watch.contacts(driver, begins=times[0] == 0.0)
            watch.impacts(driver, q[done], v[done], energy)
            energy = float(chunk.kinetic[count - 1]), float(chunk.potential[count - 1])
        done = driver.step
        if reason != layout.CHUNK_FULL:
            return
        driver.empty()


def _long(world: World, q: FloatArray, v: FloatArray, times: FloatArray) -> Iterator[Notice]:
    """What steps of all runs are too long for, some runs at a time."""
    B, steps = times.shape[0], times.shape[1] - 1
    portion = max(1, LOOKED_AT // max(steps, 1))
    for first in range(0, B, portion):
        runs = slice(first, first + portion)
        where = np.argwhere(np.isfinite(times[runs, 1:])) + (first, 0)
        run, step = where.T
        now, after = (run, step), (run, step + 1)
        pose, pose_next = (poses_at(world, times[at]) for at in (now, after))
        h = times[after] - times[now]

        def name(i: int, where: IntArray = where) -> str:
            return f"step {where[i, 1]} of run {where[i, 0]}"

        yield from too_long(Moves(world, q[now], v[now], q[after], v[after], h, pose, pose_next, name))
