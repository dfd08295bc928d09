"""Data of joints beyond their motion: limits, friction, coupling. They never enter the dynamics.

Inverse kinematics uses the limits, worlds use stops and friction, and controllers use the effort.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked
from contactlab.multibody.joints import Joint
from contactlab.multibody.kernels import codes
from contactlab.multibody.spatial.arrays import FloatArray, read_only
from contactlab.multibody.spatial.errors import MultibodyError, close_names

if TYPE_CHECKING:
    from contactlab.multibody.model import Model


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of degrees of freedom, infinite if there is none.

    Each is one number for all degrees of freedom of a joint, or an array, (nv,); the data of a model are arrays.

    Attributes
    ----------
    lower, upper
        Smallest and largest position [rad or m]; infinite for orientations.
    velocity, effort
        Largest speed [rad/s or m/s] and largest force or torque [N or N m], not negative.

    Raises
    ------
    MultibodyError
        NaN, a lower end above the upper, a negative speed or effort.
    """

    lower: ArrayLike = -math.inf
    upper: ArrayLike = math.inf
    velocity: ArrayLike = math.inf
    effort: ArrayLike = math.inf

    def __post_init__(self) -> None:
        for one in fields(self):
            try:
                value = np.array(getattr(self, one.name), dtype=np.float64)
            except (TypeError, ValueError) as cause:
                raise MultibodyError(f"limits.{one.name}", f"cannot be read as floats ({cause})") from cause
            if value.ndim > 1 or np.isnan(value).any():
                raise MultibodyError(f"limits.{one.name}", f"must be numbers, one or (nv,), got {value}")
            if one.name in ("velocity", "effort") and np.any(value < 0.0):
                raise MultibodyError(f"limits.{one.name}", f"must not be negative, got {float(value.min())}")
            object.__setattr__(self, one.name, read_only(value))

    def of(self, joint: Joint) -> JointLimits:
        """Return a checked copy with one number per degree of freedom of a joint."""
        try:
            spread = JointLimits(*(np.broadcast_to(getattr(self, one.name), (joint.nv,)) for one in fields(self)))
        except ValueError as cause:
            raise MultibodyError("limits", f"must be numbers or ({joint.nv},) for this joint: {cause}") from cause
        lower, upper = np.asarray(spread.lower), np.asarray(spread.upper)
        if np.any(lower > upper):
            i = int(np.argmax(lower > upper))
            raise MultibodyError("limits", f"lower {lower[i]:g} exceeds upper {upper[i]:g}")
        for i, place in enumerate(positions(joint)):
            if place is None and (math.isfinite(lower[i]) or math.isfinite(upper[i])):
                raise MultibodyError("limits", f"coordinate {i} is part of an orientation: it has no position")
        return spread

    def ranges(self) -> list[tuple[int, float, float]]:
        """Return index, lower and upper end of every degree of freedom with at least one finite limit."""
        ends = zip(np.ravel(self.lower).tolist(), np.ravel(self.upper).tolist(), strict=True)
        return [(k, low, high) for k, (low, high) in enumerate(ends) if math.isfinite(low) or math.isfinite(high)]

    @classmethod
    def joined(cls, parts: Iterable[JointLimits]) -> JointLimits:
        """Return the limits of several joints, one after the other."""
        listed = list(parts)
        return cls(*(np.concatenate([np.zeros(0), *(getattr(p, one.name) for p in listed)]) for one in fields(cls)))


def positions(joint: Joint) -> list[int | None]:
    """Return, for each velocity of a joint, the index of the coordinate with this rate; None for orientations."""
    found: list[int | None] = []
    at = 0
    for motion in joint.chain():
        if motion.kind == codes.CUSTOM:
            nq, nv = joint.nq, joint.nv
            found += range(nq) if nq == nv else [None] * nv
            at += nq
            continue
        straight = motion.nv if motion.nq == motion.nv else 3 if motion.kind == codes.FLOATING else 0
        found += [at + i if i < straight else None for i in range(motion.nv)]
        at += motion.nq
    return found


@dataclass(frozen=True)
class Mimic:
    """A coordinate that follows another: ``multiplier`` times the coordinate of ``joint``, plus ``offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class JointData:
    """One joint of a description.

    Attributes
    ----------
    name, kind
        Name and type as written ("revolute", "continuous", ...).
    parent, body
        The links it connects; the body named ``body`` moves.
    q, v
        Slices of its coordinates and velocities in the model's; empty for a fixed joint.
    lower, upper
        Smallest and largest position [rad or m]; infinite if there is none.
    effort, velocity
        Largest force or torque [N or N m] and speed [rad/s or m/s]; infinite if none is given.
    damping, friction
        Viscous coefficient [N m s/rad or N s/m] and static friction [N m or N]; zero if none is given.
    mimic
        The coordinate it follows, if any.
    """

    name: str
    kind: str
    parent: str
    body: str
    q: slice
    v: slice
    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True, eq=False)
class MimicCoupling:
    """The mimic relations of a model as linear constraints on its velocity.

    Attributes
    ----------
    joints
        The joints that follow, one per row.
    G
        (m, nv): G v = 0 keeps the relations; 1 at the joint that follows, -multiplier at the one it follows.
    error
        (m,) value of the joint less the value of its relation [rad or m], at the configuration it was made for.
    """

    joints: tuple[str, ...]
    G: FloatArray
    error: FloatArray


def _data(model: Model) -> Mapping[str, JointData]:
    """Return the joints of the model's description by name, none for a model without a description."""
    data: Mapping[str, JointData] = getattr(model, "joint_data", {})
    return data


