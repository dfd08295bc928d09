"""Impacts: heights after e, momentum kept, no energy gained."""

from __future__ import annotations

import math

import numpy as np

from contactlab.conformance.case import Case, Measure, path
from contactlab.conformance.scene import Engine, Scene, Wall, ball, box

G, H = 9.81, 1e-3


def _bounces(e: float, engine: Engine) -> list[Measure]:
    v = math.sqrt(2.0 * G)
    scene = Scene((ball(0.1, 1.0, (0.0, 0.0, 1.1)),), restitution=e)
    track = path(engine, scene, H, v / G * (1.0 + 1.5 * e) + 0.1)
    z, energy = track.poses[:, 0, 2] - 0.1, track.energy(scene)
    landed = int(np.argmax(z < 2.0 * v * H))
    apex = float(z[landed + 10 :].max())
    gained = float(energy[landed:].max() - energy[0])
    return [Measure(f"dropped from 1 m, missed {e * e:g} m by", abs(apex - e * e), 2.0 * v * H, "m"),
            Measure("gained energy,", gained, G * v * H, "J")]  # fmt: skip


def _row(e: float, engine: Engine) -> list[Measure]:
    v = 1.0
    balls = tuple(ball(0.1, 1.0, (x, 0.0, 0.0), (u, 0.0, 0.0)) for x, u in ((-0.5, v), (0.0, 0.0), (0.2, 0.0)))
    scene = Scene(balls, (), 0.0, e, (0.0, 0.0, 0.0))
    track = path(engine, scene, H, 0.6)
    after, energy = track.velocities[-1, :, 0], track.energy(scene)
    figures = [Measure("lost momentum,", abs(float(after.sum()) - v), 1e-9, "kg m/s"),
               Measure("gained energy, of it,", float(energy.max() / energy[0] - 1.0), 1e-9)]  # fmt: skip
    if e == 0.0:
        figures.append(Measure("three balls missed v/3 by", float(np.abs(after - v / 3.0).max()), 1e-3 * v, "m/s"))
    else:
        figures.append(Measure("lost energy, of it,", float(1.0 - energy[-1] / energy[0]), 1e-3))
    return figures


def _corner(engine: Engine) -> list[Measure]:
    brick = box((0.1,) * 3, 1.0, (0.3, 0.3, 0.1), velocity=(-1.0, -1.0, 0.0))
    scene = Scene((brick,), (Wall(), Wall((1.0, 0.0, 0.0)), Wall((0.0, 1.0, 0.0))), 0.0)
    track = path(engine, scene, H, 0.6)
    return [
        Measure("moved in the corner, where 0 is asked, at", float(np.abs(track.velocities[-1]).max()), 1e-6, "m/s")
    ]


CASES = (
    Case("drop, e = 0", "Does it stay down?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(0.0, engine)),
    Case("drop, e = 1/2", "Does it rise to e^2 of the height?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(0.5, engine)),
    Case("drop, e = 1", "Does it rise to its height, without energy gained?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(1.0, engine)),
    Case("three balls in a row, e = 0", "Do they go on together at v/3?",
         "Momentum; 0.1 %", lambda engine: _row(0.0, engine)),
    Case("three balls in a row, e = 1", "Are momentum and energy kept?",
         "Conservation", lambda engine: _row(1.0, engine)),
    Case("brick against a corner", "Does it stop at both walls?", "e = 0: no motion is left", _corner),
)  # fmt: skip
