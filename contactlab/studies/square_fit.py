"""Numbers of a model of square drops: chosen from points of a grid, scored on drops left out, with intervals.

After two impacts two simulated drops that began a degree apart may lie on different faces: the mean error is a rough
function of the numbers, on which a descent stops anywhere. So all points of a grid are run once on all drops, and what
a fit to some drops would choose is read off: its own choice for every fold, and for every resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from contactlab.lab.datasets.square_drops import SquareDrops
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.square import SquareReport, run_squares
from contactlab.studies.square_path import Calibration, SquarePath
from contactlab.studies.square_settings import SquareSettings


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
