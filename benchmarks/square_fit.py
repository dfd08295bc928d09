"""Fit models of recorded square drops over grids of their numbers, with cross-validation.

    python benchmarks/square_fit.py FOLDER_OF_PLANAR_IMPACTS [--folds 5] [--seed 0] [--workers N] [--json OUT]

After two impacts two simulated drops that began a degree apart can be on different faces. So the mean error is a rough
function of the numbers, on which a descent stops anywhere. Therefore all points of a grid are run once on all drops.
The choice of a fit to some drops follows from these errors: one choice for every fold, and one for every resample.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from square_drops import (
    FALL,
    MODELS,
    SHARED_CALIBRATION,
    Calibration,
    SquareDrops,
    SquarePath,
    SquareReport,
    SquareSettings,
    load_square_drops,
    prepare,
    run_squares,
)

FloatArray = NDArray[np.float64]
_MU = (0.06, 0.08, 0.1, 0.12, 0.15, 0.2)
#: Points over which a model is fitted.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "rigid": {"mu": _MU, "restitution": (0.35, 0.4, 0.45, 0.5)},
    "rigid, guide friction": {"mu": _MU, "restitution": (0.35, 0.4, 0.45, 0.5)},
    "corners give way, guide friction": {"mu": (0.08, 0.1, 0.115, 0.13), "dissipation": (1.0, 1.75, 2.5, 4.0)},
}


@dataclass(frozen=True, eq=False)
class SquareGrid:
    """Errors of every drop at every point."""

    names: tuple[str, ...]  # numbers that differ from point to point: fields of `SquareSettings`
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


def format_squares_fit(name: str, fit: SquareFit) -> str:
    """Return the choice of a fit, its intervals and its held-out errors."""
    numbers = ", ".join(
        f"{key} {value:g} ({low:g} to {high:g})"
        for (key, value), low, high in zip(fit.values.items(), *fit.interval, strict=True)
    )
    (position_low, rotation_low), (position_high, rotation_high) = fit.mean_interval
    return (
        f"{name}: {numbers}\n"
        f"  held out: position {fit.position.mean():.1f} +- {fit.position.std():.1f} % of side, "
        f"rotation {fit.rotation.mean():.1f} +- {fit.rotation.std():.1f} deg; 95 % of resampled means: "
        f"{position_low:.1f} to {position_high:.1f} %, {rotation_low:.1f} to {rotation_high:.1f} deg"
    )


def main() -> None:
    """Fit every model that has a grid, and print the choices."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    drops = load_square_drops(arguments.data)
    paths = prepare(drops, SHARED_CALIBRATION, FALL)
    found = {}
    for name, values in GRIDS.items():
        grid = SquareGrid.run(drops, paths, MODELS[name], values, SHARED_CALIBRATION, threads=arguments.workers)
        fit = fit_squares(grid, folds=arguments.folds, seed=arguments.seed)
        print(format_squares_fit(name, fit))
        found[name] = {
            "values": fit.values,
            "interval_95": dict(zip(fit.values, fit.interval.T.tolist(), strict=True)),
            "held_out_position_percent": float(fit.position.mean()),
            "held_out_rotation_deg": float(fit.rotation.mean()),
        }
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
