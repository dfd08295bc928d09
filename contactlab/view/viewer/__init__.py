"""Worlds and recordings in the browser. Needs the extra `viz` (viser); heavy libraries are imported on first use.

Runs are nodes of a viser scene, one or several side by side, frame by frame; or one HTML file. The file opens without a
network, with controls to drag, zoom, play and scrub. It is only a view of the recording. A recording is also
served to the browser of this machine, and a running simulation step by step.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import body_poses
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.naming import module_hooks
from contactlab.simulation import StepResult, World
from contactlab.view.drawing import Arrows, ForceScale, Playable, Readout, SceneGeometry, frame_indices, playback_of
from contactlab.view.drawing.stage import VIEW
from contactlab.view.viewer.scene import Controls, SceneView, aim_camera, free_port, legend, serving

if TYPE_CHECKING:
    import viser

__all__ = [
    "FrameSource",
    "PlaybackView",
    "Live",
    "aim_camera",
    "live",
    "serving",
    "show",
    "write_html_replay",
    "write_page",
]


MAX_FRAMES = 1200


class FrameSource(Protocol):
    """Source of frames to show.

    Attributes
    ----------
    times
        (n,) times of the frames, from 0 [s].
    points
        (n, 3) points that a camera must see.
    view
        Direction from the scene towards the eye.
    words
        The legend, as HTML.
    """

    times: FloatArray
    points: FloatArray
    view: tuple[float, float, float]
    words: str

    def show(self, frame: int) -> None:
        """Draw a frame."""

    def caption(self, frame: int) -> str:
        """Return a line of numbers about a frame."""


class PlaybackView:
    """Recordings, by the names displayed above them, as nodes under ``root``; a `FrameSource`.

    Parameters
    ----------
    scene
        Scene of a viser server.
    recordings
        The recordings to show; a name may be empty.
    places
        Positions of the world's origin of each recording; None: the origin.
    view
        Direction towards the eye.
    whole
        Whether a camera must see all of the motion, not only the usual positions of the bodies.
    fps
        Maximum number of frames per second of simulated time; at most 1200 frames in total.
    forces
        Draw an arrow for each contact force.
    collision
        Draw the collision shapes instead of the visuals.
    labels
        Write the names of the bodies.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        recordings: Mapping[str, Playable],
        *,
        places: Sequence[ArrayLike] | None = None,
        root: str = "",
        view: tuple[float, float, float] = VIEW,
        whole: bool = False,
        fps: float = 40.0,
        forces: bool = True,
        collision: bool = False,
        labels: bool = False,
    ) -> None:
        self.view = view
        self._films = [playback_of(recording) for recording in recordings.values()]
        self._poses = [film.poses() for film in self._films]
        stages = [
            SceneGeometry.of(f.world, *p, collision=collision) for f, p in zip(self._films, self._poses, strict=True)
        ]
        # One scale for all, so that lengths can be compared.
        scales = [film.scale(stage.size) for film, stage in zip(self._films, stages, strict=True)]
        self._scale = min(scales, key=lambda scale: scale.per_newton)
        at = [np.zeros(3) if places is None else np.asarray(places[i], dtype=float) for i in range(len(stages))]
        self.points = np.concatenate(
            [(s.points if whole else s.usual_points) + p for s, p in zip(stages, at, strict=True)]
        )
        self._views = []
        for i, (name, film, stage) in enumerate(zip(recordings, self._films, stages, strict=True)):
            node = f"{root}/{i}" if places is not None else root
            if places is not None:
                scene.add_frame(node, show_axes=False, position=at[i])
            if name:
                above = np.array([*(0.5 * (stage.low + stage.high))[:2], stage.high[2] + stage.size])
                scene.add_label(f"{node}/name", name, position=above, anchor="bottom-center", font_screen_scale=1.2)
                self.points = np.concatenate((self.points, [at[i] + above]))
            self._views.append(SceneView(scene, film.world, stage, None, node))
            self._views[-1].toggle("names", shown=labels)
            if not forces:
                for group in ("forces", "open contacts"):
                    self._views[-1].toggle(group, shown=False)
        time = max((film.time for film in self._films), key=lambda time: float(time[-1]))
        span = float(time[-1] - time[0])
        shown = frame_indices(time, min(fps, MAX_FRAMES / span) if span > 0.0 else fps)
        self.times = np.asarray(time[shown] - time[0])
        # If steps were shortened, states of equal index have different times.
        self._states = [
            np.minimum(np.searchsorted(film.time - film.time[0], self.times - 1e-9), len(film.time) - 1)
            for film in self._films
        ]
        self.words = legend(self._scale) if forces else ""
        self.states = len(time)

    def show(self, frame: int) -> None:
        """Draw a frame."""
        for view, film, states, (R, p) in zip(self._views, self._films, self._states, self._poses, strict=True):
            i = int(states[frame])
            view.show(R[i], p[i], film.arrows(i, self._scale), "")

    def caption(self, frame: int) -> str:
        """Return time and numbers as text, of the run whose step at this frame has the largest residual."""
        told = [film.readout(int(states[frame])) for film, states in zip(self._films, self._states, strict=True)]
        return str(max(told, key=lambda one: one.scaled or 0.0))


