"""Shift along one direction, then rotation about another, by one coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.joints.elementary import Elementary, unit_axis
from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray, finite_array, read_only


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
