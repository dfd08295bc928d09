"""Many instants of one model at once: leading axes made one, work spread over threads, errors that say which one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import failure
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import CUSTOM_ROW
from contactlab.multibody.kinematics import Kinematics, custom_rows
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import MultibodyError
from lcp.hearing import on_threads

if TYPE_CHECKING:
    from contactlab.multibody.model import Model

# Links per portion of work: a few milliseconds, after which Ctrl-C is heeded.
_PORTION = 20_000
_WIDEST = 4096


def batched(*vectors: object, rows: object = None) -> bool:
    """Return True if one of these has more than one axis, or ``rows`` more than two: those of one instant do not."""
    if rows is not None and np.ndim(rows) > 2:  # type: ignore[arg-type]
        return True
    for value in vectors:
        if type(value) is np.ndarray:
            if value.ndim > 1:
                return True
        elif value is not None and type(value) is not Kinematics and np.ndim(value) > 1:  # type: ignore[arg-type]
            return True
    return False


def operand(name: str, value: ArrayLike | Kinematics | None, *tail: int) -> tuple[str, FloatArray, int]:
    """Return a named float array whose last axes are ``tail``, and their number.

    A `Kinematics` stands for its q: a batch computes kinematics again.
    """
    if value is None:
        raise MultibodyError(name, "is needed")
    given = value.q if isinstance(value, Kinematics) else value
    try:
        if np.iscomplexobj(given):
            raise MultibodyError(name, "must be real, got complex numbers")
        array = np.asarray(given, dtype=np.float64)
    except MultibodyError:
        raise
    except (TypeError, ValueError) as cause:
        raise MultibodyError(name, f"cannot be read as an array of floats ({cause})") from cause
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        shape = ", ".join(map(str, ("...", *tail)))
        raise MultibodyError(name, f"must have shape ({shape}), got {array.shape}")
    return name, array, len(tail)


def optional(name: str, value: ArrayLike | None, *tail: int) -> tuple[str, FloatArray, int]:
    """`operand`, None standing for none: the first axis of its tail then has length 0, which kernels understand."""
    return (name, np.zeros((0, *tail[1:])), len(tail)) if value is None else operand(name, value, *tail)


def velocity(q: ArrayLike | Kinematics, v: ArrayLike | None, nv: int) -> tuple[str, FloatArray, int]:
    """`operand` of v, None standing for the velocities of a `Kinematics`."""
    return operand("v", q.v if v is None and isinstance(q, Kinematics) else v, nv)


@dataclass(frozen=True, eq=False)
class BatchOperands:
    """Operands of a batch, each with one leading axis: of length B, or 1 where all instants share it."""

    model: Model
    shape: tuple[int, ...]  # the leading axes as given, which results have too
    #: names, rows: Names of the operands, for errors, and their arrays: contiguous and writable, as the kernels want
    #: them.
    names: tuple[str, ...]
    rows: tuple[FloatArray, ...]

    @classmethod
    def of(cls, model: Model, *operands: tuple[str, FloatArray, int]) -> BatchOperands:
        """Leading axes broadcast against each other as numpy does; an entry that is not finite is an error."""
        leads = [array.shape[: array.ndim - tail] for _, array, tail in operands]
        try:
            shape = np.broadcast_shapes(*leads)
        except ValueError:
            named = ", ".join(f"{name} {lead}" for (name, _, _), lead in zip(operands, leads, strict=True))
            raise MultibodyError(operands[0][0], f"leading axes do not fit together: {named}") from None
        rows = []
        for (_, array, tail), lead in zip(operands, leads, strict=True):
            entries = array.shape[array.ndim - tail :]
            if int(np.prod(lead, dtype=np.int64)) == 1:
                row = array.reshape((1, *entries))
            else:
                full = array if lead == shape else np.broadcast_to(array, (*shape, *entries))
                row = full.reshape((int(np.prod(shape, dtype=np.int64)), *entries))
            rows.append(np.require(row, requirements=["C", "A", "W"]))
        made = cls(model, tuple(shape), tuple(name for name, _, _ in operands), tuple(rows))
        for name, row in zip(made.names, made.rows, strict=True):
            if not np.isfinite(row).all():
                bad = np.argwhere(~np.isfinite(row))[0]
                entry = "".join(f"[{i}]" for i in bad[1:].tolist())
                where = made.place(int(bad[0])) if row.shape[0] > 1 else ""
                raise MultibodyError(name, f"{where}entry {entry} is {row[tuple(bad)]}, not finite")
        return made

    @classmethod
    def of_dynamics(
        cls,
        model: Model,
        q: ArrayLike | Kinematics,
        v: ArrayLike | None,
        given: tuple[str, FloatArray, int],
        f_ext: ArrayLike | None,
    ) -> BatchOperands:
        """Those of q, v, accelerations or forces given, and external forces."""
        outside = optional("f_ext", f_ext, model.nb, 6)
        return cls.of(model, operand("q", q, model.nq), velocity(q, v, model.nv), given, outside)

    @property
    def count(self) -> int:
        """Number B of instants."""
        return int(np.prod(self.shape, dtype=np.int64))

    def row(self, number: int, b: int) -> FloatArray:
        """Operand ``number`` of instant b."""
        rows = self.rows[number]
        return np.asarray(rows[b % rows.shape[0]])

    def shaped(self, out: FloatArray) -> FloatArray:
        """Results (B, ...) with the leading axes as given."""
        return out.reshape((*self.shape, *out.shape[1:]))

    def custom(self) -> FloatArray:
        """Rows (B or 1, n, 54) of custom joints, evaluated in Python at q and, where it is the second operand, v."""
        joints = self.model.packed.custom
        if not joints or not self.count:
            return np.zeros((1, len(joints), CUSTOM_ROW))
        moving = self.names[1:2] == ("v",) and self.rows[1].shape[1] > 0
        rows = [custom_rows(self.model, self.row(0, b), self.row(1, b) if moving else None) for b in range(self.count)]
        return np.array(rows)

    def fill(self, kernel: Any, size: int, threads: int | None, operands: tuple[object, ...], out: object) -> None:
        """Have a kernel of `kernels.batch` fill ``out``, on threads where that is much; raise for the first failure.

        ``size`` is the length of the workspace that one instant needs. Results do not depend on the number of threads,
        None for one per core.
        """
        wanted: object = os.cpu_count() or 1 if threads is None else threads  # whatever the caller's types say
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or wanted < 1:
            raise MultibodyError("threads", f"must be a whole number >= 1, got {threads!r}")
        codes = np.full(self.count, GOOD, dtype=np.int64)
        packed = self.model.packed

        def portion(bounds: tuple[int, int]) -> None:
            kernel(packed.ints, packed.floats, operands, *bounds, np.empty(size), codes, out)

        _run_portions(portion, self.count, max(1, min(_WIDEST, _PORTION // max(1, packed.nl))), int(wanted))
        missed = np.flatnonzero(codes != GOOD)
        if missed.shape[0]:
            raise self.error(int(missed[0]), int(codes[missed[0]]))

    def place(self, b: int) -> str:
        """Indices of instant b, as the beginning of an error's text."""
        return f"instant {[int(i) for i in np.unravel_index(b, self.shape)]}: " if self.shape else ""

    def error(self, b: int, code: int) -> MultibodyError:
        """Error about instant b for a kernel's code other than `GOOD`."""
        cause = failure(self.model, code, self.row(0, b))
        return MultibodyError(cause.field, self.place(b) + cause.detail)


def _run_portions(portion: Callable[[tuple[int, int]], None], count: int, size: int, workers: int) -> None:
    """Call ``portion`` with (start, stop) over all of ``count``, on threads, heeding Ctrl-C between portions."""
    starts = range(0, count, size)
    for _ in on_threads(lambda i: portion((starts[i], min(starts[i] + size, count))), len(starts), workers):
        pass