def position_limits(model: Model) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest q, (nq,) each; infinite if a coordinate has no limit (quaternions have none)."""
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for one in model.bodies:
        first = model.q_slice(one.name).start
        for k, at in enumerate(positions(one.joint)):
            if at is not None:
                lower[first + at] = np.asarray(one.limits.lower)[k]
                upper[first + at] = np.asarray(one.limits.upper)[k]
    return lower, upper


def _per_velocity(model: Model, attribute: str, default: float) -> FloatArray:
    """Return an attribute of the joints for each degree of freedom (nv,), ``default`` for joints without data."""
    out = np.full(model.nv, default)
    for joint in _data(model).values():
        out[joint.v] = getattr(joint, attribute)
    return out


def velocity_limits(model: Model) -> FloatArray:
    """Return the largest speeds (nv,) [rad/s or m/s]; infinite if none is given."""
    return np.array(model.limits.velocity)


def effort_limits(model: Model) -> FloatArray:
    """Return the largest joint forces (nv,) [N m or N]; infinite if none is given."""
    return np.array(model.limits.effort)


def joint_damping(model: Model) -> FloatArray:
    """Return the viscous coefficients (nv,) [N m s/rad or N s/m]: joint force per velocity, against the velocity."""
    return _per_velocity(model, "damping", 0.0)


def joint_friction(model: Model) -> FloatArray:
    """Return the static friction (nv,) [N m or N]."""
    return _per_velocity(model, "friction", 0.0)


#: Kinds of joints with one coordinate.
ONE_AXIS = ("revolute", "continuous", "prismatic")


def followers(data: Mapping[str, JointData]) -> list[tuple[JointData, JointData, Mimic]]:
    """Return followers with the joints that they follow; joints that are followed themselves come first.

    The field of an error is the name of a joint.
    """
    relations: dict[str, tuple[JointData, JointData, Mimic]] = {}
    for joint in data.values():
        if joint.mimic is None:
            continue
        name = joint.mimic.joint
        if name not in data:
            detail = f"mimics joint {name[:60]!r}, which is not there{close_names(name, data)}"
            raise MultibodyError(joint.name, detail)
        if data[name].kind not in ONE_AXIS:
            raise MultibodyError(joint.name, f"mimics joint {name[:60]!r}, which is {data[name].kind}")
        relations[joint.name] = (joint, data[name], joint.mimic)
    above = {name: (followed.name,) for name, (_, followed, _) in relations.items()}
    try:
        return [relations[name] for name in TopologicalSorter(above).static_order() if name in relations]
    except CycleError as error:
        path = " -> ".join(repr(name[:60]) for name in error.args[1][::-1][:9])
        raise MultibodyError(error.args[1][0], f"mimics itself: {path}") from None


def apply_mimic(model: Model, q: ArrayLike) -> FloatArray:
    """Return a copy of q (nq,) in which every joint that mimics another satisfies its relation.

    Mimicking joints keep their own degree of freedom. They are moved after the joints they follow. Without mimic
    relations the copy equals q.
    """
    out = np.array(checked("q", q, model.nq))
    check_finite("q", out)
    for joint, followed, relation in followers(_data(model)):
        out[joint.q] = relation.multiplier * out[followed.q] + relation.offset
    return out


def mimic_coupling(model: Model, q: ArrayLike) -> MimicCoupling:
    """Return the mimic relations as rows G v = 0 with their position errors at q (nq,), for a constraint solver."""
    at = checked("q", q, model.nq)
    check_finite("q", at)
    relations = sorted(followers(_data(model)), key=lambda one: list(_data(model)).index(one[0].name))
    G, error = np.zeros((len(relations), model.nv)), np.zeros(len(relations))
    for row, (joint, followed, relation) in enumerate(relations):
        G[row, joint.v], G[row, followed.v] = 1.0, -relation.multiplier
        error[row] = at[joint.q][0] - (relation.multiplier * at[followed.q][0] + relation.offset)
    return MimicCoupling(tuple(joint.name for joint, _, _ in relations), G, error)
