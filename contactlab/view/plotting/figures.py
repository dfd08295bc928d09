"""Figures without a window: the axes of charts, and a recording as a picture or an animation.

A picture has bodies, ground and contact forces.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Sphere, tangent_frame
from contactlab.collision.shapes import join_surfaces
from contactlab.collision.shapes.shape import lathe
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.view.drawing import (
    Arrows,
    ForceScale,
    Playable,
    Playback,
    SceneGeometry,
    SurfaceMesh,
    playback_of,
    solid_of,
    state_at,
)
from contactlab.view.drawing.parts import GRID, GROUND, MODE_COLORS, MODE_NAMES, Color, hexadecimal, require_viz
from contactlab.view.drawing.stage import VIEW, Camera
from contactlab.view.plotting.render import Item, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours for lines, distinguishable with any kind of colour vision; beyond 7 lines also by dashes.
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, heights: list[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure of a size [inches] for a PNG, and its axes row by row, with a faint grid.

    With the ``heights`` of the rows, the axes of a column have a common horizontal axis.
    """
    with require_viz():
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    grid = figure.subplots(rows, columns, squeeze=False, sharex="col" if heights else "none", height_ratios=heights)
    axes = list(grid.ravel())
    for one in axes:
        one.grid(alpha=0.25)
    return figure, axes


