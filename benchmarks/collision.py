"""Collision detection: time of a pair in a compiled loop, beside coal called from Python, and of the broad phase.

Run: ``python benchmarks/collision.py [--out benchmarks/results/collision_DATE.csv]`` (extra ``collision``).

Pairs: 1000 random scenes of each kind, in contact or nearly, are repeated in turn with coal on the same scenes (set two
transforms, collide, read contact patches for boxes); figures are medians over the rounds. Broad phase: cubes in a
region that grows with their number are sorted from the order of the previous step, and from scratch.
"""

from __future__ import annotations

import argparse
import csv
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from tables import processor

from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, PlacedShape, Shape, Sphere
from contactlab.collision.detection import coal_object
from contactlab.collision.detection.kernels.collide_pair import collide_pair
from contactlab.collision.detection.kernels.support import all_bounds
from contactlab.collision.detection.kernels.sweep_and_prune import candidates
from contactlab.collision.kernels import CONTACT, ContactBuffer, Posed, Workspace
from contactlab.collision.shapes.shape import pack_shapes, pose_row, workspace
from contactlab.multibody.spatial import Transform
from lcp.kernels import kernel

ROUNDS, SCENES = 15, 1000
MARGIN = 0.01


@kernel
def loop(kind, size, poses, data, loops, margin, work, ints, out, feature):  # type: ignore[no-untyped-def]
    """Count the contacts of all scenes."""
    total = 0
    for i in range(poses.shape[0]):
        a = Posed(kind[0], size[0], poses[i, 0], data, loops)
        b = Posed(kind[1], size[1], poses[i, 1], data, loops)
        total += collide_pair(a, b, margin, False, Workspace(work, ints), ContactBuffer(out, feature))
    return total


def scenes() -> dict[str, tuple[Shape | PlacedShape, Shape | PlacedShape, float, float]]:
    """Return pairs of shapes, the distance of their centres, and the tilt of the second."""
    rng = np.random.default_rng(0)
    dome = rng.normal(size=(62, 3))
    dome /= np.linalg.norm(dome, axis=1)[:, None]
    lying = PlacedShape(Capsule(0.5, 1.0), Transform.rotation((0, 1, 0), np.pi / 2))
    box = Box.cube(1.0)
    return {
        "sphere-sphere": (Sphere(1.0), Sphere(1.0), 2.0, 3.0),
        "sphere-box": (Sphere(1.0), box, 2.0, 0.0),
        "capsule-capsule": (lying, lying, 1.0, 0.1),
        "capsule-box lying": (lying, box, 1.5, 0.0),
        "box-half-space": (HalfSpace((0, 0, -1)), box, 1.0, 0.0),
        "cylinder-half-space": (HalfSpace((0, 0, -1)), Cylinder(1.0, 1.0), 1.0, 0.0),
        "box-box face": (box, box, 2.0, 0.0),
        "box-box any": (box, box, 2.2, 3.0),
        "box-box apart": (box, box, 4.0, 3.0),
        "cylinder-box flat": (Cylinder(1.0, 1.0), box, 2.0, 0.0),
        "cylinder-box any": (Cylinder(1.0, 1.0), box, 2.2, 3.0),
        "convex 62-box": (ConvexPoints(dome), box, 1.9, 3.0),
    }


def timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def pairs() -> list[list[str]]:
    """Return one row per pair: kernel in a loop, coal from Python (both in us), their ratio, mean number of points."""
    import coal

    rows = []
    for name, (a, b, distance, tilt) in scenes().items():
        rng = np.random.default_rng(1)
        packed = pack_shapes([a, b])
        work, ints = workspace()
        out, feature = np.empty((64, CONTACT)), np.empty(64, dtype=np.int64)
        poses, transforms = np.empty((SCENES, 2, 12)), []
        (geometry_a, _), (geometry_b, _) = coal_object(a, Transform(), "a"), coal_object(b, Transform(), "b")
        for i in range(SCENES):
            yaw = Transform.rotation((0, 0, 1), rng.uniform(0, 3))
            other = Transform(yaw.R, (*rng.uniform(-0.3, 0.3, 2), distance + rng.uniform(-0.01, 0.005)))
            other = other @ Transform.rotation(rng.normal(size=3), tilt * rng.uniform(0, 1))
            frames = [Transform(), other]
            for k, (shape, frame) in enumerate(zip((a, b), frames, strict=True)):
                world = frame @ shape.pose if isinstance(shape, PlacedShape) else frame
                poses[i, k] = pose_row(world)
                frames[k] = world
            transforms.append([(np.array(f.R), np.array(f.p)) for f in frames])
        arguments = (packed.kind, packed.size, poses, packed.data, packed.loops, MARGIN, work, ints, out, feature)
        points = loop(*arguments) / SCENES
        request, patches = coal.CollisionRequest(), coal.ContactPatchRequest()
        request.security_margin = MARGIN
        frame_a, frame_b = coal.Transform3s(), coal.Transform3s()

        def by_coal() -> None:
            for (R_a, p_a), (R_b, p_b) in transforms:  # noqa: B023  # called within the same round
                frame_a.setRotation(R_a)  # noqa: B023
                frame_a.setTranslation(p_a)  # noqa: B023
                frame_b.setRotation(R_b)  # noqa: B023
                frame_b.setTranslation(p_b)  # noqa: B023
                result, patch = coal.CollisionResult(), coal.ContactPatchResult()
                coal.collide(geometry_a, frame_a, geometry_b, frame_b, request, result)  # noqa: B023
                if result.isCollision():
                    coal.computeContactPatch(geometry_a, frame_a, geometry_b, frame_b, result, patches, patch)  # noqa: B023

        ours, theirs, ratios = [], [], []
        for _ in range(ROUNDS):
            ours.append(1e6 * timed(lambda: loop(*arguments)) / SCENES)  # noqa: B023
            theirs.append(1e6 * timed(by_coal) / SCENES)
            ratios.append(ours[-1] / theirs[-1])
        figures = [statistics.median(values) for values in (ours, theirs, ratios)]
        rows.append(["pair", name, f"{figures[0]:.3f}", f"{figures[1]:.2f}", f"{figures[2]:.3f}", f"{points:.2f}"])
        print(*rows[-1], flush=True)
    return rows


def broad_phase() -> list[list[str]]:
    """Return one row per number of cubes: bounds and pairs after a small motion and from random order, us per cube."""
    rows = []
    for n in (100, 1000, 10000):
        rng = np.random.default_rng(2)
        packed = pack_shapes([Box.cube(0.5)] * n)
        side = 1.5 * n ** (1.0 / 3.0)
        poses = np.array([pose_row(Transform(p=rng.uniform(0.0, side, 3))) for _ in range(n)])
        boxes, keys, bits = np.empty((n, 6)), np.empty(n), np.full(n, -1, dtype=np.int64)
        body, found = np.arange(n), np.empty(64 * n, dtype=np.int64)
        order = np.arange(n)

        def once() -> int:
            all_bounds(packed.kind, packed.size, poses, packed.data, 0.005, boxes)  # noqa: B023
            return int(
                candidates(
                    packed.kind, packed.size, poses, boxes, 0.005, body, bits, bits, order, keys, found  # noqa: B023
                )
            )  # fmt: skip

        count = once()
        warm, cold = [], []
        for _ in range(ROUNDS):
            poses[:, 9:] += rng.uniform(-0.005, 0.005, (n, 3))
            warm.append(1e6 * timed(once) / n)
            order[:] = rng.permutation(n)
            cold.append(1e6 * timed(once) / n)
        figures = [statistics.median(values) for values in (warm, cold)]
        rows.append(["broad phase", str(n), f"{figures[0]:.3f}", f"{figures[1]:.3f}", "", f"{count / n:.2f}"])
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    import coal

    head = (
        f"# {platform.machine()} ({processor()}), one shared core, Python {platform.python_version()},"
        f" numpy {np.__version__}, coal {coal.__version__};"
        f" {ROUNDS} rounds in turn, medians, microseconds\n"
        "# pair: kernel in a compiled loop, coal from Python with patches, median of the ratios, contacts a scene\n"
        "# broad phase: a cube's share after a small motion, from a random order, candidate pairs a cube\n"
    )
    rows = pairs() + broad_phase()
    if out is not None:
        with out.open("w", newline="") as file:
            file.write(head)
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["what", "case", "loop_us", "other_us", "ratio", "contacts"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
