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

__all__ = ["cross_force", "cross_matrix", "cross_motion", "force_cross_matrix", "motion_cross_matrix"]


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
    """The matrix (3, 3) with which ``cross_matrix(r) @ y`` is r x y."""
    x, y, z = _entries("r", r, 3)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def motion_cross_matrix(v: ArrayLike) -> FloatArray:
    """The matrix (6, 6) with which ``motion_cross_matrix(v) @ m`` is `cross_motion` (v, m)."""
    a = _entries("v", v, 6)
    w, u = cross_matrix(a[:3]), cross_matrix(a[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def force_cross_matrix(v: ArrayLike) -> FloatArray:
    """The matrix (6, 6) with which ``force_cross_matrix(v) @ f`` is `cross_force` (v, f)."""
    return np.asarray(-motion_cross_matrix(v).T)


def _entries(name: str, value: ArrayLike, length: int) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (length,):
        raise SpatialError(name, f"must have shape ({length},), got {array.shape}")
    return array
