"""A viser server that this machine alone can reach."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from contactlab.drawing import ForceScale, Stage
from contactlab.drawing.palette import MODE_COLORS, MODE_NAMES

if TYPE_CHECKING:
    import viser

HOST = "127.0.0.1"


def open_server(port: int) -> viser.ViserServer:
    """A server on this machine; at the next free port where this one is taken."""
    import viser

    # viser announces its server on standard output, where results go.
    with contextlib.redirect_stdout(io.StringIO()):
        return viser.ViserServer(host=HOST, port=port, verbose=False)


@contextlib.contextmanager
def serving(port: int) -> Iterator[viser.ViserServer]:
    """Serve while the block runs."""
    server = open_server(port)
    try:
        yield server
    finally:
        stop(server)


def stop(server: viser.ViserServer) -> None:
    """End a server, without a word of its own."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def free_port() -> int:
    """A port nobody listens on (viser moves on to the next one should it be taken meanwhile)."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def aim_camera(camera: viser.InitialCameraConfig, stage: Stage) -> None:
    """Look from the side at where the bodies are most of the time, far enough to see all of that."""
    low, high = stage.focus
    middle = 0.5 * (low + high)
    distance = 1.2 * float(np.linalg.norm(high - low)) + 2.0 * stage.size
    camera.look_at = tuple(middle)
    camera.position = tuple(middle + distance * np.array([-0.38, -0.85, 0.42]))


def legend(scale: ForceScale) -> str:
    """Meaning of the colours, as HTML; words beside each, so that no one depends on the colour."""
    rows = "".join(
        f'<div><span style="color:rgb{color};font-size:1.3em">{"&#9679;" if mode == 0 else "&#10148;"}</span> '
        f"{MODE_NAMES[mode]}</div>"
        for mode, color in MODE_COLORS.items()
    )
    return f"{rows}<div>force on the body,<br>{scale}</div>"
