"""Contacts of every pair of shapes, each result proved: worst gap, normal and point, missing and false contacts.

Run: ``python benchmarks/geometry_campaign.py [--count 10000] [--seed 0] [--pairs cylinder-box ...] [--out FILE.md]``.

Each pair has ``count`` random and ``count`` degenerate placements: touching, parallel, coplanar, contained, moved or
tilted by 1e-15 to 1e-3. Sizes are from 1e-3 to 1e3 m, with sides equal or up to a thousand times one another. Results
are not computed a second time if they can be proved (`geometry_proofs.py`). No point of A is farther along the normal,
and none of B nearer, so the gap is at least this value. The returned points are on the shapes, so it is at most this
value.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from geometry_proofs import Body, Verdict, prove

from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Shape, Sphere
from contactlab.collision.detection import collide
from contactlab.multibody.spatial import Transform

Rng = np.random.Generator
TURNS = (0.0, 0.0, 1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
GAPS = (0.0, 0.0, 1e-15, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05)


def ratios(rng: Rng) -> np.ndarray:
    """Draw three sides, the largest 1: equal, similar, or up to a thousand times one another."""
    choice = rng.integers(4)
    sides = np.ones(3) if choice == 0 else 10.0 ** rng.uniform(-0.5, 0.0, 3)
    if choice == 3:
        sides = 10.0 ** rng.uniform(-3.0, 0.0, 3)
    return sides / sides.max()


def sphere(size: float, rng: Rng) -> Shape:
    return Sphere(size)


def capsule(size: float, rng: Rng) -> Shape:
    r, h, _ = size * ratios(rng)
    return Capsule(r, h)


def box(size: float, rng: Rng) -> Shape:
    return Box(size * ratios(rng))


def cylinder(size: float, rng: Rng) -> Shape:
    r, h, _ = size * ratios(rng)
    return Cylinder(r, h)


def hull(size: float, rng: Rng) -> Shape:
    """Draw a cloud, a cube's corners, a prism, a tetrahedron, or a cone of many sides."""
    choice = rng.integers(5)
    if choice == 0:
        points = rng.normal(size=(int(rng.integers(5, 30)), 3))
    elif choice == 1:
        points = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    elif choice == 2:
        angle = 2.0 * math.pi * np.arange(6) / 6
        points = np.array([[math.cos(a), math.sin(a), z] for a in angle for z in (-1.0, 1.0)])
    elif choice == 3:
        points = rng.normal(size=(4, 3))
    else:
        angle = 2.0 * math.pi * np.arange(32) / 32
        points = np.array([[0.0, 0.0, 1.0], *([math.cos(a), math.sin(a), -1.0] for a in angle)])
    points = points * ratios(rng)
    return ConvexPoints(size * points / np.abs(points).max())


