"""The scene of `contactlab demo`: cubes and balls thrown onto a plane and an incline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Box, ConvexPoints, HalfSpace, Material, Sphere
from contactlab.simulation import TimeStepping, World, WorldBuilder
from contactlab.spatial import RigidInertia

SLOPE = math.radians(20.0)
FOOT = 1.6  # where the incline rises out of the plane [m]
LANES = 8  # bodies; side by side, for they do not meet each other
LANE_WIDTH = 0.45
H = 2e-3


def demo_stepper() -> TimeStepping:
    """Return the stepper of the demo."""
    return TimeStepping(H, edges=8)


def demo_world(seed: int = 0) -> World:
    """Return the world of the demo; another seed, other throws."""
    random = np.random.default_rng(seed)
    builder = WorldBuilder(body_contacts=False)
    incline = HalfSpace.through((FOOT, 0.0, 0.0), (-math.sin(SLOPE), 0.0, math.cos(SLOPE)))
    builder.add_half_space("plane", HalfSpace((0.0, 0.0, 1.0), 0.0), Material(0.35, 0.2))
    builder.add_half_space("incline", incline, Material(0.5, 0.2))
    for lane in range(LANES):
        q, v = _throw(random, (lane - 0.5 * (LANES - 1)) * LANE_WIDTH)
        kind = ("cube", "ball", "cube", "gem")[lane % 4]
        material = Material(0.4, 0.7 if kind == "ball" else 0.1)
        name = f"{kind} {lane}"
        if kind == "ball":
            builder.add_free_body(name, RigidInertia.solid_sphere(0.3, 0.1), Sphere(0.1), material, q, v)
        elif kind == "cube":
            inertia = RigidInertia.solid_box(0.5, (0.1, 0.1, 0.1))
            builder.add_free_body(name, inertia, Box.cube(0.1), material, q, v)
        else:
            points = 0.13 * np.concatenate((np.eye(3), -np.eye(3)))
            inertia = RigidInertia(0.3, inertia=0.3 * 0.13**2 / 5.0 * np.eye(3))
            builder.add_free_body(name, inertia, ConvexPoints(points), material, q, v)
    return builder.build()


def _throw(random: np.random.Generator, y: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a start above the plane, flying towards the incline with some spin."""
    turn = random.normal(size=4)
    position = (random.uniform(-1.4, -0.6), y, random.uniform(0.5, 1.1))
    velocity = (random.uniform(2.0, 3.6), random.uniform(-0.1, 0.1), random.uniform(0.0, 1.5))
    spin = random.uniform(-8.0, 8.0, size=3)
    return np.concatenate((position, turn / np.linalg.norm(turn))), np.concatenate((velocity, spin))
