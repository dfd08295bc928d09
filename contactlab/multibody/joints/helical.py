"""A screw thread: rotation about an axis with a shift along it."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.joints.elementary import Elementary, unit_axis
from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray, finite_number


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
