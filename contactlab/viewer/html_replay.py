"""A recording as one HTML file that opens without a network: drag, zoom, play, scrub.

The file is a view, made with viser from a recording; the recording stays the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from contactlab.drawing import Filmed, Stage, film_of, shown_steps
from contactlab.viewer.scene import SceneView
from contactlab.viewer.server import aim_camera, free_port, legend, serving

MOST_FRAMES = 1200

BOX = (
    "position:fixed;left:12px;bottom:52px;z-index:10;padding:6px 10px;background:rgba(255,255,255,0.85);"
    "border-radius:4px;font:13px sans-serif;color:#222;pointer-events:none"
)

CAPTION = (
    "position:fixed;left:50%;top:8px;transform:translateX(-50%);z-index:10;padding:3px 10px;white-space:pre;"
    "background:rgba(255,255,255,0.85);border-radius:4px;font:14px sans-serif;color:#222;pointer-events:none"
)
# The caption keeps its place however the scene is turned: it follows the bar that viser's player plays along.
FOLLOW = """<div id="caption" style="%s"></div><script>(() => {
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
    progress
        Called with (frames done, frames in all).

    Raises
    ------
    ModuleNotFoundError
        Without viser: it comes with the extra `viz`.
    """
    film = film_of(recording)
    rotations, origins = film.poses()
    stage = Stage.of(film.world, rotations, origins, collision=collision)
    scale = film.scale(stage.size)
    span = float(film.time[-1] - film.time[0])
    shown = shown_steps(film.time, min(fps, MOST_FRAMES / span) if span > 0.0 else fps)
    # Nobody is meant to connect to this server: it gives the page.
    with serving(free_port()) as server:
        aim_camera(server.initial_camera, stage)
        view = SceneView(server.scene, film.world, stage, None)
        if not forces:
            for name in ("forces", "open contacts"):
                view.toggle(name, shown=False)

        def show(i: int) -> None:
            view.show(rotations[i], origins[i], film.arrows(i, scale), "")

        show(0)
        # From here on every change of a handle is a message of the film; the scene so far is its first frame.
        serializer = server.get_scene_serializer()
        for k, (previous, i) in enumerate(zip([0, *shown[:-1]], shown, strict=True)):
            serializer.insert_sleep(float(film.time[i] - film.time[previous]))
            show(i)
            if progress is not None:
                progress(k + 1, len(shown))
        page = serializer.as_html()
    captions = [(round(float(film.time[i] - film.time[0]), 6), str(film.readout(i))) for i in shown]
    follow = FOLLOW % (CAPTION, json.dumps(captions).replace("<", "\\u003c"))
    words = f"{legend(scale) if forces else ''}<div>{len(shown)} of {len(film.time)} states</div>"
    before, after = page.rsplit("</body>", 1)
    path = Path(path)
    path.write_text(f'{before}{follow}<div style="{BOX}">{words}</div></body>{after}', encoding="utf-8")
    return path
