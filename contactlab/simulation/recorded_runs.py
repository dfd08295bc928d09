"""Many runs at once, on plain threads: the compiled loop holds no lock while it steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contactlab.recording.recording import Recording
from contactlab.simulation.batch import all_cores
from contactlab.simulation.simulate import simulate
from contactlab.stepping.driver import Tau
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.state import StepperState
from contactlab.world.world import World
from lcp.hearing import on_threads


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What became of every run of a batch, in the order asked for.

    Attributes
    ----------
    recordings
        The record of each run; of one that failed the record up to the failure, None where there is none.
    errors
        What each run raised, None for those that ended well.
    """

    recordings: tuple[Recording | None, ...]
    errors: tuple[Exception | None, ...]

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def failed(self) -> tuple[int, ...]:
        """Numbers of the runs that raised."""
        return tuple(i for i, error in enumerate(self.errors) if error is not None)

    def raise_for_errors(self) -> None:
        """Raise what the runs raised, all together, as an `ExceptionGroup`."""
        found = [error for error in self.errors if error is not None]
        if found:
            raise ExceptionGroup(f"{len(found)} of {len(self)} runs failed: {list(self.failed)}", found)


def simulate_batch(
    runs: Sequence[World] | Sequence[tuple[World, StepperState]],
    stepper: TimeStepping,
    duration: float | None = None,
    *,
    steps: int | None = None,
    tau: Tau = None,
    taus: Sequence[Tau] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    chunk_steps: int = 256,
) -> BatchResult:
    """Simulate many worlds, or many states of one; each run has the bits that `simulate` gives it alone.

    Parameters
    ----------
    runs
        Worlds, each from its own start, or pairs (world, state).
    stepper, duration, steps, chunk_steps
        As for `simulate`, the same for all.
    tau
        As for `simulate`, the same for all. A function is called from several threads at once.
    taus
        In its place, one for each run.
    threads
        Runs under way at a time; None for as many as the process has processors.
    progress
        Called with (runs ended, runs in all) after every run, from the thread that ran it, one at a time.

    Returns
    -------
    BatchResult
        A run that fails takes no other with it: see its ``errors``.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used, before any run begins.
    """
    pairs = [_pair(i, run) for i, run in enumerate(runs)]
    forces = _forces(tau, taus, len(pairs))
    workers = all_cores() if threads is None else whole_number("threads", threads, 1)
    ended = 0
    lock = threading.Lock()

    def one(i: int) -> tuple[Recording | None, Exception | None]:
        nonlocal ended
        world, state = pairs[i]
        recording: Recording | None = None
        failure: Exception | None = None
        try:
            recording = simulate(
                world, stepper, duration, steps=steps, state=state, tau=forces[i], chunk_steps=chunk_steps
            )
        except Exception as error:  # noqa: BLE001  reported in the result, one by one
            failure = error
            recording = getattr(error, "recording", None)
        with lock:
            ended += 1
            if progress is not None:
                progress(ended, len(pairs))
        return recording, failure

    if not pairs:
        return BatchResult((), ())
    # The first run alone: the compiler is not entered from two threads at once, and bad arguments raise here.
    first = one(0)
    if isinstance(first[1], SimulationConfigError):
        raise first[1]
    rest = dict(on_threads(lambda i: one(i + 1), len(pairs) - 1, workers))
    outcomes = [first, *(rest[i] for i in range(len(pairs) - 1))]
    return BatchResult(tuple(outcome[0] for outcome in outcomes), tuple(outcome[1] for outcome in outcomes))


def _pair(i: int, run: object) -> tuple[World, StepperState | None]:
    if isinstance(run, World):
        return run, None
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], World) and isinstance(run[1], StepperState):
        return run
    raise SimulationConfigError(f"runs[{i}]", f"must be a World or a pair (World, StepperState), got {run!r}")


def _forces(tau: Tau, taus: Sequence[Tau] | None, count: int) -> list[Tau]:
    if taus is None:
        return [tau] * count
    if tau is not None:
        raise SimulationConfigError("taus", "give tau for all runs or taus one by one, not both")
    if len(taus) != count:
        raise SimulationConfigError("taus", f"must hold one entry for each of the {count} runs, got {len(taus)}")
    return list(taus)
