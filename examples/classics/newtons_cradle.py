"""Newton's cradle: five balls on strings, the first one released; the law of impact determines the motion.

For balls that touch, Newton's law for all contacts together (Moreau) gives -3/5, 2/5, 2/5, 2/5, 2/5 of the speed;
contacts in sequence give 0, 0, 0, 0, 1; Hertz's springs give values in between. All conserve momentum and energy. Balls
with gaps meet one by one: the last one swings up as a pendulum of the first one's amplitude a, with the period 4 sqrt(l
/ g) K(sin(a / 2)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREY, ORANGE, leave, order, paper, table
from scipy.special import ellipj, ellipk

from contactlab.collision import Material, Sphere
from contactlab.event_driven import EventDriven
from contactlab.impact import Newton, Stronge
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import TimeStepping, World, WorldBuilder, simulate

LENGTH, RADIUS, AMPLITUDE, G, COUNT = 0.5, 0.05, 0.4, 9.81, 5
INERTIA = RigidInertia(1.0, (0, 0, -LENGTH), inertia=1e-9 * np.eye(3))  # almost none about its centre
MODULUS = math.sin(AMPLITUDE / 2) ** 2
PERIOD = 4 * math.sqrt(LENGTH / G) * ellipk(MODULUS)
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)
LAWS = {"at once": Newton(1.0), "one after the other": Newton(1.0, "sequential"), "Hertz": Stronge(1.0)}


def cradle(gap: float = 0.0) -> World:
    """Build balls on massless strings, a gap apart; the first one is held up."""
    model, builder = ModelBuilder((0, 0, -G)), WorldBuilder((0, 0, -G))
    for i in range(COUNT):
        at = Transform(p=((2 * RADIUS + gap) * i, 0, 0))
        model.add_body(f"ball {i}", joint=joints.Revolute((0, -1, 0)), placement=at, inertia=INERTIA)
    builder.add_model(model.build(), [-AMPLITUDE, *[0.0] * (COUNT - 1)])
    for i in range(COUNT):
        builder.add_shape(f"ball {i}", Sphere(RADIUS, (0, 0, -LENGTH)), Material(0.0, 1.0))
    return builder.build()


def laws() -> dict[str, Any]:
    """Compute speeds after the impact over the speed before it, by law."""
    found = {}
    for name, law in LAWS.items():
        run = EventDriven(impact=law).run(cradle(), 0.3 * PERIOD)
        speed = math.sqrt(2 * G / LENGTH * (1 - math.cos(AMPLITUDE)))
        energy = G * LENGTH * (1 - np.cos(run.q[-1])) + 0.5 * (LENGTH * run.v[-1]) ** 2
        found[name] = np.sign(run.v[-1]) * np.sqrt(2 * energy) / (LENGTH * speed)
    return found


def errors(steps: tuple[float, ...] = STEPS, gap: float = 1e-6) -> list[float]:
    """Compute errors of time stepping, for all balls, an eighth of a period after the impact."""
    angle = 2 * math.asin(math.sin(AMPLITUDE / 2) * ellipj(math.sqrt(G / LENGTH) * PERIOD / 8, MODULUS)[0])
    exact = np.array([*[0.0] * (COUNT - 1), angle])
    runs = [simulate(cradle(gap), TimeStepping(h, margin=gap / 10), 3 * PERIOD / 8) for h in steps]
    return [float(np.abs(run.q[-1] - exact).max()) for run in runs]


def picture() -> Any:
    """Draw angles over time, by law."""
    figure, axes = paper(3, 7.5, 2.4)
    for ax, (name, law) in zip(axes, LAWS.items(), strict=True):
        run = EventDriven(impact=law, output_step=2e-3).run(cradle(), 0.7 * PERIOD)
        for i, color in enumerate((BLUE, GREY, GREY, GREY, ORANGE)):
            ax.plot(run.time, run.q[:, i], color=color, linewidth=1.5 if color != GREY else 0.8)
        ax.set(xlabel="time [s]", ylim=(-0.55, 0.55))
        ax.set_title(name, fontsize=9)
    axes[0].set(ylabel="angle [rad]")
    axes[0].text(0.05, -0.5, "first", color=BLUE)
    axes[0].text(0.7, 0.45, "last", color=ORANGE)
    return figure


if __name__ == "__main__":
    table("law | ball 1 | 2 | 3 | 4 | 5", [(name, *v) for name, v in laws().items()])
    found = errors()
    table("h [s] | error [rad]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    leave(picture(), "newtons_cradle")
