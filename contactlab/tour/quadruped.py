"""Push a standing quadruped: drives control its legs, and friction holds its feet."""

from __future__ import annotations

import numpy as np

from contactlab.contact import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import PositionDrive, Recording, TimeStepping, WorldBuilder, Wrench, simulate
from contactlab.spatial import RigidInertia, Transform
from contactlab.tour.scene import Slider, TourScene


def push(force: float, friction: float) -> Recording:
    """Simulate a push on the trunk from behind, from 0.4 s on, for 0.2 s."""
    robot, trunk, down = ModelBuilder(), (0.3, 0.12, 0.06), Transform(p=(0, 0, -0.14))
    robot.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(12.0, trunk))
    leg, turn = RigidInertia.solid_box(0.6, (0.02, 0.02, 0.14)).moved(down), joints.Revolute((0, 1, 0))
    legs = {
        "front left": (0.25, 0.16),
        "front right": (0.25, -0.16),
        "rear left": (-0.25, 0.16),
        "rear right": (-0.25, -0.16),
    }
    for name, (x, y) in legs.items():
        hip, knee = Transform(p=(x, y, 0)), Transform(p=(0, 0, -0.28))
        robot.add_body(f"{name} thigh", parent="trunk", joint=turn, placement=hip, inertia=leg)
        robot.add_body(f"{name} shank", parent=f"{name} thigh", joint=turn, placement=knee, inertia=leg)
    builder, rubber = WorldBuilder(), Material(friction)
    builder.add_half_space("floor", HalfSpace(), rubber)
    builder.add_model(robot.build(), q=[0, 0, 0.484, 1, 0, 0, 0, *(0.6, -1.2) * 4])
    builder.add_shape("trunk", Box(trunk), rubber)
    for name in legs:
        builder.add_shape(f"{name} shank", Sphere(0.022, (0, 0, -0.28)), rubber)
        for part, angle in (("thigh", 0.6), ("shank", -1.2)):
            builder.add_visual(f"{name} {part}", Capsule(0.02, 0.14), placement=down, rgba=(0.35, 0.4, 0.5, 1))
            builder.add_drive(PositionDrive(f"{name} {part}", angle, 300.0, 10.0, max_force=60.0))

    def pushed(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, Wrench]:
        return {"trunk": Wrench(force=(force, 0, 0))} if 0.4 < t < 0.6 else {}

    return simulate(builder.build(), TimeStepping(h=2e-3), duration=2.0, f_ext=pushed)


SCENE = TourScene(
    "quadruped",
    "Push the quadruped",
    "Drives hold the legs, friction holds the feet: here a push makes them slide; where it is rough, the same push "
    "throws the robot over.",
    "control",
    (Slider("force", 0.0, 300.0, 10.0, 150.0, "N"), Slider("friction", 0.1, 1.2, 0.05, 0.3)),
    push,
)
