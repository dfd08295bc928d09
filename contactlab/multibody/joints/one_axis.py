"""Joints of one coordinate: rotation about an axis, shift along one, and both at once."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.multibody.joints.elementary import Elementary, unit_axis
from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.spatial.errors import MultibodyError


@dataclass(frozen=True, eq=False, init=False)
class Revolute:
    """Rotation by q [rad] about an axis through the joint's origin.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here; z by default.
    """

    axis: FloatArray
    nq = 1
    nv = 1

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        object.__setattr__(self, "axis", unit_axis(self, axis))

    def chain(self) -> tuple[Elementary, ...]:
        """One rotation."""
        return (Elementary.revolute(self.axis),)


@dataclass(frozen=True, eq=False, init=False)
class Prismatic:
    """Shift by q [m] along an axis.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here; x by default.
    """

    axis: FloatArray
    nq = 1
    nv = 1

    def __init__(self, axis: ArrayLike = (1.0, 0.0, 0.0)) -> None:
        object.__setattr__(self, "axis", unit_axis(self, axis))

    def chain(self) -> tuple[Elementary, ...]:
        """One shift."""
        return (Elementary.prismatic(self.axis),)


@dataclass(frozen=True, eq=False, init=False)
class Helical:
    """Rotation by q [rad] about an axis with a shift of pitch q along the same axis; see `Screw` for the general form.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here.
    pitch
        Shift per angle [m/rad].
    """

    axis: FloatArray
    pitch: float
    nq = 1
    nv = 1

    def __init__(self, axis: ArrayLike, pitch: float) -> None:
        object.__setattr__(self, "axis", unit_axis(self, axis))
        object.__setattr__(self, "pitch", finite_number(pitch, "Helical.pitch", MultibodyError))

    def chain(self) -> tuple[Elementary, ...]:
        """One screw motion."""
        return (Elementary(codes.SCREW, self.axis, self.pitch * self.axis),)


@dataclass(frozen=True, eq=False, init=False)
class Screw:
    """Shift by t q in joint axes, then rotate by q about w: RBDL's helical joint, not the exponential of a twist.

    Parameters
    ----------
    w
        Axis of rotation (3,) in joint axes, normalised here.
    t
        Shift per angle (3,) [m/rad] in joint axes; it need not be parallel to w.
    """

    w: FloatArray
    t: FloatArray
    nq = 1
    nv = 1

    def __init__(self, w: ArrayLike, t: ArrayLike) -> None:
        object.__setattr__(self, "w", unit_axis(self, w))
        object.__setattr__(self, "t", read_only(finite_array(t, "Screw.t", (3,), MultibodyError)))

    def chain(self) -> tuple[Elementary, ...]:
        """One screw motion."""
        return (Elementary(codes.SCREW, self.w, self.t),)
