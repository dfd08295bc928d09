"""Projection from the world to the screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray

FAR = 1e6  # [m]
VIEW = (-0.38, -0.85, 0.42)  # direction from the scene towards the eye


@dataclass(frozen=True, eq=False)
class Camera:
    """Position, axes and zoom of a camera."""

    eye: FloatArray  # (3,) [m]
    axes: FloatArray  # (3, 3) rows: to the right, upwards, forwards, world axes
    # Pixels per unit of lateral distance over distance ahead; unused if ``per_metre`` is given.
    zoom: float
    # Size of the picture [pixels].
    width: int
    height: int
    per_metre: float | None = None  # pixels per metre for an eye at infinity; None for perspective

    @classmethod
    def at(
        cls,
        points: FloatArray,
        width: int,
        height: int,
        *,
        view: tuple[float, float, float] = VIEW,
        fill: float = 0.9,
        lens: float = 1.6,
    ) -> Camera:
        """Place the eye in the direction ``view`` so that all points (n, 3) fill the fraction ``fill`` of the picture.

        ``lens`` is the focal length divided by the larger side of the picture.
        """
        axes = _axes(np.asarray(view, dtype=np.float64))
        zoom = lens * max(width, height)
        reach = np.array([width, height]) * 0.5 * fill / zoom
        inner = (points - points.mean(axis=0)) @ axes.T
        middle = np.array([0.0, 0.0])
        distance = 1.0
        for _ in range(8):
            # The eye moves back until all points are visible; then the picture is centred on them.
            sides = np.abs(inner[:, :2] - middle)
            distance = float((sides / reach - inner[:, 2:]).max())
            seen = (inner[:, :2] - middle) / (distance + inner[:, 2:])
            middle = middle + 0.5 * (seen.min(axis=0) + seen.max(axis=0)) * distance
        eye = points.mean(axis=0) + middle @ axes[:2] - distance * axes[2]
        return cls(eye, axes, zoom, width, height)

    @classmethod
    def far(cls, points: FloatArray, direction: FloatArray, size: int) -> Camera:
        """Return the camera of a light at infinity in a direction (3,), with all points (n, 3) in ``size`` pixels."""
        axes = _axes(direction)
        inner = points @ axes.T
        low, high = inner.min(axis=0), inner.max(axis=0)
        extent = float((high - low)[:2].max()) * 1.02 + 1e-9
        middle = 0.5 * (low + high)
        eye = (np.array([middle[0], middle[1], low[2] - extent])) @ axes
        return cls(eye, axes, 0.0, size, size, per_metre=size / extent)

    def project(self, points: FloatArray) -> FloatArray:
        """Return x to the right, y downwards [pixels], and nearness, (..., 3), of points (..., 3).

        Nearness is 1/depth, or linear in depth for an eye at infinity. At most 0 means behind the eye.
        """
        inner = (points - self.eye) @ self.axes.T
        ahead = inner[..., 2]
        if self.per_metre is not None:
            # Linear on the screen, and positive for all visible points.
            near, factor = FAR - ahead, np.full_like(ahead, self.per_metre)
        else:
            near = np.where(ahead > 1e-9, 1.0 / np.where(ahead > 1e-9, ahead, 1.0), -1.0)
            factor = self.zoom * near
        x = 0.5 * self.width + inner[..., 0] * factor
        y = 0.5 * self.height - inner[..., 1] * factor
        return np.stack((x, y, near), axis=-1)


def _axes(towards_eye: FloatArray) -> FloatArray:
    """Return rows right, up, forward of an eye that looks opposite to a direction, with world z upwards."""
    forward = -towards_eye / np.linalg.norm(towards_eye)
    up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.stack((right, np.cross(right, forward), forward))
