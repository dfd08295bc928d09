"""Simulate recorded square drops from their starts to their ends and score them.

The error of a drop is that of the cube tosses in the plane: the mean distance between simulated and measured centre,
in per cent of the side, and the mean angle between simulated and measured orientation (at most half a turn), over the
samples of the recording, wild ones left out. It counts every sample from the first to the last, 0.8 s, most of them
after several impacts. The errors up to 0.2 s, about one impact and the flight after it, are kept beside.

After two impacts two simulated drops that began a degree apart may lie on different faces: the mean error is a rough
function of the numbers, on which a descent stops anywhere. So all points of a grid are run once on all drops, and what
a fit to some drops would choose is read off: its own choice for every fold, and for every resample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Box, HalfSpace, Material
from contactlab.lab.datasets.planar_impacts import SquareDrops
from contactlab.simulation import TimeStepping, World, WorldBuilder, rollout, simulate
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.square_path import Calibration, SquarePath, SquareSettings

MASS = 0.0485  # [kg], of the data's description: it cancels, except for stiffness and dissipation
EARLY = 0.2  # [s]
NO_IMPACTS = 1e3  # [m/s]: without restitution a corner closes its gap within the step


@dataclass(frozen=True, eq=False)
class SquareReport:
    """Errors of all drops under one setting."""

    # (n,) [% of the side] and [deg] of each drop; NaN where the simulation failed.
    position: FloatArray
    rotation: FloatArray
    # (n,) the same up to 0.2 s.
    early_position: FloatArray
    early_rotation: FloatArray
    failures: tuple[str, ...] = ()  # what the failed simulations raised
    seconds: float = 0.0  # time taken

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Mask of the drops with errors."""
        return np.isfinite(self.position)


def square_world(settings: SquareSettings, calibration: Calibration, side: float) -> World:
    """Return the square over the floor: a planar world with the coordinates x, z and the angle about y."""
    # The same on both sides of a contact: springs and dampers in series are half of each.
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
    """Simulate and score prepared drops; one that fails has no errors, and its reason is in the report."""
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
    """Return the simulated poses (steps + 1, 3) of one drop, ``settings.substeps`` to a frame."""
    world = square_world(settings, calibration, drops.side)
    stepper = _stepper(drops, settings)
    state = world.initial_state(stepper.h, q=path.q, v=path.v)
    return simulate(world, stepper, steps=settings.substeps * int(path.frame[-1]), state=state).q


def score_static_baseline(drops: SquareDrops, paths: Sequence[SquarePath]) -> SquareReport:
    """Score the prediction that every drop stays at its start: what a model must beat."""
    errors = np.array([path_errors(path, np.tile(path.q, (len(path.frame), 1)), drops) for path in paths])
    return SquareReport(*errors.T)


def path_errors(path: SquarePath, simulated: FloatArray, drops: SquareDrops) -> FloatArray:
    """Return position [%] and rotation [deg] errors of poses (m, 3) at the samples of a drop, whole and early (4,)."""
    off = simulated - path.pose
    distance = 100.0 * np.hypot(off[:, 0], off[:, 1]) / drops.side
    angle = np.degrees(np.abs((off[:, 2] + np.pi) % (2.0 * np.pi) - np.pi))
    early = path.valid & (path.frame * drops.dt <= EARLY)
    return np.array([kind[rows].mean() for rows in (path.valid, early) for kind in (distance, angle)])


def _stepper(drops: SquareDrops, settings: SquareSettings) -> TimeStepping:
    restitution_threshold = settings.impact_speed if settings.restitution > 0.0 else NO_IMPACTS
    return TimeStepping(drops.dt / settings.substeps, restitution_threshold=restitution_threshold)


@dataclass(frozen=True, eq=False)
class SquareGrid:
    """Errors of every drop at every point."""

    names: tuple[str, ...]  # the numbers that differ from point to point: fields of `SquareSettings`
    points: FloatArray  # (p, number of names) their values
    # (p, n) errors [%, deg]; a drop whose simulation failed counts 100 % and 180 deg.
    position: FloatArray
    rotation: FloatArray

    @staticmethod
    def run(
        drops: SquareDrops,
        paths: Sequence[SquarePath],
        base: SquareSettings,
        values: Mapping[str, Sequence[float]],
        calibration: Calibration,
        *,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> SquareGrid:
        """Run every combination of the values given by name."""
        points = list(product(*values.values()))
        reports: list[SquareReport] = []
        for point in points:
            chosen: dict[str, Any] = dict(zip(values, point, strict=True))
            settings = replace(base, **chosen)
            reports.append(run_squares(drops, paths, settings, calibration, threads=threads))
            if progress is not None:
                progress(len(reports), len(points))
        position = np.array([np.where(report.ran, report.position, 100.0) for report in reports])
        rotation = np.array([np.where(report.ran, report.rotation, 180.0) for report in reports])
        return SquareGrid(tuple(values), np.array(points), position, rotation)


@dataclass(frozen=True, eq=False)
class SquareFit:
    """The choice from a grid."""

    values: dict[str, float]  # the numbers of least error over all drops
    # (n,) held-out errors: of each drop under the choice of the folds it is not in.
    position: FloatArray
    rotation: FloatArray
    # (2, number of names) 2.5 and 97.5 per cent points of the choices over drops drawn with replacement.
    interval: FloatArray
    # (2, 2) the same of the mean position and rotation errors of ``values``, a column each.
    mean_interval: FloatArray


def objective(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """Return the sum of the two mean errors [% + deg] over the last axis, as the cube tosses are fitted."""
    return np.asarray(position.mean(axis=-1) + rotation.mean(axis=-1))


def fit_squares(grid: SquareGrid, *, folds: int = 5, resamples: int = 1000, seed: int = 0) -> SquareFit:
    """Choose from a grid; drops are dealt to folds at random."""
    n = grid.position.shape[1]
    if not 2 <= folds <= n:
        raise ValueError(f"folds: {folds} is not between 2 and the {n} drops")
    if resamples < 1:
        raise ValueError(f"resamples: {resamples} is not >= 1")
    rng = np.random.default_rng(seed)
    fold = rng.permutation(n) % folds
    best = int(np.argmin(objective(grid.position, grid.rotation)))
    position, rotation = np.empty(n), np.empty(n)
    for k in range(folds):
        kept, left = fold != k, fold == k
        choice = int(np.argmin(objective(grid.position[:, kept], grid.rotation[:, kept])))
        position[left], rotation[left] = grid.position[choice, left], grid.rotation[choice, left]
    drawn = rng.integers(n, size=(resamples, n))
    choices = [int(np.argmin(objective(grid.position[:, rows], grid.rotation[:, rows]))) for rows in drawn]
    means = np.stack((grid.position[best][drawn].mean(axis=1), grid.rotation[best][drawn].mean(axis=1)), axis=1)
    return SquareFit(
        values=dict(zip(grid.names, grid.points[best].tolist(), strict=True)),
        position=position,
        rotation=rotation,
        interval=np.percentile(grid.points[choices], [2.5, 97.5], axis=0),
        mean_interval=np.percentile(means, [2.5, 97.5], axis=0),
    )
