"""Ensembles of the cube tosses: error floor, medoid compared with single path, energy score, coverage of rest.

    python benchmarks/toss_ensembles.py tosses.npz [--members 8] [--plot PNG]

Each toss is run from its measured start and from starts drawn from its noise, with the numbers of `best` and with
numbers drawn from the region that the data allow. The floor is the error of a perfect model: paths from drawn starts,
with the same numbers, compared with the path from the measured start. A region of rest is the set of points within a
radius of some member's position of rest. The radius contains 90 % of the other blocks' tosses, and the coverage is
counted on the block.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from toss_fit import BLOCK, UNITS, StartNoise, drawn_starts, interval

from contactlab.lab.datasets import CubeTosses, load_cube_tosses
from contactlab.lab.studies import MODELS, TossSettings, in_throw_frame, toss_stepper, toss_world
from contactlab.simulation import World, rollout
from lcp.interruptible import available_cpus, map_threads

FloatArray = NDArray[np.float64]


#: Half widths of the region of each number, relative to its value: about the range of resampled choices.
SPREAD = {"mu": 0.03, "corner_radius": 0.5, "stiffness": 0.25, "dissipation": 0.25}


def drawn_settings(settings: TossSettings, members: int) -> tuple[TossSettings, ...]:
    """Return settings that fill the region about the given ones, which are the first."""
    from scipy.stats import qmc

    names = [name for name in SPREAD if 0.0 < getattr(settings, name) < np.inf]
    unit = 2.0 * qmc.Halton(len(names), seed=0).random(members) - 1.0
    unit[0] = 0.0
    drawn = []
    for row in unit:
        scaled = {name: getattr(settings, name) * (1.0 + SPREAD[name] * x) for name, x in zip(names, row, strict=True)}
        drawn.append(replace(settings, **scaled))
    return tuple(drawn)


def path_errors(paths: FloatArray, other: FloatArray, width: float) -> FloatArray:
    """Return the position [% of the width] and rotation [deg] errors (..., 2) of paths (..., n, 7) to others."""
    distance = np.linalg.norm(paths[..., :3] - other[..., :3], axis=-1).mean(axis=-1)
    cosine = np.abs((paths[..., 3:7] * other[..., 3:7]).sum(axis=-1)).clip(0.0, 1.0)
    return np.stack((100.0 * distance / width, np.degrees(2.0 * np.arccos(cosine).mean(axis=-1))), axis=-1)


def medoid(paths: FloatArray, width: float) -> int:
    """Return the one of the paths (m, n, 7) nearest to the others; paths that are not finite do not count."""
    kept = np.flatnonzero(np.isfinite(paths).all(axis=(1, 2)))
    if not kept.size:
        return 0
    sums = [(path_errors(paths[kept], paths[i], width) / UNITS).sum() for i in kept]
    return int(kept[np.argmin(sums)])


def member_worlds(tosses: CubeTosses, settings: TossSettings, members: int) -> tuple[World, ...]:
    """Return the worlds of an ensemble's members; the first has the settings themselves."""
    return tuple(toss_world(tosses, one) for one in drawn_settings(settings, members))


