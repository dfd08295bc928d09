"""The kinematics of one instant, computed once and used by many functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked_vector, failure
from contactlab.multibody.entries import kernels
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, POSES, VELOCITIES, head_size
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.errors import MultibodyError
from contactlab.spatial.transform import Transform

_NO_ROWS = np.zeros((0, CUSTOM_ROW))


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Poses of all bodies at one q, and velocities at one v; made by `kinematics`.

    Every function of this package that takes ``q`` takes a `Kinematics` in its place and does not compute the poses
    again. Where it also takes ``v``, pass ``kin.v`` (or None) to use the velocities too; for any other v they are
    computed from that v. Nothing can be out of date: q and v are copies that cannot be written to, and nothing is
    updated in place.

    Attributes
    ----------
    model
        The model.
    q
        Configuration (nq,), read-only.
    v
        Velocity (nv,), read-only; None if only poses were computed.
    """

    model: Model
    q: FloatArray
    v: FloatArray | None
    _q: FloatArray = field(repr=False)
    _v: FloatArray = field(repr=False)
    _custom: FloatArray = field(repr=False)
    _head: FloatArray = field(repr=False)


#: Accepted types of ``q`` in every function of one instant.
Instant: TypeAlias = ArrayLike | Kinematics


def kinematics(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Kinematics:
    """Poses at q and, with v, velocities: once, for all functions of the same instant.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration.
    v
        (nv,) velocity.

    Examples
    --------
    >>> kin = kinematics(model, q, v)
    >>> M = mass_matrix(model, kin)
    >>> h = nonlinear_effects(model, kin, kin.v)
    """
    q_ = finite_array(q, "q", (model.nq,), MultibodyError)
    speed = np.zeros(model.nv) if v is None else finite_array(v, "v", (model.nv,), MultibodyError)
    custom = custom_rows(model, q_, None if v is None else speed)
    packed = model.packed
    head = np.zeros(head_size(packed.nl, model.nv))
    until = POSES if v is None else VELOCITIES
    code = kernels().velocities.fill_frames(packed.ints, packed.floats, q_, speed, custom, NOTHING, until, head)
    if code != GOOD:
        raise failure(model, code, q_, ("v", speed))
    return Kinematics(model, read_only(q_), None if v is None else read_only(speed), q_, speed, custom, head)


def at_configuration(model: Model, q: Instant, size: int) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Arguments of a kernel of q: q, rows of custom joints, a workspace of ``size`` and how far its head is filled."""
    if type(q) is Kinematics:
        return q._q, q._custom, _copied(model, q, size), POSES
    configuration = checked_vector("q", q, model.nq)  # type: ignore[arg-type]  # not a Kinematics any more
    custom = custom_rows(model, configuration) if model.packed.custom else _NO_ROWS
    return configuration, custom, np.empty(size), NOTHING


def at_state(
    model: Model, q: Instant, v: ArrayLike | None, size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]:
    """Arguments of a kernel of q and v: q, v, rows of custom joints, a workspace and how far its head is filled."""
    if type(q) is Kinematics:
        return _at_kinematics(model, q, v, size)
    if v is None:
        raise MultibodyError("v", "is needed: only kinematics with velocities stand for both q and v")
    configuration = checked_vector("q", q, model.nq)  # type: ignore[arg-type]
    speed = checked_vector("v", v, model.nv)
    custom = custom_rows(model, configuration, speed) if model.packed.custom else _NO_ROWS
    return configuration, speed, custom, np.empty(size), NOTHING


def _at_kinematics(
    model: Model, kin: Kinematics, v: ArrayLike | None, size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]:
    if v is None and kin.v is None:
        raise MultibodyError("v", "is needed: these kinematics were computed without velocities")
    if v is None or v is kin.v:
        return kin._q, kin._v, kin._custom, _copied(model, kin, size), VELOCITIES
    speed = checked_vector("v", v, model.nv)
    custom = custom_rows(model, kin._q, speed) if model.packed.custom else _NO_ROWS
    return kin._q, speed, custom, _copied(model, kin, size), POSES


def _copied(model: Model, kin: Kinematics, size: int) -> FloatArray:
    """Return a workspace of one's own, its head filled: kernels may write to it, the `Kinematics` stays as it is."""
    if kin.model is not model:
        raise MultibodyError("q", "these kinematics belong to another model")
    work = np.empty(size)
    work[: kin._head.shape[0]] = kin._head
    return work


def custom_rows(model: Model, q: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """R (9), p (3), columns of S (36) and c (6) of every custom joint, one row each; c is zero without v."""
    joints = model.packed.custom
    if not joints:
        return _NO_ROWS
    # Before the joint sees them: what it makes of a NaN would be blamed on the joint.
    check_finite("q", q)
    if v is not None:
        check_finite("v", v)
    rows = np.zeros((len(joints), CUSTOM_ROW))
    for row, (joint, iq, iv) in zip(rows, joints, strict=True):
        name = type(joint).__name__
        pose = joint.transform(q[iq])
        if not isinstance(pose, Transform):
            raise MultibodyError(f"{name}.transform", f"must return a Transform, got {type(pose).__name__}")
        subspace = finite_array(joint.motion_subspace(q[iq]), f"{name}.motion_subspace", (6, joint.nv), MultibodyError)
        row[:9], row[9:12] = pose.R.ravel(), pose.p
        row[12 : 12 + 6 * joint.nv] = subspace.T.ravel()
        if v is not None:
            product = joint.velocity_product(q[iq], v[iv])
            row[48:] = finite_array(product, f"{name}.velocity_product", (6,), MultibodyError)
    return rows
