"""The rattleback: spun the wrong way it begins to rattle, stops and turns back.

A half ellipsoid has axes of inertia that are rotated a little against the axes of its surface, with the numbers of T.
R. Kane and D. A. Levinson (Int. J. Non-Linear Mechanics 17, 1982). It rolls without slip. A function gives the contact
to the step. The reference is rolling as an ordinary differential equation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREEN, GREY, ORANGE, leave, order, paper, table
from on_a_table import Body, G, rolling

from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.quaternion import to_matrix
from contactlab.simulation import ExternalContact, TimeStepping, WorldBuilder, simulate

AXES, HEIGHT = np.array([0.2, 0.03, 0.02]), 0.01  # of the ellipsoid; of its centre over the mass centre
INERTIA = 1e-4 * np.array([[2, -0.2, 0], [-0.2, 16, 0], [0, 0, 17]])
STEPS = (2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5)
GENTLE = (0.5, (0, 0, -5.0))  # tilt about the long axis [degrees], angular velocity in body axes [rad/s]
RATTLING = (0.0, (0, 5.0, -0.5))


def point(n: Any) -> Any:
    """Return the vector from the mass centre to the contact point, in body axes."""
    return (0, 0, HEIGHT) - AXES**2 * n / math.sqrt((AXES**2 * n) @ n)


def turned(tilt: float) -> Any:
    """Return the unit quaternion of a tilt [degrees]."""
    half = math.radians(tilt) / 2
    return np.array([math.cos(half), math.sin(half), 0, 0])


def exact(times: Any, start: Any) -> Any:
    """Return the spin about the vertical [rad/s], by the differential equation."""
    y = rolling(Body(1.0, INERTIA, point), to_matrix(turned(start[0]))[2], start[1], times)
    return np.einsum("ij,ij->i", y[:, :3], y[:, 3:])


def touch(_time: float, q: Any, _v: Any) -> list[ExternalContact]:
    """Return the contact at the lowest point of the ellipsoid."""
    R = to_matrix(q[3:])
    at = q[:3] + R @ point(R[2])
    return [ExternalContact("world", "stone", at, (0, 0, 1), at[2], 2.0)]


def spin(h: float, start: Any, duration: float) -> tuple[Any, Any]:
    """Simulate the stone; return times, and its spin about the vertical."""
    R, w = to_matrix(turned(start[0])), start[1]
    r = R @ point(R[2])
    model, builder = ModelBuilder((0, 0, -G)), WorldBuilder((0, 0, -G))
    model.add_body("stone", joint=joints.FloatingBase(), inertia=RigidInertia(1.0, inertia=INERTIA))
    builder.add_model(model.build(), (0, 0, -r[2], *turned(start[0])), (*np.cross(r, R @ w), *w))
    run = simulate(builder.build(), TimeStepping(h), duration, contacts=touch)
    return run.time, np.array([to_matrix(q[3:])[2] @ v[3:] for q, v in zip(run.q, run.v, strict=True)])


def errors(steps: tuple[float, ...] = STEPS, duration: float = 0.15) -> list[float]:
    """Return the largest error of the spin of a stone that rattles and turns back."""
    times = np.linspace(0, duration, 61)
    wanted = exact(times, RATTLING)
    return [float(np.abs(np.interp(times, *spin(h, RATTLING, duration)) - wanted).max()) for h in steps]


def picture() -> Any:
    """Draw the spin over time after a spin in the unstable direction, for three steps, and the reference."""
    figure, axes = paper(1, 6.0, 2.8)
    for h, color in ((1e-3, ORANGE), (2e-4, GREEN), (4e-5, BLUE)):
        axes.plot(*spin(h, GENTLE, 6.0), color=color, linewidth=0.8, label=f"h = {1e3 * h:g} ms")
    times = np.linspace(0, 6, 1201)
    axes.plot(times, exact(times, GENTLE), color=GREY, linewidth=0.8, label="differential equation")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(xlabel="time [s]", ylabel="spin [rad/s]")
    axes.legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    found = errors()
    table("h [s] | error of the spin [rad/s]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    leave(picture(), "rattleback")
