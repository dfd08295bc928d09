"""The edge between users and kernels: arrays checked at a fraction of a microsecond each, codes made errors.

Configurations and velocities from a user's hand are checked with the body at fault named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, SINGULAR
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.spatial.errors import MultibodyError

if TYPE_CHECKING:
    from contactlab.multibody.model import Model
import math
from collections.abc import Callable

from contactlab.multibody.model import Model

_FLOAT64 = np.dtype(np.float64)


def checked(name: str, value: ArrayLike, *shape: int) -> FloatArray:
    """``value`` as a contiguous, writable-typed float64 array of the given shape; itself where it is one already.

    A wrong shape or type raises a `MultibodyError` naming the argument. Finiteness is left to whoever uses the numbers:
    `check_finite`, or the kernels.
    """
    # carray: C-contiguous, aligned and writeable.
    if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.shape == shape and value.flags.carray:
        return value
    try:
        array = np.asarray(value)
    except ValueError as cause:
        raise MultibodyError(name, f"cannot be read as an array of floats ({cause})") from cause
    if array.shape != shape:
        raise MultibodyError(name, f"must have shape {shape}, got {array.shape}")
    # A read-only array is another type to a compiled kernel, which does not write to it either.
    return finite_array(array, name, shape, MultibodyError)


def checked_vector(name: str, value: ArrayLike, n: int) -> FloatArray:
    """`checked` for the shape (n,), in the order of tests that is fastest."""
    if (
        type(value) is np.ndarray
        and value.dtype is _FLOAT64
        and value.flags.carray
        and value.ndim == 1
        and len(value) == n
    ):
        return value
    return checked(name, value, n)


def check_finite(name: str, array: FloatArray) -> None:
    """Name the first entry that is not finite."""
    bad = np.flatnonzero(~np.isfinite(array.ravel()))
    if bad.shape[0]:
        raise MultibodyError(name, f"entry [{int(bad[0])}] is {array.ravel()[bad[0]]}, not finite")


def bad_configuration(model: Model, q: FloatArray, at: int) -> MultibodyError:
    """Error about q where the kinematics stopped: an entry that is not finite, or no unit quaternion."""
    try:
        check_finite("q", q)
    except MultibodyError as error:
        return error
    owner = next(
        (b.name for b in model.bodies if b.joint.nq and model.q_slice(b.name).start <= at < model.q_slice(b.name).stop),
        "?",
    )
    length = float(np.linalg.norm(q[at : at + 4]))
    detail = f"entries [{at}:{at + 4}], the quaternion of {owner!r}, have length {length:.9g}, not 1"
    return MultibodyError("q", f"{detail}: w, x, y, z (see normalize)")


def failure(model: Model, code: int, q: FloatArray, *others: tuple[str, FloatArray]) -> MultibodyError:
    """Error for a kernel's code: the first entry that is not finite, a bad quaternion, or a joint without inertia."""
    for name, array in (("q", q), *others):
        try:
            check_finite(name, array)
        except MultibodyError as error:
            return error
    if code >= 0:
        return bad_configuration(model, q, code)
    if code in (GOOD, NOT_FINITE):
        return MultibodyError("q", "the entries are finite but so large that the result is not")
    return singular_joint(model, SINGULAR - code)


def singular_joint(model: Model, dof: int) -> MultibodyError:
    """Error for a degree of freedom along which nothing resists."""
    for body in model.bodies:
        place = model.v_slice(body.name)
        if place.start <= dof < place.stop:
            joint = type(body.joint).__name__
            hint = "; Euler angles at their singularity? Spherical has none" if joint.startswith("Euler") else ""
            return MultibodyError(
                "q",
                f"the mass matrix is singular: v[{dof}], of the {joint} joint of {body.name!r}, moves no mass{hint}",
            )
    return MultibodyError("q", f"the mass matrix is singular at v[{dof}]")


# Largest deviation of the length of a quaternion from 1; rounding is below 1e-15 per step.
UNIT_TOLERANCE = 1e-6


def check_configuration(model: Model, q: ArrayLike) -> FloatArray:
    """Return a copy of ``q`` (nq,); a `MultibodyError` names a bad entry, or the body of a quaternion not of length 1.

    Quaternions are left as they are: the kinematics divide their length out, see `normalize`.
    """
    try:
        array = _checked(q, "q", model.nq, lambda: [(body.name, model.q_slice(body.name)) for body in model.bodies])
    except MultibodyError as error:
        floats = any(body.joint.nq == 7 for body in model.bodies)
        if not floats or not error.detail.startswith("must have shape"):
            raise
        detail = f"{error.detail}; a free body or floating base has seven: x, y, z and the quaternion w, x, y, z"
        raise MultibodyError("q", detail) from None
    for at in model.quaternion_starts:
        if not abs(math.hypot(*array[at : at + 4].tolist()) - 1.0) <= UNIT_TOLERANCE:
            raise bad_configuration(model, array, at)
    return array


def check_velocity(model: Model, v: ArrayLike, field: str = "v") -> FloatArray:
    """Return a copy of ``v`` (nv,), or of any vector of that length; a `MultibodyError` names a bad entry."""
    return _checked(v, field, model.nv, lambda: [(body.name, model.v_slice(body.name)) for body in model.bodies])


def _checked(value: ArrayLike, field: str, n: int, owners: Callable[[], list[tuple[str, slice]]]) -> FloatArray:
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.shape == (n,) and not np.all(np.isfinite(array)):
        entry = int(np.argmin(np.isfinite(array)))
        name = next(name for name, place in owners() if place.start <= entry < place.stop)
        raise MultibodyError(field, f"entry [{entry}] (body {name!r}) is {array[entry]}, not finite")
    return finite_array(value, field, (n,), MultibodyError)
