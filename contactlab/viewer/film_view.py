"""Runs as nodes of a viser scene, one or several beside each other, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from contactlab.drawing import Filmed, Stage, film_of, shown_steps
from contactlab.drawing.camera import VIEW
from contactlab.spatial.arrays import FloatArray
from contactlab.viewer.scene import SceneView
from contactlab.viewer.server import legend

if TYPE_CHECKING:
    import viser

MOST_FRAMES = 1200


class Drawn(Protocol):
    """What is shown frame by frame.

    Attributes
    ----------
    times
        (n,) of the frames, from 0 [s].
    points
        (n, 3) what a camera has to see.
    view
        From what is looked at towards the eye.
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
        """One line of numbers about a frame."""


class FilmView:
    """Recordings by the names that stand above them, as nodes under ``root``; a `Drawn`.

    Parameters
    ----------
    scene
        Of a viser server.
    recordings
        What to show; a name may be empty.
    places
        Where the world's origin of each is drawn; None: at the origin.
    view
        Direction towards the eye.
    whole
        Whether a camera has to see all of the motion, not only where bodies are most of the time.
    fps
        Frames per second of simulated time, at most; 1200 frames in all.
    forces
        Draw an arrow for each contact force.
    collision
        Draw the shapes bodies touch with, in the place of what they look like.
    labels
        Write the name of each body at it.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        recordings: Mapping[str, Filmed],
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
        self._films = [film_of(recording) for recording in recordings.values()]
        self._poses = [film.poses() for film in self._films]
        stages = [Stage.of(f.world, *p, collision=collision) for f, p in zip(self._films, self._poses, strict=True)]
        # One scale for all: what is longer is more.
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
                scene.add_label(f"{node}/name", name, position=above, anchor="bottom-center")
                self.points = np.concatenate((self.points, [at[i] + above]))
            self._views.append(SceneView(scene, film.world, stage, None, node))
            self._views[-1].toggle("names", shown=labels)
            if not forces:
                for group in ("forces", "open contacts"):
                    self._views[-1].toggle(group, shown=False)
        time = max((film.time for film in self._films), key=lambda time: float(time[-1]))
        span = float(time[-1] - time[0])
        shown = shown_steps(time, min(fps, MOST_FRAMES / span) if span > 0.0 else fps)
        self.times = np.asarray(time[shown] - time[0])
        # Where steps shrank, states of the same number are not of the same time.
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
        """The time, and numbers of the run whose step was solved worst."""
        told = [film.readout(int(states[frame])) for film, states in zip(self._films, self._states, strict=True)]
        return str(max(told, key=lambda one: one.scaled or 0.0))