def flat(size: float, rng: Rng) -> Shape:
    """Draw a triangle, a square, a polygon or a rod: hulls without a volume."""
    choice = rng.integers(4)
    if choice == 0:
        points = np.array([[1.0, 0.0, 0.0], [-0.5, 0.8, 0.0], [-0.5, -0.8, 0.0]])
    elif choice == 1:
        points = np.array([[x, y, 0.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    elif choice == 2:
        angle = 2.0 * math.pi * np.arange(7) / 7
        points = np.array([[math.cos(a), math.sin(a), 0.0] for a in angle])
    else:
        return ConvexPoints(size * np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    return ConvexPoints(size * points * ratios(rng))


def half_space(size: float, rng: Rng) -> Shape:
    return HalfSpace(rng.normal(size=3), float(rng.uniform(-1.0, 1.0)))


KINDS: dict[str, Callable[[float, Rng], Shape]] = {
    "sphere": sphere,
    "capsule": capsule,
    "box": box,
    "cylinder": cylinder,
    "hull": hull,
    "flat hull": flat,
}
PAIRS = [*itertools.combinations_with_replacement(KINDS, 2), *(("half-space", kind) for kind in KINDS)]


def turn_about(axis: np.ndarray, angle: float) -> np.ndarray:
    return Transform.rotation(axis, angle).R


def align(u: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Return a rotation (3, 3) that takes the unit vector u to another."""
    axis, cosine = np.cross(u, to), float(u @ to)
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        other = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
        return np.eye(3) if cosine > 0.0 else turn_about(other, math.pi)
    return turn_about(axis / length, math.atan2(length, cosine))


def random_rotation(rng: Rng) -> np.ndarray:
    return turn_about(rng.normal(size=3), rng.uniform(0.0, math.pi))


def sizes(rng: Rng) -> tuple[float, float]:
    one = 10.0 ** rng.uniform(-3.0, 3.0)
    other = one * 10.0 ** (rng.uniform(-1.5, 1.5) if rng.random() < 0.3 else rng.uniform(-0.3, 0.3))
    return one, min(max(other, 1e-3), 1e3)


def random_placement(a: Body, b: Body, rng: Rng) -> Body:
    """Place B anywhere about A, near or in it, in half of the cases within the margin."""
    b = b.moved(random_rotation(rng), np.zeros(3))
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    aside = np.cross(way, rng.normal(size=3)) * rng.uniform(-0.7, 0.7) * min(a.reach, b.reach)
    # Along the direction until the planes across it are `gap` apart, at most.
    gap = rng.choice((1.0, 0.3)) * rng.uniform(-1.0, 0.3) * min(a.reach, b.reach)
    return b.moved(b.R, a.p + aside + b.p - a.p + way * (a.extent(way) + b.extent(-way) + gap))


def degenerate_placement(a: Body, b: Body, rng: Rng) -> Body:
    """Place B with a feature against one of A's (faces, edges, corners; parallel or nearly so), or one in the other."""
    small = min(a.reach, b.reach)
    normal_a, normal_b = a.special(rng), b.special(rng)
    R = align(normal_b, -normal_a)
    if rng.random() < 0.6:
        # Edges of the two along one another.
        u, v = a.special_across(normal_a, rng), R @ b.special_across(normal_b, rng)
        R = turn_about(normal_a, math.atan2(float(normal_a @ np.cross(v, u)), float(v @ u))) @ R
    else:
        R = turn_about(normal_a, rng.uniform(0.0, 2.0 * math.pi)) @ R
    tilt = float(rng.choice(TURNS))
    if tilt > 0.0:
        R = turn_about(rng.normal(size=3), tilt) @ R
    b = b.moved(R @ b.R, np.zeros(3))
    case = rng.integers(8)
    if case == 0:  # contained, or as good as coinciding
        return b.moved(b.R, a.p + float(rng.choice(GAPS)) * small * rng.normal(size=3))
    gap = float(rng.choice(GAPS)) * float(rng.choice((1.0, -1.0))) * small
    across = a.special_across(normal_a, rng)
    aside = np.zeros(3)
    if case in (1, 2, 3):  # anywhere over the face
        aside = rng.uniform(-1.0, 1.0) * across * a.extent(across) + rng.uniform(-0.5, 0.5) * small * np.cross(
            normal_a, across
        )
    elif case in (4, 5):  # the ends in one plane, or an end of one at an end of the other
        reach = a.extent(across) + float(rng.choice((1.0, -1.0))) * b.extent(across * rng.choice((1.0, -1.0)))
        aside = across * (reach + float(rng.choice(GAPS)) * small * rng.choice((1.0, -1.0)))
    return b.moved(b.R, a.p + aside + normal_a * (a.extent(normal_a) + b.extent(-normal_a) + gap))


@dataclass
class Tally:
    """Errors over the placements of one pair."""

    placements: int = 0
    apart: int = 0
    overlapping: int = 0
    gap: float = 0.0  # worst error over the size, apart
    depth: float = 0.0  # the same in overlap
    normal: float = 0.0  # deficit of the separation along the normal from the gap, over the size
    point: float = 0.0  # distance of a point from its shape, over the size
    deeper: float = 0.0  # excess of a contact's depth over the depth of the shapes, over the size
    missing: int = 0
    false: int = 0
    broken: list[tuple[str, int, Verdict]] = field(default_factory=list)

    def add(self, verdict: Verdict, way: str, number: int) -> None:
        """Add the verdict of one placement."""
        self.placements += 1
        self.missing += verdict.missing
        if verdict.found:
            if verdict.overlap:
                self.overlapping += 1
                self.depth = max(self.depth, verdict.gap_error)
            else:
                self.apart += 1
                self.gap = max(self.gap, verdict.gap_error)
                self.normal = max(self.normal, verdict.normal_error)
            self.point = max(self.point, verdict.point_error)
            self.deeper = max(self.deeper, verdict.deeper)
        self.false += verdict.false
        if not verdict.holds:
            self.broken.append((way, number, verdict))


def one_case(names: tuple[str, str], way: str, number: int, seed: int) -> tuple[Body, Body, float]:
    """Return the two bodies and the margin of one placement, from its number."""
    rng = np.random.default_rng([seed, *names[0].encode(), *names[1].encode(), number, len(way)])
    sa, sb = sizes(rng)
    if names[0] == "half-space":
        a = Body.of(half_space(sa, rng), random_rotation(rng), rng.uniform(-2.0, 2.0, 3) * sb)
        sa = sb
    else:
        a = Body.of(KINDS[names[0]](sa, rng), random_rotation(rng), rng.uniform(-2.0, 2.0, 3) * sa)
    b = Body.of(KINDS[names[1]](sb, rng), np.eye(3), np.zeros(3))
    place = random_placement if way == "random" else degenerate_placement
    return a, place(a, b, rng), 0.1 * min(a.reach, b.reach)


def campaign(names: tuple[str, str], count: int, seed: int) -> Tally:
    """Prove the contacts of ``count`` random and as many degenerate placements of a pair."""
    tally = Tally()
    for way in ("random", "degenerate"):
        for number in range(count):
            a, b, margin = one_case(names, way, number, seed)
            found = collide(a.shape, a.pose, b.shape, b.pose, margin=margin)
            tally.add(prove(a, b, margin, found), way, number)
    return tally


HEAD = (
    "| pair | apart | overlapping | gap apart | depth | normal | point | deeper | missing | false |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def row(names: tuple[str, str], tally: Tally) -> str:
    figures = (tally.gap, tally.depth, tally.normal, tally.point, tally.deeper)
    told = " | ".join(f"{value:.0e}" if value > 0.0 else "0" for value in figures)
    counts = f"{tally.apart} | {tally.overlapping}"
    return f"| {names[0]}, {names[1]} | {counts} | {told} | {tally.missing} | {tally.false} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", nargs="*", help="names joined by a dash, such as cylinder-box")
    parser.add_argument("--show", type=int, default=0, help="how many placements that fail to print of each pair")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = [HEAD]
    print(HEAD, flush=True)
    for names in PAIRS:
        if args.pairs and "-".join(names) not in args.pairs:
            continue
        start = time.perf_counter()
        tally = campaign(names, args.count, args.seed)
        lines.append(row(names, tally))
        print(lines[-1], f"<!-- {len(tally.broken)} broken, {time.perf_counter() - start:.0f} s -->", flush=True)
        for way, number, verdict in tally.broken[: args.show]:
            print("  ", way, number, verdict)
    if args.out is not None:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
