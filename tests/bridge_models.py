"""A quadruped as text, its stance, and what holds its joints, for the tests of problem data from models."""

import numpy as np
from urdf_texts import inertial, joint, link, robot

from contactlab.constraint_solver import ContactPoint, VelocityDrive
from contactlab.multibody import UrdfModel, load_urdf, point_position

LEGS = ("fl", "fr", "rl", "rr")
HIP, THIGH, KNEE = 0.0, 0.5, -1.0
MASS = 12.0 + 4 * (0.5 + 0.8 + 0.4)


def quadruped_text() -> str:
    """Trunk of 12 kg; per leg a hip about x, a thigh and a shank of 0.3 m about y, and a foot fixed to the shank."""
    limit = "<limit lower='{}' upper='{}' effort='60' velocity='10'/>"
    parts = [link("trunk", inertial(12.0, 0.15, 0.3, 0.4))]
    for leg in LEGS:
        x, y = (0.3 if leg[0] == "f" else -0.3), (0.2 if leg[1] == "l" else -0.2)
        down = "<origin xyz='0 0 -0.15'/>"
        parts += [
            link(f"{leg}_hip", inertial(0.5, 1e-3, 1e-3, 1e-3)),
            link(f"{leg}_thigh", inertial(0.8, 6e-3, 6e-3, 1e-3, down)),
            link(f"{leg}_shank", inertial(0.4, 3e-3, 3e-3, 4e-4, down)),
            f"<link name='{leg}_foot'/>",
            joint(
                f"{leg}_abduction",
                "revolute",
                "trunk",
                f"{leg}_hip",
                f"<origin xyz='{x} {y} 0'/><axis xyz='1 0 0'/>" + limit.format(-0.8, 0.8),
            ),
            joint(
                f"{leg}_flexion", "revolute", f"{leg}_hip", f"{leg}_thigh", "<axis xyz='0 1 0'/>" + limit.format(-2, 2)
            ),
            joint(
                f"{leg}_knee",
                "revolute",
                f"{leg}_thigh",
                f"{leg}_shank",
                "<origin xyz='0 0 -0.3'/><axis xyz='0 1 0'/>" + limit.format(-2.5, -0.1),
            ),
            joint(f"{leg}_ankle", "fixed", f"{leg}_shank", f"{leg}_foot", "<origin xyz='0 0 -0.3'/>"),
        ]
    return robot(*parts)


def quadruped() -> UrdfModel:
    return load_urdf(quadruped_text(), floating_base=True)


def stance(model: UrdfModel) -> np.ndarray:
    """Configuration (19,) with all feet on the plane z = 0."""
    q = model.neutral
    for leg in LEGS:
        for name, angle in (("abduction", HIP), ("flexion", THIGH), ("knee", KNEE)):
            q[model.joint_data[f"{leg}_{name}"].q] = angle
    q[2] -= point_position(model, q, "fl_foot", np.zeros(3))[2]
    return q


def feet(mu: float = 0.5, normal: np.ndarray | tuple[float, ...] = (0.0, 0.0, 1.0), **options: object) -> list:
    return [
        ContactPoint(f"{leg}_foot", np.zeros(3), normal, frame="body", point_a=np.zeros(3), mu=mu, name=leg, **options)
        for leg in LEGS
    ]


def brakes(model: UrdfModel) -> list[VelocityDrive]:
    """Brakes at every joint, without bounds on their forces."""
    return [VelocityDrive(name) for name, data in model.joint_data.items() if data.v.stop > data.v.start]


def push(model: UrdfModel, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """External force (nb, 6) on the trunk, at the height of the feet, where it tips nothing over."""
    rows = np.zeros((model.nb, 6))
    rows[model.index("trunk"), 3:] = force
    rows[model.index("trunk"), :3] = np.cross([q[0], q[1], 0.0], force)
    return rows
