"""Errors of the elbow's tosses from the noise of their measured starts only, and the growth of a model's error.

    python benchmarks/elbow_floor.py tosses.npz [--draws 2] [--numbers impacts]
    python benchmarks/elbow_floor.py tosses.npz --members 32

The noise of a start's velocity is its difference from a parabola through the eight samples about it, for tosses in
flight there. The noise of its pose is the residual of the samples from this parabola. Simulated paths from the measured
starts replace recordings. Paths from starts with noise drawn from other tosses are scored against them: this is the
error of an exact model. Then two errors are added that no fitted numbers can predict. All poses of a start are rotated
by the error of faces at rest on the board. Each of sixteen groups of tosses has separate friction and restitution, with
the scatter of single impacts (docs/validation.md). `best` loses more energy than the recordings, and so is less
sensitive; `impacts` has the numbers of single impacts, and their energy. Intervals: 1000 resamples of tosses.

With members, predictions are ensembles: starts drawn in this way, and numbers drawn once per member. The energy score
on the other blocks of tosses chooses the numbers and their scatter. Regions predict the positions of rest: 90 % of the
members' density, with a kernel width and a factor of the density's level. These are chosen so that 90 % of the other
blocks' tosses are inside (conformal) and the regions are smallest there.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from elbow_fit import AIMS, BLOCK, nested
from elbow_tosses import ELBOW_BEFORE, ELBOW_MODELS, HALF, elbow_world, load_elbow_tosses, measured
from numpy.typing import NDArray
from toss_ensembles import coverage

from contactlab.lab.studies.identification.tosses import SUBSTEPS, Tosses, stepper_for, toss_errors
from contactlab.lab.studies.identification.windows import with_parameters
from contactlab.multibody.configuration import difference, integrate
from contactlab.multibody.points import body_poses
from contactlab.multibody.spatial import quaternion
from contactlab.simulation import World, rollout

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
# For members' numbers; a damper [N s/m] with this scatter gives rebounds of a corner about the same scatter.
SPREAD = {"impacts": SCATTER, "best": {"mu": SCATTER["mu"], "dissipation": 36.0}}
CANDIDATES = (*(("impacts", x) for x in (0.0, 0.5, 1.0, 1.5)), ("best", 1.0))
KERNELS = np.array([0.125, 0.25, 0.5, 1.0, 2.0])  # widths, of the aims
REACH, PROBES = 400.0, 2000  # [% of a block] about the members' median; where sizes of regions are counted
WHOLE = np.array([(REACH / 50.0) ** 2, 100.0, 360.0])
SHARES = ("% of places", "% of orientations", "% of hinge angles")
SIZES = ("squares of a block's length", "% of all orientations", "deg of the hinge")
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
        if np.sqrt(np.mean((rest / ELBOW_BEFORE) ** 2)) < STEADY:
            velocities.append(v - fit[1])
            residuals.append(rest)
    off = np.array(velocities)
    return off - np.median(off, axis=0), 1.48 * np.median(np.abs(np.array(residuals)), axis=(0, 1))


def pose_error(tosses: Tosses, world: World) -> float:
    """Return the rotation [rad] of faces on the board in the last sample, about one axis."""
    R, _ = body_poses(world.model, np.array([path[-1] for path in tosses.paths]))
    up = np.sort(np.abs(R[:, :, 2]), axis=-1).reshape(-1, 3)
    flat = up[up[:, 2] > np.cos(FLAT)]
    return float(np.sqrt(np.mean(flat[:, :2] ** 2)))


def shown(errors: FloatArray, units: tuple[str, str, str] = ("%", "deg", "deg of the hinge")) -> str:
    """Return means and 95 % intervals of errors (n, 3)."""
    chosen = np.random.default_rng(0).integers(len(errors), size=(1000, len(errors)))
    low, high = np.percentile(errors[chosen].mean(axis=1), [2.5, 97.5], axis=0)
    return ", ".join(
        f"{m:.1f} ({a:.1f} to {b:.1f}) {u}" for m, a, b, u in zip(errors.mean(axis=0), low, high, units, strict=True)
    )


def ensembles(tosses: Tosses, numbers: str, factor: float, members: int, threads: int | None) -> FloatArray:
    """Return paths (m, n, samples, nq) from drawn starts and numbers; the first has the measured and stated ones."""
    values, rng = NUMBERS[numbers], np.random.default_rng(0)
    world, stepper = elbow_world(), stepper_for(tosses.dt, values)
    off, pose = start_noise(tosses, world)
    wide = np.hypot(pose, pose_error(tosses, world) * np.repeat((0.0, 1.0), (3, 4)))
    starts = [(q, v) for _, q, v in tosses.starts]
    steps = SUBSTEPS * (max(len(path) - k for path, (k, _, _) in zip(tosses.paths, tosses.starts, strict=True)) - 1)
    found = []
    for m in range(members):
        own, drawn = dict(values), starts
        if m:
            drawn = [
                (integrate(world.model, q, wide * rng.standard_normal(world.nv), 1.0), v + off[rng.integers(len(off))])
                for q, v in starts
            ]
            for name, width in SPREAD[numbers].items():
                x, one = factor * width * rng.standard_normal(), values[name]
                own[name] = one * np.exp(x / one) if name == "dissipation" else min(max(one + x, 0.02), 0.9)
        of = with_parameters(world, own)
        states = [of.initial_state(stepper.h, q=q, v=v) for q, v in drawn]
        found.append(rollout(of, stepper, states, steps=steps, threads=threads).q[:, ::SUBSTEPS].copy())
    return np.array(found)


def told(world: World, q: FloatArray) -> FloatArray:
    """Return the scored quantities of configurations (..., 11): two centres [% of a block], orientation, hinge."""
    R, p = body_poses(world.model, q.reshape(-1, q.shape[-1]))
    offsets = np.array([body.inertia.com for body in world.model.bodies if body.inertia])
    centres = 50.0 / HALF[0] * (p + np.einsum("nbij,bj->nbi", R, offsets))
    return np.concatenate((centres.reshape(*q.shape[:-1], 6), q[..., 3:]), axis=-1)


def distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return distances (..., 3) of scored quantities, as errors: [% of a block, deg, deg of the hinge]."""
    off = np.linalg.norm((a - b)[..., :6].reshape(*(a - b).shape[:-1], 2, 3), axis=-1).mean(axis=-1)
    turned = 2.0 * np.arccos(np.abs((a * b)[..., 6:10].sum(axis=-1)).clip(0.0, 1.0))
    hinge = np.abs(((a - b)[..., 10] + np.pi) % (2.0 * np.pi) - np.pi)
    return np.stack((off, np.degrees(turned), np.degrees(hinge)), axis=-1)


