"""The tippe top: a ball with its mass centre below its middle, spun fast, turns upside down.

Sliding friction lifts the mass centre. L . r, angular momentum times the arm of the contact, is conserved (Jellett's
constant). With 1 - a^2 < I1 / I3 < 1, a the offset over the radius, only the inverted spin is stable beyond L . r =
sqrt(m g R^3 I3 a) (1 + a)^2 / sqrt(1 + a - I1 / I3) (S. Rauch-Wojciechowski, M. Skoldstam, T. Glad, Regular and Chaotic
Dynamics 10, 2005). With dry friction the top can begin to roll before, which ends its rise; a faster top does so later.
The reference is sliding as an ordinary differential equation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREEN, GREY, ORANGE, leave, order, paper, table
from on_a_table import Body, G, dry, sliding

from contactlab.collision import HalfSpace, Material, Sphere
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.quaternion import to_matrix
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate

MASS, RADIUS, OFFSET, MU, TILT = 0.02, 0.02, 0.3, 0.3, 0.2
I3, RATIO = 2 / 5 * MASS * RADIUS**2, 131 / 140
INERTIA = I3 * np.diag([RATIO, RATIO, 1])
LIMIT = math.sqrt(MASS * G * RADIUS**3 * I3 * OFFSET) * (1 + OFFSET) ** 2 / math.sqrt(1 + OFFSET - RATIO)
STEPS = (8e-4, 4e-4, 2e-4, 1e-4)
UP = np.array([0, math.sin(TILT), math.cos(TILT)])  # the vertical in body axes, at the start


def point(n: Any) -> Any:
    """Return the vector from the mass centre to the contact point, in body axes."""
    return RADIUS * ((0, 0, OFFSET) - n / math.sqrt(n @ n))


def jellett(n: Any, w: Any) -> float:
    """Return L . r, from vertical and angular velocity in body axes."""
    return float(-(INERTIA @ w) @ point(n))


def turn(times_limit: float) -> Any:
    """Return the angular velocity about the vertical for a multiple of the limit of Jellett's constant, body axes."""
    return UP * times_limit * LIMIT / jellett(UP, UP)


def exact(times: Any, times_limit: float) -> Any:
    """Return the angle from upright [rad], until the top leaves the table."""
    start = np.concatenate((UP, np.zeros(3), turn(times_limit)))
    return np.arccos(sliding(Body(MASS, INERTIA, point), dry(MU), start, times)[:, 2])


def spin(h: float, times_limit: float, duration: float) -> Recording:
    """Simulate the top from a tilted start."""
    builder, wood = WorldBuilder((0, 0, -G)), Material(MU)
    builder.add_half_space("table", HalfSpace(), wood)
    at = (0, 0, -UP @ point(UP), math.cos(TILT / 2), math.sin(TILT / 2), 0, 0)
    ball = Sphere(RADIUS, (0, 0, OFFSET * RADIUS))
    v = (0, 0, 0, *turn(times_limit))
    builder.add_free_body("top", RigidInertia(MASS, inertia=INERTIA), ball, wood, at, v)
    return simulate(builder.build(), TimeStepping(h, friction="cone"), duration)


def angle(run: Recording) -> Any:
    """Return the angle from upright [rad] in every state."""
    return np.arccos([to_matrix(q)[2, 2] for q in run.q[:, 3:]])


def drift(run: Recording) -> float:
    """Return the relative drift of Jellett's constant."""
    kept = np.array([jellett(to_matrix(q[3:])[2], v[3:]) for q, v in zip(run.q, run.v, strict=True)])
    return float(np.ptp(kept) / kept[0])


def errors(steps: tuple[float, ...] = STEPS, duration: float = 0.4) -> list[float]:
    """Return the largest error of the angle during the rise."""
    times = np.linspace(0, duration, 81)
    wanted, found = exact(times, 2.0), []
    for h in steps:
        run = spin(h, 2.0, duration)
        found.append(float(np.abs(np.interp(times, run.time, angle(run)) - wanted).max()))
    return found


def picture() -> Any:
    """Draw angles over time at several spins, and the reference."""
    figure, axes = paper(1, 6.0, 2.8)
    for times_limit, color in ((0.5, ORANGE), (1.3, GREEN), (3.0, BLUE)):
        run, wanted = spin(2e-4, times_limit, 3.0), exact(np.linspace(0, 0.8, 25), times_limit)
        axes.plot(run.time, np.degrees(angle(run)), color=color, label=f"{times_limit:g} times the limit")
        axes.plot(np.linspace(0, 0.8, 25)[: len(wanted)], np.degrees(wanted), ".", color=GREY, markersize=4)
    axes.set(xlabel="time [s]", ylabel="angle from upright [degrees]", yticks=(0, 60, 120, 180))
    axes.set_title("dots: the differential equation, until it leaves the table", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="center right")
    return figure


if __name__ == "__main__":
    found = errors()
    rows = [(h, error, drift(spin(h, 2.0, 0.4))) for h, error in zip(STEPS, found, strict=True)]
    table("h [s] | error of the angle [rad] | drift of Jellett's constant", rows)
    print(f"order {order(STEPS, found):.2f}")
    rows = [(f, np.degrees(angle(spin(2e-4, f, 3.0))[-1500:].min())) for f in (0.5, 1.3, 2.0, 3.0, 4.0)]
    table("times the limit | least angle from 2.7 to 3 s [degrees]", rows)
    leave(picture(), "tippe_top")
