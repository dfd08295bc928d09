"""Closed forms without, and with one, contact: projectile, free top, falling rod, order in h."""

from __future__ import annotations

import math

import numpy as np

from contactlab.conformance.case import Case, Measure, path
from contactlab.conformance.scene import Body, Engine, Scene, ShapeSpec, ball, box

G, H = 9.81, 1e-3


def _projectile(engine: Engine) -> list[Measure]:
    track = path(engine, Scene((ball(0.1, 1.0, (0.0, 0.0, 10.0), (3.0, 0.0, 4.0)),), ()), H, 1.0)
    off = float(np.linalg.norm(track.poses[-1, 0, :3] - [3.0, 0.0, 10.0 + 4.0 - G / 2.0]))
    return [Measure("missed the parabola after a second by", off, G * H, "m")]


def _top(engine: Engine) -> list[Measure]:
    scene = Scene((box((0.1, 0.06, 0.03), 1.0, (0, 0, 0), spin=(0.1, 6.0, 0.1)),), (), gravity=(0.0, 0.0, 0.0))
    track = path(engine, scene, H, 10.0)
    energy, moment = track.energy(scene), np.linalg.norm(track.spin(0) * scene.bodies[0].inertia, axis=1)
    gone, turned = (float(np.abs(one / one[0] - 1.0).max()) for one in (energy, moment))
    return [Measure("energy drifted in 10 s, of it, by", gone, 1e-3),
            Measure("angular momentum drifted, of it, by", turned, 1e-3)]  # fmt: skip


def rod(angle: float) -> Scene:
    """A thin rod, leaning from the vertical by an angle towards x, on a floor without friction."""
    half, r, m = 0.5, 0.01, 1.0
    across = m * half * half / 3.0
    turn = (math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0)
    shape = ShapeSpec("capsule", (r, half))
    body = Body(shape, m, (across, across, 0.5 * m * r * r), (0.0, 0.0, half * math.cos(angle) + r), turn)
    return Scene((body,), mu=0.0)


def _rod(engine: Engine) -> list[Measure]:
    half, start, end = 0.5, 0.3, 1.2
    track = path(engine, rod(start), H, 1.0)
    angle = np.arccos(np.clip((track.poses[:, 0, 2] - 0.01) / half, -1.0, 1.0))
    k = int(np.argmax(angle >= end))
    # m z'^2/2 + I w^2/2 = m g l (cos start - cos angle), z' = -l sin(angle) w, I = m l^2/3.
    drop, a = math.cos(start) - math.cos(float(angle[k])), float(angle[k])
    wanted = math.sqrt(2.0 * G * drop / (half * (math.sin(a) ** 2 + 1.0 / 3.0)))
    off, aside = abs(float(track.velocities[k, 0, 4]) - wanted), float(np.abs(track.poses[: k + 1, 0, 0]).max())
    missed = off if k else math.inf
    return [Measure(f"missed {wanted:.3f} rad/s at {a:.2f} rad by", missed, 2.0 * G / half * H, "rad/s"),
            Measure("its centre went aside by", aside, 1e-6, "m")]  # fmt: skip


def _order(engine: Engine) -> list[Measure]:
    v, mu = 2.0, 0.5
    scene = Scene((box((0.1, 0.1, 0.02), 1.0, (0.0, 0.0, 0.02), velocity=(v, 0.0, 0.0)),), mu=mu)
    far = 0.3 * v - mu * G * 0.045
    off = [abs(float(path(engine, scene, h, 0.3).poses[-1, 0, 0]) - far) for h in (5e-3, 1.25e-3)]
    return [Measure("a quarter of the step left, of the error,", off[1] / max(off[0], 1e-300), 0.3)]


CASES = (
    Case("projectile", "Is flight the parabola?", "Closed form; limit one step of g", _projectile),
    Case("free top", "Are energy and momentum kept where a body tumbles?", "Euler's equations; 0.1 % in 10 s", _top),
    Case("rod falls without friction", "Does it turn as energy says, its centre straight down?",
         "Closed form; limit two steps of g/l", _rod),
    Case("order in h", "Does the error of a sliding brick shrink with the step?",
         "First order: a quarter; limit 0.3", _order),
)  # fmt: skip
