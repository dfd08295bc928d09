"""A box between two fingers: three solutions of the same contact problem."""

from __future__ import annotations

import lcp
from contactlab.contact import Box, Material
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import PositionDrive, Recording, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia, Transform
from contactlab.tour.scene import Slider, TourScene


def grip(firmness: float) -> dict[str, Recording]:
    """Return runs in which two fingers hold a box with this multiple of the force that friction needs."""
    rubber, finger, half = Material(0.5), (0.02, 0.04, 0.04), (0.05, 0.05, 0.05)
    weight = 0.5 * 9.81
    hand = ModelBuilder()
    for name, side in (("left", -1), ("right", 1)):
        place, inertia = Transform(p=(0.07 * side, 0, 0.2)), RigidInertia.solid_box(0.3, finger)
        hand.add_body(name, joint=joints.Prismatic((1, 0, 0)), placement=place, inertia=inertia)
    hand.add_body("box", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(0.5, half))
    builder = WorldBuilder()
    builder.add_fixed_body("table", Box((0.12, 0.1, 0.01)), rubber, Transform(p=(0, 0, -0.01)))
    builder.add_model(hand.build(), q=(0, 0, 0, 0, 0.2, 1, 0, 0, 0))
    for name, target in (("left", 0.0), ("right", -0.01)):
        builder.add_shape(name, Box(finger), rubber)
        force = firmness * weight / (2 * 0.5) if name == "right" else 1e4
        builder.add_drive(PositionDrive(name, target, 2e4, 2e2, max_force=force))
    builder.add_shape("box", Box(half), rubber, shown=False)
    builder.add_visual("box", Box(half), rgba=(0.34, 0.71, 0.91, 0.4))  # transparent, so that forces are visible
    world = builder.build()
    ways = {
        "Lemke's vertex": TimeStepping(4e-3, solver=lcp.Lemke()),
        "exact cone": TimeStepping(4e-3, friction="cone"),
        "selected": TimeStepping(4e-3),
    }
    return {name: simulate(world, stepper, duration=2.0) for name, stepper in ways.items()}


SCENE = TourScene(
    "grip",
    "One grip, three answers",
    "Rigid contacts do not say how eight corners share the load: a vertex of Lemke's method solves every step exactly "
    "and lets the box fall; the cone and the selected forces hold it.",
    "theory/load_sharing",
    (Slider("firmness", 0.5, 15.0, 0.5, 10.0),),
    grip,
    spacing=0.32,
    view=(-0.12, -0.95, 0.28),
)
