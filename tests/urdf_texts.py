"""Small robot descriptions, as text."""

from pathlib import Path

import numpy as np

from contactlab.multibody.spatial import quaternion

DATA = Path(__file__).resolve().parent / "data"
FIVE = DATA / "five_joints.urdf"


def inertial(mass=1.0, ixx=1.0, iyy=1.0, izz=1.0, inner=""):
    return (
        f"<inertial>{inner}<mass value='{mass}'/>"
        f"<inertia ixx='{ixx}' ixy='0' ixz='0' iyy='{iyy}' iyz='0' izz='{izz}'/></inertial>"
    )


def link(name, inside=None):
    return f"<link name='{name}'>{inertial() if inside is None else inside}</link>"


def joint(name="j", kind="revolute", parent="a", child="b", inside=""):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>"


def robot(*parts):
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def pair(kind="revolute", inside=""):
    """Two links and one joint, in lines 2, 3 and 4."""
    return robot(link("a"), link("b"), joint(kind=kind, inside=inside))


def turn(axis, angle):
    return quaternion.to_matrix(quaternion.exp(np.asarray(axis, dtype=float) * angle))


def rpy(roll, pitch, yaw):
    """Rotate about fixed axes, roll first: each further rotation multiplies from the left."""
    return turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll)
