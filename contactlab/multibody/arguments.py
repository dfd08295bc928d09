"""Argument checks, compiled entry points, and errors made from return codes of kernels.

An array is checked in a fraction of a microsecond. Errors about configurations and velocities name the body at fault.
Kernels are imported late. The entry for the usual call accepts one signature only.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.kernels import GOOD, NOT_FINITE, SINGULAR
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, finite_array

if TYPE_CHECKING:
    from contactlab.multibody.bodies import BodySpec
    from contactlab.multibody.model import Model


_FLOAT64 = np.dtype(np.float64)


def checked(name: str, value: ArrayLike, *shape: int) -> FloatArray:
    """Return ``value`` as a contiguous float64 array of the given shape; itself if it is one already.

    A wrong shape or type raises a `MultibodyError` naming the argument. The caller checks that numbers are finite:
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
    """Return `checked` for the shape (n,), in the order of tests that is fastest."""
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
    """Raise `MultibodyError` with the first entry that is not finite, if there is one."""
    bad = np.flatnonzero(~np.isfinite(array.ravel()))
    if bad.shape[0]:
        raise MultibodyError(name, f"entry [{int(bad[0])}] is {array.ravel()[bad[0]]}, not finite")


def bad_configuration(model: Model, q: FloatArray, at: int) -> MultibodyError:
    """Return the error about q at which the kinematics stopped: an entry that is not finite, or no unit quaternion."""
    try:
        check_finite("q", q)
    except MultibodyError as error:
        return error
    name = body_of_entry(model, at, model.q_slice).name
    length = float(np.linalg.norm(q[at : at + 4]))
    detail = f"entries [{at}:{at + 4}], the quaternion of {name!r}, have length {length:.9g}, not 1"
    return MultibodyError("q", f"{detail}: w, x, y, z (see normalize)")


def failure(model: Model, code: int, q: FloatArray, *others: tuple[str, FloatArray]) -> MultibodyError:
    """Return the error for a kernel's code: an infinite entry, a bad quaternion, or a joint without inertia."""
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
    """Return the error for a degree of freedom without inertia."""
    body = body_of_entry(model, dof, model.v_slice)
    joint = type(body.joint).__name__
    hint = "; Euler angles at their singularity? Spherical has none" if joint.startswith("Euler") else ""
    detail = f"the mass matrix is singular: v[{dof}], of the {joint} joint of {body.name!r}, moves no mass{hint}"
    return MultibodyError("q", detail)


def body_of_entry(model: Model, entry: int, place: Callable[[str], slice]) -> BodySpec:
    """Return the body whose joint owns an entry of q or v; ``place`` is `Model.q_slice` or `Model.v_slice`."""
    return next(body for body in model.bodies if place(body.name).start <= entry < place(body.name).stop)


# Largest deviation of the length of a quaternion from 1; rounding is below 1e-15 per step.
UNIT_TOLERANCE = 1e-6


def check_configuration(model: Model, q: ArrayLike) -> FloatArray:
    """Return a copy of ``q`` (nq,); a `MultibodyError` names a bad entry, or the body of a quaternion not of length 1.

    Quaternions are left as they are: the kinematics divide their length out, see `normalize`.
    """
    try:
        array = _finite_vector(model, q, "q", model.nq, model.q_slice)
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
    return _finite_vector(model, v, field, model.nv, model.v_slice)


def _finite_vector(model: Model, value: ArrayLike, field: str, n: int, place: Callable[[str], slice]) -> FloatArray:
    """Return a vector as a private array (n,); an entry that is not finite raises, naming the body that owns it."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.shape == (n,) and not np.all(np.isfinite(array)):
        entry = int(np.argmin(np.isfinite(array)))
        name = body_of_entry(model, entry, place).name
        raise MultibodyError(field, f"entry [{entry}] (body {name!r}) is {array[entry]}, not finite")
    return finite_array(value, field, (n,), MultibodyError)


#: Argument in place of a workspace: the kernel uses one on its stack, for models that are ``compact``.
ON_STACK = np.empty(0)


@functools.cache
def kernels() -> Any:
    """Return `contactlab.multibody.kernels` with the modules that Python calls; numba comes with them."""
    import contactlab.multibody.kernels.centroidal
    import contactlab.multibody.kernels.dynamics
    import contactlab.multibody.kernels.entries
    import contactlab.multibody.kernels.integration
    import contactlab.multibody.kernels.kinematics
    import contactlab.multibody.kernels.mass_matrix
    import contactlab.multibody.kernels.points

    return contactlab.multibody.kernels


class Entry:
    """A compiled function, ``call``, that is imported, and compiled, when it is called for the first time.

    Access to an attribute takes half the time of a call of a cached function.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    @functools.cached_property
    def call(self) -> Any:
        """Return the function; it is loaded once."""
        return self._load()


def fast_entry(name: str, *ndims: int) -> Entry:
    """Return a kernel of `kernels.entries`, compiled on its first call for ints, floats and arrays of ``ndims``."""
    return Entry(lambda: single_signature(getattr(kernels().entries, name), 1, (1, *ndims)))


def single_signature(function: Any, ints: int, ndims: tuple[int, ...], *numbers: int) -> Any:
    """Return ``function`` compiled for one signature alone, a `TypeError` for any other.

    Its operands are vectors of integers, as many contiguous writable float64 arrays as ``ndims`` has entries, and
    numbers. Checks of an array's type, layout and flags are slow in Python; the dispatch of the compiled function does
    them anyway. With the compiler off everything is refused, and callers use the general entry.
    """
    if isinstance(function, types.FunctionType):
        return _refuse
    # The first call fixes the signature. Lengths of -1 and of empty arrays are invalid, so nothing is computed.
    function(*(np.zeros(8, dtype=np.int64) - 1 for _ in range(ints)), *(np.zeros((0,) * n) for n in ndims), *numbers)
    function.disable_compile()
    return function


def _refuse(*_: object) -> int:
    raise TypeError
