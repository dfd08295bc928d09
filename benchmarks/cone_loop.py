"""The exact cone in the compiled step beside pyramids of four and eight edges: seconds of the processor, in turns.

Run: ``python benchmarks/cone_loop.py [--out benchmarks/results/cone_loop_DATE] [--rounds 7]``. Writes OUT.csv,
OUT.md.

A round runs each scene once with every kind of friction, in turn. Seconds are medians over the rounds, and a ratio is
formed within a round. Compilation is excluded; every step is recorded and certified. ``solver`` counts islands that no
strategy of the step solved, for the pyramid of four edges and for the cone.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from tables import markdown, write

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, TimeStepping, World, WorldBuilder, simulate

KINDS: dict[str, dict[str, Any]] = {"k = 4": {"edges": 4}, "k = 8": {"edges": 8}, "cone": {"friction": "cone"}}
HEAD = ("scene", "islands", "k = 4 [ms]", "k = 8 [ms]", "cone [ms]", "cone / k = 4", "to a solver: k = 4, cone")


def grips(count: int) -> World:
    """Build boxes of half a kilogram, each between two sliding fingers; one keeps its position, the other presses."""
    finger, half, rubber = (0.02, 0.04, 0.04), (0.05, 0.05, 0.05), Material(0.5)
    hands = ModelBuilder()
    for k in range(count):
        for name, side in ((f"left {k}", -1), (f"right {k}", 1)):
            place, inertia = Transform(p=(0.07 * side, 0.3 * k, 0.2)), RigidInertia.solid_box(0.3, finger)
            hands.add_body(name, joint=joints.Prismatic((1, 0, 0)), placement=place, inertia=inertia)
    builder = WorldBuilder()
    builder.add_model(hands.build())
    for k in range(count):
        for name, target, force in ((f"left {k}", 0.0, 1e4), (f"right {k}", -0.01, 25.0)):
            builder.add_shape(name, Box(finger), rubber)
            builder.add_drive(PositionDrive(name, target, 2e4, 2e2, max_force=force))
        start = (0, 0.3 * k, 0.2, 1, 0, 0, 0)
        builder.add_free_body(f"box {k}", RigidInertia.solid_box(0.5, half), Box(half), rubber, q=start)
    return builder.build()


def boxes(mu: float, starts: list[tuple[Any, Any]]) -> World:
    """Build boxes of 1 kg and 0.2 m on the ground, each with its q and v."""
    half, material = (0.1, 0.1, 0.1), Material(mu)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), material)
    for k, (q, v) in enumerate(starts):
        builder.add_free_body(f"box {k}", RigidInertia.solid_box(1.0, half), Box(half), material, q=q, v=v)
    return builder.build()


def scenes() -> dict[str, tuple[World, float, float]]:
    """Return world, step and duration of each scene."""
    rng = np.random.default_rng(0)
    tossed = []
    for k in range(4):
        turned = rng.normal(size=4)
        q = (2.0 * k, 0.0, 0.3, *turned / np.linalg.norm(turned))
        tossed.append((q, (1.0, 0.3, 0.0, *rng.normal(size=3) * 4.0)))
    stack = [((0, 0, 0.1 + 0.2 * k, 1, 0, 0, 0), np.zeros(6)) for k in range(10)]
    return {
        "a gripped box, 2 s at 4 ms": (grips(1), 4e-3, 2.0),
        "four gripped boxes": (grips(4), 4e-3, 2.0),
        "stack of 10 boxes, 1 s at 4 ms": (boxes(0.5, stack), 4e-3, 1.0),
        "box sliding on a plane, 1 s at 2 ms": (boxes(0.3, [((0, 0, 0.1, 1, 0, 0, 0), (2, 1, 0, 0, 0, 0))]), 2e-3, 1.0),
        "four tossed cubes, 0.7 s at 1 ms": (boxes(0.3, tossed), 1e-3, 0.7),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv and OUT.md")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    lines: list[list[Any]] = []
    for name, (world, h, duration) in scenes().items():
        steppers = {kind: TimeStepping(h, **settings) for kind, settings in KINDS.items()}
        first = {kind: simulate(world, stepper, duration) for kind, stepper in steppers.items()}  # compiles
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(options.rounds):
            for kind, stepper in steppers.items():
                begun = time.process_time()
                simulate(world, stepper, duration)
                seconds[kind].append(time.process_time() - begun)
        ratio = statistics.median(c / k for c, k in zip(seconds["cone"], seconds["k = 4"], strict=True))
        asked = [int(first[kind].pivots.astype(bool).sum()) for kind in ("k = 4", "cone")]
        times = [f"{1e3 * statistics.median(seconds[kind]):.3g}" for kind in KINDS]
        lines.append([name, int(first["cone"].islands.sum()), *times, f"{ratio:.2f}", f"{asked[0]}, {asked[1]}"])
        print(markdown(HEAD, lines[-1:]).splitlines()[-1], flush=True)
    if options.out is not None:
        write(options.out, "", "", HEAD, lines)


if __name__ == "__main__":
    main()
