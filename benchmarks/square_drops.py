"""Recorded drops of a square: corrections, simulation from their starts to their ends, scores, identification.

    python benchmarks/square_drops.py DATA [--workers N] [--json OUT] [--plots DIR]
    python benchmarks/square_drops.py DATA --identify

DATA is an `.npz` with n drops of m samples each, or a folder with one; `docs/validation.md` has the public ones.

==============  ========  ==============================================================================
``x``, ``z``    (n, m)    centre of the square, z up [m]
``theta``       (n, m)    its angle [rad], known up to quarter turns
``traj_id``     (n,)      number of the drop
``dt``          ()        time between frames [s]
``half_width``  ()        half the side [m]
==============  ========  ==============================================================================

The velocities of the published file (``vx``, ``vz``, ``vtheta``) are differences of the positions and are not read.

The error of a drop is defined like the error of cube tosses, in the plane. It has two parts: the mean distance between
simulated and measured centre, in per cent of the side; and the mean angle between simulated and measured orientation
(at most half a turn). The mean is over the samples of the recording, without outliers, from the first to the last: 0.8
s, most of it after several impacts. Errors up to 0.2 s, about one impact and the flight after it, are reported
separately.

Properties of the recordings (numbers for the 364 public drops; `docs/validation.md`):

* The angle at rest is not a multiple of a quarter turn: it has a constant error of -0.033 rad. The heights at rest are
  on a line, 2.9 mm with a slope of 2.9 mm/m: `Calibration`.
* The angle is known up to quarter turns, and sometimes jumps by one: it is unwrapped with this period.
* Frames are lost in flight: between two samples the centre then moves twice, or four times, as far, in both coordinates
  and in angle. Every sample gets the number of its frame.
* A few samples around impacts are outliers, which scores omit.
* Heights of corners do not show the sense of rotation, because a mirrored square has the same heights. The changes of
  momentum in impacts on one corner do: `rotation_sense`.

Let (r_x, r_z) be the vector from the centre to the impacting corner, and P the measured change of momentum. Then

    I d_omega = -a r_x P_z + b r_z P_x,

with a = b = 1 for a rigid square. If the angle has the other sense, r_x and d_omega change sign together, and only b
changes its sign.

`SquareSettings` are the chosen, not measured, settings of a run.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Box, HalfSpace, Material
from contactlab.lab import DatasetError
from contactlab.lab.datasets.files import Arrays, only_file
from contactlab.lab.studies.identification import Parameter, Problem, Recordings, Windows, fit, window_problem
from contactlab.lab.studies.planar_fit import Paired, paired_difference
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation import TimeStepping, World, WorldBuilder, rollout, simulate

#: Minimum number of samples of a drop; the start is fitted to the first ones.
LEAST_SAMPLES = 10
_DROPS = {
    **dict.fromkeys(("x", "z", "theta"), "float n m"),
    "traj_id": "int n",
    **dict.fromkeys(("dt", "half_width"), "positive"),
}


@dataclass(frozen=True, eq=False)
class SquareDrops:
    """Arrays of a file of recorded drops. Made by `load_square_drops`."""

    path: Path
    x: FloatArray
    z: FloatArray
    theta: FloatArray
    traj_id: IntArray
    dt: float
    half_width: float

    def __len__(self) -> int:
        return len(self.x)

    @property
    def side(self) -> float:
        """Side of the square [m]."""
        return 2.0 * self.half_width


def file_of_drops(path: Path) -> Path:
    """Return ``path``, or the only `.npz` of square drops in a folder."""
    return only_file(path, "x", "z", "theta", "half_width")


def load_square_drops(path: str | Path) -> SquareDrops:
    """Read and check a file of drops, or the only one in a folder.

    Raises `DatasetError`, naming the file, the array and its first offending entry. Reasons are: not an `.npz`, a
    missing array, a wrong shape or dtype, NaN or infinity, a time step or side that is not positive, no drops, or fewer
    than ten samples.
    """
    arrays = Arrays(file_of_drops(Path(path)))
    shape = arrays.numbers("x", None, None).shape
    if shape[0] < 1 or shape[1] < LEAST_SAMPLES:
        detail = f"shape {shape}: at least one drop of {LEAST_SAMPLES} samples is needed"
        raise DatasetError(arrays.path, "x", detail)
    return SquareDrops(arrays.path, **arrays.table(_DROPS))


QUARTER = 0.5 * np.pi
REST = 20  # samples at the end of a drop, at rest
CLEAR = 4e-3  # [m] of the lowest corner over the floor: in flight
SIDEWAYS = 0.8e-3  # [m] per frame: slower motion does not show a lost frame
MOST_LOST = 6
# A sample with a larger distance from the line between its neighbours is an outlier: 2.4 m/s, reversed, is 10 mm per
# frame.
WILD = (8e-3, 14e-3, 0.5)
# A start is fitted to samples within this distance [m, m, rad] of the fit, but to at least five samples if possible.
START_NOISE = (1e-3, 1e-3, 2e-2)
FEWEST = 5


@dataclass(frozen=True)
class Calibration:
    """Pose of the camera relative to the floor."""

    angle: float = 0.0  # stored angle of a square that lies flat [rad]
    # Height of the floor at x = 0 [m], and its slope.
    height: float = 0.0
    slope: float = 0.0


@dataclass(frozen=True, eq=False)
class SquarePath:
    """One corrected drop."""

    number: int  # number of the drop in its file
    frame: NDArray[np.int64]  # (m,) frame of each sample, beginning with 0; lost frames are counted
    # (m, 3) x, z [m] and the angle about y [rad], 0 for a square that lies flat: coordinates of a body in a world with
    # the plane (0, 1, 0).
    pose: FloatArray
    valid: NDArray[np.bool_]  # (m,) samples that are not outliers
    # (3,) pose and velocity at frame 0, fitted to the flight before the first impact.
    q: FloatArray
    v: FloatArray


def lowest_corner(z: FloatArray, angle: FloatArray, half_width: float) -> FloatArray:
    """Return the height of the lowest corner; the angle has period a quarter turn, and its sign has no effect."""
    return np.asarray(z - half_width * (np.abs(np.cos(angle)) + np.abs(np.sin(angle))))


def calibrate(drops: SquareDrops) -> Calibration:
    """Return the camera's calibration, estimated from the squares at rest: angle, height and slope of the floor."""
    x, z, theta = (np.median(a[:, -REST:], axis=1) for a in (drops.x, drops.z, drops.theta))
    around = (theta + 0.25 * np.pi) % QUARTER - 0.25 * np.pi
    slope, height = np.polyfit(x, z - drops.half_width, 1) if len(drops) > 2 else (0.0, np.median(z) - drops.half_width)
    return Calibration(float(np.median(around)), float(height), float(slope))


