"""Simulate measured cube tosses and score them.

The cube of the data file is thrown from each measured initial state onto the board and sampled at the camera's times;
sample 0 is the initial state itself. What is not measured is chosen (`contactlab.lab.toss_settings`), by default the
friction of the pair of surfaces alone; one choice serves all tosses. Each toss runs in the frame of its throw (see
`contactlab.lab.throw_frame`).

A toss whose simulation fails is counted, listed and left out of the means: it has no path to be measured on. A report
with failures says so and is not a result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from contactlab.lab.datasets.cube_toss import CubeTosses, Toss
from contactlab.lab.throw_frame import in_throw_frame
from contactlab.lab.toss_cube import RoundedCube
from contactlab.lab.toss_metric import position_error_percent, rotation_error_degrees
from contactlab.lab.toss_settings import TossSettings

if TYPE_CHECKING:
    from contactlab.simulation import Recording, World

__all__ = ["TossOutcome", "TossReport", "run_toss", "run_tosses", "simulate_toss", "toss_world"]

# Without restitution no contact is an impact: a corner then closes its gap within the step, where the impact rule would
# stop it short of the board.
NO_IMPACTS = 1e3
CERTIFIED = 1e-9  # scaled residual above which a step does not count as solved


@dataclass(frozen=True)
class TossOutcome:
    """Score of one toss; ``failure`` is empty unless the simulation failed, and the errors are then NaN."""

    index: int
    toss_id: int
    position_percent: float
    rotation_deg: float
    steps: int
    worst_scaled: float
    failure: str = ""


@dataclass(frozen=True)
class TossReport:
    """Scores of all tosses under one setting, in the order of the file."""

    settings: TossSettings
    outcomes: tuple[TossOutcome, ...]
    seconds: float

    @property
    def tosses(self) -> int:
        """Number of tosses, failed ones included."""
        return len(self.outcomes)

    @cached_property
    def failures(self) -> tuple[TossOutcome, ...]:
        """The failed tosses."""
        return tuple(outcome for outcome in self.outcomes if outcome.failure)

    @property
    def steps(self) -> int:
        """Number of time steps taken in all."""
        return sum(outcome.steps for outcome in self.outcomes)

    @property
    def worst_scaled(self) -> float:
        """Largest scaled residual of any step of any toss (NaN where no step was taken)."""
        worst = [outcome.worst_scaled for outcome in self.outcomes if np.isfinite(outcome.worst_scaled)]
        return max(worst, default=float("nan"))

    @property
    def position_percent(self) -> tuple[float, float]:
        """Mean and standard deviation, over the tosses that ran, of the position error [% of the block width]."""
        return self._statistics("position_percent")

    @property
    def rotation_deg(self) -> tuple[float, float]:
        """Mean and standard deviation, over the tosses that ran, of the rotation error [deg]."""
        return self._statistics("rotation_deg")

    def _statistics(self, name: str) -> tuple[float, float]:
        values = [getattr(outcome, name) for outcome in self.outcomes if not outcome.failure]
        return (float(np.mean(values)), float(np.std(values))) if values else (float("nan"), float("nan"))


def toss_world(tosses: CubeTosses, settings: TossSettings) -> World:
    """Return the cube of the file above the board, a fixed half-space."""
    from contactlab.contact import Box, HalfSpace, Material
    from contactlab.simulation import WorldBuilder
    from contactlab.spatial import RigidInertia

    # Both surfaces are the same: the pair's mu, a geometric mean, is then that number; its spring, two in series, and
    # its damper are half of each.
    material = Material(settings.mu, settings.restitution, 2.0 * settings.stiffness, 2.0 * settings.dissipation)
    gravity = tosses.gravity if settings.gravity is None else settings.gravity
    builder = WorldBuilder(gravity=(0.0, 0.0, -gravity))
    builder.add_half_space("board", HalfSpace((0.0, 0.0, 1.0), settings.board_height), material)
    inertia = RigidInertia(tosses.mass, inertia=settings.inertia_scale * tosses.inertia * np.eye(3))
    half = tosses.half_width
    shape = RoundedCube(half, settings.corner_radius) if settings.corner_radius > 0.0 else Box.cube(half)
    builder.add_free_body("cube", inertia, shape, material)
    return builder.build()


def simulate_toss(tosses: CubeTosses, index: int, settings: TossSettings, world: World | None = None) -> Recording:
    """Return the recording of one toss in the frame of its throw: ``settings.substeps`` steps per sample."""
    world = toss_world(tosses, settings) if world is None else world
    return _simulate(in_throw_frame(tosses[index]), tosses.dt, settings, world)


def _simulate(toss: Toss, dt: float, settings: TossSettings, world: World) -> Recording:
    """Return the recording of a toss from its initial state to its last sample."""
    from contactlab.simulation import TimeStepping, simulate

    h = dt / settings.substeps
    steps = (len(toss.position) - 1) * settings.substeps
    state = world.initial_state(h, q=toss.q, v=toss.v)
    v_min = settings.impact_speed if settings.restitution > 0.0 else NO_IMPACTS
    return simulate(world, TimeStepping(h, edges=settings.edges, v_min=v_min), steps=steps, state=state)


def run_toss(tosses: CubeTosses, index: int, settings: TossSettings, world: World | None = None) -> TossOutcome:
    """Simulate and score one toss; a failed simulation is an outcome, not an exception."""
    from contactlab.simulation import SimulationError

    world = toss_world(tosses, settings) if world is None else world
    toss = in_throw_frame(tosses[index])
    try:
        recording = _simulate(toss, tosses.dt, settings, world)
    except SimulationError as error:
        reason = f"step {error.step}: {error}"
        return TossOutcome(index, toss.toss_id, np.nan, np.nan, error.recording.n_steps, np.nan, reason)
    worst = recording.worst_certificate().scaled
    if not worst <= CERTIFIED:
        reason = f"scaled residual {worst:.1e} above {CERTIFIED:.0e}"
        return TossOutcome(index, toss.toss_id, np.nan, np.nan, recording.n_steps, worst, reason)
    sampled = recording.q[:: settings.substeps]
    return TossOutcome(
        index,
        toss.toss_id,
        position_error_percent(sampled[:, :3], toss.position, 2.0 * tosses.half_width),
        rotation_error_degrees(sampled[:, 3:7], toss.quaternion),
        recording.n_steps,
        worst,
    )


def run_tosses(
    tosses: CubeTosses,
    settings: TossSettings,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TossReport:
    """Simulate and score every toss of a file.

    Parameters
    ----------
    tosses, settings
        The data and the choices.
    workers
        Threads (the compiled loop releases the interpreter lock); None: one per core this process may use.
    progress
        Called with (tosses done, tosses in all) after each toss, in this thread.
    """
    started = time.perf_counter()
    world = toss_world(tosses, settings)
    # The first toss runs alone: it compiles, or loads from the cache, what the threads then share.
    outcomes = [run_toss(tosses, 0, settings, world)]
    if progress is not None:
        progress(1, len(tosses))
    with ThreadPoolExecutor(max_workers=workers or available_cores()) as pool:
        pending = [pool.submit(run_toss, tosses, i, settings, world) for i in range(1, len(tosses))]
        try:
            for finished in as_completed(pending):
                outcomes.append(finished.result())
                if progress is not None:
                    progress(len(outcomes), len(tosses))
        finally:
            # Ctrl-C must not wait for the tosses that have not started.
            pool.shutdown(wait=False, cancel_futures=True)
    outcomes.sort(key=lambda outcome: outcome.index)
    return TossReport(settings, tuple(outcomes), time.perf_counter() - started)


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
