"""Two planes of an LCP of two unknowns: the plane of q with the complementary cones of M, and the plane of z."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.multibody.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from viser import LineSegmentsHandle, SceneApi

Color = tuple[int, int, int]
LabelAnchor = Literal["top-left", "bottom-right", "bottom-center", "center-center"]

CONES: tuple[Color, ...] = ((86, 180, 233), (240, 228, 66), (204, 121, 167), (230, 159, 0))
HELD = ("z = 0", "z1 > 0", "z2 > 0", "z1, z2 > 0")  # signs of z for q in each cone
LEMKE, SWEEPS, INK, FAINT = (0, 114, 178), (213, 94, 0), (70, 70, 70), (190, 190, 190)
SIDE, FAR, FRAMES = 4.0, 6.0, 121  # half a side of the displayed square; t at Lemke's start; number of frames
ASIDE = 4.6  # distance of the two planes from the middle
ARRIVED = 0.8  # fraction of the time at which the solvers arrive


class LcpPlanes:
    """The plane of q with the complementary cones of M, and the plane of z; a `contactlab.view.viewer.FrameSource`."""

    view = (0.0, -1.0, 0.0)

    def __init__(
        self, scene: SceneApi, root: str, played: tuple[lcp.LCP, lcp.ParametricPath, list[FloatArray]]
    ) -> None:
        self._scene, self._root = scene, root
        problem, self._path, iterates = played
        self._q = np.asarray(problem.q)
        # One unknown after the other: there is a corner between two iterates.
        steps = [z for a, b in pairwise(iterates) for z in (np.array([b[0], a[1]]), b)]
        self._steps = np.array([iterates[0], *steps]).clip(-SIDE, SIDE)
        self.times = np.linspace(0.0, 6.0, FRAMES)
        corners = SIDE * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        self.points = np.concatenate([_at(1.1 * corners, aside) for aside in (-ASIDE, ASIDE)])
        marks = ((LEMKE, "Lemke's path"), (SWEEPS, "Gauss-Seidel's sweeps"), (INK, "w1 = 0, w2 = 0"))
        self.words = "".join(f'<div><span style="color:rgb{c}">&#9632;</span> {name}</div>' for c, name in marks)
        self._draw_cones(np.asarray(problem.M))
        for aside, name in ((-ASIDE, "q, among four cones"), (ASIDE, "z, on both walks")):
            self._lines(name, aside, FAINT, [*zip(corners, np.roll(corners, 1, axis=0), strict=True)])
            self._lines(f"{name} axes", aside, FAINT, [((-SIDE, 0.0), (SIDE, 0.0)), ((0.0, -SIDE), (0.0, SIDE))])
            self._write(name, (0.0, 1.04 * SIDE), aside, "bottom-center", 1.2)
            self._write(f"{name[0]}1", (0.98 * SIDE, 0.0), aside, "bottom-right")
            self._write(f"{name[0]}2", (0.0, 0.98 * SIDE), aside, "top-left")
        for k, (row, c) in enumerate(zip(np.asarray(problem.M), self._q, strict=True)):
            reach = np.linspace(-20.0, 20.0, 2001)[:, None]
            line = -c * row / (row @ row) + reach * np.array([-row[1], row[0]])
            inside = line[np.abs(line).max(axis=1) <= SIDE]
            if len(inside):
                self._lines(f"line {k}", ASIDE, INK, [(inside[0], inside[-1])])
                self._write(f"w{k + 1} = 0", inside[round((0.1, 0.9)[k] * (len(inside) - 1))], ASIDE)
        self._walks = [self._lines(name, aside, color, [(corners[0],) * 2], 4.0) for name, aside, color in WALKS]
        # Points keep their colour in any light, and are round at any position.
        dot = np.zeros((1, 3), dtype=np.float32)
        self._ends = [
            scene.add_point_cloud(f"{root}/{name} end", dot, color, point_size=0.14, point_shape="circle")
            for name, _, color in WALKS
        ]

    def _draw_cones(self, M: FloatArray) -> None:
        """Draw the cones with columns of the unit matrix or of -M as sides; a cone that contains q is a solution."""
        for i, color in enumerate(CONES):
            a, b = (-M[:, k] if i >> k & 1 else np.eye(2)[k] for k in range(2))
            share = np.linspace(0.0, 1.0, 481)[:, None]
            rim = (1.0 - share) * a / np.linalg.norm(a) + share * b / np.linalg.norm(b)
            rim *= SIDE / np.abs(rim).max(axis=1, keepdims=True).clip(1e-9)
            fan = np.array([[0, k, k + 1] for k in range(1, len(rim))], dtype=np.uint32)
            place = _at(np.concatenate((np.zeros((1, 2)), rim)), -ASIDE, -0.005 * (i + 1)).astype(np.float32)
            self._scene.add_mesh_simple(
                f"{self._root}/cone {i}", place, fan, color=color, opacity=0.55, side="double", cast_shadow=False
            )

            self._write(HELD[i], 0.6 * rim[len(rim) // 2], -ASIDE)

    def _write(
        self, text: str, at: ArrayLike, aside: float, anchor: LabelAnchor = "center-center", size: float = 1.0
    ) -> None:
        """Add a label at a point of a plane that is shifted sideways by ``aside``."""
        place = _at(np.array([at], dtype=float), aside, 0.04)[0]
        name = f"{self._root}/{text} of {aside}"
        self._scene.add_label(name, text, position=place, anchor=anchor, font_screen_scale=size)

    def _lines(
        self, name: str, aside: float, color: Color, ends: Sequence[Sequence[ArrayLike]], thick: float = 2.0
    ) -> LineSegmentsHandle:
        places = np.array([_at(np.array(pair, dtype=float), aside, 0.02) for pair in ends], dtype=np.float32)
        return self._scene.add_line_segments(
            f"{self._root}/{name}", places, color, thickness=thick, thickness_units="screen"
        )

    def show(self, frame: int) -> None:
        """Show both solvers after the same fraction of their paths."""
        share, t, z = _share(frame), self._path.t, self._path.z
        now = share * t[-1]
        here = [float(np.interp(now, t, z[:, k])) for k in range(2)]
        seen = SIDE - float(self._q.max())  # the t at which q + t (1, 1) comes into view
        done = share * (len(self._steps) - 1)
        k = min(int(done), len(self._steps) - 2)
        step = self._steps[k] + (done - k) * (self._steps[k + 1] - self._steps[k])
        walked = (
            np.array([self._q + seen, self._q + min(FAR - now, seen)]),
            np.array([*z[t < now], here]),
            np.array([*self._steps[: k + 1], step]),
        )
        for path, lines, end, (_, aside, _) in zip(walked, self._walks, self._ends, WALKS, strict=True):
            places = _at(path.clip(-SIDE, SIDE), aside, 0.03)
            lines.points = np.stack((places[:-1], places[1:]), axis=1) if len(places) > 1 else np.stack([places] * 2, 1)
            end.position = places[-1]

    def caption(self, frame: int) -> str:
        """Return the positions of both solvers as text."""
        share = _share(frame)
        t, sweep = FAR - share * self._path.t[-1], int(share * 0.5 * len(self._steps))
        return f"Lemke: t = {t:.2f}   Gauss-Seidel: sweep {sweep}"


WALKS: tuple[tuple[str, float, Color], ...] = (
    ("Lemke's q", -ASIDE, LEMKE),
    ("Lemke's z", ASIDE, LEMKE),
    ("sweeps", ASIDE, SWEEPS),
)


def _at(points: FloatArray, aside: float, near: float = 0.0) -> FloatArray:
    """Return points (n, 2) of a plane in the world: upright, at these distances aside and towards the eye [m]."""
    return np.column_stack((points[:, 0] + aside, np.full(len(points), -near), points[:, 1]))


def _share(frame: int) -> float:
    """Return the finished fraction of the motion; it reaches 1 some time before the end."""
    return min(1.0, frame / (ARRIVED * (FRAMES - 1)))
