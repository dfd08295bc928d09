"""Six interactive scenes in the browser, each with its twenty lines of code; `contactlab tour`.

Needs the extra `viz` (viser). The server listens only at 127.0.0.1.

This module has the control panel of the tour, and the loop that plays its scenes.
"""

from __future__ import annotations

import contextlib
import html
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.view.tour.scenes import SCENES, Slider, TourScene
from contactlab.view.viewer import FrameSource, aim_camera, serving, write_page

if TYPE_CHECKING:
    import viser

__all__ = ["SCENES", "Slider", "TourPanel", "TourScene", "tour", "write_replays"]


TICK, REST = 1.0 / 30.0, 1.0  # seconds between two pictures, and at the end of a scene
NARROW, COVERED = 600, 0.55  # a phone's window [pixels], and the fraction covered by the panel from below
WORDS = "font-size:12px;line-height:1.3;padding:0 12px 8px"
CODE = "font-size:11px;overflow-x:auto;margin:0"
KEYS = "Keys: **N** next, **P** previous, **R** reset, **H** halt or go on."


class TourPanel:
    """The current scene: its panel, its picture, and the visitor's requests."""

    def __init__(self, server: viser.ViserServer, docs: str | None = None) -> None:
        self._server, self._docs = server, docs
        self._number = 0
        self._windows: dict[int, tuple[int, int]] = {}
        self._drawn: FrameSource | None = None
        self._halted = False
        self._made = 0  # number of pictures made; each has a separate node
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        self._wanted: dict[str, float] | None = None
        self._asked: int | None = 0  # number of the requested scene
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        gui.set_panel_label("contactlab tour")
        server.scene.set_up_direction("+z")
        gui.add_command("next scene", hotkey="N").on_trigger(lambda _: self._go(1))
        gui.add_command("previous scene", hotkey="P").on_trigger(lambda _: self._go(-1))
        gui.add_command("reset", hotkey="R").on_trigger(lambda _: self._go(0))
        gui.add_command("halt or go on", hotkey="H").on_trigger(lambda _: self._halt())
        # Controls are kept for all scenes, with other labels, because values for removed controls would be browser
        # errors.
        self._words = gui.add_markdown("")
        self._values = gui.add_folder("change it")
        go = partial(partial, self._go)
        pressed: dict[str, Callable[[], None]] = {"back": go(-1), "halt": self._halt, "reset": go(0), "next": go(1)}
        gui.add_button_group("", tuple(pressed)).on_click(lambda event: pressed[event.target.value]())
        self._numbers, self._legend, self._link = gui.add_markdown(""), gui.add_html(""), gui.add_markdown("")
        with gui.add_folder("The code that makes it", expand_by_default=False):
            self._code = gui.add_html("")

    def _go(self, by: int) -> None:
        self._asked = (self._number + by) % len(SCENES)

    def _halt(self) -> None:
        self._halted = not self._halted

    def _request_play(self) -> None:
        """Request the picture for the present values of the sliders; `run` makes it."""
        self._wanted = {name: slider.value for name, slider in self._sliders.items()}

    def _enter(self, number: int) -> None:
        """Fill the panel for a scene, with the initial values of its sliders, and request its picture."""
        self._number, scene = number, SCENES[number]
        page = f"docs/{scene.page}.md"
        link = page if self._docs is None else f"[{page}]({self._docs.rstrip('/')}/{scene.page}.html)"
        self._words.content = f"**{number + 1}/{len(SCENES)}  {scene.title}**\n\n{scene.sentence}"
        self._link.content = f"What is behind it: {link}. {KEYS}"
        self._code.content = f'<pre style="{CODE}">{html.escape(scene.code)}</pre>'
        for slider in self._sliders.values():
            slider.remove()
        self._sliders = {}
        with self._values:
            for one in scene.sliders:
                label = f"{one.name} [{one.unit}]" if one.unit else one.name
                slider = self._server.gui.add_slider(label, one.low, one.high, one.step, one.start)
                slider.on_update(lambda _: self._request_play())
                self._sliders[one.name] = slider
        self._request_play()

    def _play(self, values: dict[str, float]) -> None:
        """Make the picture for these values, and then remove the previous one."""
        self._made, self._halted = self._made + 1, False
        with self._server.atomic():
            self._drawn = SCENES[self._number].drawn(self._server.scene, f"/scene {self._made}", values)
            self._drawn.show(0)
            if self._made > 1:
                self._server.scene.remove_by_name(f"/scene {self._made - 1}")
        self._legend.content = f'<div style="{WORDS}">{self._drawn.words}</div>'

    def _aim_cameras(self, *, anew: bool) -> None:
        """Aim the camera of every window that is new or has another size; of all windows if ``anew``."""
        assert self._drawn is not None
        for number, client in self._server.get_clients().items():
            size = (client.camera.image_width, client.camera.image_height)
            if min(size) > 0 and (anew or self._windows.get(number) != size):
                self._windows[number] = size
                lower = COVERED if size[0] < NARROW else 0.0
                aim_camera(client.camera, self._drawn.points, window=size, view=self._drawn.view, lower=lower)

    def run(self, running: Callable[[], bool] = lambda: True) -> None:
        """Play the selected scenes until ``running`` returns False."""
        last = time.monotonic()
        now = 0.0  # time in the scene
        while running():
            anew = self._asked is not None
            if self._asked is not None:
                number, self._asked = self._asked, None
                self._enter(number)
            if self._wanted is not None:
                values, self._wanted = self._wanted, None
                self._play(values)
                now, last = 0.0, time.monotonic()
            assert self._drawn is not None
            self._aim_cameras(anew=anew)
            times, before, last = self._drawn.times, last, time.monotonic()
            if not self._halted:
                now = 0.0 if now > times[-1] + REST else now + last - before
            frame = min(int(times.searchsorted(now)), len(times) - 1)
            with self._server.atomic():
                self._drawn.show(frame)
            self._numbers.content = self._drawn.caption(frame).replace("   ", " · ")
            time.sleep(TICK)


def tour(
    *,
    port: int = 8080,
    docs: str | None = None,
    announce: Callable[[str], None] | None = None,
    running: Callable[[], bool] = lambda: True,
) -> None:
    """Serve the tour at 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    port
        Port of the server; the next free one if it is in use.
    docs
        Address of the built documentation, to which each scene links; without it the page is named.
    announce
        Called with the address when the server is ready.
    running
        Called before every picture; False ends the server.

    Raises
    ------
    ModuleNotFoundError
        viser, of the extra `viz`, is not installed.
    """
    with serving(port) as server:
        guide = TourPanel(server, docs)
        if announce is not None:
            announce(f"http://127.0.0.1:{server.get_port()}")
        with contextlib.suppress(KeyboardInterrupt):
            guide.run(running)


def write_replays(folder: str | Path) -> list[Path]:
    """Write every scene, with its initial slider values, as an HTML file that opens without a network or a server."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        write_page(lambda scene, one=one: one.drawn(scene, "", one.start()), folder / f"{one.name}.html")  # type: ignore[misc]
        for one in SCENES
    ]


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