def path_scores(made: FloatArray, path: FloatArray) -> FloatArray:
    """Return the errors (3, 3) of the single path and the medoid of (m, n, 11), and the energy score."""
    errors, drawn = distances(made, path).mean(axis=1), made[1:]
    between = np.array([distances(drawn, one).mean(axis=1) for one in drawn])
    medoid = 1 + int(np.argmin((between.mean(axis=1) / AIMS).sum(axis=-1)))
    return np.array((errors[0], errors[medoid], errors[1:].mean(axis=0) - 0.5 * between.mean(axis=(0, 1))))


def levels(drawn: FloatArray, measured: FloatArray, probes: FloatArray) -> FloatArray:
    """Return the density's decrease (kernels, 1 + p, 3) below the level that 90 % of the members have, at rests."""
    widths = KERNELS[:, None, None, None] * AIMS
    off = distances(np.vstack((measured, probes))[None], drawn[:, None])
    own = distances(drawn[None], drawn[:, None])
    own[np.arange(len(drawn)), np.arange(len(drawn))] = np.inf
    below, level = (-np.log(np.exp(-0.5 * (one / widths) ** 2).sum(axis=1) + 1e-300) for one in (off, own))
    held = np.sort(level, axis=1)[:, int(np.ceil(0.9 * len(drawn))) - 1, None]
    return below - held + np.log(len(drawn) / (len(drawn) - 1.0))


