"""A grasp in clutter: a can is taken out of a heap of ten other things and held, with exact friction cones.

The things fall around the can; the fingers push their way in between, close with a limited force, and lift.
`python examples/25_grasp_in_clutter.py film.webp` (or .mp4) writes the film.
"""

import sys

import numpy as np

from contactlab.collision import Box, Capsule, Cylinder, HalfSpace, Material
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, Simulation, TimeStepping, WorldBuilder, verify
from contactlab.view.plotting import animation

MATERIAL, FINGER, PALM, CAN = Material(0.6), Capsule(0.01, 0.04), Box((0.08, 0.02, 0.01)), Cylinder(0.03, 0.06)
THINGS = (Box((0.016, 0.02, 0.025)), Cylinder(0.022, 0.03), Box((0.015, 0.03, 0.02)), Cylinder(0.02, 0.02))
HIGH, OPEN = 0.4, 0.02  # [m]


def targets(time: float) -> dict[str, float]:
    """Down until 1.2 s, closed until 1.5 s, up until 2.3 s."""
    down, close, up = (np.clip((time - begin) / span, 0.0, 1.0) for begin, span in ((0.7, 0.5), (1.2, 0.3), (1.5, 0.8)))
    return {"palm": HIGH * (1.0 - down + up), "left": OPEN * close, "right": -(OPEN + 0.02) * close}


def main() -> None:
    """Build the scene, take the can, and see whether it is held."""
    gripper, builder, rng = ModelBuilder(), WorldBuilder(), np.random.default_rng(3)
    palm, at = RigidInertia.solid_box(1.0, PALM.half_extents), Transform(p=(0, 0, 0.15))
    gripper.add_body("palm", joint=joints.Prismatic((0, 0, 1)), inertia=palm, placement=at)
    finger, slide = RigidInertia.solid_box(0.2, (0.01, 0.01, 0.05)), joints.Prismatic((1, 0, 0))
    for name, x in (("left", -0.04 - OPEN), ("right", 0.04 + OPEN)):
        gripper.add_body(name, parent="palm", joint=slide, placement=Transform(p=(x, 0, -0.09)), inertia=finger)
    builder.add_half_space("floor", HalfSpace(), MATERIAL)
    builder.add_model(gripper.build(), (HIGH, 0, 0))
    for name, shape, push in (("palm", PALM, 100.0), ("left", FINGER, 200.0), ("right", FINGER, 15.0)):
        builder.add_shape(name, shape, MATERIAL)
        builder.add_drive(PositionDrive(name, 0.0, 5e3, 1e2, max_force=push, name=name))
    for i, shape in enumerate((CAN, *THINGS, *THINGS, *THINGS[:2])):
        inertia = RigidInertia.from_matrix(600.0 * shape.inertia().matrix())
        angle, far = 2.4 * i + rng.uniform(-0.3, 0.3), rng.uniform(0.065, 0.09) if i else 0.0
        q = (far * np.cos(angle), far * np.sin(angle), 0.06 + 0.03 * i, 1, 0, 0, 0)
        builder.add_free_body(f"thing {i}" if i else "can", inertia, shape, MATERIAL, q=q)
    run = Simulation(builder.build(), TimeStepping(2e-3, friction="cone"), record=True)
    while run.time < 3.0:
        run.step(targets=targets(run.time))
    recording = run.recording
    late, hand = recording.time > 2.4, recording.q[:, 3:6] - recording.q[:, :1] * (0, 0, 1)
    slip, holds = float(np.ptp(hand[late], axis=0).max()), verify(recording, every=50).holds
    print(f"held at {run.q[5]:.2f} m, where in 0.6 s it slid {1e3 * slip:.4f} mm; verified: {holds}")
    assert run.q[5] > 0.4 and slip < 1e-4 and holds  # noqa: PT018
    for film in filter(lambda name: name.endswith((".webp", ".mp4")), sys.argv[1:]):
        print(f"film: {animation(recording, film)}")


if __name__ == "__main__":
    main()
