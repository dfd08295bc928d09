"""A recording in the browser of this machine: play, scrub, change the speed. Nobody else can connect."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from contactlab.spatial.quaternion import from_matrix
from contactlab.viewer.forces import ForceFrames
from contactlab.viewer.scene import add_bodies, add_half_spaces

if TYPE_CHECKING:
    from contactlab.simulation import Recording

__all__ = ["serve_replay"]

TICK = 1.0 / 40.0  # seconds between two pictures


def serve_replay(
    recording: Recording,
    *,
    port: int = 8080,
    announce: Callable[[str], None] | None = None,
    running: Callable[[], bool] = lambda: True,
) -> None:
    """Serve a recording at 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    recording
        What to show.
    port
        Where; the next free one where it is taken.
    announce
        Called with the address once it answers.
    running
        Asked before every picture; False ends it.

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """
    import viser

    rotations, origins = recording.poses()
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    try:
        server.scene.set_up_direction("+z")
        add_half_spaces(server.scene, recording, origins)
        frames = add_bodies(server.scene, recording)
        arrows = ForceFrames(server.scene, recording)
        start, end = float(recording.time[0]), float(recording.time[-1])
        step = max(end - start, 1e-6) / 1000.0
        playing = server.gui.add_checkbox("play", initial_value=True)
        speed = server.gui.add_slider("speed", min=0.05, max=4.0, step=0.05, initial_value=1.0)
        clock = server.gui.add_slider("time [s]", min=start, max=max(end, start + step), step=step, initial_value=start)
        if announce is not None:
            announce(f"http://127.0.0.1:{server.get_port()}")
        shown = -1
        with contextlib.suppress(KeyboardInterrupt):
            while running():
                i = min(int(np.searchsorted(recording.time, clock.value - 0.5 * step)), recording.n_steps)
                if i != shown:
                    for frame, R, p in zip(frames, rotations[i], origins[i], strict=True):
                        frame.position, frame.wxyz = p, from_matrix(R)
                    arrows.show(i)
                    shown = i
                time.sleep(TICK)
                if playing.value:
                    later = clock.value + TICK * speed.value
                    # viser has a setter, which its types hide behind a generic property.
                    clock.value = later if later <= end else start  # type: ignore[misc]
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