def rest_levels(world: World, made: FloatArray, last: FloatArray) -> FloatArray:
    """Return `levels` of the positions of rest of members (m, nq) and a toss (nq,), and of random positions around."""
    ends = told(world, np.vstack((made, last)))
    ends[:, :6] = np.tile(ends[:, :6].reshape(-1, 2, 3).mean(axis=1) * (1.0, 1.0, 0.0), 2)
    rng = np.random.default_rng(0)
    place = np.median(ends[:-1, :3], axis=0) + rng.uniform(-REACH, REACH, (PROBES, 3)) * (1.0, 1.0, 0.0)
    turn = rng.standard_normal((PROBES, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    probes = np.hstack((np.tile(place, 2), turn, rng.uniform(-np.pi, np.pi, (PROBES, 1))))
    return levels(ends[1:-1], ends[-1], probes)


def regions(fall: FloatArray, blocks: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each toss and quantity (n, 3) whether raw and calibrated regions contain it, and the latter's size.

    Kernel and level (the decrease below the members') come from the other blocks: 90 % of their tosses inside, smallest
    there.
    """
    raw, held, size = np.zeros((3, len(fall), 3))
    for k in range(3):
        inside, limits = zip(*(coverage(one[:, 0], blocks) for one in np.moveaxis(fall[..., k], 1, 0)), strict=True)
        for b, limit in zip(np.unique(blocks), np.array(limits).T, strict=True):
            out, within = blocks == b, fall[:, :, 1:, k] <= limit[:, None]
            h = int(np.argmin(within[~out].mean(axis=(0, 2))))
            raw[out, k], held[out, k] = fall[out, h, 0, k] <= 0.0, inside[h][out]
            size[out, k] = within[out, h].mean(axis=1)
    return raw, held, size * WHOLE


def others_rests(tosses: Tosses, blocks: IntArray, members: int) -> FloatArray:
    """Return positions of rest of other blocks' tosses (n, m, nq), relative to these starts and their velocities."""
    rng, found = np.random.default_rng(0), np.array([np.repeat(path[-1:], members, axis=0) for path in tosses.paths])
    for i, (_, q, v) in enumerate(tosses.starts):
        drawn = rng.choice(np.flatnonzero(blocks != blocks[i]), members - 1, replace=False)
        for m, j in enumerate((drawn[0], *drawn)):
            _, start, velocity = tosses.starts[j]
            turn = quaternion.exp((np.arctan2(v[1], v[0]) - np.arctan2(velocity[1], velocity[0])) * np.eye(3)[2])
            found[i, m] = tosses.paths[j][-1]
            found[i, m, :3] = q[:3] + quaternion.to_matrix(turn) @ (found[i, m, :3] - start[:3])
            found[i, m, 3:7] = quaternion.multiply(turn, found[i, m, 3:7])
    return found


def show_regions(fall: FloatArray, blocks: IntArray) -> None:
    """Print the fraction of tosses inside the regions of rest, and the size of these."""
    raw, held, size = regions(fall, blocks)
    print(f"regions as drawn hold: {shown(100.0 * raw, SHARES)}; calibrated: {shown(100.0 * held, SHARES)}; "
          f"all three: {100.0 * held.all(axis=1).mean():.1f} %; size: {shown(size, SIZES)}")  # fmt: skip


def show_ensembles(tosses: Tosses, blocks: IntArray, members: int, threads: int | None) -> None:
    """Print the scores of all candidates, the choices without each block, and the figures of the regions of rest."""
    world, rows, falls = elbow_world(), [], []
    for numbers, factor in CANDIDATES:
        paths = ensembles(tosses, numbers, factor, members, threads)
        recorded = [path[k:] for path, (k, _, _) in zip(tosses.paths, tosses.starts, strict=True)]
        both = [(paths[:, i, : len(path)], path) for i, path in enumerate(recorded)]
        rows.append(np.array([path_scores(told(world, a), told(world, b)) for a, b in both]))
        falls.append(np.array([rest_levels(world, a[:, -1], b[-1]) for a, b in both], dtype=np.float32))
        print(f"{numbers}, scatter x {factor}:", np.round(rows[-1].mean(axis=0), 1).tolist(), flush=True)
    _, chosen = nested(np.array(rows)[:, :, 2], blocks)
    of = np.array(chosen)[np.searchsorted(np.unique(blocks), blocks)]
    best, fall = (np.array([one[c][i] for i, c in enumerate(of)]) for one in (rows, falls))
    print("chosen without each block:", [CANDIDATES[c] for c in chosen])
    for name, errors in zip(("single path", "medoid", "energy score"), np.moveaxis(best, 1, 0), strict=True):
        print(f"{name}: {shown(errors)}")
    show_regions(fall, blocks)
    others = others_rests(tosses, blocks, members)
    ends = np.array([rest_levels(world, made, path[-1]) for made, path in zip(others, tosses.paths, strict=True)])
    print("rests of other blocks' tosses: ", end="")
    show_regions(ends, blocks)


def main() -> None:
    """Print the noise, the model's errors by horizon, and the errors by noise only."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tosses", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--numbers", choices=NUMBERS, default="best")
    parser.add_argument("--members", type=int, help="of ensembles; their scores and regions instead of the floor")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    data = load_elbow_tosses(arguments.tosses)
    tosses = measured(data)
    if arguments.members is not None:
        show_ensembles(tosses, data.toss_id // BLOCK, arguments.members, arguments.workers)
        return
    values = NUMBERS[arguments.numbers]
    world, stepper = with_parameters(elbow_world(), values), stepper_for(tosses.dt, values)
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
            found[group] = errors(of, with_parameters(world, {**values, **own}), group)
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
