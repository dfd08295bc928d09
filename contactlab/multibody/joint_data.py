"""Data of joints beyond their motion: limits, friction, coupling. They never enter the dynamics.

Inverse kinematics uses the limits, worlds use stops and friction, and controllers use the effort.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, close_names


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
    limits, at = model.limits, model.position_index
    lower[at[at >= 0]], upper[at[at >= 0]] = np.asarray(limits.lower)[at >= 0], np.asarray(limits.upper)[at >= 0]
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
