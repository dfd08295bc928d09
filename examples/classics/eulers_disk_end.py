"""The end of Euler's disk: the law of dissipation determines how it comes to rest in finite time.

A disk that rolls on its edge at small inclination alpha has the energy E = 3/2 m g a sin(alpha) and turns round at W,
W^2 sin(alpha) = 4 g / a, its angular velocity W sin(alpha) nearly level. Friction against rolling takes the power
rho m g W sin(alpha) cos(alpha), so that alpha ~ (t0 - t)^2; dry friction of the contour, mu m g a W, gives 2/3, viscous
1/2, air 1/3 (H. K. Moffatt, Nature 404, 2000; R. I. Leine, Arch. Appl. Mech. 79, 2009). Coulomb's friction of slip
takes none: the disk does not slip. The reference is rolling with that moment as an ordinary differential equation.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from eulers_disk import HALF_THICKNESS, RADIUS, law
from measure import BLUE, GREY, ORANGE, leave, order, paper, table
from on_a_table import Body, G, rolling
from scipy.optimize import minimize_scalar

from contactlab.collision import Cylinder, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import ImplausibleWarning, TimeStepping, WorldBuilder, simulate

INERTIA = RADIUS**2 / 4 * np.diag([1, 1, 2])
RHO, START = 1e-3, 0.2  # length of rolling friction [m], inclination [rad]
END = 3 * RADIUS / RHO * math.sqrt(math.sin(START) * RADIUS / (4 * G))
STEPS = (2e-4, 1e-4, 5e-5, 2.5e-5)


def quasi_steady(times: Any) -> Any:
    """Compute the inclination by the balance of energy alone, with cos(alpha) taken as 1: it ends at END."""
    return np.arcsin(math.sin(START) * np.clip(1 - times / END, 0, None) ** 2)


def point(n: Any) -> Any:
    """Return the vector from the disk's centre to the contact, in body axes."""
    across = np.array((n[0], n[1], 0))
    return -RADIUS * across / math.sqrt(across @ across)


def exact(times: Any) -> Any:
    """Compute the inclination by the differential equation."""
    n, w = np.array((-math.sin(START), 0, math.cos(START))), np.array((law(START) * math.sin(START), 0, 0))
    return np.arccos(rolling(Body(1.0, INERTIA, point, RHO), n, w, times)[:, 2])


def roll(h: float, duration: float, rho: float = RHO) -> tuple[Any, Any]:
    """Return times and inclinations of a disk released in steady motion; each step corrects a fraction of its depth."""
    builder, steel = WorldBuilder((0, 0, -G)), Material(0.5, rolling=rho)
    builder.add_half_space("table", HalfSpace(), steel)
    height = RADIUS * math.sin(START) + HALF_THICKNESS * math.cos(START)
    q = (0, 0, height, math.cos(START / 2), 0, math.sin(START / 2), 0)
    v = (0, 0, 0, law(START) * math.sin(START), 0, 0)
    builder.add_free_body("disk", RigidInertia(1.0, inertia=INERTIA), Cylinder(RADIUS, HALF_THICKNESS), steel, q, v)
    with warnings.catch_warnings():
        # The law holds for a disk without thickness, for which every depth is implausible.
        warnings.simplefilter("ignore", ImplausibleWarning)
        run = simulate(builder.build(), TimeStepping(h, margin=1e-3, restitution_threshold=1e-2, erp=0.2), duration)
    x, y = run.q[:, 4:6].T
    return run.time, np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1))


def errors(steps: tuple[float, ...] = STEPS, duration: float = 2.0) -> list[float]:
    """Compute the worst error of the inclination."""
    times = np.linspace(0, duration, 101)
    wanted = exact(times)
    return [float(np.abs(np.interp(times, *roll(h, duration)) - wanted).max()) for h in steps]


def exponent(h: float) -> tuple[float, float]:
    """Fit the power p of alpha ~ (t0 - t)^p, and t0 [s]: alpha^(1 / p) over time is closest to a line."""
    time, alpha = roll(h, 2.6)
    part = (alpha < 0.15) & (alpha > 1e-3)
    time, alpha = time[part], alpha[part]

    def off(p: float) -> float:
        fit = np.polyfit(time, alpha ** (1 / p), 1)
        return float(np.std(alpha ** (1 / p) - np.polyval(fit, time)) / np.ptp(alpha ** (1 / p)))

    p = float(minimize_scalar(off, bounds=(0.2, 5), method="bounded").x)
    slope, at_zero = np.polyfit(time, alpha ** (1 / p), 1)
    return p, float(-at_zero / slope)


def picture() -> Any:
    """Draw the inclination over time, and over the remaining time."""
    figure, (left, right) = paper(2)
    time, alpha = roll(1e-4, 2.6)
    times = np.linspace(0, 2.3, 231)
    left.plot(time, alpha, color=BLUE, label="time stepping")
    left.plot(times, exact(times), ":", color=ORANGE, label="differential equation")
    left.plot(time, quasi_steady(time), "--", color=GREY, linewidth=0.8, label="energy alone")
    left.set(xlabel="time [s]", ylabel="inclination [rad]")
    left.legend(frameon=False, fontsize=8)
    _, end = exponent(1e-4)
    part = alpha > 5e-4
    right.loglog(end - time[part], alpha[part], color=BLUE)
    rest = np.array((0.1, 2.4))
    right.loglog(rest, math.sin(START) * (rest / END) ** 2, "--", color=GREY, linewidth=0.8)
    right.set(xlabel="t0 - t [s]")
    right.text(0.6, 2.5e-3, "slope 2", color=GREY)
    return figure


if __name__ == "__main__":
    found = errors()
    table("h [s] | error of the inclination [rad]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    rows = [(h, *exponent(h)) for h in STEPS[1:]]
    table("h [s] | exponent | end [s]", [*rows, ("energy alone", 2.0, END)])
    leave(picture(), "eulers_disk_end")