# In a narrow window the scene keeps its aspect ratio, in the middle of the page, with its text below.
STYLE = """<style>
#legend, #caption { position: fixed; bottom: 52px; z-index: 10; pointer-events: none; padding: 5px 10px;
  font: 13px sans-serif; color: #222; background: rgba(255,255,255,0.85); border-radius: 4px }
#legend { left: 12px }
#caption { right: 12px; white-space: pre }
@media (max-width: 680px), (max-aspect-ratio: 1/1) {
  body { display: flex; flex-direction: column; justify-content: center; min-height: 100vh; margin: 0 }
  #root { position: relative !important; flex: none; width: 100%;
    height: min(72vw + 42px, 100vh - 150px) !important; contain: layout }
  .mantine-Notifications-root { position: fixed !important; top: calc(100% + 150px) !important } /* viser's */
  #legend, #caption { position: static; white-space: pre-wrap; padding: 5px 12px }
}
</style>"""
# The caption keeps its position when the scene is rotated: it follows the progress bar of viser's player.
FOLLOW = """<div id="caption"></div><script>(() => {
const frames = %s, caption = document.getElementById("caption");
const follow = () => {
  const bar = document.querySelector("[role=slider][aria-valuenow]");
  const now = bar ? Number(bar.getAttribute("aria-valuenow")) + 1e-6 : 0;
  let low = 0, high = frames.length;
  while (high - low > 1) { const k = (low + high) >> 1; if (frames[k][0] <= now) low = k; else high = k; }
  caption.textContent = frames[low][1];
  requestAnimationFrame(follow);
};
follow(); })()</script>"""


def write_html_replay(
    recording: Playable,
    path: str | Path,
    *,
    fps: float = 40.0,
    forces: bool = True,
    collision: bool = False,
    labels: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a recording as a self-contained HTML page.

    Parameters
    ----------
    recording
        Record of time stepping or of an event-driven run.
    path
        The file; an existing one is replaced.
    fps
        Maximum number of frames per second of simulated time; fewer if the recording has fewer, or if there would be
        more than 1200 frames. The page states how many of the states it shows.
    forces
        Draw an arrow for each contact force, coloured by the contact's mode.
    collision
        Draw the collision shapes instead of the visuals.
    labels
        Write the names of the bodies; the tree of nodes shows them, too.
    progress
        Called with (written frames, all frames).

    Raises
    ------
    ModuleNotFoundError
        viser, of the extra `viz`, is not installed.
    """

    def draw(scene: viser.SceneApi) -> PlaybackView:
        view = PlaybackView(scene, {"": recording}, fps=fps, forces=forces, collision=collision, labels=labels)
        view.words += f"<div>{len(view.times)} of {view.states} states</div>"
        return view

    return write_page(draw, path, progress=progress)


def write_page(
    draw: Callable[[viser.SceneApi], FrameSource],
    path: str | Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the scene that ``draw`` draws into viser, frame by frame, as a self-contained HTML page."""
    # This server only produces the page; no browser connects to it.
    with serving(free_port()) as server:
        view = draw(server.scene)
        aim_camera(server.initial_camera, view.points, view=view.view)
        view.show(0)
        # From here on every change of a handle is a message of the film; the present scene is its first frame.
        serializer = server.get_scene_serializer()
        for k, pause in enumerate(np.diff(view.times, prepend=view.times[0])):
            serializer.insert_sleep(float(pause))
            view.show(k)
            if progress is not None:
                progress(k + 1, len(view.times))
        page = serializer.as_html()
    captions = [(round(float(time), 6), view.caption(k)) for k, time in enumerate(view.times)]
    follow = FOLLOW % json.dumps(captions).replace("<", "\\u003c")
    before, after = page.rsplit("</body>", 1)
    path = Path(path)
    path.write_text(f'{before}{STYLE}{follow}<div id="legend">{view.words}</div></body>{after}', encoding="utf-8")
    return path


TICK = 1.0 / 40.0  # seconds between two pictures


def _framed(server: viser.ViserServer, world: World, stage: SceneGeometry) -> SceneView:
    """Return the nodes of a world, seen whole, with a line of text above it."""
    return SceneView(server.scene, world, stage, aim_camera(server.initial_camera, stage.usual_points))


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
        controls = Controls(server, _framed(server, film.world, stage), film.world, scale)
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
                    controls.show(rotations[i], origins[i], film.arrows(i, scale), film.readout(i))
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
        self._stack = contextlib.ExitStack()
        self._server = self._stack.enter_context(serving(port))
        self._controls = Controls(self._server, _framed(self._server, world, stage), world, self._scale)
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
        self._controls.show(rotations, origins, Arrows.of_step(result.contacts, state.h, self._scale), readout)

    def close(self) -> None:
        """End the server."""
        self._stack.close()

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


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
