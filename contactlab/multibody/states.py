"""Configurations and velocities from a user's hand, checked with the body at fault named."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import bad_configuration
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array

# How far a quaternion's length may be from 1; rounding alone stays below 1e-15 per step.
UNIT_TOLERANCE = 1e-6


def check_configuration(model: Model, q: ArrayLike) -> FloatArray:
    """A copy of ``q`` (nq,); a `MultibodyError` names a bad entry, or the body of a quaternion not of length 1.

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
    for at in model.quaternion_places:
        if not abs(math.hypot(*array[at : at + 4].tolist()) - 1.0) <= UNIT_TOLERANCE:
            raise bad_configuration(model, array, at)
    return array


def check_velocity(model: Model, v: ArrayLike, field: str = "v") -> FloatArray:
    """A copy of ``v`` (nv,), or of any vector of that length; a `MultibodyError` names a bad entry."""
    return _checked(v, field, model.nv, lambda: [(body.name, model.v_slice(body.name)) for body in model.bodies])


def _checked(value: ArrayLike, field: str, n: int, owners: Callable[[], list[tuple[str, slice]]]) -> FloatArray:
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.shape == (n,) and not np.all(np.isfinite(array)):
        entry = int(np.argmin(np.isfinite(array)))
        name = next(name for name, place in owners() if place.start <= entry < place.stop)
        raise MultibodyError(field, f"entry [{entry}] (body {name!r}) is {array[entry]}, not finite")
    return finite_array(value, field, (n,), MultibodyError)
