"""Operands of the functions of a model: the kinematics of one instant, and batches of instants.

The kinematics of one instant are computed once and used by many functions. In a batch every vector can have leading
axes, (B, nq) or more, which broadcast against each other. Results have these axes too. The numbers of a batch equal the
numbers of single calls to the last bit, whatever the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked, checked_vector, failure, kernels
from contactlab.multibody.joints import evaluated
from contactlab.multibody.kernels import CUSTOM_ROW, GOOD, NOT_FINITE, NOTHING, POSES, VELOCITIES, head_size
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    MultibodyError,
    check_type,
    check_whole,
    finite_array,
    read_only,
)
from contactlab.multibody.spatial.transform import Transform
from lcp.interruptible import map_threads

_NO_ROWS = np.zeros((0, CUSTOM_ROW))


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Poses of all bodies at one q, and velocities at one v; made by `kinematics`.

    Every function of this package with an argument ``q`` accepts a `Kinematics` in its place and, except for
    derivatives, does not compute the poses again. If it also has ``v``, pass ``kin.v`` (or None) to use the velocities
    too; for any other v they are computed from that v. A `Kinematics` is never out of date, because q and v are
    read-only copies and its arrays are not updated.

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
    """Return poses at q and, with v, velocities: once, for all functions of the same instant.

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
    code = kernels().kinematics.fill_frames(packed.ints, packed.floats, q_, speed, custom, NOTHING, until, head)
    if code != GOOD:
        raise failure(model, code, q_, ("v", speed))
    return Kinematics(model, read_only(q_), None if v is None else read_only(speed), q_, speed, custom, head)


