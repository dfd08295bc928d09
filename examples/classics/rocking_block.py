"""Housner's rocking block: at every change of corners it keeps r = (1 - 3/2 sin^2 alpha)^2 of its energy (1963).

Let go at angle0 it swings to cos(alpha - angle_n) = cos(alpha) + r^n (cos(alpha - angle0) - cos(alpha)).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from measure import BLUE, GREY, leave, order, paper, table

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate

HALF_WIDTH, HALF_HEIGHT, START, G = 0.1, 0.4, 0.12, 9.81
ALPHA, RADIUS = math.atan(HALF_WIDTH / HALF_HEIGHT), math.hypot(HALF_WIDTH, HALF_HEIGHT)
STEPS = (1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5)


def rock(h: float, duration: float = 1.3) -> Recording:
    """Simulate the block from its start on the right edge."""
    c, s = math.cos(START), math.sin(START)
    builder, stone, half = WorldBuilder((0, 0, -G), planar=(0, 1, 0)), Material(2.0), (HALF_WIDTH, 0.1, HALF_HEIGHT)
    builder.add_half_space("ground", HalfSpace(), stone)
    at = (-(c * HALF_WIDTH - s * HALF_HEIGHT), 0, s * HALF_WIDTH + c * HALF_HEIGHT)
    turned = (math.cos(START / 2), 0, math.sin(START / 2), 0)
    builder.add_free_body("block", RigidInertia.solid_box(1.0, half), Box(half), stone, q=(*at, *turned))
    return simulate(builder.build(), TimeStepping(h, margin=1e-4), duration)


def amplitude(n: int) -> float:
    """Return the largest angle of swing n, with 0 for the start."""
    kept = (1 - 1.5 * math.sin(ALPHA) ** 2) ** (2 * n)
    return ALPHA - math.acos(math.cos(ALPHA) + kept * (math.cos(ALPHA - START) - math.cos(ALPHA)))


def amplitudes(recording: Recording, count: int) -> list[float]:
    """Return the largest angles between changes of corners, without the start."""
    angle = recording.q[:, 2]
    at = np.flatnonzero(angle[:-1] * angle[1:] <= 0)
    return [float(np.abs(angle[i + 1 : j + 1]).max()) for i, j in pairwise(at[: count + 1])]


def errors(steps: tuple[float, ...] = STEPS, count: int = 2) -> list[float]:
    """Return the largest errors of the first amplitudes."""
    wanted = [amplitude(n) for n in range(1, count + 1)]
    return [float(np.abs(np.subtract(amplitudes(rock(h), count), wanted)).max()) for h in steps]


def picture() -> Any:
    """Draw the angle over time with Housner's amplitudes."""
    figure, axes = paper(1, 6.0, 2.6)
    run = rock(5e-4, 2.0)
    axes.plot(run.time, run.q[:, 2], color=BLUE)
    for n in range(4):
        for sign in (-1, 1):
            axes.axhline(sign * amplitude(n), color=GREY, linewidth=0.6, linestyle="--")
    axes.set(xlabel="time [s]", ylabel="angle [rad]")
    axes.set_title("dashed: amplitudes of Housner's law", fontsize=9)
    return figure


if __name__ == "__main__":
    found = errors()
    table("h [s] | error of the amplitudes [rad]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    leave(picture(), "rocking_block")