def one_page(heights: list[float], title: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with one axes per height [inches], in a column with a common time axis."""
    figure, axes = new_figure(9.0, sum(heights) + 0.6, rows=len(heights), heights=heights)
    from cycler import cycler

    for one in axes:
        one.set_prop_cycle(cycler(linestyle=["-", "--", ":"]) * cycler(color=CYCLE))
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title, fontsize=10)
    return figure, axes


def legend_above(axes: Axes, columns: int = 4) -> None:
    """Put the legend above the axes, so that it hides no data."""
    axes.legend(
        frameon=False, fontsize=8, ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2
    )


def positive(values: FloatArray) -> FloatArray:
    """Return the values with NaN for values that are not positive, for logarithmic axes."""
    return np.where(values > 0.0, values, np.nan)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the path's suffix, and return the path."""
    path = Path(path)
    figure.savefig(path)
    return path


if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_FRAMES = 12


def picture(
    recording: Playable,
    time: float | Sequence[float] | None = None,
    *,
    path: str | Path | None = None,
    forces: bool = True,
    collision: bool = False,
    labels: bool = False,
    view: tuple[float, float, float] = VIEW,
    size: tuple[int, int] | None = None,
) -> Figure:
    """Return a figure of a recording's bodies with their contact forces.

    Parameters
    ----------
    recording
        Record of time stepping or of an event-driven run.
    time
        Time [s] of the nearest state to draw; by default the last state. Several times give a strip of pictures with
        one camera.
    path
        File to write the picture to, in the format of its suffix.
    forces
        Draw an arrow for the force of each contact on its body B, in the step that led to the state: green for
        sticking, vermilion for slipping, and a grey point without force. The longest arrows are cut.
    collision
        Draw the collision shapes instead of the visuals.
    labels
        Write the names of the bodies.
    view
        Direction from the middle of the picture towards the eye, world axes.
    size
        Width and height of one picture [pixels]; by default suitable for the scene.

    Raises
    ------
    ValueError
        No time, more than 12, or a time outside the recording.
    """
    with require_viz():
        from matplotlib.figure import Figure

    film = playback_of(recording)
    states = [len(film.time) - 1] if time is None else [_state(film, t) for t in np.atleast_1d(time)]
    if not 1 <= len(states) <= MAX_FRAMES:
        raise ValueError(f"time: 1 to {MAX_FRAMES} times make a picture, got {len(states)}")
    images, scale, places = _frames(film, states, forces, collision, view, size, strip=len(states) > 1)
    height, width = images[0].shape[:2]

    columns = min(len(states), 6)
    rows = -(-len(states) // columns)
    dpi = 150.0
    wide, high = columns * width, rows * (height + 30) + (46 if forces else 6)
    figure = Figure(figsize=(wide / dpi, high / dpi), dpi=dpi)
    for k, (i, image) in enumerate(zip(states, images, strict=True)):
        left, top = (k % columns) * width, (k // columns) * (height + 30)
        axes = figure.add_axes((left / wide, (high - top - 30 - height) / high, width / wide, height / high))
        axes.imshow(image, interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(f"t = {film.time[i]:.3f} s", fontsize=9, pad=4.0)
        for body, (x, y) in places[k].items() if labels else ():
            box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1.0}
            axes.text(x, y, film.world.model.names[body], fontsize=7, ha="center", va="center", bbox=box, clip_on=True)
    if forces:
        _legend(figure, scale, narrow=wide < 700)
    if path is not None:
        figure.savefig(Path(path), dpi=dpi)
    return figure


def animation(
    recording: Playable,
    path: str | Path,
    *,
    fps: float = 20.0,
    speed: float = 1.0,
    forces: bool = True,
    collision: bool = False,
    view: tuple[float, float, float] = VIEW,
    size: tuple[int, int] = (960, 540),
) -> Path:
    """Write a recording as an endless animation (WebP, PNG, GIF) or as a film, depending on the suffix.

    Films (``.mp4``, ``.mov``, ``.mkv``) need ffmpeg, on the PATH or from the package imageio-ffmpeg.

    Parameters
    ----------
    fps
        Frames per second of playback.
    speed
        Simulated seconds per second of playback.
    size
        Width and height [pixels].

    The other parameters are as for `picture`. Drawing a second of 960 x 540 pixels takes about four seconds.

    Raises
    ------
    ValueError
        Another suffix, or fps or speed are not positive.
    ModuleNotFoundError
        ffmpeg is missing for a film, or the extra `viz` is not installed.
    OSError
        The file cannot be written.
    """
    if not (fps > 0.0 and speed > 0.0):
        raise ValueError(f"fps and speed must be positive, got {fps:g} and {speed:g}")
    path = Path(path)
    check_suffix(path)
    film = playback_of(recording)
    times = np.arange(film.time[0], film.time[-1] + 1e-9, speed / fps)
    states = [state_at(film.time, t) for t in times]
    arrays, *_ = _frames(film, states, forces, collision, view, size, strip=True)
    write_moving(arrays, path, fps)
    return path


def _frames(
    film: Playback,
    states: list[int],
    forces: bool,
    collision: bool,
    view: tuple[float, float, float],
    size: tuple[int, int] | None,
    *,
    strip: bool,
) -> tuple[list[NDArray[np.uint8]], ForceScale, list[dict[int, FloatArray]]]:
    """Return states drawn with one camera, the scale of their arrows, and the positions of the bodies [pixels]."""
    rotations, origins = (poses[states] for poses in film.poses())
    stage = SceneGeometry.of(film.world, rotations, origins, collision=collision)
    scale = film.scale(stage.size)
    frames = [
        [Item(part.solid.transformed(R[part.body], p[part.body]), part.color) for part in stage.parts]
        for R, p in zip(rotations, origins, strict=True)
    ]
    grounds = [Item(ground.solid, GROUND, GRID, ground=True) for ground in stage.grounds]
    marks = [_marks(film.arrows(i, scale), stage.size) if forces else [] for i in states]
    camera = _camera(stage, marks, view, size, strip=strip)
    scenes = [[*grounds, *bodies, *mark] for bodies, mark in zip(frames, marks, strict=True)]
    places = [
        {body: camera.project(R[body] @ middle + p[body])[:2] for body, middle in stage.middles.items()}
        for R, p in zip(rotations, origins, strict=True)
    ]
    return [render(items, camera) for items in scenes], scale, places


def _state(film: Playback, when: float) -> int:
    """Return the index of the state at a time [s]; a time outside the recording raises."""
    start, end = float(film.time[0]), float(film.time[-1])
    slack = 1e-9 + 1e-9 * abs(end)
    if not start - slack <= when <= end + slack:
        raise ValueError(f"time: {when:g} s is not within the recording, {start:g} .. {end:g} s")
    return state_at(film.time, float(when))


def _camera(
    stage: SceneGeometry,
    marks: list[list[Item]],
    view: tuple[float, float, float],
    size: tuple[int, int] | None,
    *,
    strip: bool,
) -> Camera:
    """Return a camera that shows the stage and all marks; without ``size``, the picture gets the shape of the scene."""
    all_points = np.concatenate([stage.points, *(item.solid.vertices for items in marks for item in items)])
    if size is None:
        wide, tall = (420, 560) if strip else (900, 900)
        # First with a square picture, whose shape is then adapted to the scene.
        trial = Camera.at(all_points, 500, 500, view=view).project(all_points)[:, :2]
        ratio = float(np.ptp(trial[:, 1]) / max(float(np.ptp(trial[:, 0])), 1e-9))
        width = wide if ratio < tall / wide else max(wide // 2, int(tall / ratio))
        size = (width, int(np.clip(ratio * width, 0.55 * width, tall)))
    return Camera.at(all_points, *size, view=view, fill=0.84)


def _marks(arrows: Arrows, size: float) -> list[Item]:
    """Return arrows of forces and points of open contacts, one item per colour."""
    thick = 0.06 * size
    solids: dict[Color, list[SurfaceMesh]] = {}
    for k in range(len(arrows.points)):
        color = MODE_COLORS[int(arrows.modes[k])]
        if arrows.carrying[k]:
            solid = _arrow(arrows.points[k], arrows.tips[k], thick)
        else:
            solid = solid_of_ball(arrows.points[k], 1.2 * thick)
        solids.setdefault(color, []).append(solid)
    return [Item(join_surfaces(some), color, mark=True) for color, some in solids.items()]


def solid_of_ball(center: FloatArray, radius: float) -> SurfaceMesh:
    """Return a ball in world axes."""
    return solid_of(Sphere(radius, center))


def _arrow(foot: FloatArray, tip: FloatArray, thick: float) -> SurfaceMesh:
    """Return a shaft with a head of fixed size; a short arrow is only a head."""
    length = float(np.linalg.norm(tip - foot))
    if length < 1e-3 * thick:
        return solid_of_ball(foot, 0.8 * thick)
    head, along = min(4.0 * thick, 0.6 * length), (tip - foot) / length
    width, neck = thick * min(1.0, head / (4.0 * thick) + 0.3), length - head
    arrow = lathe([(0.0, length), (2.2 * width, neck), (width, neck), (width, 0.0), (0.0, 0.0)])
    return arrow.transformed(np.column_stack((*tangent_frame(along), along)), foot)


def _legend(figure: Figure, scale: ForceScale, *, narrow: bool) -> None:
    """Draw the legend of contact modes under a figure, with the scale of the forces unless it is narrow."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker=">" if mode else "o", color=hexadecimal(color), label=name)
        for mode, (color, name) in {m: (MODE_COLORS[m], MODE_NAMES[m]) for m in MODE_COLORS}.items()
    ]
    if not narrow:
        handles.append(Line2D([], [], linestyle="none", label=f"force on the body, {scale}"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=8, handletextpad=0.2)


PICTURES, FILMS = (".webp", ".png", ".gif"), (".mp4", ".mov", ".mkv")


def check_suffix(path: Path) -> None:
    """Raise unless a suffix is an animation or film that can be encoded, before anything is drawn.

    It raises `ValueError` for another suffix, and `ModuleNotFoundError` without ffmpeg.
    """
    if path.suffix.lower() in FILMS:
        encoder()
    elif path.suffix.lower() not in PICTURES:
        known = ", ".join((*PICTURES, *FILMS))
        raise ValueError(f"path: must end in one of {known}, got {str(path)!r}")


def encoder() -> str:
    """Return the path of ffmpeg: the system's, or otherwise the one in the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "films need ffmpeg: pip install imageio-ffmpeg, or put ffmpeg on the PATH; .webp needs none",
            name="imageio_ffmpeg",
        ) from error
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def write_moving(frames: list[NDArray[np.uint8]], path: Path, fps: float) -> None:
    """Write frames (height, width, 3) as an endless animation or a film, depending on the suffix.

    It raises `OSError`, with the output of the encoder, if the encoder fails.
    """
    if path.suffix.lower() in FILMS:
        _film(frames, path, fps)
        return
    with require_viz():
        from PIL import Image
    first, *others = (Image.fromarray(frame) for frame in frames)
    # Compression effort of WebP: a quarter fewer bytes than with Pillow's default, for a hundredth of the drawing time.
    first.save(path, save_all=True, append_images=others, duration=round(1000.0 / fps), loop=0, method=4)


def _film(frames: list[NDArray[np.uint8]], path: Path, fps: float) -> None:
    """Write frames (height, width, 3) as a video with ffmpeg."""
    height, width, _ = frames[0].shape
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    # Most players need this pixel format, which has one colour per four pixels, so both sides must be even.
    wanted = ["-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-pix_fmt", "yuv420p", "-crf", "18"]
    command = [encoder(), "-y", "-loglevel", "error", *given, *wanted, str(path.absolute())]
    with tempfile.TemporaryFile() as raw:
        for frame in frames:
            raw.write(frame.tobytes())
        raw.seek(0)
        done = subprocess.run(command, stdin=raw, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise OSError(f"{command[0]} could not write {path}: {said or f'it ended with {done.returncode}'}")
