"""How far tosses of the elbow err for the noise of their measured starts alone, and how the error of a model grows.

    python benchmarks/elbow_floor.py tosses.npz [--draws 2] [--numbers impacts]

The noise of a start's velocities is what they differ by from a parabola through the eight samples about it, of
tosses that are in flight there; that of its pose is what samples differ by from the parabola. Simulated paths from the
measured starts stand for recordings, and paths from starts with a noise drawn from other tosses are scored against
them: the error of a model that is exact. Then all poses of a start are turned by what faces at rest on the board are
off from it, and each of sixteen groups of tosses has friction and restitution of its own, as far from one another as
single impacts are (docs/validation.md): what no numbers can tell. `best` loses more energy than the recordings do, and
so is less sensitive; `impacts` has the numbers of single impacts, and their energy. Intervals: 1000 resamples of
tosses.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.elbow_toss import load_elbow_tosses
from contactlab.multibody.batch import body_poses
from contactlab.multibody.configuration import difference, integrate
from contactlab.simulation import World, rollout
from contactlab.studies.identification.elbow import BEFORE, ELBOW_MODELS, elbow_world, measured
from contactlab.studies.identification.tosses import SUBSTEPS, Tosses, stepper_for, toss_errors
from contactlab.studies.identification.worlds import world_with

FloatArray, IntArray = NDArray[np.float64], NDArray[np.int64]
SAMPLES = np.arange(-5, 3)  # about the start, which is three samples before the first touch
STEADY = 3.0  # in flight: residuals of a parabola, over the noise that is taken
HORIZONS = (1, 3, 5, 8, 12, 20, 40)
GROUPS = 16
NUMBERS = {
    "best": ELBOW_MODELS["best"],
    "impacts": {"mu": 0.2, "restitution": 0.4, "inertia": 1.22, "gravity": 9.62},
}
# Single impacts on one corner scatter about the best law by 0.12 of the normal impulse along it, 0.06 to 0.09 across.
SCATTER = {"mu": 0.05, "restitution": 0.16}
FLAT = 0.06  # [rad]: a face this near the board's lies on it


def start_noise(tosses: Tosses, world: World) -> tuple[FloatArray, FloatArray]:
    """Return errors (m, nv) of starts' velocities, less their median, and deviations (nv,) of poses."""
    velocities, residuals = [], []
    clock = SAMPLES * tosses.dt
    for path, (k, q, v) in zip(tosses.paths, tosses.starts, strict=True):
        if k + SAMPLES[0] < 0 or k + SAMPLES[-1] >= len(path):
            continue
        moved = difference(world.model, np.repeat(q[None], SAMPLES.size, axis=0), path[k + SAMPLES])
        fit = np.polyfit(clock, moved, 2)
        rest = moved - np.vander(clock, 3) @ fit
        if np.sqrt(np.mean((rest / BEFORE) ** 2)) < STEADY:
            velocities.append(v - fit[1])
            residuals.append(rest)
    off = np.array(velocities)
    return off - np.median(off, axis=0), 1.48 * np.median(np.abs(np.array(residuals)), axis=(0, 1))


def pose_error(tosses: Tosses, world: World) -> float:
    """Return how far [rad] faces that lie on the board are turned from it in the last sample, about one axis."""
    R, _ = body_poses(world.model, np.array([path[-1] for path in tosses.paths]))
    up = np.sort(np.abs(R[:, :, 2]), axis=-1).reshape(-1, 3)
    flat = up[up[:, 2] > np.cos(FLAT)]
    return float(np.sqrt(np.mean(flat[:, :2] ** 2)))


def shown(errors: FloatArray) -> str:
    """Return means and 95 % intervals of errors (n, 3)."""
    chosen = np.random.default_rng(0).integers(len(errors), size=(1000, len(errors)))
    low, high = np.percentile(errors[chosen].mean(axis=1), [2.5, 97.5], axis=0)
    units = ("%", "deg", "deg of the hinge")
    return ", ".join(
        f"{m:.1f} ({a:.1f} to {b:.1f}) {u}" for m, a, b, u in zip(errors.mean(axis=0), low, high, units, strict=True)
    )


def main() -> None:
    """Print the noise, the model's errors by horizon and the errors of noise alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tosses", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--numbers", choices=NUMBERS, default="best")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    tosses = measured(load_elbow_tosses(arguments.tosses))
    values = NUMBERS[arguments.numbers]
    world, stepper = world_with(elbow_world(), values), stepper_for(tosses.dt, values)
    rows = np.arange(len(tosses.paths))
    off, pose = start_noise(tosses, world)
    turned = pose_error(tosses, world)
    print(f"{len(off)} starts in flight; velocities off by {np.round(1.48 * np.median(np.abs(off), axis=0), 3)}, "
          f"poses by {np.round(pose, 5)}; at rest by {turned:.4f} rad")  # fmt: skip

    def errors(of: Tosses, of_world: World = world, chosen: IntArray = rows) -> FloatArray:
        return np.stack(list(toss_errors(of, of_world, stepper, chosen, arguments.workers).values()), axis=1)

    states = [world.initial_state(stepper.h, q=q, v=v) for _, q, v in tosses.starts]
    lengths = [len(path) - k for path, (k, _, _) in zip(tosses.paths, tosses.starts, strict=True)]
    run = rollout(world, stepper, states, steps=SUBSTEPS * (max(lengths) - 1), threads=arguments.workers)
    made = [run.q[i, : SUBSTEPS * n : SUBSTEPS] for i, n in enumerate(lengths)]
    rng = np.random.default_rng(0)

    def drawn(horizon: int | None, bias: float = 0.0) -> Tosses:
        wide = np.hypot(pose, bias * np.repeat((0.0, 1.0), (3, 4)))
        starts = tuple(
            (0, integrate(world.model, q, wide * rng.standard_normal(world.nv), 1.0), v + off[rng.integers(len(off))])
            for _, q, v in tosses.starts
        )
        return replace(tosses, paths=tuple(path[:horizon] for path in made), starts=starts)

    def scattered(of: Tosses) -> FloatArray:
        found = np.empty((rows.size, 3))
        for group in np.array_split(rng.permutation(rows), GROUPS):
            own = {k: min(max(values[k] + s * rng.standard_normal(), 0.02), 0.9) for k, s in SCATTER.items()}
            found[group] = errors(of, world_with(world, {**values, **own}), group)
        return found

    for horizon in HORIZONS:
        cut = tuple(path[: k + horizon + 1] for path, (k, _, _) in zip(tosses.paths, tosses.starts, strict=True))
        model, noise = errors(replace(tosses, paths=cut)).mean(axis=0), errors(drawn(horizon + 1)).mean(axis=0)
        print(f"first {horizon} samples: model {np.round(model, 1)}, noise alone {np.round(noise, 1)}", flush=True)
    draws = range(arguments.draws)
    print(f"whole, model: {shown(errors(tosses))}", flush=True)
    print(f"whole, noise alone: {shown(np.mean([errors(drawn(None)) for _ in draws], axis=0))}", flush=True)
    print(f"and poses as at rest: {shown(np.mean([errors(drawn(None, turned)) for _ in draws], axis=0))}", flush=True)
    if "restitution" in values:
        print(f"and impacts: {shown(np.mean([scattered(drawn(None, turned)) for _ in draws], axis=0))}")


if __name__ == "__main__":
    main()
