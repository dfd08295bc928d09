"""A silo: the load on its floor and its rate of outflow hardly depend on the height of the filling.

Walls carry grains by friction (H. A. Janssen, 1895): for a filled mass m the floor carries M (1 - exp(-m / M)). Through
an opening of width D, much wider than the grains' diameter d, a flat silo loses mass as (D - k d)^(3/2), with k about
1.4 (W. A. Beverloo, H. A. Leniger, J. van de Velde, Chem. Eng. Sci. 15, 1961, with 5/2 in space). The floor is lowered
slowly, so that friction at the walls reaches its bound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREY, ORANGE, leave, paper, table
from scipy.optimize import curve_fit

from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import Motion, Recording, TimeStepping, World, WorldBuilder, simulate

DIAMETER, DENSITY, MU, G = 0.01, 10.0, 0.5, 9.81  # m, kg/m^2 of a flat grain
COUNTS, OPENINGS = (10, 20, 30, 45, 60, 80), (4.0, 5.0, 6.0, 7.0, 8.0)


def radii(count: int) -> Any:
    """Return radii of grains that differ by 15 %."""
    return DIAMETER / 2 * np.random.default_rng(0).uniform(0.85, 1.15, count)


def masses(count: int) -> Any:
    """Return masses of flat grains [kg]."""
    return DENSITY * math.pi * radii(count) ** 2


def loose(count: int, width: float, seed: int = 1) -> Any:
    """Return centres of grains above one another that do not touch."""
    row, shake = int(width / (1.16 * DIAMETER)), np.random.default_rng(seed).uniform(-0.02, 0.02, count)
    i = np.arange(count)
    x = ((i % row + 0.5) / row - 0.5) * width + shake * DIAMETER
    return np.stack((x, (0.6 + 1.16 * (i // row)) * DIAMETER), axis=1)


def silo(at: Any, width: float, opening: float = 0.0, speed: float = 0.0) -> World:
    """Build grains between two walls, on a floor that sinks at a speed, or on one with an opening."""
    builder, sand, d = WorldBuilder((0, 0, -G), planar=(0, 1, 0)), Material(MU), DIAMETER
    builder.add_half_space("left", HalfSpace((1, 0, 0), -width / 2), sand)
    builder.add_half_space("right", HalfSpace((-1, 0, 0), -width / 2), sand)
    if opening:
        half = (width - opening) / 4
        for name, side in (("floor left", -1), ("floor right", 1)):
            place = Transform(p=(side * (opening / 2 + half), 0, -d / 2))
            builder.add_fixed_body(name, Box((half, d, d / 2)), sand, place)
    else:
        sink = Motion(lambda t: (Transform(p=(0, 0, -d / 2 - speed * t)), (0, 0, 0, 0, 0, -speed)))
        builder.add_kinematic_body("floor", Box((width / 2 + d, d, d / 2)), sand, sink)
    for i, (r, m) in enumerate(zip(radii(len(at)), masses(len(at)), strict=True)):
        inertia = RigidInertia(m, inertia=m * r**2 / 2 * np.eye(3))
        builder.add_free_body(f"grain {i}", inertia, Sphere(r), sand, q=(at[i, 0], 0, at[i, 1], 1, 0, 0, 0))
    return builder.build()


def run(world: World, duration: float) -> Recording:
    """Simulate in steps of a millisecond."""
    return simulate(world, TimeStepping(1e-3, margin=0.1 * DIAMETER, erp=0.1), duration)


def carried(count: int, seed: int = 1, width: float = 5 * DIAMETER, duration: float = 1.5) -> float:
    """Return the mass that the sinking floor carries [kg], a mean without the first half second."""
    record = run(silo(loose(count, width, seed), width, speed=0.03), duration)
    return float(-record.force_on("floor")[500:, 2].mean() / G)


def janssen(filled: Any, carries: Any) -> float:
    """Return the mass M of Janssen's law that fits best."""
    return float(curve_fit(lambda m, M: M * (1 - np.exp(-m / M)), filled, carries, p0=max(carries))[0][0])


def settled(count: int, width: float) -> Any:
    """Return centres of grains that have come to rest in a closed silo."""
    return run(silo(loose(count, width), width), 0.5).q[-1].reshape(-1, 3)[:, :2]


def rate(at: Any, width: float, opening: float, duration: float = 1.0) -> float:
    """Return the mass per time through an opening [kg/s], from a tenth to a half of the mass, or to the end."""
    record = run(silo(at, width, opening), duration)
    below = record.q.reshape(len(record.q), -1, 3)[:, :, 1] < -DIAMETER
    gone, filled = below @ masses(len(at)), masses(len(at)).sum()
    part = (gone > 0.1 * filled) & (gone < 0.5 * filled)
    return float(np.polyfit(record.time[part], gone[part], 1)[0])


def tables() -> tuple[Any, Any]:
    """Return filled and carried mass, means of three fillings; and opening over diameter with the rate."""
    filled = [(masses(n).sum(), *(carried(n, seed) for seed in (1, 2, 3))) for n in COUNTS]
    at = settled(160, 14 * DIAMETER)
    return np.array(filled), np.array([(n, rate(at, 14 * DIAMETER, n * DIAMETER)) for n in OPENINGS])


def beverloo(rates: Any) -> tuple[float, float]:
    """Fit C (D / d - k)^(3/2) to rates; return C [kg/s] and k."""
    slope, at_zero = np.polyfit(rates[:, 0], rates[:, 1] ** (2 / 3), 1)
    return float(slope**1.5), float(-at_zero / slope)


def draw(filled: Any, rates: Any) -> Any:
    """Draw carried mass over filled mass, rates over the width of the opening, and the laws."""
    figure, (left, right) = paper(2)
    means, line = filled[:, 1:].mean(axis=1), np.linspace(0, filled[-1, 0], 50)
    limit = janssen(filled[:, 0], means)
    left.plot(1e3 * np.repeat(filled[:, :1], 3, axis=1), 1e3 * filled[:, 1:], ".", color=GREY, markersize=3)
    left.plot(1e3 * filled[:, 0], 1e3 * means, "o", color=BLUE, label="mean of three")
    left.plot(1e3 * line, 1e3 * limit * (1 - np.exp(-line / limit)), color=BLUE, label="Janssen")
    left.plot(1e3 * line, 1e3 * line, "--", color=GREY, linewidth=0.8, label="all of it")
    left.set(xlabel="filled in [g]", ylabel="carried by the floor [g]")
    left.legend(frameon=False, fontsize=8)
    scale, k = beverloo(rates)
    right.plot(*rates.T, "o", color=ORANGE)
    wide = np.linspace(k, rates[-1, 0], 50)
    right.plot(wide, scale * (wide - k) ** 1.5, color=ORANGE)
    right.set(xlabel="opening / diameter", ylabel="mass per time [kg/s]", xlim=(0, None), ylim=(0, None))
    right.set_title(f"{scale:.3f} (D / d - {k:.1f})^(3/2)", fontsize=9)
    return figure


def picture() -> Any:
    """Draw both laws."""
    return draw(*tables())


if __name__ == "__main__":
    filled, rates = tables()
    table("filled in [kg] | carried [kg], three fillings ||", filled)
    print(f"Janssen: {janssen(filled[:, 0], filled[:, 1:].mean(axis=1)):.4f} kg")
    table("opening / diameter | rate [kg/s]", rates)
    print("Beverloo: {:.4f} kg/s (D / d - {:.2f})^(3/2)".format(*beverloo(rates)))
    leave(draw(filled, rates), "silo")
