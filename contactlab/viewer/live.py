"""A world in the browser of this machine while it is simulated."""

from __future__ import annotations

import time

from contactlab.drawing import Arrows, ForceScale, Readout, Stage
from contactlab.multibody import body_poses
from contactlab.simulation import StepResult, World
from contactlab.viewer.controls import Controls
from contactlab.viewer.scene import SceneView
from contactlab.viewer.server import aim_camera, open_server, stop


class Live:
    """A view that is handed one step after the other; made by `live`. A context manager: leaving it ends the server.

    Attributes
    ----------
    url
        Where the browser finds it.
    """

    def __init__(self, world: World, port: int, pace: float | None, fps: float, *, collision: bool) -> None:
        self._world, self._pace, self._tick = world, pace, 1.0 / fps
        rotations, origins = body_poses(world.model, world.initial_q)
        stage = Stage.of(world, rotations[None], origins[None], collision=collision)
        self._scale = ForceScale.of_world(world, stage.size)
        self._server = open_server(port)
        above = aim_camera(self._server.initial_camera, stage.usual_points)
        self._view = SceneView(self._server.scene, world, stage, above)
        self._controls = Controls(self._server, self._view, world, self._scale)
        self._begun: tuple[float, float] | None = None
        self._drawn = -1.0
        self.url = f"http://127.0.0.1:{self._server.get_port()}"

    def show(self, result: StepResult) -> None:
        """Show the state after a step with the contacts of that step; what comes too soon for the eye is skipped."""
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
        self._controls.tell(readout)

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
    """Serve a world at 127.0.0.1 while it is simulated: hand `Live.show` to ``simulate(watch=...)``, or call it.

    Parameters
    ----------
    world
        What to show.
    port
        Where; the next free one where it is taken.
    pace
        Seconds of simulated time per second, at most: `Live.show` waits for it. None does not wait.
    fps
        Pictures per second, at most.
    collision
        Draw the shapes bodies touch with, in the place of what they look like.

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """
    return Live(world, port, pace, fps, collision=collision)
