"""Simulate measured cube tosses and score them, one by one or as ensembles.

After an impact two starts that no camera tells apart may lead to two faces. So a prediction is a set of paths: the one
nearest to all others, their medoid, is the path of least expected error, and where they come to rest is a region.

The cube of the data file is thrown from each measured initial state onto the board and sampled at the camera's times;
sample 0 is the initial state itself. What is not measured is chosen (`TossSettings`), by default the
friction of the pair of surfaces alone; one choice serves all tosses.

Each toss runs in the frame of its throw, the board's turned about the vertical until x points along the initial
horizontal velocity. Friction pyramids have facets, and real tosses show them: the errors of a run depend on where the
edges lie against the motion (at k = 16 the mean rotation error moves by half a degree either way as all data are turned
through the 22.5 degrees between two edges). The yaw of the published tosses was drawn at random by their authors.
Simulated in the frame of its throw, every toss meets the facets the same way, an edge along the throw, and its score
does not depend on the yaw it is stored with. The metric itself is the same in every frame.

With `TossSettings.members` above 1 the prediction is the medoid of an ensemble, a path from another start than the
measured one: a protocol of its own (`drawn_starts`, `medoid`).

Tosses of our own making have the form of the measured ones: the truth is known, so the error can reach zero.

A toss whose simulation fails is counted, listed and left out of the means: it has no path to be measured on. A report
with failures says so and is not a result.

Source of the metric: B. Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", RA-L 7(3),
2022.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from contactlab.contact import Box, HalfSpace, Material
from contactlab.lab.datasets.cube_toss import CubeTosses, Toss
from contactlab.simulation import Recording, SimulationError, TimeStepping, World, WorldBuilder, rollout, simulate
from contactlab.spatial import RigidInertia, quaternion
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.toss_settings import TossSettings
from lcp.interruptible import available_cpus, map_threads

#: Half widths of the region of each number, of its value: about what resampled choices range over.
SPREAD = {"mu": 0.03, "corner_radius": 0.5, "stiffness": 0.25, "dissipation": 0.25}
#: What position and rotation errors are measured in where they are added [%, deg].
UNITS = np.array((13.0, 16.0))


@dataclass(frozen=True)
class StartNoise:
    """Standard deviations of a measured start, per axis: what is left of a parabola and a steady turn in flight."""

    position: float = 6e-5  # [m]
    rotation: float = 1e-3  # [rad]
    velocity: float = 1e-3  # [m/s]
    spin: float = 1.4e-2  # [rad/s]


def drawn_starts(
    q: FloatArray, v: FloatArray, members: int, seed: int, noise: StartNoise
) -> tuple[FloatArray, FloatArray]:
    """Return starts (m, 7) and (m, 6) about the measured one, which is the first."""
    normal = np.random.default_rng(seed).standard_normal((members, 4, 3))
    normal[0] = 0.0
    at, turn, velocity, spin = np.moveaxis(normal, 1, 0)
    orientation = [quaternion.multiply(q[3:], quaternion.exp(noise.rotation * one)) for one in turn]
    return (
        np.hstack((q[:3] + noise.position * at, orientation)),
        v + np.hstack((noise.velocity * velocity, noise.spin * spin)),
    )


def drawn_settings(settings: TossSettings, members: int) -> tuple[TossSettings, ...]:
    """Return settings that fill the region about the given ones, which are the first."""
    from scipy.stats import qmc

    names = [name for name in SPREAD if 0.0 < getattr(settings, name) < np.inf]
    unit = 2.0 * qmc.Halton(len(names), seed=0).random(members) - 1.0
    unit[0] = 0.0
    drawn = []
    for row in unit:
        scaled = {name: getattr(settings, name) * (1.0 + SPREAD[name] * x) for name, x in zip(names, row, strict=True)}
        drawn.append(replace(settings, members=1, **scaled))
    return tuple(drawn)


def path_errors(paths: FloatArray, other: FloatArray, width: float) -> FloatArray:
    """Return the position [% of the width] and rotation [deg] errors (..., 2) of paths (..., n, 7) to others."""
    distance = np.linalg.norm(paths[..., :3] - other[..., :3], axis=-1).mean(axis=-1)
    cosine = np.abs((paths[..., 3:7] * other[..., 3:7]).sum(axis=-1)).clip(0.0, 1.0)
    return np.stack((100.0 * distance / width, np.degrees(2.0 * np.arccos(cosine).mean(axis=-1))), axis=-1)


def medoid(paths: FloatArray, width: float) -> int:
    """Return which of the paths (m, n, 7) is nearest to the others; those that are not finite are none of them."""
    kept = np.flatnonzero(np.isfinite(paths).all(axis=(1, 2)))
    if not kept.size:
        return 0
    sums = [(path_errors(paths[kept], paths[i], width) / UNITS).sum() for i in kept]
    return int(kept[np.argmin(sums)])


def energy_scores(paths: FloatArray, measured: FloatArray, width: float) -> FloatArray:
    """Return energy scores (2,) of an ensemble (m, n, 7) [%, deg]: low if near the path and no wider than needed."""
    between = np.array([path_errors(paths, one, width).mean(axis=0) for one in paths]).mean(axis=0)
    return np.asarray(path_errors(paths, measured, width).mean(axis=0) - 0.5 * between)


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


@dataclass(frozen=True)
class RoundedCube:
    """Hull of eight balls of one radius [m] in the corners of a cube of the given half width [m], inside its faces.

    The balls are what touches a board first, and they roll a little where a sharp corner would pivot.
    """

    half_width: float
    radius: float

    def __post_init__(self) -> None:
        if not 0.0 < self.radius <= self.half_width:
            raise ValueError(f"radius: {self.radius} is not between 0 and the half width {self.half_width}")

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the centres of the balls (8, 3) and their radii (8,), as new arrays."""
        inner = self.half_width - self.radius
        return inner * np.array(list(product((-1.0, 1.0), repeat=3))), np.full(8, self.radius)


