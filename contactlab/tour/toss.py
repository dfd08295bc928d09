"""A synthetic record of a toss with its simulation, whose friction and restitution are to be found."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from contactlab.contact import Box, HalfSpace, Material
from contactlab.simulation import Motion, Recording, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.tour.scene import Slider, TourScene


def compare(friction: float, restitution: float) -> Recording:
    """Simulate a cube from the start of a record; a grey cube follows the record."""
    with files("contactlab.tour").joinpath("toss.csv").open() as file:
        time, *pose = np.loadtxt(file, delimiter=",").T

    def seen(t: float) -> tuple[Transform, np.ndarray]:
        row = np.array([np.interp(t, time, values) for values in pose])
        return Transform(quaternion.to_matrix(row[3:] / np.linalg.norm(row[3:])), row[:3]), np.zeros(6)

    builder, acrylic, half = WorldBuilder(), Material(friction, restitution), (0.05, 0.05, 0.05)
    builder.add_half_space("board", HalfSpace(), acrylic)
    builder.add_kinematic_body("seen", Box(half), acrylic, Motion(seen), mask=0, category=0)
    q, v = [values[0] for values in pose], (1.1, 0.1, 0.6, 2.0, 5.0, 1.0)
    builder.add_free_body("simulated", RigidInertia.solid_box(0.37, half), Box(half), acrylic, q, v)
    return simulate(builder.build(), TimeStepping(h=2e-3), duration=time[-1])


SCENE = TourScene(
    "toss",
    "A toss found again",
    "The grey cube follows a made-up record, a simulation with a camera's noise; find the friction and the restitution "
    "with which the coloured one stays with it.",
    "validation",
    (Slider("friction", 0.05, 0.6, 0.01, 0.4), Slider("restitution", 0.0, 0.6, 0.02, 0.1)),
    compare,
)
