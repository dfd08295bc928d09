"""Friction: what sticks does not creep, what slides stops where Coulomb's law says, the same in all directions."""

from __future__ import annotations

import math

import numpy as np

from contactlab.conformance.case import Case, Measure, NotToldError, path
from contactlab.conformance.scene import Body, Engine, Scene, ShapeSpec, Wall, ball, box

G, H = 9.81, 1e-3
#: A micrometre a second: less than any of the rates that issue 3328 of MuJoCo complains of, 50 to 2300.
CREEP = 1e-6
BRICK = (0.1, 0.1, 0.02)


def incline(angle: float, mu: float) -> Scene:
    """A brick on a slope that falls along x."""
    s, c = math.sin(angle), math.cos(angle)
    turn = (math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0)
    return Scene((box(BRICK, 1.0, (0.02 * s, 0.0, 0.02 * c), turn),), (Wall((s, 0.0, c)),), mu)


def _stops(engine: Engine) -> list[Measure]:
    v, mu = 2.0, 0.5
    scene = Scene((box(BRICK, 1.0, (0.0, 0.0, 0.02), velocity=(v, 0.0, 0.0)),), mu=mu)
    track, far = path(engine, scene, H, 1.0), v * v / (2.0 * mu * G)
    crept = float(np.linalg.norm(track.poses[-1, 0, :2] - track.poses[-201, 0, :2]) / (200 * H))
    missed = abs(float(track.poses[-1, 0, 0]) - far)
    return [Measure(f"missed the {far:.3f} m of v^2/(2 mu g) by", missed, v * H, "m"),
            Measure("crept on, where 0 is asked, at", crept, CREEP, "m/s")]  # fmt: skip


def _holds(engine: Engine) -> list[Measure]:
    track = path(engine, incline(math.radians(20.0), 0.8), H, 2.0)
    crept = float(np.linalg.norm(track.poses[-1, 0, :3] - track.poses[-1001, 0, :3]))
    return [Measure("crept down 20 degrees at mu = 0.8, where 0 is asked, at", crept, CREEP, "m/s")]


def _slides(engine: Engine) -> list[Measure]:
    angle, mu = math.radians(30.0), 0.3
    track, wanted = path(engine, incline(angle, mu), H, 1.0), G * (math.sin(angle) - mu * math.cos(angle))
    off = abs(float(np.linalg.norm(track.velocities[-1, 0, :3])) - wanted)
    return [Measure(f"missed the {wanted:.3f} m/s of g (sin - mu cos) t by", off, 2.0 * wanted * H, "m/s")]


def _pressed(engine: Engine) -> list[Measure]:
    r, half = 4e-3, 0.02
    # The inertia of a rod. It stands upright, so that it cannot roll down the wall.
    inertia = (0.045 * half**2 / 3.0, 0.045 * half**2 / 3.0, 0.5 * 0.045 * r * r)
    capsule = Body(ShapeSpec("capsule", (r, half)), 0.045, inertia, (r, 0.0, 0.5), force=(-12.0, 0.0, 0.0))
    track = path(engine, Scene((capsule,), (Wall((1.0, 0.0, 0.0)),), 0.7), H, 2.0)
    crept = abs(float(track.poses[-1, 0, 2] - track.poses[-1001, 0, 2]))
    return [Measure("crept, pressed by 12 N with a weight of 0.44 N, where 0 is asked, at", crept, CREEP, "m/s")]


def _isotropy(engine: Engine) -> list[Measure]:
    v, mu = 2.0, 0.5
    angles = np.radians(np.arange(0.0, 91.0, 11.25))
    bodies = tuple(
        box(BRICK, 1.0, (0.0, 5.0 * i, 0.02), velocity=(v * math.cos(a), v * math.sin(a), 0.0))
        for i, a in enumerate(angles.tolist())
    )
    track = path(engine, Scene(bodies, mu=mu), H, 1.0)
    gone = track.poses[-1, :, :2] - track.poses[0, :, :2]
    lengths, turned = np.linalg.norm(gone, axis=1), np.arctan2(gone[:, 1], gone[:, 0]) - angles
    spread = float(np.ptp(lengths))
    return [Measure("slid, by the direction, ways that differ by", spread, v * H, "m"),
            Measure("turned the direction of sliding by", float(np.abs(turned).max()), 1e-3, "rad")]  # fmt: skip


def _rolls(engine: Engine) -> list[Measure]:
    v, mu = 2.0, 0.3
    track = path(engine, Scene((ball(0.1, 1.0, (0.0, 0.0, 0.1), (v, 0.0, 0.0)),), mu=mu), H, 1.0)
    rolls = float(track.velocities[-1, 0, 0])
    slip = abs(rolls - 0.1 * float(track.velocities[-1, 0, 4]))
    return [Measure("missed 5/7 of the speed by", abs(rolls - 5.0 / 7.0 * v), mu * G * H, "m/s"),
            Measure("slipped, rolling, where 0 is asked, at", slip, CREEP, "m/s")]  # fmt: skip


def _spins(engine: Engine) -> list[Measure]:
    w, mu, r = 8.0, 0.3, math.hypot(0.1, 0.1)
    scene = Scene((box(BRICK, 1.0, (0.0, 0.0, 0.02), spin=(0.0, 0.0, w)),), mu=mu)
    slows = mu * G * r / scene.bodies[0].inertia[2]
    track = path(engine, scene, H, 0.5)
    if (count := len(track.contacts().body)) != 4:
        raise NotToldError(f"tells {count} contacts of a box on the floor, not those of its four corners")
    angle = float(np.sum(track.velocities[1:, 0, 5]) * H)
    far = w * w / (2.0 * slows)
    return [Measure(f"missed the {far:.3f} rad of I w^2/(2 mu m g r) by", abs(angle - far), w * H, "rad")]


CASES = (
    Case("sliding brick stops", "Does it stop after v^2/(2 mu g), and stay?",
         "Closed form; limit one step's way", _stops),
    Case("brick holds on a slope", "Does it creep inside the cone?", "Coulomb: 0; MuJoCo issue 3328", _holds),
    Case("brick slides down a slope", "Is it g (sin - mu cos)?", "Closed form; limit two steps' speed", _slides),
    Case("pressed capsule", "Does a capsule creep that 12 N hold against a wall, at 19 times what holds its weight?",
         "Coulomb: 0; the numbers of MuJoCo issue 3328, which tells 50 to 2300 um/s", _pressed),
    Case("isotropy", "Is friction the same in all directions, 0 to 90 degrees?",
         "Coulomb's cone; limit one step's way and 1 mrad", _isotropy),
    Case("sliding ball rolls", "Does it roll at 5/7 of its speed?", "Closed form; limit one step of mu g", _rolls),
    Case("spinning brick stops", "Do four corners stop a spin as they should?",
         "Closed form of four equal loads at the corners; limit one step's angle", _spins),
)  # fmt: skip
