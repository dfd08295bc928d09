"""Tosses of the elbow: numbers chosen and scored by nested cross-validation, with the board level or as it leans.

    python benchmarks/elbow_fit.py tosses.npz [--points 8] [--out DIR]

Candidates are rigid corners with a restitution, and compliant corners, each in the frame of the data and in axes of the
board. Each has a box of numbers and a Sobol design in it; all tosses are run once at every point. Blocks of 50
consecutive `toss_id` are left out in turn. The candidate and the point with the lowest mean of position / 30 % +
rotation / 45 degrees + hinge / 40 degrees on the other blocks are scored on the block. Intervals: 2000 resamples of
tosses.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from elbow_tosses import LEANS_BEFORE, elbow_tosses, load_elbow_tosses
from numpy.typing import NDArray
from scipy.stats import qmc

FloatArray = NDArray[np.float64]
AIMS = np.array([30.0, 45.0, 40.0])
BLOCK = 50
SHARED = {"mu": (0.14, 0.24), "inertia": (1.1, 1.6), "damping:hinge": (0.0, 0.004)}
BOXES = {
    "rigid": {**SHARED, "restitution": (0.1, 0.45)},
    "give way": {**SHARED, "stiffness": (5e4, 4e5), "dissipation": (60.0, 160.0)},
}
GRAVITY = 9.62  # of flights, with the time between samples as stated


def design(box: dict[str, tuple[float, float]], points: int) -> list[dict[str, float]]:
    """Return the points of a Sobol sequence in a box; stiffness on a logarithmic scale."""
    rows = qmc.Sobol(len(box), seed=1).random(points)
    found = []
    for row in rows:
        values = {"gravity": GRAVITY}
        for (name, (low, high)), u in zip(box.items(), row.tolist(), strict=True):
            values[name] = low * (high / low) ** u if name == "stiffness" else low + (high - low) * u
        found.append(values)
    return found


def shown(errors: FloatArray) -> str:
    """Return means and 95 % intervals of errors (n, 3)."""
    chosen = np.random.default_rng(0).integers(len(errors), size=(2000, len(errors)))
    low, high = np.percentile(errors[chosen].mean(axis=1), [2.5, 97.5], axis=0)
    return ", ".join(f"{m:.1f} ({a:.1f} to {b:.1f})" for m, a, b in zip(errors.mean(axis=0), low, high, strict=True))


def nested(errors: FloatArray, blocks: NDArray[np.int64]) -> tuple[FloatArray, list[int]]:
    """Return errors (n, 3) of tosses that did not choose their point among (p, n, 3), and the choices."""
    left_out, chosen = np.empty(errors.shape[1:]), []
    for block in np.unique(blocks):
        out = blocks == block
        best = int(np.argmin(errors[:, ~out].mean(axis=1) @ (1.0 / AIMS)))
        left_out[out] = errors[best, out]
        chosen.append(best)
    return left_out, chosen


def main() -> None:
    """Run the designs, choose, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tosses", type=Path)
    parser.add_argument("--points", type=int, default=8)
    parser.add_argument("--out", type=Path, help="folder for the errors of every point, taken up again from there")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    data = load_elbow_tosses(arguments.tosses)
    frames = {
        "board": elbow_tosses(data, threads=arguments.workers),
        "stored": elbow_tosses(replace(data, toss_id=data.toss_id + LEANS_BEFORE), threads=arguments.workers),
    }
    rows, names, points, runs = np.arange(len(data)), [], [], []
    for frame, tosses in frames.items():
        assert tosses.errors is not None
        for kind, box in BOXES.items():
            for k, values in enumerate(design(box, arguments.points)):
                kept = None if arguments.out is None else arguments.out / f"{frame}-{kind.replace(' ', '-')}-{k}.npy"
                if kept is not None and kept.exists():
                    errors = np.load(kept)
                else:
                    errors = np.stack(list(tosses.errors(values, rows).values()), axis=1)
                    if kept is not None:
                        np.save(kept, errors)
                names.append(f"{frame}, {kind}")
                points.append(values)
                runs.append(errors)
                print(names[-1], k, errors.mean(axis=0).round(2), int(np.isnan(errors[:, 0]).sum()), flush=True)
    found, blocks = np.array(runs), data.toss_id // BLOCK
    left_out, chosen = nested(found, blocks)
    print(f"nested over all: {shown(left_out)}; chosen: {[names[k] for k in chosen]}")
    for name in dict.fromkeys(names):
        mine = np.array([k for k, other in enumerate(names) if other == name])
        own, _ = nested(found[mine], blocks)
        print(f"{name}: {shown(own)}; above all: {shown(own - left_out)}")
    best = int(np.argmin(found.mean(axis=1) @ (1.0 / AIMS)))
    print(f"on all tosses: {names[best]} {json.dumps(points[best])}: {shown(found[best])}")


if __name__ == "__main__":
    main()
