"""Exact events: a ball with infinitely many bounces in finite time, and a block that rocks from corner to corner.

`EventDriven` locates every impact. The ball rests after t0 (1 + e) / (1 - e); the block keeps (1 - 3/2 sin^2 alpha)^2
of its energy at every change of corners (Housner 1963).
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.event_driven import EventDriven, EventKind, EventRecording
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import WorldBuilder

G = 9.81


def one_body(inertia: RigidInertia, shape: Box | Sphere, material: Material, q: tuple[float, ...]) -> WorldBuilder:
    """One body over the ground."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("ground", HalfSpace(), material)
    builder.add_free_body("body", inertia, shape, material, q=q)
    return builder


def bounce(height: float, e: float) -> EventRecording:
    """Drop a ball."""
    inertia = RigidInertia(1.0, inertia=0.004 * np.eye(3))
    builder = one_body(inertia, Sphere(0.1), Material(0.0, e), (0, 0, 0.1 + height, 1, 0, 0, 0))
    return EventDriven().run(builder.build(), 1.0)


def rock(b: float, h: float, angle: float) -> EventRecording:
    """Let a block of half width b and half height h go from its right edge."""
    c, s = math.cos(angle), math.sin(angle)
    x, z = -(c * b - s * h), s * b + c * h
    q = (x, 0.0, z, math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
    builder = one_body(RigidInertia.solid_box(1.0, (b, 0.1, h)), Box((b, 0.1, h)), Material(2.0), q)
    return EventDriven(max_step=0.05).run(builder.build(), 0.3)


# %%
# The ball: impacts at t0 (1 + 2 e + 2 e^2 + ...), rest at the end of the series.
height, e = 0.4, 0.5
ball = bounce(height, e)
impacts = [event.time for event in ball.of_kind(EventKind.IMPACT)]
t0 = math.sqrt(2.0 * height / G)
rest = t0 * (1.0 + e) / (1.0 - e)
print(f"ball: {len(impacts)} impacts located, the first at {impacts[0]:.6f} s, at rest from {rest:.4f} s")
assert abs(impacts[1] - t0 * (1.0 + 2.0 * e)) < 1e-9
assert abs(ball.of_kind(EventKind.ZENO)[0].time - rest) < 1e-4
assert np.abs(ball.v[-1]).max() < 1e-9

# %%
# The block: the fraction of energy that it keeps.
b, h = 0.1, 0.4
block = rock(b, h, 0.02)
kept = 1.0 - 1.5 * b * b / (b * b + h * h)
print("block:", *(f"{event.energy_after / event.energy_before:.6f}" for event in block.of_kind(EventKind.IMPACT)))
for event in block.of_kind(EventKind.IMPACT):
    assert abs(event.energy_after / event.energy_before - kept**2) < 1e-8
