"""Masses and inertias as descriptions give them: what cannot move is refused, what cannot exist is named."""

from __future__ import annotations

import math

import numpy as np

from contactlab.multibody.urdf.numbers import number, origin
from contactlab.multibody.urdf.reading import Element
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.spatial.errors import SpatialError
from contactlab.spatial.inertia import RigidInertia

# Of the triangle inequality: files give four digits or so, and a plate meets it with equality.
ROUNDED = 1e-3
# Radius of gyration [m] below which a body is a point: files have point masses with the round-off of a program in them.
POINT = 1e-6


class InertiaAsWritten(RigidInertia):
    """A mass distribution of a file that `RigidInertia` does not take: a point, a thin rod, or none that can exist.

    It enters the dynamics unchanged. The inertia is symmetric; nothing else is asked of it.
    """

    def __init__(self, mass: float, com: FloatArray, *, inertia: FloatArray) -> None:
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", read_only(com))
        object.__setattr__(self, "inertia", read_only(inertia))


def inertia_of(link: Element, *, strict: bool) -> RigidInertia | None:
    """The <inertial> of a <link> in link axes, None where there is none or it is all zero.

    ``strict``: what `RigidInertia` refuses is an error.
    """
    inertial = link.only("inertial")
    if inertial is None:
        return None
    mass = number(inertial.need("mass"), "value")
    if mass < 0.0:
        raise inertial.error(f"the mass is negative: {mass}")
    element = inertial.need("inertia")
    xx, yy, zz = (number(element, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(element, name, 0.0) for name in ("ixy", "ixz", "iyz"))
    frame = origin(inertial)
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0.0 and not about.any():
        return None
    turned = frame.R @ about @ frame.R.T
    turned = 0.5 * (turned + turned.T)
    try:
        return RigidInertia(mass, frame.p, inertia=turned)
    except SpatialError as refusal:
        if strict:
            raise inertial.error(f"{refusal.field} {refusal.detail}") from refusal
        return InertiaAsWritten(mass, np.array(frame.p), inertia=turned)


def round_off(mass: float, high: float) -> float:
    """The moment [kg m^2] that counts as zero beside the largest one."""
    return 1e-9 * abs(high) + mass * POINT**2


def oddity(inertia: RigidInertia) -> str | None:
    """Trait that no mass distribution has, in words; None for points, rods, plates and solid bodies."""
    low, middle, high = (float(moment) for moment in np.linalg.eigvalsh(inertia.inertia))
    zero = round_off(inertia.mass, high)
    moments = f"principal moments {low:.4g}, {middle:.4g}, {high:.4g} kg m^2"
    if inertia.mass == 0.0:
        return f"inertia without mass ({moments})"
    if low < -zero:
        return f"a negative moment ({moments})"
    if high > (low + middle) * (1.0 + ROUNDED) + zero:
        return f"a moment larger than the sum of the others ({moments})"
    return None


class RigidGroup:
    """Links joined by fixed joints: one body to the dynamics."""

    def __init__(self) -> None:
        self.mass = 0.0
        self.moment = np.zeros(3)  # mass times centre of mass
        self.inertia = np.zeros((3, 3))  # about the origin of the group's frame

    def add(self, inertia: RigidInertia, R: FloatArray, p: FloatArray) -> None:
        """Join a link whose frame is at (R, p) in the group's."""
        com = R @ inertia.com + p
        self.mass += inertia.mass
        self.moment = self.moment + inertia.mass * com
        about = com @ com * np.eye(3) - np.outer(com, com)
        self.inertia = self.inertia + R @ inertia.inertia @ R.T + inertia.mass * about

    def negative_moment(self) -> float | None:
        """The smallest principal moment about the centre of mass if it is negative beyond round-off, else None."""
        com = self.moment / self.mass if self.mass > 0.0 else np.zeros(3)
        about = self.inertia - self.mass * (com @ com * np.eye(3) - np.outer(com, com))
        low, _, high = np.linalg.eigvalsh(about)
        # What was added and taken away again leaves the round-off of the largest summand.
        zero = round_off(self.mass, max(high, float(np.max(np.abs(self.inertia)))))
        return float(low) if low < -zero or not math.isfinite(low) else None
