"""Masses and inertias as descriptions give them: what cannot move is refused, what cannot exist is named."""

from __future__ import annotations

import math

import numpy as np

from contactlab.multibody.urdf.numbers import number, origin
from contactlab.multibody.urdf.reading import Element
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.inertia import RigidInertia, round_off


def inertia_of(link: Element, *, strict: bool) -> RigidInertia | None:
    """The <inertial> of a <link> in link axes, None where there is none or it is all zero.

    What no mass distribution has is taken as it is written, unless ``strict``.
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
    inertia = RigidInertia(mass, frame.p, inertia=turned, physical=False)
    if strict and inertia.oddity is not None:
        raise inertial.error(f"inertia belongs to no mass distribution, it has {inertia.oddity}")
    return inertia


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
