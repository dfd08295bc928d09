"""Pick and place: an industrial arm takes a box out of a bin and sets it on another, from URDF to a verified record.

The robot is Franka Emika's Panda, as the package example-robot-data has it (`pip install example-robot-data`); another
copy of its `panda.urdf` can be named on the command line. Nothing of the file is changed: meshes become hulls, joint
limits stops, the second finger follows the first. Position drives move it through poses of inverse kinematics. With a
name that ends with .html, `python examples/20_pick_and_place.py film.html` writes the film.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import metadata
from pathlib import Path

import numpy as np

from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody import Model, PoseTarget, inverse_kinematics
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, Recording, TimeStepping, WorldBuilder, simulate, verify
from contactlab.view.viewer import write_html_replay

DOWN = np.diag([1.0, -1.0, -1.0])  # the gripper's z axis points to the floor
SMALL, LARGE, MASS = 0.025, 0.06, 0.2  # half edges of the boxes [m], mass of the one that is carried [kg]
BIN, GOAL = np.array([0.5, 0.2]), np.array([0.5, -0.2])  # where they stand
READY = [0.0, 0.2, 0.0, -2.0, 0.0, 2.2, 0.8, 0.04, 0.04]
HOLD, OPEN, GRIP = 0.2, 0.04, 30.0  # s, m, N


def panda() -> Path | None:
    """Return the path of the description, if it is installed."""
    found = [Path(name) for name in sys.argv[1:] if name.endswith(".urdf")]
    with contextlib.suppress(metadata.PackageNotFoundError):
        files = metadata.files("example-robot-data") or []
        found += [Path(str(file.locate())) for file in files if file.name == "panda.urdf"]
    return found[0] if found else None


def journey(model: Model) -> list[tuple[float, np.ndarray]]:
    """Times and configurations: above the box, at it, closed, up, above the other one, down, open, up."""
    stops = [(BIN, 0.3, OPEN), (BIN, SMALL, OPEN), (BIN, SMALL, 0.0), (BIN, 0.3, 0.0)]
    top = 2 * LARGE + SMALL + 1e-3
    stops += [(GOAL, 0.3, 0.0), (GOAL, top, 0.0), (GOAL, top, OPEN), (GOAL, 0.3, OPEN)]
    way = [(0.0, np.array(READY))]
    for i, (place, height, finger) in enumerate(stops):
        target = PoseTarget("panda_hand_tcp", Transform(DOWN, (*place, height)))
        found = inverse_kinematics(model, way[-1][1], [target])
        assert found.converged, (place, height)
        way.append((0.8 * (i + 1), np.append(found.q[:7], (finger, finger))))
    return way


def carried(description: Path) -> Recording:
    """Carry the box."""
    builder, material = WorldBuilder(), Material(0.8)
    builder.add_half_space("floor", HalfSpace(), material)
    model = builder.add_urdf(description, q=READY, material=material, package_roots=[description.resolve().parents[4]])
    times, table = (np.array(column) for column in zip(*journey(model), strict=True))

    def target(column: int, time: float) -> float:
        i = min(max(int(np.searchsorted(times, time)), 1), len(times) - 1)
        s = min(1.0, max(0.0, (time - times[i - 1]) / (times[i] - times[i - 1] - HOLD)))
        return float(table[i - 1, column] + (table[i, column] - table[i - 1, column]) * s * s * (3.0 - 2.0 * s))

    for i, joint in enumerate(model.joint_names[:7]):
        builder.add_drive(PositionDrive(joint, READY[i], 2e4, 400.0, name=joint))
    builder.add_drive(PositionDrive("panda_finger_joint1", OPEN, 4000.0, 100.0, max_force=GRIP, name="fingers"))
    targets = {name: lambda time, i=i: target(i, time) for i, name in enumerate((*model.joint_names[:7], "fingers"))}

    for k, (dx, dy) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        wall = Box((0.005 if dx else 0.105, 0.105 if dx else 0.005, 0.04))
        builder.add_fixed_body(f"wall {k}", wall, material, Transform(p=(BIN[0] + 0.1 * dx, BIN[1] + 0.1 * dy, 0.04)))
    small, large = RigidInertia.solid_box(MASS, (SMALL,) * 3), RigidInertia.solid_box(2.0, (LARGE,) * 3)
    builder.add_free_body("box", small, Box.cube(SMALL), material, q=(*BIN, SMALL, 1, 0, 0, 0))
    builder.add_free_body("stand", large, Box.cube(LARGE), material, q=(*GOAL, LARGE, 1, 0, 0, 0))
    return simulate(builder.build(), TimeStepping(2e-3, edges=4), times[-1] + 0.4, targets=targets)


def main() -> dict[str, float]:
    """Carry the box, and check where it is."""
    description = panda()
    if description is None:
        print("no panda.urdf: pip install example-robot-data, or name a copy of it")
        return {}
    recording = carried(description)
    box = recording.q[-1, -14:-7]
    off = float(np.abs(box[:3] - (*GOAL, 2 * LARGE + SMALL)).max())
    print(f"{recording.n_steps} steps; the box stands on the other one, {1e3 * off:.2f} mm from where it was to be")
    # The fingers' hulls are not parallel: when they close, they push the box some millimetres along themselves.
    assert off < 8e-3
    assert verify(recording, every=100).holds
    for page in (name for name in sys.argv[1:] if name.endswith(".html")):
        print(f"film: {write_html_replay(recording, page)}")
    return {"off": off}


if __name__ == "__main__":
    main()
