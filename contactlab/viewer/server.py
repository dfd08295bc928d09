"""A viser server that accepts connections only from this machine."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from contactlab.drawing import Camera, ForceScale
from contactlab.drawing.camera import VIEW
from contactlab.drawing.extra import require_viz
from contactlab.drawing.palette import MODE_COLORS, MODE_NAMES
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    import viser

HOST = "127.0.0.1"
# The camera is fitted to a window of these sides; in a wider window it fills the height.
WINDOW, FILL, LENS = (1400, 1000), 0.88, 1.1
TOP = 0.94  # vertical position of text, as a fraction of half the height


def open_server(port: int) -> viser.ViserServer:
    """Return a server on this machine, at this port or the next free one."""
    with require_viz():
        import viser

    # viser announces its server on standard output, which is for results.
    with contextlib.redirect_stdout(io.StringIO()):
        return viser.ViserServer(host=HOST, port=port, verbose=False)


@contextlib.contextmanager
def serving(port: int) -> Iterator[viser.ViserServer]:
    """Run a server during the block."""
    server = open_server(port)
    try:
        yield server
    finally:
        stop(server)


def stop(server: viser.ViserServer) -> None:
    """End a server without its messages."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def free_port() -> int:
    """Return a free port (viser uses the next one if it is taken in the meantime)."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def aim_camera(
    camera: viser.InitialCameraConfig | viser.CameraHandle,
    points: FloatArray,
    *,
    window: tuple[int, int] = WINDOW,
    view: tuple[float, float, float] = VIEW,
    lower: float = 0.0,
) -> FloatArray:
    """Look from the direction ``view`` so that points (n, 3) fill the window above its fraction ``lower``.

    Return a position (3,) above all of them on the screen, for text.
    """
    width, height = window
    free = round((1.0 - lower) * height)
    # A long focal length distorts lateral objects less.
    seen = Camera.at(points, width, free, view=view, fill=FILL, lens=LENS * (1.0 + 4.0 * lower))
    # The centre of the camera's rotation is at the depth of the visible scene.
    depth = float((points.mean(axis=0) - seen.eye) @ seen.axes[2])
    # The camera is tilted, not moved, so the eye keeps its height above the floor.
    middle = seen.eye + depth * (seen.axes[2] - 0.5 * (height - free) / seen.zoom * seen.axes[1])
    camera.fov = 2.0 * float(np.arctan(0.5 * height / seen.zoom))
    camera.position = tuple(seen.eye)
    camera.look_at = tuple(middle)
    return np.asarray(middle + depth * TOP * 0.5 * height / seen.zoom * seen.axes[1])


def legend(scale: ForceScale) -> str:
    """Return the meaning of the colours, as HTML, with text for each, so that the colour is not needed."""
    rows = "".join(
        f'<div><span style="color:rgb{color};font-size:1.3em">{"&#9679;" if mode == 0 else "&#10148;"}</span> '
        f"{MODE_NAMES[mode]}</div>"
        for mode, color in MODE_COLORS.items()
    )
    return f"{rows}<div>force on the body,<br>{scale}</div>"
