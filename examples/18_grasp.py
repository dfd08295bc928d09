"""A box in a grip: lifted, carried and set down, with more rigid contacts than statics determines.

Each finger touches the box with four corners. Rigid bodies do not determine how these share the load, and some
solutions rotate the box out of the grasp. A step takes the forces of contacts with equal compliance
(`docs/theory/load_sharing.md`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, Recording, TimeStepping, World, WorldBuilder, simulate, verify

G, MU, MASS, HALF = 9.81, 0.5, 0.5, 0.05
FINGER, OPEN, HIGH, FAR = (0.02, 0.04, 0.04), 0.02, 0.25, 0.4


def smooth(time: float, begin: float, end: float) -> float:
    """From 0 to 1 between two times, without a jump of the speed."""
    s = min(1.0, max(0.0, (time - begin) / (end - begin)))
    return s * s * (3.0 - 2.0 * s)


def gantry_and_box(firmness: float = 5.0) -> World:
    """Two fingers that press with `firmness` times the force that friction needs, and the box between them."""
    gantry, material = ModelBuilder(), Material(MU)
    slide = {"x": (1, 0, 0), "z": (0, 0, 1)}
    frame = RigidInertia.solid_box(2.0, (0.1, 0.05, 0.02))
    gantry.add_body("carriage", parent="world", joint=joints.Prismatic(slide["x"]), inertia=frame)
    gantry.add_body("palm", parent="carriage", joint=joints.Prismatic(slide["z"]), inertia=frame)
    for name, side in (("left", -1.0), ("right", 1.0)):
        place = Transform(p=(side * (HALF + FINGER[0] + OPEN), 0.0, HALF))
        inertia = RigidInertia.solid_box(0.3, FINGER)
        gantry.add_body(name, parent="palm", joint=joints.Prismatic(slide["x"]), placement=place, inertia=inertia)

    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("ground", HalfSpace(), material)
    builder.add_model(gantry.build())
    builder.add_drive(PositionDrive("carriage", 0.0, 2e4, 4e2))
    builder.add_drive(PositionDrive("palm", 0.0, 2e4, 4e2))
    for name in ("left", "right"):
        builder.add_shape(name, Box(FINGER), material)
        # One finger keeps its position, the other one presses.
        press = firmness * MASS * G / (2 * MU) if name == "right" else math.inf
        builder.add_drive(PositionDrive(name, 0.0, 2e4, 2e2, max_force=press))
    inertia = RigidInertia.solid_box(MASS, (HALF,) * 3)
    builder.add_free_body("box", inertia, Box.cube(HALF), material, q=(0, 0, HALF, 1, 0, 0, 0))
    return builder.build()


def targets() -> dict[str, Callable[[float], float]]:
    """Up, aside, down, and open again."""

    def closed(time: float) -> float:
        return smooth(time, 0.0, 0.2) - smooth(time, 2.6, 2.8)

    return {
        "drive of carriage": lambda time: FAR * smooth(time, 1.0, 1.8),
        "drive of palm": lambda time: HIGH * (smooth(time, 0.3, 0.9) - smooth(time, 1.9, 2.5)),
        "drive of left": lambda time: OPEN * closed(time),
        "drive of right": lambda time: -(OPEN + 0.01) * closed(time),
    }


def carried(firmness: float = 5.0) -> Recording:
    """Grasp the box, carry it and let go of it."""
    return simulate(gantry_and_box(firmness), TimeStepping(2e-3), 3.0, targets=targets())


def main() -> dict[str, float]:
    """Carry the box, and measure its displacement in the hand on the path."""
    recording = carried()
    carriage, palm, finger = recording.q[:, :3].T
    box = recording.q[:, 4:11]
    held = (recording.time > 0.5) & (recording.time < 2.4)
    hand = np.column_stack((carriage + finger, np.zeros(finger.size), palm))
    slip = float(np.ptp((box[:, :3] - hand)[held], axis=0).max())
    turn = float(np.degrees(2.0 * np.arccos(np.minimum(1.0, np.abs(box[held, 3]))).max()))
    print(f"carried {box[-1, 0]:.3f} m; in the hand it slid {1e3 * slip:.4f} mm and turned {turn:.4f} degrees")
    assert slip < 1e-4
    assert turn < 0.1
    # At rest the fingers have moved by their press over their stiffness.
    assert np.allclose(box[-1, :3], (FAR, 0.0, HALF), atol=6e-3)
    assert recording.worst_certificate().scaled < 1e-9
    assert verify(recording, every=100).holds
    return {"slip": slip, "turn": turn, "x": float(box[-1, 0])}


if __name__ == "__main__":
    main()
