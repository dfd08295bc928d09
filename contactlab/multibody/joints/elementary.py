"""Elements of joints: the few motions the kernels know, and the protocol every joint of the package follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.errors import MultibodyError

_X, _Y, _Z = np.eye(3)
_NONE = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Elementary:
    """One motion of a kind the kernels know."""

    kind: int  # a code of `contactlab.multibody.kernels.codes`
    #: w, t: Direction of rotation and of shift, (3,) each, in joint axes; zero where the kind has none.
    w: FloatArray
    t: FloatArray

    @classmethod
    def revolute(cls, axis: FloatArray) -> Elementary:
        """Rotation about a unit axis; the coordinate axes have kernels of their own."""
        for kind, unit in ((codes.REVOLUTE_X, _X), (codes.REVOLUTE_Y, _Y), (codes.REVOLUTE_Z, _Z)):
            if (axis == unit).all():
                return cls(kind, axis, _NONE)
        return cls(codes.REVOLUTE, axis, _NONE)

    @classmethod
    def prismatic(cls, axis: FloatArray) -> Elementary:
        """Shift along a unit axis."""
        return cls(codes.PRISMATIC, _NONE, axis)

    @property
    def nq(self) -> int:
        """Length of its slice of q."""
        return codes.NQ[self.kind]

    @property
    def nv(self) -> int:
        """Length of its slice of v."""
        return codes.NV[self.kind]


@runtime_checkable
class Joint(Protocol):
    """Motion of a child body relative to its parent: a chain of elementary motions, each in the frame the last left."""

    @property
    def nq(self) -> int:
        """Length of the joint's slice of q."""
        ...

    @property
    def nv(self) -> int:
        """Length of the joint's slice of v."""
        ...

    def chain(self) -> tuple[Elementary, ...]:
        """Its elementary motions, from parent to child; empty for a fixed joint."""
        ...


def unit_axis(owner: object, value: ArrayLike) -> FloatArray:
    """Return a direction (3,), normalised: a `MultibodyError` for one that has no length."""
    axis = finite_array(value, f"{type(owner).__name__}.axis", (3,), MultibodyError)
    largest = float(np.max(np.abs(axis)))
    if largest == 0.0:
        raise MultibodyError(f"{type(owner).__name__}.axis", "has no direction: all entries are zero")
    scaled = axis / largest
    return read_only(scaled / np.linalg.norm(scaled))