def member_paths(
    tosses: CubeTosses, index: int, settings: TossSettings, worlds: Sequence[World]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return paths (m, n, 7) in the frame of the throw, NaN after a failed step, and starts (m, 7), (m, 6)."""
    toss = in_throw_frame(tosses[index])
    stepper = toss_stepper(tosses.dt, settings)
    q, v = drawn_starts(toss.q, toss.v, len(worlds), toss.toss_id, StartNoise())
    states = [world.initial_state(stepper.h, q=a, v=b) for world, a, b in zip(worlds, q, v, strict=True)]
    steps = (len(toss.position) - 1) * settings.substeps
    return rollout(worlds, stepper, states, steps=steps, threads=1).q[:, :: settings.substeps], q, v


def energy_scores(paths: FloatArray, measured: FloatArray, width: float) -> FloatArray:
    """Return energy scores (2,) of an ensemble (m, n, 7) [%, deg]: low if near the path and no wider than necessary."""
    between = np.array([path_errors(paths, one, width).mean(axis=0) for one in paths]).mean(axis=0)
    return np.asarray(path_errors(paths, measured, width).mean(axis=0) - 0.5 * between)


def toss_scores(
    tosses: CubeTosses, i: int, settings: TossSettings, members: int, worlds: Sequence[World]
) -> FloatArray:
    """Return rows (6, 2): single path, medoid, energy score, floor; nearest member at rest, single path at rest."""
    width = 2.0 * tosses.half_width
    toss = in_throw_frame(tosses[i])
    measured = np.hstack((toss.position, toss.quaternion))
    paths = member_paths(tosses, i, settings, worlds)[0]
    starts = member_paths(tosses, i, settings, [worlds[0]] * members)[0]
    errors = path_errors(paths, measured, width)
    rest = path_errors(paths[:, -1:], measured[-1:], width)
    floor = path_errors(starts[1:], starts[0], width).mean(axis=0)
    rows = (
        errors[0],
        errors[medoid(paths, width)],
        energy_scores(paths, measured, width),
        floor,
        rest.min(axis=0),
        rest[0],
    )
    return np.array(rows)


def coverage(distance: FloatArray, blocks: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Return whether tosses (n,) are within the radius of the other blocks, and those radii."""
    inside, radii = np.zeros(distance.size), []
    for b in np.unique(blocks):
        others = np.sort(distance[blocks != b])
        radii.append(others[min(others.size - 1, int(np.ceil(0.9 * (others.size + 1))) - 1)])
        inside[blocks == b] = distance[blocks == b] <= radii[-1]
    return inside, np.array(radii)


def main() -> None:
    """Run the ensembles and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tosses", type=Path)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    tosses = load_cube_tosses(arguments.tosses)
    settings = MODELS["best"]
    worlds = member_worlds(tosses, settings, arguments.members)
    found = dict(
        map_threads(
            lambda i: toss_scores(tosses, i, settings, arguments.members, worlds),
            len(tosses),
            arguments.workers or available_cpus(),
        )
    )
    scores = np.array([found[i] for i in range(len(tosses))])
    with np.load(arguments.tosses) as data:
        groups = data["duplicate_group"]
    for k, name in enumerate(("single path", "medoid", "energy score", "floor")):
        print(f"{name}: {interval(scores[:, k], groups)}")
    print(f"medoid above single path: {interval(scores[:, 1] - scores[:, 0], groups)}")
    for column, unit in enumerate(("% of the width", "deg")):
        inside, radii = coverage(scores[:, 4, column], groups // BLOCK)
        shares = interval(np.stack((inside, inside), axis=1), groups).split(";")[0]
        print(f"rest within {radii.mean():.1f} {unit} of a member: {shares}")
    if arguments.plot is not None:
        draw(arguments.plot, scores[:, 5], scores[:, 4])


def draw(path: Path, single: FloatArray, nearest: FloatArray) -> None:
    """Draw the distribution of errors of rest (n, 2), for the single path and for the nearest member."""
    from contactlab.view.plotting.figures import CYCLE, new_figure, save_figure

    figure, axes = new_figure(8.0, 3.2, 2)
    share = (np.arange(len(single)) + 1.0) / len(single)
    for column, (one, label) in enumerate(zip(axes, ("position [% of width]", "orientation [deg]"), strict=True)):
        for k, (name, errors) in enumerate((("single path", single), ("nearest member", nearest))):
            one.plot(np.sort(errors[:, column]), share, color=CYCLE[k], label=name)
        one.axhline(0.9, color="0.6", linewidth=0.8)
        one.set(xlabel=f"error at rest, {label}", ylabel="share of tosses")
    axes[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


if __name__ == "__main__":
    main()
