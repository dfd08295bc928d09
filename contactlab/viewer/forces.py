"""Contact forces as lines in the scene, one per touching contact, coloured by what the contact does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation import SLIDE

if TYPE_CHECKING:
    import viser

    from contactlab.simulation import Recording

__all__ = ["ForceFrames"]

STICK_COLOR = (0, 158, 115)
SLIDE_COLOR = (213, 94, 0)
# Lengths in radii of the largest body. A quarter of a cube's weight, at each of four corners, must stick out of it.
LENGTH_PER_WEIGHT = 5.0
LONGEST = 6.0  # an impact's force is hundreds of weights


class ForceFrames:
    """The lines of one frame after the other.

    Parameters
    ----------
    scene, recording
        Where to draw, and what.
    """

    def __init__(self, scene: viser.SceneApi, recording: Recording) -> None:
        contacts = recording.contacts
        steps = np.asarray(contacts.step)
        self._bounds: NDArray[np.int64] = np.searchsorted(steps, np.arange(recording.n_steps + 1))
        model = recording.world.model
        supports = [surface.support_points() for surface in recording.world.surfaces]
        # Without any shape there is no force to draw.
        unit = max(
            (float((np.linalg.norm(points, axis=1) + radii).max()) for points, radii in supports if len(radii)),
            default=1.0,
        )
        weight = model.mass / max(model.nb, 1) * float(np.linalg.norm(model.gravity))
        force = np.asarray(contacts.impulse) / np.diff(recording.time)[steps][:, None]
        size = np.linalg.norm(force, axis=1)
        drawn = unit * np.minimum(LENGTH_PER_WEIGHT * size / max(weight, np.finfo(float).tiny), LONGEST)
        arrows = force * np.divide(drawn, size, out=np.zeros_like(size), where=size > 0.0)[:, None]
        points = np.asarray(contacts.point)
        self._lines = np.stack((points, points + arrows), axis=1).astype(np.float32)
        sliding = np.asarray(contacts.mode) == SLIDE
        self._colors = (
            np.where(sliding[:, None], SLIDE_COLOR, STICK_COLOR).astype(np.uint8)[:, None, :].repeat(2, axis=1)
        )
        self._touching = size > 0.0
        self._handle = scene.add_line_segments(
            "/forces",
            np.zeros((1, 2, 3), dtype=np.float32),
            np.zeros((1, 2, 3), dtype=np.uint8),
            thickness=3.0,
            thickness_units="screen",
        )

    def show(self, state: int) -> None:
        """Show the forces of the step that led to a state (none for the first)."""
        rows = slice(self._bounds[state - 1], self._bounds[state]) if state > 0 else slice(0, 0)
        keep = self._touching[rows]
        if keep.any():
            self._handle.points = self._lines[rows][keep]
            self._handle.colors = self._colors[rows][keep]
        else:
            self._handle.points = np.zeros((1, 2, 3), dtype=np.float32)
            self._handle.colors = np.zeros((1, 2, 3), dtype=np.uint8)
