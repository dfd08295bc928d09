"""Unit quaternions (w, x, y, z) in NumPy arrays.

Every function works along the last axis and broadcasts over the leading ones, so that a whole recorded trajectory
(n, 4) is one call. R(q) maps body axes to parent axes, and R(p * q) = R(p) R(q).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.spatial.arrays import FloatArray, SpatialError, rows_of

# Below this angle [rad] the ratios sin(a/2)/a and a/sin(a/2) are summed as series.
SMALL_ANGLE = 1e-2


def normalize(q: ArrayLike) -> FloatArray:
    """Return ``q`` (..., 4) divided by its length; raise `SpatialError` for a zero or non-finite quaternion."""
    array = rows_of(q, "q", 4)
    # Scaled by the largest entry first, because the square of a tiny or huge entry would underflow or overflow.
    largest = np.max(np.abs(array), axis=-1, keepdims=True)
    if not np.all(np.isfinite(largest)) or not np.all(largest > 0.0):
        raise SpatialError("q", "has no direction: all entries are zero, or one is not finite")
    scaled = array / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def multiply(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return the Hamilton product p * q, (..., 4): the rotation q followed by the rotation p."""
    pw, px, py, pz = np.moveaxis(rows_of(p, "p", 4), -1, 0)
    qw, qx, qy, qz = np.moveaxis(rows_of(q, "q", 4), -1, 0)
    return np.stack(
        (
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ),
        axis=-1,
    )


def conjugate(q: ArrayLike) -> FloatArray:
    """Return the inverse rotation of a unit quaternion: (w, -x, -y, -z)."""
    return np.asarray(rows_of(q, "q", 4) * np.array([1.0, -1.0, -1.0, -1.0]))


def exp(a: ArrayLike) -> FloatArray:
    """Return the unit quaternion (..., 4) of the rotation vector ``a`` (..., 3) [rad]: rotation by |a| about a."""
    vector = rows_of(a, "a", 3)
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    small = angle < SMALL_ANGLE
    squared = angle * angle
    ratio = np.where(small, 0.5 - squared * (1 / 48 - squared / 3840), np.sin(angle / 2) / np.where(small, 1.0, angle))
    return np.concatenate((np.cos(angle / 2), ratio * vector), axis=-1)


def log(q: ArrayLike) -> FloatArray:
    """Return the rotation vector (..., 3) [rad] of a unit quaternion, of length at most pi: the inverse of `exp`."""
    array = rows_of(q, "q", 4)
    # q and -q are the same rotation; the one with w >= 0 gives the shorter turn.
    array = np.where(array[..., :1] < 0.0, -array, array)
    sine = np.linalg.norm(array[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, array[..., :1])
    small = angle < SMALL_ANGLE
    squared = angle * angle
    ratio = np.where(small, 2.0 + squared * (1 / 12 + 7 * squared / 2880), angle / np.where(small, 1.0, sine))
    return np.asarray(ratio * array[..., 1:])


def angle_between(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return the angle [rad] in [0, pi] of the turn from the orientation p to q, accurate for all turns."""
    return np.asarray(np.linalg.norm(log(multiply(conjugate(p), q)), axis=-1))


def to_matrix(q: ArrayLike) -> FloatArray:
    """Return the rotation matrices (..., 3, 3) of unit quaternions; the length of q is divided out."""
    w, x, y, z = np.moveaxis(normalize(q), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(R: ArrayLike) -> FloatArray:
    """Return the unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3)."""
    m = np.asarray(R, dtype=np.float64)
    if m.shape[-2:] != (3, 3):
        raise SpatialError("R", f"must have shape (..., 3, 3), got {m.shape}")
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.moveaxis(m, (-2, -1), (0, 1))
    # The longest column of 4 q q^T is q up to its length, so no branch loses digits near a half turn.
    outer = np.array(
        [
            [1 + xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz],
        ]
    )
    longest = np.argmax(np.diagonal(outer), axis=-1)
    column = np.take_along_axis(np.moveaxis(outer, (0, 1), (-1, -2)), longest[..., None, None], axis=-1)[..., 0]
    q = normalize(column)
    return np.where(q[..., :1] < 0.0, -q, q)
