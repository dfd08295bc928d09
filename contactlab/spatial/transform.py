"""Poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.spatial.errors import SpatialError

__all__ = ["Transform"]

# How far R^T R may be from the identity, entry by entry: rotations typed by hand or read from text pass.
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
        object.__setattr__(self, "R", read_only(rotation))
        object.__setattr__(self, "p", read_only(finite_array(p, "p", (3,), SpatialError)))

    def __matmul__(self, other: Transform) -> Transform:
        """Pose in this one's parent of a frame given in this one's child."""
        return Transform(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Transform:
        """Pose of the parent in the child."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def apply(self, points: ArrayLike) -> FloatArray:
        """Points (..., 3) of the child frame in parent axes."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ self.R.T + self.p)
