"""The arch of least thickness: a semicircle of stones without mortar, kept from sliding by friction.

The arch stands if a line of thrust fits into it. For infinitely many stones, the thinnest semicircle with such a line
has a thickness of 0.1075 of its mean radius (Milankovitch 1907; Heyman 1969 gives 0.106 with a simpler line). For n
stones a linear program gives the limit: the forces at the two edges of every joint press, and hold all stones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREY, ORANGE, leave, paper, table
from scipy.optimize import brentq, linprog

from contactlab.collision import ConvexPoints, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate

MILANKOVITCH, G, MU, WIDTH = 0.1075, 9.81, 2.0, 0.05
COUNTS = (9, 15, 25, 61)


def stone(thickness: float, count: int) -> tuple[Any, Any, float, float]:
    """Compute corners (4, 2), centre, area and inertia (by area) of the crown stone of an arch of radius 1."""
    half, inner, outer = math.pi / 2 / count, 1 - thickness / 2, 1 + thickness / 2
    corners = np.array(
        [(r * math.sin(a), r * math.cos(a)) for r, a in ((inner, -half), (outer, -half), (outer, half), (inner, half))]
    )
    x, z = corners.T
    x2, z2 = np.roll(x, -1), np.roll(z, -1)
    cross = x2 * z - x * z2
    area = cross.sum() / 2
    centre = np.array([0.0, ((z + z2) * cross).sum() / (6 * area)])
    second = ((x * x + x * x2 + x2 * x2 + z * z + z * z2 + z2 * z2) * cross).sum() / 12
    return corners, centre, float(area), float(second - area * centre @ centre)


def spare(thickness: float, count: int) -> float:
    """Compute the largest possible least edge force over a stone's weight: if negative, no forces hold the arch."""
    corners, centre, _, _ = stone(thickness, count)
    rows, loads = np.zeros((3 * count, 3 * (count + 1) + 1)), np.zeros(3 * count)
    turns = math.pi / 2 - (np.arange(count) + 0.5) * math.pi / count
    for i, turn in enumerate(turns):
        R = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
        for joint, edges in ((i, corners[:1:-1]), (i + 1, corners[:2])):
            along = R @ (edges[0] - edges[1]) / np.linalg.norm(edges[0] - edges[1])
            normal = np.array([along[1], -along[0]])
            normal *= math.copysign(1.0, normal @ R @ (centre - edges.mean(axis=0)))
            for k, edge in enumerate(edges):
                arm = R @ (edge - centre)
                rows[3 * i : 3 * i + 3, 3 * joint + k] = (*normal, arm[0] * normal[1] - arm[1] * normal[0])
            middle = R @ (edges.mean(axis=0) - centre)
            slip = np.array([normal[1], -normal[0]])
            rows[3 * i : 3 * i + 3, 3 * joint + 2] = (*slip, middle[0] * slip[1] - middle[1] * slip[0])
        loads[3 * i + 1] = 1.0
    size = rows.shape[1]
    least = np.zeros((2 * (count + 1), size))
    for joint in range(count + 1):
        least[2 * joint, [3 * joint, size - 1]] = least[2 * joint + 1, [3 * joint + 1, size - 1]] = (-1.0, 1.0)
    found = linprog(-np.eye(size)[-1], least, np.zeros(len(least)), rows, loads, bounds=[(None, None)] * size)
    return float(found.x[-1])


def least(count: int) -> float:
    """Compute the least thickness of an arch with this number of stones."""
    return float(brentq(spare, 0.08, 0.2, args=(count,), xtol=1e-7))


def stand(thickness: float, count: int = 15, duration: float = 0.1, h: float = 1e-3) -> Recording:
    """Simulate an arch under its own weight."""
    corners, centre, area, second = stone(thickness, count)
    builder, rough = WorldBuilder((0, 0, -G), planar=(0, 1, 0)), Material(MU)
    builder.add_half_space("ground", HalfSpace(), rough)
    shape = ConvexPoints([(x, y, z) for x, z in corners - centre for y in (-WIDTH, WIDTH)])
    inertia = RigidInertia(area, inertia=second * np.eye(3))
    for i in range(count):
        turn = math.pi / 2 - (i + 0.5) * math.pi / count
        at = (centre[1] * math.sin(turn), 0, centre[1] * math.cos(turn))
        builder.add_free_body(
            f"stone {i}", inertia, shape, rough, q=(*at, math.cos(turn / 2), 0, math.sin(turn / 2), 0)
        )
    return simulate(builder.build(), TimeStepping(h), duration)


def fastest(thickness: float, count: int = 15) -> float:
    """Return the largest speed of a stone after a tenth of a second."""
    return float(np.abs(stand(thickness, count).v[-1]).max())


def picture() -> Any:
    """Draw speeds after a tenth of a second over the thickness, and the least thickness by number of stones."""
    figure, (left, right) = paper(2)
    limit = least(15)
    shares = np.linspace(0.94, 1.06, 13)
    left.plot(limit * shares, [fastest(limit * share) for share in shares], "o-", color=BLUE, markersize=3)
    left.axvline(limit, color=GREY, linestyle="--", linewidth=0.8)
    left.set(xlabel="thickness / radius, 15 stones", ylabel="speed after 0.1 s [m/s]")
    left.locator_params(axis="x", nbins=4)
    counts = np.arange(5, 62, 2)
    right.plot(counts, [least(int(n)) for n in counts], ".-", color=ORANGE)
    right.axhline(MILANKOVITCH, color=GREY, linestyle="--", linewidth=0.8)
    right.set(xlabel="stones", ylabel="least thickness / radius")
    return figure


if __name__ == "__main__":
    rows = [(str(n), limit := least(n), fastest(0.99 * limit, n), fastest(1.01 * limit, n)) for n in COUNTS]
    table("stones | least thickness | speed 1 % below [m/s] | 1 % above", rows)
    print(f"endlessly many: {MILANKOVITCH}")
    leave(picture(), "arch")