def toss_world(tosses: CubeTosses, settings: TossSettings) -> World:
    """Return the cube of the file above the board, a fixed half-space."""
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


def in_throw_frame(toss: Toss) -> Toss:
    """Return the same toss, measured path and initial state, in the frame of the throw."""
    turn = quaternion.exp((0.0, 0.0, -np.arctan2(toss.v[1], toss.v[0])))
    R = quaternion.to_matrix(turn)
    return replace(
        toss,
        position=toss.position @ R.T,
        quaternion=quaternion.multiply(turn, toss.quaternion),
        q=np.concatenate((R @ toss.q[:3], quaternion.multiply(turn, toss.q[3:]))),
        # The angular velocity is in body axes: no turn of the world changes it.
        v=np.concatenate((R @ toss.v[:3], toss.v[3:])),
    )


def _simulate(toss: Toss, dt: float, settings: TossSettings, world: World) -> Recording:
    """Return the recording of a toss from its initial state to its last sample."""
    stepper = _stepper(dt, settings)
    steps = (len(toss.position) - 1) * settings.substeps
    return simulate(world, stepper, steps=steps, state=world.initial_state(stepper.h, q=toss.q, v=toss.v))


def _stepper(dt: float, settings: TossSettings) -> TimeStepping:
    restitution_threshold = settings.impact_speed if settings.restitution > 0.0 else NO_IMPACTS
    return TimeStepping(
        dt / settings.substeps,
        edges=settings.edges,
        restitution_threshold=restitution_threshold,
        friction=settings.friction,
    )


def position_error_percent(simulated: FloatArray, measured: FloatArray, width: float) -> float:
    """Return the mean distance between two centre paths (n, 3), in per cent of the width of the block."""
    return float(100.0 * np.linalg.norm(simulated - measured, axis=1).mean() / width)


def rotation_error_degrees(simulated: FloatArray, measured: FloatArray) -> float:
    """Return the mean angle [deg] of R_measured R_simulated^-1 over rows (n, 4) of unit quaternions (w, x, y, z)."""
    return float(np.degrees(quaternion.angle_between(simulated, measured)).mean())


def member_worlds(tosses: CubeTosses, settings: TossSettings) -> tuple[World, ...]:
    """Return the worlds of an ensemble's members; with one member the world of the settings."""
    return tuple(toss_world(tosses, one) for one in drawn_settings(settings, settings.members))


