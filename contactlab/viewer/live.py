"""Views in the browser of this machine: a recording (play, scrub, change the speed), or a running simulation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import numpy as np

from contactlab.drawing import Arrows, ForceScale, Playable, Readout, SceneGeometry, playback_of
from contactlab.multibody import body_poses
from contactlab.simulation import StepResult, World
from contactlab.viewer.scene import Controls, SceneView
from contactlab.viewer.server import aim_camera, open_server, serving, stop

TICK = 1.0 / 40.0  # seconds between two pictures


def show(
    recording: Playable,
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
        The run to show; for a `Simulation`, its record (``record=True``).
    port
        Port of the server; the next free one if it is in use.
    collision
        Draw the collision shapes instead of the visuals.
    announce
        Called with the address when the server is ready.
    running
        Called before every picture; False ends the server.

    Raises
    ------
    ModuleNotFoundError
        viser, of the extra `viz`, is not installed.
    """
    film = playback_of(recording)
    rotations, origins = film.poses()
    stage = SceneGeometry.of(film.world, rotations, origins, collision=collision)
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
                    controls.show_readout(readout)
                time.sleep(TICK)
                now = time.monotonic()
                if playing.value:
                    later = clock.value + (now - last) * speed.value
                    # viser has a setter, which is not visible in its type annotations.
                    clock.value = later if later <= end else start  # type: ignore[misc]
                last = now


class Live:
    """A view that is updated step by step; made by `live`. As a context manager it ends the server on exit.

    Attributes
    ----------
    url
        Address for the browser.
    """

    def __init__(self, world: World, port: int, pace: float | None, fps: float, *, collision: bool) -> None:
        self._world, self._pace, self._tick = world, pace, 1.0 / fps
        rotations, origins = body_poses(world.model, world.initial_q)
        stage = SceneGeometry.of(world, rotations[None], origins[None], collision=collision)
        self._scale = ForceScale.of_world(world, stage.size)
        self._server = open_server(port)
        above = aim_camera(self._server.initial_camera, stage.usual_points)
        self._view = SceneView(self._server.scene, world, stage, above)
        self._controls = Controls(self._server, self._view, world, self._scale)
        self._begun: tuple[float, float] | None = None
        self._drawn = -1.0
        self.url = f"http://127.0.0.1:{self._server.get_port()}"

    def show(self, result: StepResult) -> None:
        """Show the state after a step with the contacts of this step; skip states that exceed the frame rate."""
        now, state = time.monotonic(), result.state
        if self._begun is None:
            self._begun = (now, state.time)
        if self._pace is not None:
            ahead = (state.time - self._begun[1]) / self._pace - (now - self._begun[0])
            if ahead > 0.0:
                time.sleep(ahead)
                now = time.monotonic()
        if now - self._drawn < self._tick:
            return
        self._drawn = now
        rotations, origins = body_poses(self._world.model, state.q)
        readout = Readout.of_step(state.time, result.kinetic + result.potential, result.contacts, result.certificate)
        with self._server.atomic():
            arrows = Arrows.of_step(result.contacts, state.h, self._scale)
            self._view.show(rotations, origins, arrows, str(readout))
        self._controls.follow(origins)
        self._controls.show_readout(readout)

    def close(self) -> None:
        """End the server."""
        stop(self._server)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def live(
    world: World, *, port: int = 8080, pace: float | None = 1.0, fps: float = 40.0, collision: bool = False
) -> Live:
    """Serve a world at 127.0.0.1 while it is simulated: pass `Live.show` to ``simulate(watch=...)``, or call it.

    Parameters
    ----------
    world
        The simulated world.
    port
        Port of the server; the next free one if it is in use.
    pace
        Maximum simulated seconds per second, for which `Live.show` waits. None does not wait.
    fps
        Maximum number of pictures per second.
    collision
        Draw the collision shapes instead of the visuals.

    Raises
    ------
    ModuleNotFoundError
        viser, of the extra `viz`, is not installed.
    """
    return Live(world, port, pace, fps, collision=collision)