def prepare(drops: SquareDrops, calibration: Calibration, fall: float) -> tuple[SquarePath, ...]:
    """Return all drops corrected; ``fall`` [m/s^2] is the acceleration in the fits of the starts."""
    return tuple(_prepare_drop(drops, i, calibration, fall) for i in range(len(drops)))


def _prepare_drop(drops: SquareDrops, i: int, calibration: Calibration, fall: float) -> SquarePath:
    """Return the corrected path of drop i: pose with continuous angle, frames, good samples, and start (q, v)."""
    # The stored angle rotates x to z, opposite to a rotation about y (`rotation_sense` shows it from the impacts).
    angle = -(np.unwrap(drops.theta[i], period=QUARTER) - calibration.angle)
    pose = np.stack((drops.x[i], drops.z[i], angle), axis=1)
    floor = calibration.height + calibration.slope * drops.x[i]
    clear = lowest_corner(drops.z[i], angle, drops.half_width) - floor > CLEAR
    frame = _frames(pose, clear, drops.half_width)
    q, v = start_of(pose, np.asarray(frame * drops.dt), clear, fall)
    return SquarePath(int(drops.traj_id[i]), frame, pose, _inlier_mask(pose, frame), q, v)


def _frames(pose: FloatArray, clear: NDArray[np.bool_], half_width: float) -> NDArray[np.int64]:
    """Return the frame number of each sample, from 0; a step of about k usual steps in flight means k - 1 lost frames.

    In flight x and the angle change uniformly, so the usual step is the median of nearby steps in flight.
    """
    steps = np.diff(pose, axis=0)[:, [0, 2]] * [1.0, half_width]
    flying = clear[:-1] & clear[1:]
    taken = np.ones(len(steps), dtype=np.int64)
    around = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(steps, ((5, 5), (0, 0)), "edge"), 11, 0), axis=2)
    large = np.linalg.norm(steps, axis=1) > 1.4 * np.linalg.norm(around, axis=1)  # a fast first test
    for k in np.flatnonzero(flying & large).tolist():
        first = last = int(k)  # the flight around k, five steps to either side
        while first > max(0, k - 5) and flying[first - 1]:
            first -= 1
        while last < min(len(steps) - 1, k + 5) and flying[last + 1]:
            last += 1
        others = np.delete(np.arange(first, last + 1), k - first)
        if others.size < 4:
            continue
        usual = np.median(steps[others], axis=0)
        size = float(usual @ usual)
        if size < SIDEWAYS**2:
            continue
        times = float(steps[k] @ usual) / size
        whole = round(times)
        if 2 <= whole <= MOST_LOST and np.linalg.norm(steps[k] - whole * usual) < 0.25 * whole * np.sqrt(size):
            taken[k] = whole
    return np.concatenate(([0], np.cumsum(taken)))


