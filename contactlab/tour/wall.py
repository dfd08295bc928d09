"""A ball and a wall of bricks, with the force of every contact."""

from __future__ import annotations

from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.tour.scene import Slider, TourScene


def strike(speed: float, mass: float) -> Recording:
    """Simulate a ball that hits a wall of stacked bricks."""
    builder, wood, half = WorldBuilder(), Material(0.5), (0.1, 0.06, 0.05)
    builder.add_half_space("floor", HalfSpace(), wood)
    brick = RigidInertia.solid_box(0.5, half)
    for row in range(4):
        for i in range(4 - row % 2):
            x = 0.21 * (i - 0.5 * (3 - row % 2))
            builder.add_free_body(f"brick {row} {i}", brick, Box(half), wood, q=(x, 0, 0.05 + 0.1 * row, 1, 0, 0, 0))
    ball, flight = RigidInertia.solid_sphere(mass, 0.1), 0.9 / speed
    start = (0.05, -1.0, 0.25 + 0.5 * 9.81 * flight * flight - 0.5 * flight, 1, 0, 0, 0)
    builder.add_free_body("ball", ball, Sphere(0.1), wood, q=start, v=(0, speed, 0.5, 0, 0, 0))
    return simulate(builder.build(), TimeStepping(h=2e-3), duration=1.6)


SCENE = TourScene(
    "wall",
    "A ball and a wall",
    "Arrows are contact forces: green where a contact sticks, vermilion where it slides; a grey point carries nothing.",
    "seeing",
    (Slider("speed", 2.0, 8.0, 0.5, 4.0, "m/s"), Slider("mass", 0.5, 10.0, 0.5, 4.0, "kg")),
    strike,
    view=(0.62, -0.68, 0.4),
)
