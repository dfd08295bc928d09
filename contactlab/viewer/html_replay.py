"""A recording as one HTML file that opens without a network: drag, zoom, play, scrub.

The file is a view, made with viser from a recording; the recording stays the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contactlab.drawing import Filmed
from contactlab.viewer.film_view import Drawn, FilmView
from contactlab.viewer.server import aim_camera, free_port, serving

if TYPE_CHECKING:
    import viser

# In a narrow window the scene keeps the shape it is framed for, in the middle of the page, with its words below it.
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
# The caption keeps its place however the scene is turned: it follows the bar that viser's player plays along.
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
    recording: Filmed,
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
        What to show: a record of time stepping, or of an event-driven run.
    path
        The file; an existing one is replaced.
    fps
        Frames per second of simulated time, at most: fewer where the recording has fewer, and where there would be
        more than 1200 frames. The page says how many of the states it shows.
    forces
        Draw an arrow for each contact force, coloured by the contact's mode.
    collision
        Draw the shapes bodies touch with, in the place of what they look like.
    labels
        Write the name of each body at it; the tree of nodes shows them, too.
    progress
        Called with (frames done, frames in all).

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """

    def draw(scene: viser.SceneApi) -> FilmView:
        view = FilmView(scene, {"": recording}, fps=fps, forces=forces, collision=collision, labels=labels)
        view.words += f"<div>{len(view.times)} of {view.states} states</div>"
        return view

    return write_page(draw, path, progress=progress)


def write_page(
    draw: Callable[[viser.SceneApi], Drawn], path: str | Path, *, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Write what ``draw`` draws into a scene of viser, frame by frame, as a self-contained HTML page."""
    # Nobody is meant to connect to this server: it gives the page.
    with serving(free_port()) as server:
        view = draw(server.scene)
        aim_camera(server.initial_camera, view.points, view=view.view)
        view.show(0)
        # From here on every change of a handle is a message of the film; the scene so far is its first frame.
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
