"""Poses of frames, and spatial vectors: motions and forces as six numbers, angular part first.

A motion vector (w, v) holds an angular velocity and the velocity of the body's point at the origin. A force vector
(n, f) holds the moment about the origin and the force. Their product n.w + f.v is a power (Featherstone 2008,
chapter 2). Functions work along the last axis and broadcast over the leading ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    SpatialError,
    finite_array,
    finite_number,
    rows_of,
    set_fields,
    unit_axis,
)


def cross_motion(v: ArrayLike, m: ArrayLike) -> FloatArray:
    """Return the rate of change v x m, (..., 6), of a motion vector m that moves along with v.

    (w x m_w, v x m_w + w x m_v), Featherstone 2008, equation 2.31.
    """
    a, b = rows_of(v, "v", 6), rows_of(m, "m", 6)
    angular = np.cross(a[..., :3], b[..., :3])
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([angular, linear], axis=-1)


def cross_force(v: ArrayLike, f: ArrayLike) -> FloatArray:
    """Return the rate of change v x* f, (..., 6), of a force vector f that moves along with v.

    (w x f_n + v x f_f, w x f_f), Featherstone 2008, equation 2.32: the dual of `cross_motion`, as
    ``cross_force(v, f).m = -f.cross_motion(v, m)`` for every m.
    """
    a, b = rows_of(v, "v", 6), rows_of(f, "f", 6)
    angular = np.cross(a[..., :3], b[..., :3]) + np.cross(a[..., 3:], b[..., 3:])
    return np.concatenate([angular, np.cross(a[..., :3], b[..., 3:])], axis=-1)


def cross_matrix(r: ArrayLike) -> FloatArray:
    """Return the matrix (3, 3) such that ``cross_matrix(r) @ y`` is r x y."""
    array = np.asarray(r, dtype=np.float64)
    if array.shape != (3,):
        raise SpatialError("r", f"must have shape (3,), got {array.shape}")
    x, y, z = array
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


# Largest deviation of R^T R from the identity, entry by entry; rotations typed by hand or read from text are accepted.
ORTHOGONALITY = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class Transform:
    """Pose of a child frame in its parent: a point at ``y`` in the child is at ``R y + p`` in the parent.

    Parameters
    ----------
    R
        Rotation matrix (3, 3), child axes to parent axes; identity by default.
    p
        Child origin (3,) in parent axes [m].

    Raises
    ------
    SpatialError
        R is not a rotation (orthogonal to 1e-6, right-handed), or an entry is not finite.
    """

    R: FloatArray
    p: FloatArray

    def __init__(self, R: ArrayLike | None = None, p: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        rotation = finite_array(np.eye(3) if R is None else R, "R", (3, 3), SpatialError)
        error = float(np.max(np.abs(rotation.T @ rotation - np.eye(3))))
        if error > ORTHOGONALITY:
            raise SpatialError("R", f"is not a rotation: R^T R is off the identity by {error:.3g}")
        if np.linalg.det(rotation) < 0.0:
            raise SpatialError("R", "is a reflection: its determinant is -1")
        set_fields(self, R=rotation, p=finite_array(p, "p", (3,), SpatialError))

    @classmethod
    def rotation(cls, axis: ArrayLike, angle: float, p: ArrayLike = (0.0, 0.0, 0.0)) -> Transform:
        """Return the pose turned by ``angle`` [rad] about ``axis`` (3,), which is normalised, with the origin at p."""
        direction = unit_axis(axis, "axis", SpatialError)
        half = 0.5 * finite_number(angle, "angle", SpatialError)
        turn = np.sin(half) * direction
        return cls(quaternion.to_matrix([np.cos(half), *turn]), p)

    def __matmul__(self, other: Transform) -> Transform:
        """Return the pose, in the parent of this frame, of a frame given in this frame."""
        return Transform(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Transform:
        """Return the pose of the parent in the child."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def apply(self, points: ArrayLike) -> FloatArray:
        """Return the points (..., 3) of the child frame in parent axes."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ self.R.T + self.p)

    def apply_inverse(self, points: ArrayLike) -> FloatArray:
        """Return the points (..., 3) of the parent frame in child coordinates."""
        return np.asarray((np.asarray(points, dtype=np.float64) - self.p) @ self.R)

    def apply_motion(self, v: ArrayLike) -> FloatArray:
        """Return motion vectors (..., 6) of the child frame in parent axes: (R w, R v + p x R w)."""
        given = rows_of(v, "v", 6)
        w = given[..., :3] @ self.R.T
        return np.concatenate([w, given[..., 3:] @ self.R.T + np.cross(self.p, w)], axis=-1)

    def apply_motion_inverse(self, v: ArrayLike) -> FloatArray:
        """Return motion vectors (..., 6) of the parent frame in child axes: (R^T w, R^T (v - p x w))."""
        return self.inverse().apply_motion(v)

    def apply_force(self, f: ArrayLike) -> FloatArray:
        """Return force vectors (..., 6) of the child frame in parent axes: (R n + p x R f, R f)."""
        # as motions with the parts exchanged
        return np.roll(self.apply_motion(np.roll(rows_of(f, "f", 6), 3, axis=-1)), 3, axis=-1)

    def apply_force_inverse(self, f: ArrayLike) -> FloatArray:
        """Return force vectors (..., 6) of the parent frame in child axes: (R^T (n - p x f), R^T f)."""
        return self.inverse().apply_force(f)

    def motion_matrix(self) -> FloatArray:
        """Return the matrix (6, 6) of `apply_motion`: [[R, 0], [p x R, R]].

        Its transpose is the matrix of `apply_force_inverse`.
        """
        return np.block([[self.R, np.zeros((3, 3))], [cross_matrix(self.p) @ self.R, self.R]])

    def force_matrix(self) -> FloatArray:
        """Return the matrix (6, 6) of `apply_force`: [[R, p x R], [0, R]].

        Its transpose is the matrix of `apply_motion_inverse`.
        """
        return np.block([[self.R, cross_matrix(self.p) @ self.R], [np.zeros((3, 3)), self.R]])