def _inlier_mask(pose: FloatArray, frame: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of samples near the line between their neighbours; the worst outlier is removed first."""
    kept = np.arange(len(pose))
    while len(kept) > 2:
        x, at = pose[kept], frame[kept]
        share = ((at[1:-1] - at[:-2]) / (at[2:] - at[:-2]))[:, None]
        off = np.max(np.abs(x[1:-1] - (1.0 - share) * x[:-2] - share * x[2:]) / WILD, axis=1)
        worst = int(np.argmax(off))
        if off[worst] <= 1.0:
            break
        kept = np.delete(kept, worst + 1)
    return np.isin(np.arange(len(pose)), kept)


def start_of(
    pose: FloatArray, time: FloatArray, clear: NDArray[np.bool_], fall: float
) -> tuple[FloatArray, FloatArray]:
    """Return pose and velocity at the first sample by least squares over the flight before the first impact.

    Samples with the largest deviations are omitted, one by one, until all are within the noise of the recordings.
    """
    flying = clear.copy()
    flying[1:] &= np.diff(pose[:, 1]) < 0.0  # the frame of an impact may be lost between two frames in flight
    flight = len(flying) if flying.all() else int(np.argmin(flying))
    n = max(flight, 2)  # for a start on the floor: the difference of the first two samples
    t = time[:n]
    bent = pose[:n] + 0.5 * fall * t[:, None] ** 2 * [0.0, 1.0, 0.0]
    while True:
        slope, value = np.polyfit(t, bent, 1)
        off = np.max(np.abs(bent - value - np.outer(t, slope)) / START_NOISE, axis=1)
        worst = int(np.argmax(off))
        if off[worst] <= 1.0 or len(t) <= FEWEST:
            return value, slope
        t, bent = np.delete(t, worst), np.delete(bent, worst, axis=0)


#: Calibration of the camera in the 364 public drops, from their poses at rest.
SHARED_CALIBRATION = Calibration(angle=-0.03339, height=2.944e-3, slope=2.940e-3)
# Dry friction of the plates, divided by the mass [m/s^2], from the flights of the public drops (`docs/validation.md`).
GUIDE_X, GUIDE_Z = 0.2, 0.5
#: Acceleration of the flights before the first impact [m/s^2], used in the fits of the starts.
FALL = 9.22


@dataclass(frozen=True)
class SquareSettings:
    """Chosen, not measured, settings of a run."""

    mu: float = 0.1  # friction coefficient between square and floor
    restitution: float = 0.0  # Newton's coefficient, 0 to 1
    # Speed of approach [m/s] above which a contact rebounds; slower contacts close their gap.
    impact_speed: float = 0.05
    gravity: float = 9.81  # [m/s^2]
    # Dry friction of the glass plates along x and z, as a deceleration [m/s^2].
    guide_x: float = 0.0
    guide_z: float = 0.0
    inertia_scale: float = 1.0  # factor of the moment of inertia of a full square
    # Stiffness and dissipation of a corner on the floor [N/m, N s/m]; infinite and 0 for a rigid contact. Not together
    # with a restitution.
    stiffness: float = math.inf
    dissipation: float = 0.0
    substeps: int = 4  # time steps per frame


#: Named settings, with values fitted to the 364 public drops.
MODELS = {
    "no rebound": SquareSettings(mu=0.1),
    "rigid": SquareSettings(mu=0.1, restitution=0.4),
    "rigid, gravity 9.2": SquareSettings(mu=0.1, restitution=0.4, gravity=9.2),
    "rigid, guide friction": SquareSettings(mu=0.1, restitution=0.4, guide_x=GUIDE_X, guide_z=GUIDE_Z),
    "corners give way, guide friction": SquareSettings(
        mu=0.1, stiffness=12e3, dissipation=2.5, guide_x=GUIDE_X, guide_z=GUIDE_Z, substeps=8
    ),
}


AFTER = 8  # samples of the flight after the impact
ALONE = 25e-3  # [m] minimum height difference of the two lowest corners: 30 mm for a corner, 0 for a side
GRAVITY = 9.81
NOISE = (5e-4, 7e-4, 2e-2)  # deviation of samples from the fitted flight [m, m, rad]


def rotation_sense(
    drops: SquareDrops, paths: Sequence[SquarePath], calibration: Calibration
) -> tuple[float, float, int]:
    """Return the coefficients a, b of the balance of angular momentum, and the number of fitted impacts.

    I d_omega = a (-r_x P_z) + b r_z P_x is fitted by least squares to the first impacts on one corner.
    With fewer than two impacts the result is (nan, nan, n).
    """
    impacts = [impact for path in paths if (impact := first_impact(drops, path, calibration)) is not None]
    if len(impacts) < 2:
        return float("nan"), float("nan"), len(impacts)
    changes = [(r, after - before) for r, before, after in impacts]
    terms = np.array([(drops.side**2 / 6.0 * P[2], -r[0] * P[1], r[1] * P[0]) for r, P in changes])
    a, b = np.linalg.lstsq(terms[:, 1:], terms[:, 0])[0]
    return float(a), float(b), len(impacts)


def first_impact(
    drops: SquareDrops, path: SquarePath, calibration: Calibration
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the vector r (2,) to the corner of the first impact, and velocities (3,) before and after it.

    r is from the centre, in world axes; velocities are of x, z and the angle. The result is None if the impact is not
    clearly on a single corner.
    """
    half = drops.half_width
    floor = calibration.height + calibration.slope * path.pose[:, 0]
    clear = lowest_corner(path.pose[:, 1], path.pose[:, 2], half) - floor > CLEAR
    rising = np.concatenate(([False], np.diff(path.pose[:, 1]) > 0.0))
    hit = int(np.argmax(~clear | rising))
    first = hit + 1
    rows = slice(first, first + AFTER)
    while first < hit + 5 and not clear[rows].all():
        first += 1
        rows = slice(first, first + AFTER)
    if hit < 5 or not clear[rows].all() or len(path.frame[rows]) < AFTER:
        return None
    if path.frame[first + AFTER - 1] != first + AFTER - 1:
        return None
    # Time of the impact: the first corner at the floor, in the flight before it.
    times = np.linspace(0.0, path.frame[first] * drops.dt, 400)
    fall = np.array([0.0, -GRAVITY, 0.0])
    flight = path.q + np.outer(times, path.v) + 0.5 * np.outer(times**2, fall)
    height = calibration.height + calibration.slope * flight[:, 0]
    touching = lowest_corner(flight[:, 1], flight[:, 2], half) <= height
    if not touching.any():
        return None
    at = int(np.argmax(touching))
    after = path.frame[rows] * drops.dt - times[at]
    bent = path.pose[rows] - 0.5 * np.outer(after**2, fall)
    slope, value = np.polyfit(after, bent, 1)
    if np.any(np.max(np.abs(bent - value - np.outer(after, slope)), axis=0) > NOISE):
        return None
    c, s = np.cos(flight[at, 2]), np.sin(flight[at, 2])
    corners = half * np.array([(c * i + s * j, c * j - s * i) for i in (-1, 1) for j in (-1, 1)])
    order = np.argsort(corners[:, 1])
    if corners[order[1], 1] - corners[order[0], 1] < ALONE:
        return None
    return corners[order[0]], path.v + fall * times[at], slope


MASS = 0.0485  # [kg], from the description of the data; it matters only for stiffness and dissipation
EARLY = 0.2  # [s]
NO_IMPACTS = 1e3  # [m/s]: without restitution a corner closes its gap within the step


@dataclass(frozen=True, eq=False)
class SquareReport:
    """Errors of all drops with one setting."""

    # (n,) [% of the side] and [deg] of each drop; NaN if the simulation failed.
    position: FloatArray
    rotation: FloatArray
    # (n,) the same up to 0.2 s.
    early_position: FloatArray
    early_rotation: FloatArray
    failures: tuple[str, ...] = ()  # errors of the failed simulations
    seconds: float = 0.0  # time taken

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Mask of the drops with errors."""
        return np.isfinite(self.position)


def square_world(settings: SquareSettings, calibration: Calibration, side: float) -> World:
    """Return the world of the square over the floor: planar, with the coordinates x, z and the angle about y."""
    # Both surfaces have twice the spring and damper of the contact, because they act in series.
    material = Material(settings.mu, settings.restitution, 2.0 * settings.stiffness, 2.0 * settings.dissipation)
    builder = WorldBuilder((0.0, 0.0, -settings.gravity), planar=(0.0, 1.0, 0.0))
    up = np.array([-calibration.slope, 0.0, 1.0]) / np.hypot(1.0, calibration.slope)
    builder.add_half_space("floor", HalfSpace(up, float(up[2] * calibration.height)), material)
    turn = settings.inertia_scale * MASS * side**2 / 6.0
    builder.add_free_body("square", RigidInertia(MASS, inertia=turn * np.eye(3)), Box.cube(0.5 * side), material)
    for coordinate, guide in enumerate((settings.guide_x, settings.guide_z)):
        if guide > 0.0:
            builder.add_joint_friction("square", MASS * guide, coordinate=coordinate)
    return builder.build()


def run_squares(
    drops: SquareDrops,
    paths: Sequence[SquarePath],
    settings: SquareSettings,
    calibration: Calibration,
    *,
    threads: int | None = None,
) -> SquareReport:
    """Simulate and score prepared drops; a failed one has NaN errors, and its reason is in the report."""
    started = time.perf_counter()
    world = square_world(settings, calibration, drops.side)
    stepper = _stepper(drops, settings)
    states = [world.initial_state(stepper.h, q=path.q, v=path.v) for path in paths]
    steps = settings.substeps * max(int(path.frame[-1]) for path in paths)
    found = rollout(world, stepper, states, steps=steps, threads=threads)
    errors = np.full((len(paths), 4), np.nan)
    failures = []
    for i, (path, q, error) in enumerate(zip(paths, found.q, found.errors, strict=True)):
        if error is None:
            errors[i] = path_errors(path, q[settings.substeps * path.frame], drops)
        else:
            failures.append(f"drop {path.number}: {error}")
    seconds = time.perf_counter() - started
    return replace(SquareReport(*errors.T), failures=tuple(failures), seconds=seconds)


def square_poses(
    drops: SquareDrops, path: SquarePath, settings: SquareSettings, calibration: Calibration
) -> FloatArray:
    """Return the simulated poses (steps + 1, 3) of one drop, with ``settings.substeps`` steps per frame."""
    world = square_world(settings, calibration, drops.side)
    stepper = _stepper(drops, settings)
    state = world.initial_state(stepper.h, q=path.q, v=path.v)
    return simulate(world, stepper, steps=settings.substeps * int(path.frame[-1]), state=state).q


def score_static_baseline(drops: SquareDrops, paths: Sequence[SquarePath]) -> SquareReport:
    """Score the prediction that every drop stays at its start, a baseline for models."""
    errors = np.array([path_errors(path, np.tile(path.q, (len(path.frame), 1)), drops) for path in paths])
    return SquareReport(*errors.T)


def path_errors(path: SquarePath, simulated: FloatArray, drops: SquareDrops) -> FloatArray:
    """Return mean errors (4,) of poses (m, 3) at the samples of a drop, without outliers.

    They are position [%] and rotation [deg] of the whole drop, then both of its early samples.
    """
    off = simulated - path.pose
    distance = 100.0 * np.hypot(off[:, 0], off[:, 1]) / drops.side
    angle = np.degrees(np.abs((off[:, 2] + np.pi) % (2.0 * np.pi) - np.pi))
    early = path.valid & (path.frame * drops.dt <= EARLY)
    return np.array([kind[rows].mean() for rows in (path.valid, early) for kind in (distance, angle)])


def _stepper(drops: SquareDrops, settings: SquareSettings) -> TimeStepping:
    restitution_threshold = settings.impact_speed if settings.restitution > 0.0 else NO_IMPACTS
    return TimeStepping(drops.dt / settings.substeps, restitution_threshold=restitution_threshold)


#: Number of frames of a window before and after the first impact; frames must not be lost or outliers.
FRAMES_BEFORE = FRAMES_AFTER = 6
SUBSTEPS = 8
# Noise of a sample in flight [m, m, rad], and additional noise after the impact.
FLIGHT, MODEL = np.array([5e-4, 7e-4, 2e-2]), np.array([2e-3, 2e-3, 5e-2])
SQUARE_PARAMETERS = (
    Parameter("mu", 0.15, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.3, 1e-2, 0.0, 1.0),
    Parameter("inertia_scale", 1.0, 5e-3, 0.2, 5.0, "of a full square"),
    Parameter("guide_x", 0.2, 1e-2, 0.0, 5.0, "m/s^2"),
    Parameter("guide_z", 0.5, 1e-2, 0.0, 5.0, "m/s^2"),
)


def square_recordings(path: str | Path, *, threads: int | None = None) -> Recordings:
    """Return the drops of a file that have a complete window about their first impact."""
    drops = load_square_drops(path)
    every = prepare(drops, SHARED_CALIBRATION, FALL)
    starts = {i: first for i, one in enumerate(every) if (first := _first(drops, one)) is not None}
    if not starts:
        raise DatasetError(
            path, "", f"no drop has {FRAMES_BEFORE} good frames before its first impact and {FRAMES_AFTER} after it"
        )
    paths = [every[i] for i in starts]
    windows = _windows(drops, paths, list(starts.values()))

    def settings(values: Mapping[str, float]) -> SquareSettings:
        known = {one.name for one in fields(SquareSettings)}
        chosen: dict[str, Any] = {name: x for name, x in values.items() if name in known}
        return replace(MODELS["rigid, guide friction"], substeps=SUBSTEPS, **chosen)

    stepper = TimeStepping(drops.dt / SUBSTEPS, restitution_threshold=settings({}).impact_speed)

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        def having(numbers: Mapping[str, float]) -> World:
            return square_world(settings(numbers), SHARED_CALIBRATION, drops.side)

        return window_problem(windows.at(rows), parameters, having, stepper, fixed=fixed, threads=threads)

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        found = run_squares(drops, [paths[i] for i in rows], settings(values), SHARED_CALIBRATION, threads=threads)
        return {"position_percent": found.position, "rotation_deg": found.rotation}

    return Recordings(
        title="square drops",
        noise="0.5 mm, 0.7 mm, 0.02 rad in flight, 2 mm and 0.05 rad more after the impact",
        parameters=SQUARE_PARAMETERS,
        default_parameters=("mu", "restitution"),
        nominal={"mu": 0.1, "restitution": 0.0},
        groups=np.arange(len(paths)),
        problem=problem,
        errors=errors,
        unidentifiable={"mass": "drops of any mass are the same, with all forces in proportion"},
    )


def _first(drops: SquareDrops, path: SquarePath) -> int | None:
    """Return the index of the first sample of the window around a drop's first impact, or None.

    The result is None if there is no impact, or if the window has lost frames or outliers.
    """
    floor = SHARED_CALIBRATION.height + SHARED_CALIBRATION.slope * path.pose[:, 0]
    clear = lowest_corner(path.pose[:, 1], path.pose[:, 2], drops.half_width) - floor > CLEAR
    rising = np.concatenate(([False], np.diff(path.pose[:, 1]) > 0.0))
    touching = ~clear | rising
    first = int(np.argmax(touching)) - FRAMES_BEFORE
    rows = slice(first, first + FRAMES_BEFORE + FRAMES_AFTER + 1)
    if not touching.any() or first < 0 or rows.stop > len(path.frame):
        return None
    whole = path.frame[rows][-1] - path.frame[first] == FRAMES_BEFORE + FRAMES_AFTER
    return first if whole and path.valid[rows].all() else None


def _windows(drops: SquareDrops, paths: list[SquarePath], starts: list[int]) -> Windows:
    """Return one window around each drop's impact; its initial state is the fitted flight at the first sample."""
    fall = np.array([0.0, -FALL, 0.0])
    late = np.array([path.frame[k] * drops.dt for path, k in zip(paths, starts, strict=True)])[:, None]
    q, v = (np.array([getattr(path, name) for path in paths]) for name in ("q", "v"))
    n = FRAMES_BEFORE + FRAMES_AFTER + 1
    return Windows(
        q=q + late * v + 0.5 * late**2 * fall,
        v=v + late * fall,
        measured=np.array([path.pose[k : k + n] for path, k in zip(paths, starts, strict=True)]),
        noise=np.array([FLIGHT + (MODEL if k >= FRAMES_BEFORE else 0.0) for k in range(n)]),
        every=SUBSTEPS,
        groups=np.arange(len(paths)),
    )


def format_squares(reports: Mapping[str, SquareReport]) -> str:
    """Return one line per model: mean, standard deviation and median over drops, and the early means."""
    width = max(len(name) for name in reports)
    lines = [
        f"{'':<{width}}  {'position, % of side':>22}  {'rotation, deg':>22}   up to {EARLY:g} s",
        f"{'model':<{width}}  {'mean':>6} {'':>8} {'median':>6}  {'mean':>6} {'':>8} {'median':>6}   %     deg",
    ]
    for name, report in reports.items():
        ran = report.ran
        columns = []
        for values in (report.position[ran], report.rotation[ran]):
            columns.append(f"{values.mean():>6.1f} +- {values.std():>5.1f} {np.median(values):>6.1f}")
        early = f"{report.early_position[ran].mean():>5.1f} {report.early_rotation[ran].mean():>5.1f}"
        failed = f"  {len(report.failures)} failed" if report.failures else ""
        lines.append(f"{name:<{width}}  {columns[0]}  {columns[1]}  {early}{failed}")
    return "\n".join(lines)


def format_paired(reports: Mapping[str, SquareReport]) -> str:
    """Return the paired differences of every model from the last one, drop by drop."""
    names = list(reports)
    last = reports[names[-1]]
    lines = [f"above '{names[-1]}' on the same drops (95 % of resampled means):"]
    for name in names[:-1]:
        position = paired_difference(reports[name].position, last.position)
        rotation = paired_difference(reports[name].rotation, last.rotation)
        lines.append(f"  {name}: {position} % of side, {rotation} deg")
    return "\n".join(lines)


def _interval(paired: Paired) -> dict[str, object]:
    return {"mean": paired.difference, "interval_95": [paired.low, paired.high]}


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def squares_json(reports: Mapping[str, SquareReport]) -> dict[str, object]:
    """Return number of drops and, by model, mean and single errors as JSON values; None if a simulation failed.

    The paired differences are to the last model.
    """
    last = list(reports.values())[-1]
    models = {
        name: {
            "position_percent": float(report.position[report.ran].mean()),
            "rotation_deg": float(report.rotation[report.ran].mean()),
            "early_position_percent": float(report.early_position[report.ran].mean()),
            "early_rotation_deg": float(report.early_rotation[report.ran].mean()),
            "position_percent_of_drops": _numbers(report.position),
            "rotation_deg_of_drops": _numbers(report.rotation),
            "position_above_last": _interval(paired_difference(report.position, last.position)),
            "rotation_above_last": _interval(paired_difference(report.rotation, last.rotation)),
            "failures": list(report.failures),
        }
        for name, report in reports.items()
    }
    count = len(next(iter(reports.values())))
    return {"drops": count, "models": models}


SHOWN = 4  # drops, from the best predicted to the worst


def plot_planar_paths(
    path: str | Path, drops: Sequence[tuple[str, FloatArray, FloatArray, FloatArray, FloatArray]]
) -> Path:
    """Draw recorded and simulated drops, path of the centre and angle over time; write a PNG.

    Parameters
    ----------
    path
        Path of the picture.
    drops
        For each drop: its title, times (m,) [s] and poses (m, 3) recorded, times (k,) and poses (k, 3) simulated; poses
        are x, z [m] and angle [rad].
    """
    from contactlab.view.plotting.figures import CYCLE, new_figure, save_figure

    figure, axes = new_figure(3.1 * len(drops), 5.2, len(drops), 2)
    for k, (title, sampled, recorded, clock, simulated) in enumerate(drops):
        above, below = axes[k], axes[len(drops) + k]
        above.plot(1e3 * recorded[:, 0], 1e3 * recorded[:, 1], ".", color="0.45", markersize=3, label="recorded")
        above.plot(1e3 * simulated[:, 0], 1e3 * simulated[:, 1], color=CYCLE[1], linewidth=1.2, label="simulated")
        above.set_title(title, fontsize=9)
        above.set_xlabel("x [mm]")
        below.plot(sampled, np.degrees(recorded[:, 2]), ".", color="0.45", markersize=3)
        below.plot(clock, np.degrees(simulated[:, 2]), color=CYCLE[1], linewidth=1.2)
        below.set_xlabel("time [s]")
        if k == 0:
            above.set_ylabel("height of the centre [mm]")
            below.set_ylabel("angle [deg]")
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    return save_figure(figure, path)


def plot_drops(
    folder: Path,
    drops: SquareDrops,
    paths: Sequence[SquarePath],
    models: Mapping[str, SquareSettings],
    reports: Mapping[str, SquareReport],
) -> list[Path]:
    """Draw the errors of every model, and drops from the best to the worst of the last one."""
    from error_bars import plot_error_bars

    errors = {
        name: (report.position[report.ran], report.rotation[report.ran])
        for name, report in reports.items()
        if name in models
    }
    name = list(models)[-1]
    ran = np.flatnonzero(reports[name].ran)
    order = ran[np.argsort((reports[name].position + reports[name].rotation)[ran])]
    places = [int(order[int(share * (len(order) - 1))]) for share in np.linspace(0.05, 0.95, SHOWN)]
    shown = []
    for i in places:
        path = paths[i]
        poses = square_poses(drops, path, models[name], SHARED_CALIBRATION)
        off = f"{reports[name].position[i]:.0f} %, {reports[name].rotation[i]:.0f} deg"
        clock = np.asarray(drops.dt / models[name].substeps * np.arange(len(poses)))
        time = np.asarray(drops.dt * path.frame[path.valid])
        shown.append((f"drop {path.number}: {off}", time, path.pose[path.valid], clock, poses))
    return [plot_error_bars(folder / "drop_errors.png", errors), plot_planar_paths(folder / "drops.png", shown)]


def main() -> int:
    """Score the models on the drops of a file, or identify the numbers of the rigid one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--identify", action="store_true")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plots", type=Path)
    arguments = parser.parse_args()
    if arguments.identify:
        recordings = square_recordings(arguments.data, threads=arguments.workers)
        rows, _ = recordings.split(0.4)
        print(fit(recordings, rows))
        return 0
    drops = load_square_drops(arguments.data)
    paths = prepare(drops, SHARED_CALIBRATION, FALL)
    wild = sum(int(np.count_nonzero(~one.valid)) for one in paths)
    lost = sum(int(one.frame[-1]) + 1 - len(one.frame) for one in paths)
    print(f"{len(drops)} drops of {drops.path.name}: {lost} frames lost, {wild} wild samples left out")
    a, b, clear = rotation_sense(drops, paths, SHARED_CALIBRATION)
    print(f"sense of rotation, from {clear} impacts on one corner: I d_omega = {a:.2f} (-r_x P_z) {b:+.2f} r_z P_x")
    reports = {"held at the start": score_static_baseline(drops, paths)}
    for name, settings in MODELS.items():
        reports[name] = run_squares(drops, paths, settings, SHARED_CALIBRATION, threads=arguments.workers)
    print(format_squares(reports))
    print(format_paired(reports))
    print("numbers fitted to the 364 public drops; error: mean over the samples of a drop, then over drops")
    failures = [line for report in reports.values() for line in report.failures]
    for line in failures[:5]:
        print(f"failed: {line}")
    if arguments.plots is not None:
        arguments.plots.mkdir(parents=True, exist_ok=True)
        for plot in plot_drops(arguments.plots, drops, paths, MODELS, reports):
            print(f"wrote {plot}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"square_drops": squares_json(reports)}, indent=1) + "\n")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
