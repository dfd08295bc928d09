"""A quadruped trots: position drives on hips and knees, diagonal pairs of feet in turn, five of its lengths in 8 s.

`python examples/24_trot.py film.webp` (or .mp4) writes the film.
"""

import sys

import numpy as np

from contactlab.collision import Box, Capsule, HalfSpace, Material
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, Simulation, TimeStepping, World, WorldBuilder, sensors, verify
from contactlab.view.plotting import animation

LEGS = {"fl": (0.3, 0.2, 0.0), "fr": (0.3, -0.2, 0.5), "rl": (-0.3, 0.2, 0.5), "rr": (-0.3, -0.2, 0.0)}  # hip, phase
TRUNK, LINK, FOOT, TALL, LIFT = (0.35, 0.15, 0.06), 0.25, 0.03, 0.42, 0.07  # [m]
PERIOD, SPEED, HINGE, MIDDLE = 0.4, 0.5, joints.Revolute((0, 1, 0)), Transform(p=(0, 0, -LINK / 2))  # [s], [m/s]


def angles(time: float) -> np.ndarray:
    """Hip and knee of each leg: for half of the period the foot stands, and the hip goes over it."""
    swing = 2.0 * np.pi * (time / PERIOD + np.array([phase for *_, phase in LEGS.values()]))
    x = -0.25 * PERIOD * SPEED * min(1.0, time) * np.cos(swing)
    z = TALL - LIFT * min(1.0, 4.0 * time) * np.maximum(0.0, np.sin(swing))
    bend = np.arccos(np.hypot(x, z) / (2.0 * LINK))
    return np.column_stack((bend - np.arctan2(x, z), -2.0 * bend)).ravel()


def robot() -> World:
    """Four legs of two links on a floor, each joint with a drive."""
    model, material, builder = ModelBuilder(), Material(0.8), WorldBuilder()
    model.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(10.0, TRUNK))
    link = RigidInertia.solid_box(0.4, (0.02, 0.02, LINK / 2)).moved(MIDDLE)
    for leg, (*hip, _) in LEGS.items():
        for part, parent, at in (("thigh", "trunk", (*hip, 0)), ("shank", f"{leg}_thigh", (0, 0, -LINK))):
            model.add_body(f"{leg}_{part}", parent=parent, joint=HINGE, placement=Transform(p=at), inertia=link)
    builder.add_half_space("floor", HalfSpace(), material)
    builder.add_model(model.build(), (0, 0, TALL + FOOT, 1, 0, 0, 0, *angles(0.0)))
    builder.add_shape("trunk", Box(TRUNK), material)
    for leg in LEGS:
        builder.add_shape(f"{leg}_shank", Capsule(FOOT, LINK / 2), material, placement=MIDDLE)
        for part in ("thigh", "shank"):
            builder.add_drive(PositionDrive(f"{leg}_{part}", 0.0, 400.0, 12.0, max_force=60.0))
    return builder.build()


def main() -> None:
    """Build it, let it trot, and look at the record."""
    run = Simulation(robot(), TimeStepping(2e-3), record=True)
    while run.time < 8.0:
        run.step(targets=angles(run.time))
    recording, lengths = run.recording, run.q[0] / (2 * TRUNK[0])
    tilt = np.degrees(2.0 * np.hypot(*recording.q[:, 4:6].T)).max()
    feet = np.mean([recording.read(sensors.ContactForce(f"{leg}_shank"))[:, 2] > 0.0 for leg in LEGS])
    holds = verify(recording, every=50).holds
    print(f"{lengths:.1f} lengths on {4 * feet:.2f} feet, tilted by up to {tilt:.1f} degrees; verified: {holds}")
    assert lengths > 5.0 and tilt < 10.0 and holds  # noqa: PT018
    for film in filter(lambda name: name.endswith((".webp", ".mp4")), sys.argv[1:]):
        print(f"film: {animation(recording, film)}")


if __name__ == "__main__":
    main()
