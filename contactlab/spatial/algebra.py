"""Spatial vectors: motions and forces as six numbers, angular part first (Featherstone 2008, chapter 2).

A motion vector (w, v) holds an angular velocity and the velocity of the body's point at the origin; a force vector
(n, f) the moment about the origin and the force. Their product n.w + f.v is a power. Functions work along the last
axis and broadcast over the leading ones. How both kinds change frame is in `contactlab.spatial.Transform`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.arrays import FloatArray, rows_of
from contactlab.spatial.errors import SpatialError


def cross_motion(v: ArrayLike, m: ArrayLike) -> FloatArray:
    """Rate of change v x m, (..., 6), of a motion vector m that moves along with v.

    (w x m_w, v x m_w + w x m_v), Featherstone 2008, equation 2.31.
    """
    a, b = rows_of(v, "v", 6), rows_of(m, "m", 6)
    angular = np.cross(a[..., :3], b[..., :3])
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([angular, linear], axis=-1)


def cross_force(v: ArrayLike, f: ArrayLike) -> FloatArray:
    """Rate of change v x* f, (..., 6), of a force vector f that moves along with v.

    (w x f_n + v x f_f, w x f_f), Featherstone 2008, equation 2.32: the dual of `cross_motion`, as
    ``cross_force(v, f).m = -f.cross_motion(v, m)`` for every m.
    """
    a, b = rows_of(v, "v", 6), rows_of(f, "f", 6)
    angular = np.cross(a[..., :3], b[..., :3]) + np.cross(a[..., 3:], b[..., 3:])
    return np.concatenate([angular, np.cross(a[..., :3], b[..., 3:])], axis=-1)


def cross_matrix(r: ArrayLike) -> FloatArray:
    """Return the matrix (3, 3) with which ``cross_matrix(r) @ y`` is r x y."""
    array = np.asarray(r, dtype=np.float64)
    if array.shape != (3,):
        raise SpatialError("r", f"must have shape (3,), got {array.shape}")
    x, y, z = array
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
