"""Fit and choose the model `best` of the cube tosses by the protocol of docs/validation.md.

    python benchmarks/toss_fit.py tosses.npz --out DESIGN.jsonl

All tosses are run at the points of every candidate's design, each toss from a start drawn from the noise of the
measured one. Everything else follows from these errors: the choice of a fit to some tosses is the lowest point of a
smooth surface through the means over them. So choices without a block, and without a second block within them, cost
nothing. Runs already in the file are kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from contactlab.lab.datasets import CubeTosses, load_cube_tosses
from contactlab.lab.studies import TossSettings, run_tosses
from contactlab.multibody.spatial import quaternion

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]
LENGTH, NOISE = 0.6, 0.3  # relative to the box; variance relative to the design's scores
BLOCK = 50  # consecutive toss_id that replace a session
#: Units in which position and rotation errors are added [%, deg].
UNITS = np.array((13.0, 16.0))


@dataclass(frozen=True)
class StartNoise:
    """Standard deviations of a measured start, per axis: residuals of a parabola and a steady rotation in flight."""

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


@dataclass(frozen=True)
class Candidate:
    """Settings, the box of the fitted numbers, and the number of points of its Sobol sequence."""

    base: TossSettings
    box: Mapping[str, tuple[float, float]]
    points: int


CORNERS = {
    "mu": (0.172, 0.192),
    "corner_radius": (1e-3, 5e-3),
    "stiffness": (11e3, 20e3),
    "dissipation": (40.0, 75.0),
}
BOARD = {"inertia_scale": (1.0, 1.2), "board_height": (-2.5e-3, 0.0)}
FRICTION = {"mu": (0.171, 0.189)}
EDGES = TossSettings(gravity=9.65)  # the data's free fall is 9.6 +- 0.1
CONE = replace(EDGES, friction="cone")
CANDIDATES = {
    "rigid, edges": Candidate(TossSettings(), FRICTION, 4),
    "rigid, cone": Candidate(TossSettings(friction="cone"), FRICTION, 4),
    "corners, edges": Candidate(EDGES, CORNERS, 6),
    "corners, cone": Candidate(CONE, CORNERS, 8),
    "corners, cone, inertia and board": Candidate(CONE, {**CORNERS, **BOARD}, 16),
}


def perturbed(tosses: CubeTosses, seed: int) -> CubeTosses:
    """Return the tosses with one start each, within the noise of the measured one."""
    starts = tosses.eval_ic.copy()
    for i, toss in enumerate(tosses):
        q, v = drawn_starts(toss.q, toss.v, 2, 1000 * seed + i, StartNoise())
        starts[i] = np.concatenate((q[1], v[1]))
    return replace(tosses, eval_ic=starts)


def run_designs(tosses: CubeTosses, out: Path, workers: int | None) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the points in the unit box (n, d) and the errors (n, tosses, 2) of each candidate; run missing ones."""
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    done: dict[str, list[Any]] = {name: [one["errors"] for one in lines if one["model"] == name] for name in CANDIDATES}
    found = {}
    for k, (name, one) in enumerate(CANDIDATES.items()):
        low, high = np.array(list(one.box.values())).T
        unit = qmc.Sobol(len(one.box), seed=7).random(one.points)
        for i in range(len(done[name]), one.points):
            values = dict(zip(one.box, (low + (high - low) * unit[i]).tolist(), strict=True))
            report = run_tosses(perturbed(tosses, 100 * k + i), replace(one.base, **values), workers=workers)
            if report.failures:
                raise RuntimeError(f"{len(report.failures)} tosses failed at {values}")
            errors = [[round(o.position_percent, 4), round(o.rotation_deg, 4)] for o in report.outcomes]
            print(name, np.mean(errors, axis=0).round(2), {n: round(v, 5) for n, v in values.items()}, flush=True)
            with out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"model": name, "values": values, "errors": errors}) + "\n")
            done[name].append(errors)
        found[name] = unit, np.array(done[name])
    return found


