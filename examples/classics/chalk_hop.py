"""The chalk that hops: a rod pushed over a rough board, in Painleve's region, jams without a collision and jumps.

Its end slides ahead at v0, pressed down, with more friction than the paradox needs, so no finite force exists. An
impulse stops the end; the angular momentum about it is conserved, so the rod rotates at w = 3/4 v0 sin(angle) / l. If
w^2 l sin(angle) > g (1 - 3/4 cos(angle)^2) it leaves the board and flies, with its end at the height l sin(angle) + w l
cos(angle) t - g t^2 / 2 - l sin(angle + w t). (Genot and Brogliato 1999.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREY, ORANGE, leave, order, paper, table

from contactlab import impact
from contactlab.collision import ConvexPoints, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate

HALF, ANGLE, SPEED, MU, G = 1.0, math.atan(2.0), 8.0, 2.0, 9.81
SPIN = 0.75 * SPEED * math.sin(ANGLE) / HALF
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)


def push(h: float, mu: float = MU, duration: float = 0.1) -> Recording:
    """Push a rod whose end slides to the left, with its centre above and to the right of it."""
    builder, chalk = WorldBuilder((0, 0, -G), planar=(0, 1, 0)), Material(mu)
    builder.add_half_space("board", HalfSpace(), chalk)
    rod = RigidInertia(1.0, inertia=HALF**2 / 3 * np.eye(3))
    q = (HALF * math.cos(ANGLE), 0, HALF * math.sin(ANGLE), math.cos(ANGLE / 2), 0, -math.sin(ANGLE / 2), 0)
    builder.add_free_body("rod", rod, ConvexPoints([[-HALF, 0, 0]]), chalk, q, (-SPEED, 0, 0, 0, 0, 0))
    return simulate(builder.build(), TimeStepping(h), duration)


def tip(recording: Recording) -> Any:
    """Return the height of the end in every state."""
    return recording.q[:, 1] + HALF * np.sin(recording.q[:, 2])


def hop(t: Any) -> Any:
    """Compute the same in closed form."""
    return HALF * (np.sin(ANGLE) + SPIN * np.cos(ANGLE) * t - np.sin(ANGLE + SPIN * t)) - G * t * t / 2


def errors(steps: tuple[float, ...] = STEPS) -> list[float]:
    """Compute the worst error of the end's height over a tenth of a second."""
    runs = [push(h) for h in steps]
    return [float(np.abs(tip(run) - hop(run.time)).max()) for run in runs]


def picture() -> Any:
    """Draw the height of the end, in the paradox and just outside it."""
    figure, axes = paper(1, 6.0, 2.6)
    for mu, color in ((MU, ORANGE), (1.2, BLUE)):
        run = push(1e-3, mu)
        axes.plot(run.time, tip(run), color=color, label=f"friction {mu:g}")
    axes.plot(run.time, hop(run.time), "--", color=GREY, label="closed form")
    axes.set(xlabel="time [s]", ylabel="height of the end [m]")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    print(f"threshold of friction {float(impact.painleve_threshold(ANGLE)):.4f}")
    found = errors()
    table("h [s] | error of the height [m]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    leave(picture(), "chalk_hop")
