"""Rest: forces sum to the load and are shared, stacks settle, nothing sinks; told forces obey their own laws."""

from __future__ import annotations

import math

import numpy as np

from contactlab.conformance.case import Case, Measure, NotToldError, load_on, path
from contactlab.conformance.cases.friction import incline
from contactlab.conformance.scene import Engine, Scene, Wall, ball, box

G, H = 9.81, 1e-3
SHARE = 1e-3  # a tenth of a percent of the load


def stack(masses: list[float]) -> Scene:
    """Cubes of 0.2 m, one on the other."""
    return Scene(tuple(box((0.1,) * 3, m, (0.0, 0.0, 0.1 + 0.2 * i)) for i, m in enumerate(masses)))


def _corners(engine: Engine) -> list[Measure]:
    track = path(engine, stack([2.0]), H, 1.0)
    contacts = track.contacts()
    total, forces = load_on(contacts, 0), np.linalg.norm(contacts.force, axis=1)
    if forces.size != 4:
        raise NotToldError(f"tells {forces.size} contacts of a box on the floor, not those of its four corners")
    apart = float(np.abs(forces - 0.5 * G).max())
    return [Measure("missed the load, of its weight, by", float(abs(total[2] / (2.0 * G) - 1.0)), SHARE),
            Measure("four corners missed a quarter of it by", apart / (2.0 * G), SHARE)]  # fmt: skip


def _pressures(engine: Engine) -> list[Measure]:
    contacts = path(engine, stack([1.0, 1.0, 1.0]), H, 1.0).contacts()
    ground = -sum(float(f[2]) * (1 if b < 0 else -1 if o < 0 else 0)
                  for b, o, f in zip(contacts.body, contacts.other, contacts.force, strict=True))  # fmt: skip
    above = float(load_on(contacts, 2)[2])
    return [Measure("three cubes missed 3 m g on the ground, of it, by", abs(ground / (3 * G) - 1.0), SHARE),
            Measure("the uppermost missed m g by", abs(above / G - 1.0), SHARE)]  # fmt: skip


def _settles(masses: list[float], engine: Engine) -> list[Measure]:
    scene = stack(masses)
    track = path(engine, scene, H, 1.0)
    moving = float(np.abs(track.velocities[-1, :, :3]).max())
    sunk = float(np.abs(track.poses[-1, :, 2] - track.poses[0, :, 2]).max())
    return [Measure("moved, after a second, at", moving, 1e-6, "m/s"), Measure("sank by", sunk, 1e-4, "m")]


def _groove(engine: Engine) -> list[Measure]:
    s = math.sqrt(0.5)
    scene = Scene((ball(0.1, 1.0, (0.0, 0.0, 0.1 / s)),), (Wall((s, 0.0, s)), Wall((-s, 0.0, s))), 0.0)
    forces = np.linalg.norm(path(engine, scene, H, 1.0).contacts().force, axis=1)
    off = float(np.abs(forces / (G * s) - 1.0).max()) if forces.size == 2 else math.inf
    return [Measure("each side of the groove missed m g/(2 cos 45), of it, by", off, SHARE)]


def _three_balls(engine: Engine) -> list[Measure]:
    s, r = math.sqrt(0.5), 0.1
    walls = (Wall((s, 0.0, s)), Wall((-s, 0.0, s)), Wall((0.0, 1.0, 0.0), -0.6), Wall((0.0, -1.0, 0.0), -0.6))
    balls = tuple(ball(r, 1.0, (0.0, 0.25 * (i - 1), r / s), (0.0, 0.5 * (1 - i), 0.0)) for i in range(3))
    track = path(engine, Scene(balls, walls, 0.3), H, 3.0)
    return [Measure("moved, three seconds later, at", float(np.abs(track.velocities[-1, :, :3]).max()), 1e-6, "m/s")]


def _cone(engine: Engine) -> list[Measure]:
    mu = 0.3
    track = path(engine, incline(math.radians(30.0), mu), H, 0.5)
    contacts = track.contacts()
    up = (math.sin(math.radians(30.0)), 0.0, math.cos(math.radians(30.0)))
    off = float(np.abs(track.poses[-101:, 0, :3] @ up - 0.02).max())
    gap = Measure("was off the slope on which it weighs, in the last 0.1 s, by", off, 1e-4, "m")
    if not contacts.body:
        return [gap, Measure("told, where weight presses, contacts fewer than one:", 1.0, 0.0)]
    normal = np.sum(contacts.force * contacts.normal, axis=1)
    # On the brick, whichever of the two an engine takes for the one pushed.
    tangent = np.where(np.array(contacts.body) >= 0, 1.0, -1.0)[:, None] * (
        contacts.force - normal[:, None] * contacts.normal
    )
    load = max(float(normal.sum()), 1e-300)
    beyond = float((np.linalg.norm(tangent, axis=1) - mu * normal).max())
    # Where it slides, friction has all of mu N and points against the motion.
    v = track.velocities[-1, 0, :3]
    short = float(np.linalg.norm(tangent.sum(0) + mu * load * v / np.linalg.norm(v)))
    return [gap, Measure("pulled at a contact, of the load, with", float(-normal.min(initial=0.0)) / load, 1e-9),
            Measure("left the cone, by the load, by", beyond / load, 1e-6),
            Measure("missed mu N against the motion, of the load, by", short / load, 1e-6)]  # fmt: skip


CASES = (
    Case("four corners", "Do forces sum to the weight, shared evenly?",
         "Statics and symmetry; 0.1 % of the load", _corners),
    Case("pressures of a stack", "Is each face loaded with what stands on it?", "Statics; 0.1 %", _pressures),
    Case("ball in a groove", "Do two sides share the weight?", "Statics: m g/(2 cos 45); 0.1 %", _groove),
    Case("stack of ten", "Does it stand still after a second, without sinking?",
         "Rigid bodies at rest: 0; limits 1 um/s and 0.1 mm", lambda engine: _settles([1.0] * 10, engine)),
    Case("mass ratio 1000", "Does a light cube carry a heavy one?",
         "Rigid bodies at rest: 0; limits 1 um/s and 0.1 mm", lambda engine: _settles([1.0, 1000.0], engine)),
    Case("three balls that stop", "Do balls that meet in a groove come to rest?",
         "Friction and inelastic impacts leave no energy; limit 1 um/s", _three_balls),
    Case("residual on the original data", "Do told forces obey Coulomb's law?",
         "Signorini and Coulomb, on the told forces; 1e-6 of the load, and a gap of 0.1 mm", _cone),
)  # fmt: skip
