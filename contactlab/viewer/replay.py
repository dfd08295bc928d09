"""A recording in the browser of this machine: play, scrub, change the speed. Nobody else can connect."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import numpy as np

from contactlab.drawing import Filmed, Stage, film_of
from contactlab.viewer.controls import Controls
from contactlab.viewer.scene import SceneView
from contactlab.viewer.server import aim_camera, serving

TICK = 1.0 / 40.0  # seconds between two pictures


def show(
    recording: Filmed,
    *,
    port: int = 8080,
    collision: bool = False,
    announce: Callable[[str], None] | None = None,
    running: Callable[[], bool] = lambda: True,
) -> None:
    """Serve a recording at 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    recording
        What to show; of a `Simulation` what it has recorded (``record=True``).
    port
        Where; the next free one where it is taken.
    collision
        Draw the shapes bodies touch with, in the place of what they look like.
    announce
        Called with the address once it answers.
    running
        Asked before every picture; False ends it.

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """
    film = film_of(recording)
    rotations, origins = film.poses()
    stage = Stage.of(film.world, rotations, origins, collision=collision)
    scale = film.scale(stage.size)
    with serving(port) as server:
        above = aim_camera(server.initial_camera, stage.usual_points)
        view = SceneView(server.scene, film.world, stage, above)
        controls = Controls(server, view, film.world, scale)
        start, end = float(film.time[0]), float(film.time[-1])
        step = max(end - start, 1e-6) / 1000.0
        playing = server.gui.add_checkbox("play", initial_value=True)
        speed = server.gui.add_slider("speed", min=0.05, max=4.0, step=0.05, initial_value=1.0)
        clock = server.gui.add_slider("time [s]", min=start, max=max(end, start + step), step=step, initial_value=start)
        if announce is not None:
            announce(f"http://127.0.0.1:{server.get_port()}")
        shown, last = (-1, -1), time.monotonic()
        with contextlib.suppress(KeyboardInterrupt):
            while running():
                i = min(int(np.searchsorted(film.time, clock.value - 0.5 * step)), len(film.time) - 1)
                if (i, controls.changes) != shown:
                    shown = (i, controls.changes)
                    readout = film.readout(i)
                    with server.atomic():
                        view.show(rotations[i], origins[i], film.arrows(i, scale), str(readout))
                    controls.follow(origins[i])
                    controls.tell(readout)
                time.sleep(TICK)
                now = time.monotonic()
                if playing.value:
                    later = clock.value + (now - last) * speed.value
                    # viser has a setter, which its types hide behind a generic property.
                    clock.value = later if later <= end else start  # type: ignore[misc]
                last = now
