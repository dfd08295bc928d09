"""The card house: cards that lean on one another stand if there is enough friction at their feet.

Two cards at an angle t from the vertical need mu = tan(t) / 2 at their feet, for any weight: moments about the foot
give the push at the top. With a load V on each they need (W / 2 + V) / (W + V) tan(t), 5/7 tan(t) in a house of seven
cards, in which three rest on four. A linear program computes the least friction with which forces at the contacts hold
all cards. Cards have round edges of radius R, which changes it to L sin(t) / 2 / (L cos(t) + R) for two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREY, ORANGE, leave, paper, table
from scipy.optimize import brentq, linprog

from contactlab.collision import Capsule, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate

LENGTH, RADIUS, MASS, G = 0.088, 5e-4, 1.8e-3, 9.81
ANGLES = np.radians((10, 17.5, 25))


def frame(t: float, x: float, z: float) -> list[tuple[float, float, float]]:
    """Return centre and rotation of two cards that lean on one another above (x, z)."""
    s, c = LENGTH * math.sin(t) / 2, LENGTH * math.cos(t) / 2
    return [(x + side * (RADIUS + s), z + RADIUS + c, -side * t) for side in (-1, 1)]


def house(t: float, frames: int) -> list[tuple[float, float, float]]:
    """Build two cards; or two frames, a card across them, and a frame on top."""
    if frames == 1:
        return frame(t, 0.0, 0.0)
    apart, height = LENGTH / 2 - 2 * RADIUS, LENGTH * math.cos(t) + 2 * RADIUS
    roof = (0.0, height + RADIUS, math.pi / 2)
    return [*frame(t, -apart, 0.0), *frame(t, apart, 0.0), roof, *frame(t, 0.0, height + 2 * RADIUS)]


def stand(t: float, mu: float, frames: int = 1, duration: float = 0.1) -> Recording:
    """Simulate a house under its own weight."""
    builder, paper = WorldBuilder((0, 0, -G), planar=(0, 1, 0)), Material(mu)
    builder.add_half_space("table", HalfSpace(), paper)
    inertia, card = RigidInertia(MASS, inertia=MASS * LENGTH**2 / 12 * np.eye(3)), Capsule(RADIUS, LENGTH / 2)
    for i, (x, z, turn) in enumerate(house(t, frames)):
        builder.add_free_body(
            f"card {i}", inertia, card, paper, q=(x, 0, z, math.cos(turn / 2), 0, math.sin(turn / 2), 0)
        )
    return simulate(builder.build(), TimeStepping(1e-3, margin=1e-5), duration)


def fastest(t: float, mu: float, frames: int = 1) -> float:
    """Return the largest speed after a tenth of a second [m/s, rad/s]."""
    return float(np.abs(stand(t, mu, frames).v[-1]).max())


def closed_form(t: float) -> float:
    """Compute the least friction of two cards; for seven cards without thickness it is 5/7 tan(t)."""
    return LENGTH * math.sin(t) / 2 / (LENGTH * math.cos(t) + RADIUS)


def least(t: float, frames: int) -> float:
    """Compute the least friction of a house: with a little less, no forces at its contacts hold every card."""
    cards = house(t, frames)
    touch = stand(t, 1.0, frames, 1e-3).contacts_at(0)
    count = len(touch.gap)
    rows = np.zeros((3 * len(cards), 2 * count + 1))
    for i in range(count):
        at, (x, z) = touch.point[i, ::2], touch.normal[i, ::2]
        for body, sign in ((touch.body_a[i], -1), (touch.body_b[i], 1)):
            for k, (fx, fz) in enumerate(((x, z), (z, -x))):
                if body >= 0:
                    ax, az = at - cards[body][:2]
                    rows[3 * body : 3 * body + 3, 2 * i + k] = np.multiply(sign, (fx, fz, (az * fx - ax * fz) / LENGTH))
    rows[np.abs(rows) < 1e-9] = 0.0  # rounding errors of the points, which the program would take for forces
    loads = np.tile((0.0, 1.0, 0.0), len(cards))

    def missing(mu: float) -> float:
        """Compute the force beyond friction that some contact must give, over the weight of a card."""
        within = np.zeros((2 * count, 2 * count + 1))
        for i in range(count):
            within[2 * i : 2 * i + 2, [2 * i, 2 * i + 1, -1]] = ((-mu, 1, -1), (-mu, -1, -1))
        sign = [(0, 100), (-100, 100)] * count + [(0, 100)]
        found = linprog(np.eye(2 * count + 1)[-1], within, np.zeros(2 * count), rows, loads, bounds=sign)
        return float(found.fun)

    return float(brentq(lambda mu: missing(mu) - 1e-7, 1e-3, 1.0, xtol=1e-7))


def picture() -> Any:
    """Draw the least friction over the angle, with houses that stand and that fall; and the house."""
    figure, (left, right) = paper(2)
    angles = np.radians(np.linspace(5, 25, 6))
    for frames, color in ((1, BLUE), (2, ORANGE)):
        limits = [least(float(t), frames) for t in angles]
        left.plot(np.degrees(angles), limits, color=color, label="2 cards" if frames == 1 else "7 cards")
        for t, limit in zip(angles, limits, strict=True):
            for mu in (0.93 * limit, 1.07 * limit):
                kept = fastest(float(t), mu, frames) < 1e-9
                left.plot(math.degrees(t), mu, "o" if kept else "x", color=color, markersize=4)
    left.set(xlabel="angle from the vertical [degrees]", ylabel="friction")
    left.set_title("o stands, x falls", fontsize=9)
    left.legend(frameon=False, fontsize=8)
    t = math.radians(20)
    for run, at, color in ((stand(t, 0.9 * least(t, 2), 2, 0.12), -1, GREY), (stand(t, 1.0, 2, 1e-3), 0, BLUE)):
        for x, z, turn in run.q[at].reshape(-1, 3):
            half = LENGTH / 2 * np.array([math.sin(turn), math.cos(turn)])
            right.plot(*np.transpose((np.array([x, z]) - half, np.array([x, z]) + half)), color=color)
    right.set(aspect="equal", xticks=(), yticks=(0, 0.1))
    right.set_title("grey: 0.12 s later with a tenth too little", fontsize=9)
    return figure


if __name__ == "__main__":
    rows = []
    for t in ANGLES:
        for frames in (1, 2):
            limit = least(float(t), frames)
            known = closed_form(float(t)) if frames == 1 else 5 / 7 * math.tan(t)
            speeds = (fastest(float(t), share * limit, frames) for share in (0.99, 1.01))
            rows.append((math.degrees(t), "2" if frames == 1 else "7", limit, known, *speeds))
    table("angle [degrees] | cards | least friction | closed form | speed 1 % below | 1 % above", rows)
    leave(picture(), "card_house")
