"""Three angles: intrinsic rotations about axes in the order of the name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.multibody.joints.elementary import Elementary


@dataclass(frozen=True)
class _Euler:
    """Rotate by q[0] about the first axis, by q[1] about the new second, by q[2] about the new third; v are the rates.

    Singular where q[1] is a quarter turn: first and third axis then coincide, and the mass matrix is singular too.
    """

    order: ClassVar[str]
    nq = 3
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """Three rotations."""
        return tuple(Elementary.revolute(np.eye(3)["XYZ".index(letter)]) for letter in self.order)


class EulerZYX(_Euler):
    """Yaw, pitch, roll: about z, then the new y, then the new x [rad]; singular at a pitch of a quarter turn."""

    order = "ZYX"


class EulerXYZ(_Euler):
    """About x, then the new y, then the new z [rad]; singular at a quarter turn about y."""

    order = "XYZ"


class EulerYXZ(_Euler):
    """About y, then the new x, then the new z [rad]; singular at a quarter turn about x."""

    order = "YXZ"


class EulerZXY(_Euler):
    """About z, then the new x, then the new y [rad]; singular at a quarter turn about x."""

    order = "ZXY"
