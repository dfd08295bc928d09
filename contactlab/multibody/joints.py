"""Joint types: chains of the elementary motions that the kernels support."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import kernels as codes
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    MultibodyError,
    check_type,
    finite_array,
    finite_number,
    set_fields,
    unit_axis,
)
from contactlab.multibody.spatial.transform import Transform

__all__ = [
    "ALL_JOINTS",
    "Composite",
    "CustomJoint",
    "EulerXYZ",
    "EulerYXZ",
    "EulerZXY",
    "EulerZYX",
    "Fixed",
    "FloatingBase",
    "Helical",
    "Joint",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "TranslationXYZ",
]


_X, _Y, _Z = np.eye(3)

_NONE = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Elementary:
    """One elementary motion that the kernels support."""

    kind: int  # a code of `contactlab.multibody.kernels`
    #: w, t: Direction of rotation and of shift, (3,) each, in joint axes; zero if the kind has none.
    w: FloatArray
    t: FloatArray

    @classmethod
    def revolute(cls, axis: FloatArray) -> Elementary:
        """Return the rotation about a unit axis; rotations about coordinate axes have separate kernels."""
        for kind, unit in ((codes.REVOLUTE_X, _X), (codes.REVOLUTE_Y, _Y), (codes.REVOLUTE_Z, _Z)):
            if (axis == unit).all():
                return cls(kind, axis, _NONE)
        return cls(codes.REVOLUTE, axis, _NONE)

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
    """Motion of a child body relative to its parent: a chain of elementary motions, each in the last one's frame."""

    @property
    def nq(self) -> int:
        """Length of the joint's slice of q."""
        ...

    @property
    def nv(self) -> int:
        """Length of the joint's slice of v."""
        ...

    def chain(self) -> tuple[Elementary, ...]:
        """Return its elementary motions, from parent to child; none for a fixed joint."""
        ...


@dataclass(frozen=True, eq=False, init=False)
class _OneAxis:
    """Common part of joints that move by one coordinate along or about an axis."""

    axis: FloatArray
    nq = 1
    nv = 1

    def __init__(self, axis: ArrayLike) -> None:
        set_fields(self, axis=unit_axis(axis, f"{type(self).__name__}.axis", MultibodyError))


class Revolute(_OneAxis):
    """Rotation by q [rad] about an axis through the joint's origin.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here; z by default.
    """

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        super().__init__(axis)

    def chain(self) -> tuple[Elementary, ...]:
        """Return one rotation."""
        return (Elementary.revolute(self.axis),)


class Prismatic(_OneAxis):
    """Shift by q [m] along an axis.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here; x by default.
    """

    def __init__(self, axis: ArrayLike = (1.0, 0.0, 0.0)) -> None:
        super().__init__(axis)

    def chain(self) -> tuple[Elementary, ...]:
        """Return one shift."""
        return (Elementary(codes.PRISMATIC, _NONE, self.axis),)


@dataclass(frozen=True, eq=False, init=False)
class Helical(_OneAxis):
    """Rotation by q [rad] about an axis with a shift of pitch q along the same axis; see `Screw` for the general form.

    Parameters
    ----------
    axis
        Direction (3,) in joint axes, normalised here.
    pitch
        Shift per angle [m/rad].
    """

    pitch: float

    def __init__(self, axis: ArrayLike, pitch: float) -> None:
        super().__init__(axis)
        set_fields(self, pitch=finite_number(pitch, "Helical.pitch", MultibodyError))

    def chain(self) -> tuple[Elementary, ...]:
        """Return one screw motion."""
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
        set_fields(
            self, w=unit_axis(w, "Screw.axis", MultibodyError), t=finite_array(t, "Screw.t", (3,), MultibodyError)
        )

    def chain(self) -> tuple[Elementary, ...]:
        """Return one screw motion."""
        return (Elementary(codes.SCREW, self.w, self.t),)


@dataclass(frozen=True)
class _Single:
    """Common part of joints of one elementary motion without parameters."""

    kind: ClassVar[int]

    @property
    def nq(self) -> int:
        """Length of the joint's slice of q."""
        return codes.NQ[self.kind]

    @property
    def nv(self) -> int:
        """Length of the joint's slice of v."""
        return codes.NV[self.kind]

    def chain(self) -> tuple[Elementary, ...]:
        """Return one motion."""
        return (Elementary(self.kind, _NONE, _NONE),)


class Spherical(_Single):
    """Any rotation: q is a unit quaternion (w, x, y, z), v the angular velocity in body axes [rad/s]."""

    kind = codes.SPHERICAL


