"""A recording as one HTML file that opens without a network: drag, zoom, play, scrub.

The file is a view, made with viser from a recording; the recording stays the truth.
"""

from __future__ import annotations

import contextlib
import io
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.quaternion import from_matrix
from contactlab.viewer.forces import ForceFrames
from contactlab.viewer.scene import add_bodies, add_half_spaces

if TYPE_CHECKING:
    from viser import InitialCameraConfig

    from contactlab.simulation import Recording

__all__ = ["write_html_replay"]


def write_html_replay(recording: Recording, path: str | Path, *, fps: float = 40.0, forces: bool = True) -> Path:
    """Write a recording as a self-contained HTML page.

    Parameters
    ----------
    recording
        What to show.
    path
        The file; an existing one is replaced.
    fps
        Frames per second of simulated time, at most: fewer where the recording has fewer.
    forces
        Draw a line along each contact force, coloured by the contact's mode.

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """
    import viser

    rotations, origins = recording.poses()

    def show(frames: list[viser.FrameHandle], i: int) -> None:
        for frame, R, p in zip(frames, rotations[i], origins[i], strict=True):
            frame.position = p
            frame.wxyz = from_matrix(R)

    # viser announces its server on standard output, where results go; nobody is meant to connect to this one.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=_free_port(), verbose=False)
    try:
        scene = server.scene
        scene.set_up_direction("+z")
        _aim_camera(server.initial_camera, origins)
        add_half_spaces(scene, recording, origins)
        frames = add_bodies(scene, recording)
        show(frames, 0)
        arrows = ForceFrames(scene, recording) if forces else None

        # From here on every change of a handle is a message of the film; the scene so far is its first frame.
        serializer = server.get_scene_serializer()
        shown = _shown_steps(recording.time, fps)
        for previous, i in zip([0, *shown[:-1]], shown, strict=True):
            serializer.insert_sleep(float(recording.time[i] - recording.time[previous]))
            show(frames, i)
            if arrows is not None:
                arrows.show(i)
        page = serializer.as_html()
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path


def _free_port() -> int:
    """Return a port nobody listens on (viser moves on to the next one should it be taken meanwhile)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _shown_steps(time: NDArray[np.float64], fps: float) -> list[int]:
    """Return the indices shown: the first state at or after each frame time, each once, the last state included."""
    count = max(1, int(np.ceil((time[-1] - time[0]) * fps)))
    wanted = np.linspace(time[0], time[-1], count + 1)
    # Frame times are sums of h only up to rounding: half a step of slack.
    slack = 0.5 * float(np.diff(time).min()) if time.size > 1 else 0.0
    indices = np.searchsorted(time, wanted - slack)
    return [int(i) for i in np.unique(np.minimum(indices, time.size - 1))]


def _aim_camera(camera: InitialCameraConfig, origins: NDArray[np.float64]) -> None:
    """Look at the middle of the motion from the side, far enough to see nearly all of it."""
    centres = origins.reshape(-1, 3)
    low, high = centres.min(axis=0), centres.max(axis=0)
    middle = 0.5 * (low + high)
    distance = 0.72 * float(np.linalg.norm(high - low)) + 0.3
    camera.look_at = tuple(middle)
    camera.position = tuple(middle + distance * np.array([-0.25, -0.85, 0.5]))
