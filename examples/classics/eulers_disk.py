"""Euler's disk: the flatter a coin rolls on its edge, the faster its point of contact moves around.

A thin disk of radius a that rolls with its centre at rest, inclined by alpha, precesses at W with W^2 sin(alpha) = 4 g
/ a, for ever if there is no rolling friction (Moffatt, Nature 404, 2000; Kessler and O'Reilly, Regular and Chaotic
Dynamics 7, 2002). The simulation starts on that motion and is compared with it.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from measure import BLUE, GREY, leave, order, paper, table

from contactlab.collision import Cylinder, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import ImplausibleWarning, Recording, TimeStepping, WorldBuilder, simulate

RADIUS, HALF_THICKNESS, G = 0.05, 1e-6, 9.81
STEPS = (1e-3, 5e-4, 2.5e-4, 1.25e-4)


def law(alpha: float) -> float:
    """Return the rate of precession [rad/s]."""
    return math.sqrt(4 * G / (RADIUS * math.sin(alpha)))


def roll(alpha: float, h: float, duration: float = 0.1) -> Recording:
    """Roll a disk whose centre is at rest: it rotates about the line from its centre to the contact."""
    builder, steel = WorldBuilder((0, 0, -G)), Material(0.5)
    builder.add_half_space("table", HalfSpace(), steel)
    inertia = RigidInertia(1.0, inertia=RADIUS**2 / 4 * np.diag([1, 1, 2]))
    height = RADIUS * math.sin(alpha) + HALF_THICKNESS * math.cos(alpha)
    q = (0, 0, height, math.cos(alpha / 2), 0, math.sin(alpha / 2), 0)
    v = (0, 0, 0, law(alpha) * math.sin(alpha), 0, 0)
    builder.add_free_body("disk", inertia, Cylinder(RADIUS, HALF_THICKNESS), steel, q, v)
    with warnings.catch_warnings():
        # The law holds for a disk without thickness, for which every depth is implausible.
        warnings.simplefilter("ignore", ImplausibleWarning)
        return simulate(builder.build(), TimeStepping(h), duration)


def rate(recording: Recording) -> float:
    """Return the mean rate of precession of the disk's axis [rad/s]."""
    w, x, y, z = recording.q[:, 3:7].T
    turn = np.unwrap(np.arctan2(2 * (y * z - w * x), 2 * (x * z + w * y)))
    return float(abs(turn[-1] - turn[0]) / (recording.time[-1] - recording.time[0]))


def errors(steps: tuple[float, ...] = STEPS, alpha: float = 0.2) -> list[float]:
    """Compute the relative errors of the rate."""
    return [abs(rate(roll(alpha, h)) / law(alpha) - 1.0) for h in steps]


def picture() -> Any:
    """Draw rates over the inclination, and the law."""
    figure, axes = paper(1, 6.0, 2.6)
    inclinations = np.geomspace(0.05, 0.8, 9)
    axes.loglog(
        inclinations, [rate(roll(float(a), 1.25e-4)) for a in inclinations], "o", color=BLUE, label="time stepping"
    )
    axes.loglog(inclinations, [law(float(a)) for a in inclinations], color=GREY, label="W^2 sin(alpha) = 4 g / a")
    axes.set(xlabel="inclination [rad]", ylabel="rate [rad/s]")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    found = errors()
    table("h [s] | error of the rate, relative", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    leave(picture(), "eulers_disk")
