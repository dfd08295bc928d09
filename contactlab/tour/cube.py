"""Throw a cube: the effect of friction and restitution on the same throw."""

from __future__ import annotations

from contactlab.contact import Box, HalfSpace, Material
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.tour.scene import Slider, TourScene


def throw(friction: float, restitution: float) -> Recording:
    """Simulate a cube that flies, hits the floor with a corner, tumbles, slides and comes to rest."""
    floor, cube = Material(friction, restitution), Material(friction, restitution)
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), floor)
    builder.add_free_body(
        "cube",
        RigidInertia.solid_box(0.4, (0.1, 0.1, 0.1)),
        Box.cube(0.1),
        cube,
        q=(-0.8, 0.0, 0.6, 0.8, 0.36, 0.48, 0.0),
        v=(1.6, 0.0, 0.5, 3.0, 5.0, 1.0),
    )
    return simulate(builder.build(), TimeStepping(h=2e-3, friction="cone"), duration=2.0)


SCENE = TourScene(
    "cube",
    "Throw the cube",
    "A cube flies, tumbles and comes to rest; the line below says how well each step's contact problem was solved "
    "(1e-9 counts as solved).",
    "tutorial_simulate",
    (Slider("friction", 0.0, 1.0, 0.05, 0.3), Slider("restitution", 0.0, 0.9, 0.05, 0.3)),
    throw,
)
