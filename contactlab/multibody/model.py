"""A model of bodies and joints, built once and never changed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.joints import CustomJoint, Joint
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.spatial.inertia import RigidInertia
from contactlab.spatial.transform import Transform

__all__ = ["WORLD", "BodySpec", "Model", "PackedModel"]

#: Name of the frame every model stands in.
WORLD = "world"


@dataclass(frozen=True, eq=False)
class BodySpec:
    """One body as it was added.

    Attributes
    ----------
    name, parent
        Its name and its parent's, "world" for none.
    joint
        How it moves relative to its parent.
    placement
        Pose of the joint frame in the parent body.
    inertia
        None for a body without mass.
    """

    name: str
    parent: str
    joint: Joint
    placement: Transform
    inertia: RigidInertia | None


@dataclass(frozen=True, eq=False)
class PackedModel:
    """The buffers the kernels take; see `contactlab.multibody.kernels.layout`. Not to be modified.

    Attributes
    ----------
    ints, floats
        The model.
    nl
        Number of links.
    custom
        The custom joints with the slices of q and v they own, in the order of their rows.
    chain
        Whether the tree branches so little that a dense factorisation of M beats a sparse one.
    """

    ints: NDArray[np.int64]
    floats: FloatArray
    nl: int
    custom: tuple[tuple[CustomJoint, slice, slice], ...]
    chain: bool


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies, joints and gravity. Made by `ModelBuilder.build` or `Model.from_urdf`.

    Attributes
    ----------
    bodies
        `BodySpec` of every added body, fixed ones included, in the order added.
    gravity
        (3,) [m/s^2], world axes.
    nq, nv
        Lengths of q and v.
    packed
        What the kernels take.
    """

    bodies: tuple[BodySpec, ...]
    gravity: FloatArray
    nq: int
    nv: int
    packed: PackedModel = field(repr=False)
    _index: dict[str, int] = field(repr=False)
    _q_start: tuple[int, ...] = field(repr=False)
    _v_start: tuple[int, ...] = field(repr=False)

    @property
    def nb(self) -> int:
        """Number of added bodies: rows of ``f_ext``."""
        return len(self.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies, in the order added."""
        return tuple(body.name for body in self.bodies)

    @property
    def mass(self) -> float:
        """Mass of all bodies [kg], those fixed to the world included."""
        return float(sum(body.inertia.mass for body in self.bodies if body.inertia is not None))

    @property
    def neutral(self) -> FloatArray:
        """The configuration (nq,) of zeros and identity rotations (what a `CustomJoint` says for itself)."""
        from contactlab.multibody.configuration import neutral

        return neutral(self)

    def index(self, name: str) -> int:
        """Place of a body in the order added; -1 for the world. An unknown name raises, with the close ones."""
        if name == WORLD:
            return -1
        found = self._index.get(name)
        if found is None:
            close = difflib.get_close_matches(str(name), [WORLD, *self._index], n=3, cutoff=0.5)
            hint = f"; close: {', '.join(map(repr, close))}" if close else f"; there are {len(self._index)} bodies"
            raise MultibodyError("body", f"no body is called {name!r}{hint}")
        return found

    def q_slice(self, name: str) -> slice:
        """Where the joint of a body stands in q."""
        i = self._moving(name)
        return slice(self._q_start[i], self._q_start[i] + self.bodies[i].joint.nq)

    def v_slice(self, name: str) -> slice:
        """Where the joint of a body stands in v."""
        i = self._moving(name)
        return slice(self._v_start[i], self._v_start[i] + self.bodies[i].joint.nv)

    def _moving(self, name: str) -> int:
        i = self.index(name)
        if i < 0:
            raise MultibodyError("body", "the world has no joint")
        return i

    def __repr__(self) -> str:
        return f"Model({self.nb} bodies, nq={self.nq}, nv={self.nv})"


def frozen_gravity(gravity: FloatArray) -> FloatArray:
    """A read-only view."""
    return read_only(gravity)