class TranslationXYZ(_Single):
    """Shift by q = (x, y, z) [m] in joint axes."""

    kind = codes.TRANSLATION


class FloatingBase(_Single):
    """Six degrees of freedom.

    q = (x, y, z, qw, qx, qy, qz): origin [m] in joint axes and unit quaternion; v = (velocity of the body's origin in
    joint axes [m/s], angular velocity in body axes [rad/s]).
    """

    kind = codes.FLOATING


@dataclass(frozen=True)
class _Euler:
    """Rotate by q[0] about the first axis, by q[1] about the new second, by q[2] about the new third; v are the rates.

    Singular if q[1] is a quarter turn: first and third axis then coincide, and the mass matrix is singular too.
    """

    order: ClassVar[str]
    nq = 3
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """Return three rotations."""
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
class Fixed:
    """A rigid connection: the child's mass joins its parent's, its frame stays addressable by name."""

    nq = 0
    nv = 0

    def chain(self) -> tuple[Elementary, ...]:
        """Return no motion."""
        return ()


@dataclass(frozen=True, eq=False, init=False)
class Composite:
    """One to six one-axis joints, each acting in the frame after the previous one.

    Parameters
    ----------
    joints
        One-axis joints (`Revolute`, `Prismatic`, `Helical`, `Screw`), from parent to child.
    """

    joints: tuple[Joint, ...]

    def __init__(self, joints: Sequence[Joint]) -> None:
        given = tuple(joints)
        if not 1 <= len(given) <= 6:
            raise MultibodyError("Composite.joints", f"must be 1 to 6 joints, got {len(given)}")
        for i, joint in enumerate(given):
            check_type(joint, Joint, f"Composite.joints[{i}]", MultibodyError, "a joint of one axis")
            if len(joint.chain()) != 1 or joint.nv != 1 or joint.nq != 1:
                raise MultibodyError(f"Composite.joints[{i}]", f"must have one axis, got {joint!r}")
        set_fields(self, joints=given)

    @property
    def nq(self) -> int:
        """One coordinate and one velocity per axis."""
        return len(self.joints)

    nv = nq

    def chain(self) -> tuple[Elementary, ...]:
        """Return the motions of its joints."""
        return tuple(motion for joint in self.joints for motion in joint.chain())


class CustomJoint(ABC):
    """Base class of joints written in Python: set ``nq`` and ``nv`` (1 to 6) and define the three methods.

    The functions of `contactlab.multibody` evaluate the methods once per call; compiled loops cannot call them.
    """

    nq: int
    nv: int

    @abstractmethod
    def transform(self, q: FloatArray) -> Transform:
        """Return the pose of the child body in the joint frame at q (nq,)."""

    @abstractmethod
    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """Return S (6, nv): S v is the velocity of the child relative to the joint frame, child axes, angular first."""

    @abstractmethod
    def velocity_product(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return c (6,) = (dS/dt) v in child axes, with the entries of S differentiated as numbers."""

    def neutral(self) -> FloatArray:
        """Return the configuration (nq,) that `neutral` gives; zeros unless overridden."""
        return np.zeros(self.nq)

    def integrate(self, q: FloatArray, v: FloatArray, dt: float) -> FloatArray:
        """Return the configuration after moving at constant v for dt; q + v dt if nq = nv, otherwise override it."""
        return q + v * dt

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return the v (nv,) that moves q0 to q1 in unit time; q1 - q0 if nq = nv, otherwise override it."""
        return q1 - q0

    def chain(self) -> tuple[Elementary, ...]:
        """Return one motion whose numbers are evaluated in Python."""
        return (Elementary(codes.CUSTOM, _NONE, _NONE),)


def evaluated(joint: CustomJoint, method: str, shape: tuple[int, ...], *arguments: object) -> FloatArray:
    """Return the result of a method of a user's joint, a finite array of this shape; otherwise raise its name."""
    name = f"{type(joint).__name__}.{method}"
    return finite_array(getattr(joint, method)(*arguments), name, shape, MultibodyError)


#: Every joint of the package; tests and documentation are derived from this tuple.
ALL_JOINTS = (
    Revolute,
    Prismatic,
    Helical,
    Screw,
    Spherical,
    EulerZYX,
    EulerXYZ,
    EulerYXZ,
    EulerZXY,
    TranslationXYZ,
    FloatingBase,
    Fixed,
    Composite,
    CustomJoint,
)
