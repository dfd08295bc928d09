"""A viser server for this machine only; a stage as nodes of its scene, and the control panel."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation import OPEN, SLIDE, STICK, World
from contactlab.view.drawing import Arrows, Camera, ForceScale, Readout, SceneGeometry
from contactlab.view.drawing.parts import EDGE, GRID, GROUND, MODE_COLORS, MODE_NAMES, require_viz, srgb_to_linear
from contactlab.view.drawing.stage import VIEW, center_of_mass

if TYPE_CHECKING:
    import viser


HOST = "127.0.0.1"
# The camera is fitted to a window of these sides; in a wider window it fills the height.
WINDOW, FILL, LENS = (1400, 1000), 0.88, 1.1
TOP = 0.94  # vertical position of text, as a fraction of half the height


@contextlib.contextmanager
def serving(port: int) -> Iterator[viser.ViserServer]:
    """Run a server on this machine during the block, at this port or the next free one."""
    with require_viz():
        import viser

    # viser announces its server, and its end, on standard output, which is for results.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=port, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def free_port() -> int:
    """Return a free port (viser uses the next one if it is taken in the meantime)."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def aim_camera(
    camera: viser.InitialCameraConfig | viser.CameraHandle,
    points: FloatArray,
    *,
    window: tuple[int, int] = WINDOW,
    view: tuple[float, float, float] = VIEW,
    lower: float = 0.0,
) -> FloatArray:
    """Look from the direction ``view`` so that points (n, 3) fill the window above its fraction ``lower``.

    Return a position (3,) above all of them on the screen, for text.
    """
    width, height = window
    free = round((1.0 - lower) * height)
    # A long focal length distorts lateral objects less.
    seen = Camera.at(points, width, free, view=view, fill=FILL, lens=LENS * (1.0 + 4.0 * lower))
    # The centre of the camera's rotation is at the depth of the visible scene.
    depth = float((points.mean(axis=0) - seen.eye) @ seen.axes[2])
    # The camera is tilted, not moved, so the eye keeps its height above the floor.
    middle = seen.eye + depth * (seen.axes[2] - 0.5 * (height - free) / seen.zoom * seen.axes[1])
    camera.fov = 2.0 * float(np.arctan(0.5 * height / seen.zoom))
    camera.position = tuple(seen.eye)
    camera.look_at = tuple(middle)
    return np.asarray(middle + depth * TOP * 0.5 * height / seen.zoom * seen.axes[1])


def legend(scale: ForceScale) -> str:
    """Return the meaning of the colours, as HTML, with text for each, so that the colour is not needed."""
    rows = "".join(
        f'<div><span style="color:rgb{color};font-size:1.3em">{"&#9679;" if mode == 0 else "&#10148;"}</span> '
        f"{MODE_NAMES[mode]}</div>"
        for mode, color in MODE_COLORS.items()
    )
    return f"{rows}<div>force on the body,<br>{scale}</div>"


#: Items that can be shown and hidden, with their initial state.
TOGGLES = {
    "forces": True,
    "open contacts": True,
    "normals": False,
    "centre of mass": False,
    "names": False,
    "ground": True,
}
MAX_NAMES = 60  # maximum number of labelled bodies
NO_LINES = np.full((1, 2, 3), -1e4, dtype=np.float32)  # viser nodes cannot be empty, so absent lines are far below


class SceneView:
    """Nodes of a viser scene for a world, under ``root``, with a line of text at a position (3,), or None."""

    def __init__(
        self, scene: viser.SceneApi, world: World, stage: SceneGeometry, words: FloatArray | None, root: str = ""
    ) -> None:
        scene.set_up_direction("+z")
        self._world, self._size = world, stage.size
        self._bodies, self._names = _add_bodies(scene, world, stage, root)
        self._shown: list[tuple[FloatArray, FloatArray] | None] = [None] * len(self._bodies)
        self._ground = _add_grounds(scene, stage, root)
        thick = 0.06 * stage.size
        arrow: dict[str, Any] = {"shaft_radius": thick, "head_radius": 2.2 * thick, "head_length": 4.0 * thick}
        # viser does not convert colours of arrows, and the screen brightens them.
        self._forces = {
            mode: scene.add_arrows(
                f"{root}/contacts/{MODE_NAMES[mode]}", NO_LINES, srgb_to_linear(MODE_COLORS[mode]), **arrow
            )
            for mode in (STICK, SLIDE)
        }
        self._open = scene.add_point_cloud(
            f"{root}/contacts/open", NO_LINES[0, :1], MODE_COLORS[OPEN], point_size=2.0 * thick, point_shape="circle"
        )
        self._normals = scene.add_line_segments(
            f"{root}/contacts/normals", NO_LINES, EDGE, thickness=1.5, thickness_units="screen", visible=False
        )
        self._com = scene.add_icosphere(f"{root}/centre of mass", 0.15 * stage.size, EDGE, visible=False)
        self._text = None if words is None else scene.add_label(f"{root}/readout", "", position=words)

    def toggle(self, name: str, *, shown: bool) -> None:
        """Show or hide one of `TOGGLES`."""
        groups: dict[str, list[Any]] = {
            "forces": list(self._forces.values()),
            "open contacts": [self._open],
            "normals": [self._normals],
            "centre of mass": [self._com],
            "names": list(self._names),
            "ground": self._ground,
        }
        for node in groups[name]:
            node.visible = shown

    def show(self, rotations: FloatArray, origins: FloatArray, arrows: Arrows, text: str) -> None:
        """Show the bodies at poses (nb, 3, 3) and (nb, 3), the marks of a step, and a line of text."""
        for i, (frame, R, p) in enumerate(zip(self._bodies, rotations, origins, strict=True)):
            last = self._shown[i]
            # Parts that do not move are not sent again, in the browser and in the file.
            if last is None or not (np.array_equal(last[1], p) and np.array_equal(last[0], R)):
                frame.position, frame.wxyz = p, quaternion.from_matrix(R)
                self._shown[i] = (R, p)
        for mode, handle in self._forces.items():
            rows = arrows.modes == mode
            lines = np.stack((arrows.points[rows], arrows.tips[rows]), axis=1).astype(np.float32)
            handle.points = lines if len(lines) else NO_LINES
        free = arrows.points[~arrows.carrying].astype(np.float32)
        self._open.points = free if len(free) else NO_LINES[0, :1]
        ends = np.stack((arrows.points, arrows.points + self._size * arrows.normals), axis=1).astype(np.float32)
        self._normals.points = ends if len(ends) else NO_LINES
        center = center_of_mass(self._world, rotations, origins)
        if center is not None:
            self._com.position = center
        if self._text is not None:
            self._text.text = text


