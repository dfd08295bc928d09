"""Many short runs under given controls, on threads: states in, states out, nothing of Python in the steps."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.recording.failure import simulation_error
from contactlab.recording.recording import Recording
from contactlab.simulation.batch import all_cores
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.driver import Driver
from contactlab.stepping.kernels import layout
from contactlab.stepping.prepared import checked_state, prepare
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.state import StepperState
from contactlab.world.world import World
from lcp.hearing import on_threads, processor_seconds

# Steps after which the compiled loop returns, so that Ctrl-C is heard.
PORTION = 256


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
    """

    q: FloatArray
    v: FloatArray
    failed: np.ndarray[tuple[int], np.dtype[np.bool_]]
    errors: tuple[Exception | None, ...]


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
    errors: list[Exception | None] = [None] * B
    own, portion = threading.local(), min(PORTION, max(wanted, 1))

    def one(i: int) -> None:
        if not hasattr(own, "driver"):
            own.driver = Driver(world, stepper, begins[i], steps=wanted, chunk_steps=portion, aside=True)
        driver: Driver = own.driver
        try:
            driver.restart(begins[i])
            driver.schedule(None if forces is None else forces[i], None if aims is None else aims[i])
            q[i, 0], v[i, 0] = begins[i].q, begins[i].v
            _run(driver, q[i, 1:], v[i, 1:])
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
    return Rollout(q, v, np.array([error is not None for error in errors], dtype=np.bool_), tuple(errors))


def _run(driver: Driver, q: FloatArray, v: FloatArray) -> None:
    """Make all steps; write the states after them."""
    done = 0
    while True:
        processor_seconds()  # nobody may be waiting any more
        reason = driver.advance()
        count = driver.step - done
        q[done : driver.step], v[done : driver.step] = driver.chunk.q[:count], driver.chunk.v[:count]
        done = driver.step
        if reason != layout.CHUNK_FULL:
            return
        driver.empty()