def at_configuration(model: Model, q: Instant, size: int = 0) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Return the arguments of a kernel of q, as `at_state`: q, rows of custom joints, workspace, level of its head."""
    if type(q) is Kinematics:
        return q._q, q._custom, _copy_head(model, q, size), POSES
    configuration = checked_vector("q", q, model.nq)  # type: ignore[arg-type]  # not a Kinematics any more
    custom = custom_rows(model, configuration) if model.packed.custom else _NO_ROWS
    return configuration, custom, np.empty(size or model.packed.size), NOTHING


def at_state(
    model: Model, q: Instant, v: ArrayLike | None, size: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]:
    """Return the arguments of a kernel of q and v: q, v, rows of custom joints, workspace, and filled level.

    The workspace has the length ``size``, 0 for the usual one. The level is `NOTHING`, `POSES` or `VELOCITIES`: the
    part of the workspace that a `Kinematics` has filled already. ``v`` can be None only for a `Kinematics` with
    velocities; otherwise it raises.
    """
    if v is None and (type(q) is not Kinematics or q.v is None):
        without = "these kinematics were computed without velocities"
        why = without if type(q) is Kinematics else "only kinematics with velocities stand for both q and v"
        raise MultibodyError("v", f"is needed: {why}")
    if type(q) is Kinematics and (v is None or v is q.v):
        return q._q, q._v, q._custom, _copy_head(model, q, size), VELOCITIES
    configuration = q._q if type(q) is Kinematics else checked_vector("q", q, model.nq)  # type: ignore[arg-type]
    speed = checked_vector("v", v, model.nv)  # type: ignore[arg-type]  # not None any more
    custom = custom_rows(model, configuration, speed) if model.packed.custom else _NO_ROWS
    if type(q) is Kinematics:
        return configuration, speed, custom, _copy_head(model, q, size), POSES
    return configuration, speed, custom, np.empty(size or model.packed.size), NOTHING


_NO_VELOCITY = np.zeros(0)


def at_order(model: Model, q: Instant, v: ArrayLike | None, order: int) -> tuple[Any, ...]:
    """Return `at_state`, without velocities for order 0."""
    if order > 0:
        return at_state(model, q, v)
    configuration, *rest = at_configuration(model, q)
    return configuration, _NO_VELOCITY, *rest


def run(
    model: Model, kernel: Any, state: tuple[Any, ...], given: Sequence[tuple[str, FloatArray]], *last: object
) -> None:
    """Run a kernel of one instant; raise the error for its code.

    ``state`` is from `at_state` or `at_configuration`, ``given`` are the next arguments with their names, and ``last``
    the ones after the level of the workspace.
    """
    *motion, custom, work, ready = state
    arrays = (array for _, array in given)
    code = kernel(model.packed.ints, model.packed.floats, *motion, *arrays, custom, work, ready, *last)
    if code != GOOD:
        raise failure(model, code, motion[0], *(("v", v) for v in motion[1:]), *given)


_NO_FORCES = np.zeros((0, 6))


def external(model: Model, f_ext: ArrayLike | None) -> tuple[str, FloatArray]:
    """Return the named external forces (nb, 6), of length 0 if there are none."""
    return "f_ext", _NO_FORCES if f_ext is None else checked("f_ext", f_ext, model.nb, 6)


def _copy_head(model: Model, kin: Kinematics, size: int) -> FloatArray:
    """Return a private workspace with a filled head, so that kernels cannot change the `Kinematics`."""
    if kin.model is not model:
        raise MultibodyError("q", "these kinematics belong to another model")
    work = np.empty(size or model.packed.size)
    work[: kin._head.shape[0]] = kin._head
    return work


def custom_rows(model: Model, q: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """Return R (9), p (3), columns of S (36) and c (6) of every custom joint, one row each; c is zero without v."""
    joints = model.packed.custom
    if not joints:
        return _NO_ROWS
    # checked before the call, so that an error about a NaN does not name the joint
    check_finite("q", q)
    if v is not None:
        check_finite("v", v)
    rows = np.zeros((len(joints), CUSTOM_ROW))
    for row, (joint, iq, iv) in zip(rows, joints, strict=True):
        pose = joint.transform(q[iq])
        check_type(pose, Transform, f"{type(joint).__name__}.transform", MultibodyError)
        subspace = evaluated(joint, "motion_subspace", (6, joint.nv), q[iq])
        row[:9], row[9:12] = pose.R.ravel(), pose.p
        row[12 : 12 + 6 * joint.nv] = subspace.T.ravel()
        if v is not None:
            row[48:] = evaluated(joint, "velocity_product", (6,), q[iq], v[iv])
    return rows


# Number of links per portion of work: a few milliseconds, after which Ctrl-C is handled.
_LINKS_PER_CALL = 20_000

_MAX_INSTANTS_PER_CALL = 4096


def batched(*vectors: object, rows: object = None) -> bool:
    """Return True if an operand has more than one axis, or ``rows`` more than two, as only batches have."""
    for value in vectors:
        if value is not None and type(value) is not Kinematics and np.ndim(value) > 1:  # type: ignore[arg-type]
            return True
    return rows is not None and np.ndim(rows) > 2  # type: ignore[arg-type]


def operand(name: str, value: ArrayLike | Kinematics | None, *tail: int) -> tuple[str, FloatArray, int]:
    """Return a named float array whose last axes are ``tail``, and their number.

    A `Kinematics` stands for its q: a batch computes kinematics again.
    """
    if value is None:
        raise MultibodyError(name, "is needed")
    given = value.q if isinstance(value, Kinematics) else value
    try:
        array = np.asarray(given, dtype=None if np.iscomplexobj(given) else np.float64)
    except (TypeError, ValueError) as cause:
        raise MultibodyError(name, f"cannot be read as an array of floats ({cause})") from cause
    if array.dtype.kind == "c":
        raise MultibodyError(name, "must be real, got complex numbers")
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        wanted = f"{tail}" if array.ndim <= len(tail) else f"({', '.join(map(str, ('...', *tail)))})"
        raise MultibodyError(name, f"must have shape {wanted}, got {array.shape}")
    return name, array, len(tail)


def optional(name: str, value: ArrayLike | None, *tail: int) -> tuple[str, FloatArray, int]:
    """Return `operand`, or for None one with length 0 on the first axis of its tail, as kernels expect."""
    return (name, np.zeros((0, *tail[1:])), len(tail)) if value is None else operand(name, value, *tail)


def velocity(q: ArrayLike | Kinematics, v: ArrayLike | None, nv: int) -> tuple[str, FloatArray, int]:
    """Return `operand` of v, or for None the velocities of a `Kinematics`."""
    return operand("v", q.v if v is None and isinstance(q, Kinematics) else v, nv)


@dataclass(frozen=True, eq=False)
class BatchOperands:
    """Operands of a batch, each with one leading axis: of length B, or 1 if all instants share it."""

    model: Model
    shape: tuple[int, ...]  # the leading axes as given, also of the results
    #: names, rows: Names of the operands, for errors, and their arrays: contiguous and writable for the kernels.
    names: tuple[str, ...]
    rows: tuple[FloatArray, ...]

    @classmethod
    def of(cls, model: Model, *operands: tuple[str, FloatArray, int]) -> BatchOperands:
        """Return the operands with leading axes broadcast as in NumPy; an entry that is not finite is an error."""
        leads = [array.shape[: array.ndim - tail] for _, array, tail in operands]
        try:
            shape = np.broadcast_shapes(*leads)
        except ValueError:
            named = ", ".join(f"{name} {lead}" for (name, _, _), lead in zip(operands, leads, strict=True) if lead)
            raise MultibodyError(operands[0][0], f"leading axes do not fit together: {named}") from None
        rows = []
        for (_, array, tail), lead in zip(operands, leads, strict=True):
            entries = array.shape[array.ndim - tail :]
            if math.prod(lead) == 1:
                row = array.reshape((1, *entries))
            else:
                full = array if lead == shape else np.broadcast_to(array, (*shape, *entries))
                row = full.reshape((math.prod(shape), *entries))
            rows.append(np.require(row, requirements=["C", "A", "W"]))
        made = cls(model, tuple(shape), tuple(name for name, _, _ in operands), tuple(rows))
        for name, row in zip(made.names, made.rows, strict=True):
            if not np.isfinite(row).all():
                bad = np.argwhere(~np.isfinite(row))[0]
                entry = "".join(f"[{i}]" for i in bad[1:].tolist())
                where = made.place(int(bad[0])) if row.shape[0] > 1 else ""
                raise MultibodyError(name, f"{where}entry {entry} is {row[tuple(bad)]}, not finite")
        return made

    @property
    def count(self) -> int:
        """Number B of instants."""
        return math.prod(self.shape)

    def row(self, number: int, b: int) -> FloatArray:
        """Return the operand ``number`` of instant b."""
        rows = self.rows[number]
        return np.asarray(rows[b % rows.shape[0]])

    def shaped(self, out: FloatArray) -> FloatArray:
        """Return results (B, ...) with the leading axes as given."""
        return out.reshape((*self.shape, *out.shape[1:]))

    def custom(self) -> FloatArray:
        """Return the rows (B or 1, n, 54) of custom joints at q and, if v is the second operand, v."""
        joints = self.model.packed.custom
        if not joints or not self.count:
            return np.zeros((1, len(joints), CUSTOM_ROW))
        moving = self.names[1:2] == ("v",) and self.rows[1].shape[1] > 0
        rows = [custom_rows(self.model, self.row(0, b), self.row(1, b) if moving else None) for b in range(self.count)]
        return np.array(rows)

    def fill(self, kernel: Any, threads: int | None, operands: tuple[object, ...], out: object) -> None:
        """Run a kernel of `kernels.entries` to fill ``out``, on threads for large batches; raise for the first failure.

        Results do not depend on the number of threads, None for one per core.
        """
        wanted = os.cpu_count() or 1 if threads is None else threads
        check_whole(wanted, "threads", MultibodyError, 1)
        codes = np.full(self.count, GOOD, dtype=np.int64)
        packed = self.model.packed

        def portion(start: int, stop: int) -> None:
            kernel(packed.ints, packed.floats, operands, start, stop, np.empty(packed.size), codes, out)

        # on threads; Ctrl-C is handled between portions
        step = max(1, min(_MAX_INSTANTS_PER_CALL, _LINKS_PER_CALL // max(1, packed.nl)))
        starts = range(0, self.count, step)
        for _ in map_threads(lambda i: portion(starts[i], min(starts[i] + step, self.count)), len(starts), wanted):
            pass
        missed = np.flatnonzero(codes != GOOD)
        if missed.shape[0]:
            raise self.error(int(missed[0]), int(codes[missed[0]]))

    def place(self, b: int) -> str:
        """Return the indices of instant b, as the beginning of an error's text."""
        return f"instant {[int(i) for i in np.unravel_index(b, self.shape)]}: " if self.shape else ""

    def error(self, b: int, code: int) -> MultibodyError:
        """Return the error about instant b for a kernel's code other than `GOOD`."""
        cause = failure(self.model, code, self.row(0, b))
        return MultibodyError(cause.field, self.place(b) + cause.detail)


def fill_batch(
    many: BatchOperands,
    kernel: Any,
    threads: int | None,
    *shape: int,
    last: tuple[object, ...] = (),
) -> FloatArray:
    """Return the results (..., *shape) of a kernel of many instants for their rows, custom joints and ``last``."""
    out = np.zeros((many.count, *shape))
    many.fill(kernel, threads, (*many.rows, many.custom(), *last), out)
    return many.shaped(out)


def check_batch(many: BatchOperands, out: FloatArray) -> None:
    """Raise for the first instant whose result is not finite."""
    bad = np.flatnonzero(~np.isfinite(out).all(axis=-1))
    if bad.shape[0]:
        raise many.error(int(bad[0]), NOT_FINITE)
