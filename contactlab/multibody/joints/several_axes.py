"""Joints of three and of six coordinates, whose axes are the joint's own, and the one of none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.multibody.joints.elementary import Elementary
from contactlab.multibody.kernels import codes


@dataclass(frozen=True)
class Spherical:
    """Any rotation: q is a unit quaternion (w, x, y, z), v the angular velocity in body axes [rad/s]."""

    nq = 4
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """One rotation."""
        return (Elementary(codes.SPHERICAL, np.zeros(3), np.zeros(3)),)


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


@dataclass(frozen=True)
class TranslationXYZ:
    """Shift by q = (x, y, z) [m] in joint axes."""

    nq = 3
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """One shift."""
        return (Elementary(codes.TRANSLATION, np.zeros(3), np.zeros(3)),)


@dataclass(frozen=True)
class FloatingBase:
    """Six degrees of freedom.

    q = (x, y, z, qw, qx, qy, qz): origin [m] in joint axes and unit quaternion; v = (velocity of the body's origin in
    joint axes [m/s], angular velocity in body axes [rad/s]).
    """

    nq = 7
    nv = 6

    def chain(self) -> tuple[Elementary, ...]:
        """One free motion."""
        return (Elementary(codes.FLOATING, np.zeros(3), np.zeros(3)),)


@dataclass(frozen=True)
class Fixed:
    """A rigid connection: the child's mass joins its parent's, its frame stays addressable by name."""

    nq = 0
    nv = 0

    def chain(self) -> tuple[Elementary, ...]:
        """Nothing moves."""
        return ()