def member_paths(
    tosses: CubeTosses, index: int, settings: TossSettings, worlds: Sequence[World]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return paths (m, n, 7) in the frame of the throw, NaN after a failed step, and starts (m, 7), (m, 6)."""
    toss = in_throw_frame(tosses[index])
    stepper = _stepper(tosses.dt, settings)
    q, v = drawn_starts(toss.q, toss.v, len(worlds), toss.toss_id, StartNoise())
    states = [world.initial_state(stepper.h, q=a, v=b) for world, a, b in zip(worlds, q, v, strict=True)]
    steps = (len(toss.position) - 1) * settings.substeps
    return rollout(worlds, stepper, states, steps=steps, threads=1).q[:, :: settings.substeps], q, v


def run_toss(
    tosses: CubeTosses, index: int, settings: TossSettings, worlds: Sequence[World] | None = None
) -> TossOutcome:
    """Simulate and score one toss; a failed simulation is an outcome, not an exception."""
    worlds = member_worlds(tosses, settings) if worlds is None else worlds
    world, toss = worlds[0], in_throw_frame(tosses[index])
    if len(worlds) > 1:
        paths, q, v = member_paths(tosses, index, settings, worlds)
        nearest = medoid(paths, 2.0 * tosses.half_width)
        # Once more by itself: what is predicted is certified as every path is.
        world, toss = worlds[nearest], replace(toss, q=q[nearest], v=v[nearest])
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
    worlds = member_worlds(tosses, settings)
    # The first toss runs alone: it compiles, or loads from the cache, what the threads then share.
    outcomes = [run_toss(tosses, 0, settings, worlds)]
    if progress is not None:
        progress(1, len(tosses))
    for _, outcome in map_threads(
        lambda i: run_toss(tosses, i + 1, settings, worlds), len(tosses) - 1, workers or available_cpus()
    ):
        outcomes.append(outcome)
        if progress is not None:
            progress(len(outcomes), len(tosses))
    outcomes.sort(key=lambda outcome: outcome.index)
    return TossReport(settings, tuple(outcomes), time.perf_counter() - started)


LEAD = 2  # samples of free flight before the scored window


def synthesize_tosses(
    count: int, settings: TossSettings | None = None, *, samples: int = 90, seed: int = 0
) -> CubeTosses:
    """Throw the cube of the published data with known friction and record what a perfect camera would.

    Parameters
    ----------
    count
        Number of tosses.
    settings
        The truth; default: `TossSettings`.
    samples
        Rows per toss, at 148 Hz.
    seed
        Another seed, other throws.
    """
    truth = TossSettings() if settings is None else settings
    random = np.random.default_rng(seed)
    starts = np.array([_throw(random) for _ in range(count)])
    rows = np.arange(count + 1) * samples
    blank = CubeTosses(
        path=Path("synthetic"),
        dt=1.0 / 148.0,
        half_width=0.0524,
        mass=0.37,
        inertia=0.00081,
        gravity=9.81,
        # Poses do not matter before the first simulation, only the number of rows does.
        pos=np.zeros((count * samples, 3)),
        quat_wxyz=np.zeros((count * samples, 4)),
        offsets=rows,
        toss_id=np.arange(count),
        eval_start=np.zeros(count, dtype=np.int64),
        eval_ic=starts,
    )
    recordings = [simulate_toss(blank, i, truth) for i in range(count)]
    scored = LEAD * truth.substeps
    states = np.array([np.concatenate((recording.q[scored], recording.v[scored])) for recording in recordings])
    poses = np.concatenate([recording.q[:: truth.substeps] for recording in recordings])
    first, position, turn = np.full(count, LEAD), poses[:, :3].copy(), poses[:, 3:].copy()
    return replace(blank, pos=position, quat_wxyz=turn, eval_start=first, eval_ic=states)


def _throw(random: np.random.Generator) -> FloatArray:
    """Return a start (13,) like those of a hand: above the board, a metre per second forward, spinning."""
    quaternion = random.normal(size=4)
    position = (0.0, 0.0, random.uniform(0.15, 0.22))
    velocity = (random.uniform(0.9, 1.3), random.uniform(-0.2, 0.2), random.uniform(-0.3, 0.1))
    return np.concatenate((position, quaternion / np.linalg.norm(quaternion), velocity, random.uniform(-6.0, 6.0, 3)))
