"""Pictures one after the other, in one file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.drawing.extra import extra_viz

PICTURES, FILMS = (".webp", ".png", ".gif"), (".mp4", ".mov", ".mkv")


def check_suffix(path: Path) -> None:
    """Refuse what is neither a picture that moves nor a film, before anything is drawn; and a film that none encodes.

    Raises
    ------
    ValueError
        Another suffix.
    ModuleNotFoundError
        No ffmpeg.
    """
    if path.suffix.lower() in FILMS:
        encoder()
    elif path.suffix.lower() not in PICTURES:
        known = ", ".join((*PICTURES, *FILMS))
        raise ValueError(f"path: must end in one of {known}, got {str(path)!r}")


def encoder() -> str:
    """Return where ffmpeg is: on the path, or that of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError as error:
        message = "films need ffmpeg: pip install imageio-ffmpeg, or put ffmpeg on the PATH; .webp needs none"
        raise ModuleNotFoundError(message, name="imageio_ffmpeg") from error
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def write_moving(frames: list[NDArray[np.uint8]], path: Path, fps: float) -> None:
    """Write frames (height, width, 3): a picture that moves, for ever again, or a film, as the suffix says.

    Raises
    ------
    OSError
        The encoder gives up; with what it says.
    """
    if path.suffix.lower() in FILMS:
        _film(frames, path, fps)
        return
    with extra_viz():
        from PIL import Image
    first, *others = (Image.fromarray(frame) for frame in frames)
    first.save(path, save_all=True, append_images=others, duration=round(1000.0 / fps), loop=0)


def _film(frames: list[NDArray[np.uint8]], path: Path, fps: float) -> None:
    height, width, _ = frames[0].shape
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    # What most players show: four brightnesses to a colour, hence even sides.
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