def choose(x: FloatArray, errors: FloatArray, tosses: Mask) -> int:
    """Return the design point that is lowest on the surface of these tosses' mean scores."""
    score = (errors[:, tosses].mean(axis=1) / UNITS).sum(axis=1)
    distance = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    K = np.exp(-0.5 * distance / LENGTH**2)
    centred = score - score.mean()
    return int(np.argmin(K @ np.linalg.solve(K + NOISE * np.eye(len(x)), centred)))


def left_out(x: FloatArray, errors: FloatArray, tosses: Mask, blocks: NDArray[np.int64]) -> FloatArray:
    """Return the errors (tosses, 2) of each block under the choice of the others; NaN outside ``tosses``."""
    held = np.full((tosses.size, 2), np.nan)
    for b in np.unique(blocks[tosses]):
        out = tosses & (blocks == b)
        held[out] = errors[choose(x, errors, tosses & ~out), out]
    return held


def interval(errors: FloatArray, groups: NDArray[np.int64]) -> str:
    """Return the means of (n, 2) with 95 % of the means of resampled groups."""
    _, place = np.unique(groups, return_inverse=True)
    sums = np.stack([np.bincount(place, errors[:, k]) for k in range(2)], axis=1)
    counts = np.bincount(place)
    drawn = np.random.default_rng(0).integers(counts.size, size=(2000, counts.size))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    mean = errors.mean(axis=0)
    return "; ".join(f"{m:+.2f} ({a:+.2f} to {b:+.2f})" for m, a, b in zip(mean, low, high, strict=True))


def main() -> None:
    """Run the designs, choose, score what was left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tosses", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    tosses = load_cube_tosses(arguments.tosses)
    designs = run_designs(tosses, arguments.out, arguments.workers)
    with np.load(arguments.tosses) as data:
        groups = data["duplicate_group"]
    blocks, everything = groups // BLOCK, np.ones(groups.size, dtype=bool)

    held = {name: left_out(*design, everything, blocks) for name, design in designs.items()}
    for name, (x, errors) in designs.items():
        i = choose(x, errors, everything)
        low, high = np.array(list(CANDIDATES[name].box.values())).T
        numbers = ", ".join(
            f"{n} {v:.4g}" for n, v in zip(CANDIDATES[name].box, low + (high - low) * x[i], strict=True)
        )
        print(f"{name}: left out {interval(held[name], groups)}; on all: {numbers}")

    def chosen(tosses: Mask) -> str:
        inner = {name: left_out(*design, tosses, blocks)[tosses].mean(axis=0) for name, design in designs.items()}
        return min(inner, key=lambda name: float((inner[name] / UNITS).sum()))

    nested = np.empty((groups.size, 2))
    for b in np.unique(blocks):
        out = blocks == b
        name = chosen(~out)
        x, errors = designs[name]
        nested[out] = errors[choose(x, errors, ~out), out]
        print(f"without block {b}: {name}; on it {nested[out].mean(axis=0).round(2)}")
    print(f"nested: {interval(nested, groups)}")
    best = chosen(everything)
    for name in designs:
        if name != best:
            print(f"{name} above {best}: {interval(held[name] - held[best], groups)}")
    ic = tosses.eval_ic
    energy = tosses.mass * (tosses.gravity * ic[:, 2] + 0.5 * (ic[:, 7:10] ** 2).sum(axis=1)) + 0.5 * tosses.inertia * (
        ic[:, 10:] ** 2
    ).sum(axis=1)
    fast = energy > np.quantile(energy, 0.8)
    name = chosen(~fast)
    x, errors = designs[name]
    fastest = errors[choose(x, errors, ~fast)][fast]
    print(f"fastest fifth, chosen without it ({name}): {interval(fastest, groups[fast])}")


if __name__ == "__main__":
    main()