def _add_bodies(
    scene: viser.SceneApi, world: World, stage: SceneGeometry, root: str
) -> tuple[list[viser.FrameHandle], list[viser.LabelHandle]]:
    """Add a frame per body with its parts under it; return the frames and the name labels, by body."""
    frames, names = [], []
    middles = stage.middles
    for i, name in enumerate(world.model.names):
        # The number distinguishes names that differ only in slashes, because viser reads these as levels of its tree.
        node = f"{root}/bodies/{i} {name.replace('/', ' ')}"
        frames.append(
            scene.add_frame(node, show_axes=i in stage.bodies_without_shape, axes_length=0.05, axes_radius=0.003)
        )
        if i in middles and i < MAX_NAMES:
            names.append(scene.add_label(f"{node}/name", name, position=middles[i], visible=False))
        for k, part in enumerate(part for part in stage.parts if part.body == i):
            solid = part.solid
            if len(solid.triangles):
                mesh = solid.vertices.astype(np.float32), solid.triangles.astype(np.uint32)
                opacity = None if part.opacity == 1.0 else part.opacity
                scene.add_mesh_simple(f"{node}/{k}", *mesh, color=part.color, opacity=opacity, side="double")
            if len(solid.lines):
                scene.add_line_segments(
                    f"{node}/{k} lines", solid.lines.astype(np.float32), EDGE, thickness=1.5, thickness_units="screen"
                )
    return frames, names


def _add_grounds(scene: viser.SceneApi, stage: SceneGeometry, root: str) -> list[viser.SceneNodeHandle]:
    """Draw the ground, visible from outside only, so that a wall does not hide its contents."""
    nodes: list[viser.SceneNodeHandle] = []
    for i, ground in enumerate(stage.grounds):
        solid = ground.solid
        mesh, name = (solid.vertices.astype(np.float32), solid.triangles.astype(np.uint32)), f"{root}/ground/{i}"
        nodes.append(scene.add_mesh_simple(name, *mesh, color=GROUND, side="front", cast_shadow=False))
        if len(solid.lines):
            lines = f"{name} grid", solid.lines.astype(np.float32), GRID
            nodes.append(scene.add_line_segments(*lines, thickness=1.0, thickness_units="screen"))
    return nodes


NO_BODY_FOLLOWED = "(nobody)"


class Controls:
    """The control panel of a view; ``changes`` counts its switches, after which a static view must be drawn again."""

    def __init__(self, server: viser.ViserServer, view: SceneView, world: World, scale: ForceScale) -> None:
        self._server, self._view, self.changes = server, view, 0
        self._numbers = server.gui.add_markdown("")
        with server.gui.add_folder("show"):
            for name, shown in TOGGLES.items():
                self._add_toggle(name, shown)
        names = world.model.names
        self._followed = server.gui.add_dropdown("follow", [NO_BODY_FOLLOWED, *names], initial_value=NO_BODY_FOLLOWED)
        self._numbering = {name: i for i, name in enumerate(names)}
        self._last: FloatArray | None = None
        with server.gui.add_folder("forces"):
            server.gui.add_html(legend(scale))

    def _add_toggle(self, name: str, shown: bool) -> None:
        box = self._server.gui.add_checkbox(name, initial_value=shown)

        @box.on_update
        def _(_: object) -> None:
            self._view.toggle(name, shown=box.value)
            self.changes += 1

    def show(self, rotations: FloatArray, origins: FloatArray, arrows: Arrows, readout: Readout) -> None:
        """Show a state: bodies at poses (nb, 3, 3) and (nb, 3), the marks of a step, and numbers."""
        with self._server.atomic():
            self._view.show(rotations, origins, arrows, str(readout))
        self._follow(origins)
        worst = "-" if readout.scaled is None else f"{readout.scaled:.1e}"
        mechanical = "-" if readout.mechanical is None else f"{readout.mechanical:.1e}"
        self._numbers.content = (
            f"time **{readout.time:.3f} s**, energy **{readout.energy:.5g} J**\n\n"
            f"contacts **{readout.contacts}**, carrying load **{readout.touching}**\n\n"
            f"worst certificate: scaled **{worst}**, mechanical **{mechanical}**"
        )

    def _follow(self, origins: FloatArray) -> None:
        """Move every camera with the body it follows, at origins (nb, 3)."""
        if self._followed.value == NO_BODY_FOLLOWED:
            self._last = None
            return
        here = np.array(origins[self._numbering[self._followed.value]])
        if self._last is not None:
            moved = here - self._last
            for client in self._server.get_clients().values():
                # Eye and target move equally, so the user's rotation and distance are kept.
                client.camera.position = client.camera.position + moved
                client.camera.look_at = client.camera.look_at + moved
        self._last = here
