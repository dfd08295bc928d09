"""The point of a plane about which the ground's forces have no moment along the plane.

Takes leading axes, q (..., nq), v and a (..., nv), and gives results that have them too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.centroidal import body_sums
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array

# A normal force this small, relative to the forces it is the sum of, is rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps


def zero_moment_point(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike,
    *,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> FloatArray:
    """Point z (3,) [m] of a plane where a single force and a moment along the normal make the model move as it does.

    The force that acts besides gravity is f = m (dv_c/dt - g), with moment dL/dt about the centre of mass c. About the
    point x of the plane it has the moment m_x = dL/dt + (c - x) x f, and z = x + n x m_x / (n.f) (Vukobratovic,
    Borovac, "Zero-moment point: thirty five years of its life", 2004). Bodies fixed to the world count, their
    weight included.

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, a
        (nv,) velocity and acceleration.
    normal, point
        Normal n (3,), of any length, of the plane, and a point x (3,) [m] it contains; world axes.

    Raises
    ------
    MultibodyError
        The normal has no direction, or the force has no part along it (free fall): no such point exists.
    """
    n = finite_array(normal, "normal", (3,), MultibodyError)
    x = finite_array(point, "point", (3,), MultibodyError)
    largest = float(np.max(np.abs(n)))
    if largest == 0.0:
        raise MultibodyError("normal", "has no direction: all entries are zero")
    n = n / largest
    sums = body_sums(model, q, v, a, 2)
    weight = sums[..., :1] * model.gravity
    f = sums[..., 11:14] - weight
    along = f @ n
    size = (np.abs(sums[..., 11:14]) + np.abs(weight)) @ np.abs(n)
    missing = np.argwhere(~(np.abs(along) > _ROUNDING * size))
    if missing.shape[0]:
        at = tuple(int(i) for i in missing[0])
        where = f"instant {list(at)}: " if at else ""
        raise MultibodyError(
            "normal", f"{where}the force {f[at].tolist()} N has no part along it: no such point exists"
        )
    moment = sums[..., 14:17] + np.cross(sums[..., 1:4] - x, f)
    return np.asarray(x + np.cross(n, moment) / np.asarray(along)[..., None])
