"""Panel beside the scene: the legend, what is shown, whom the camera follows, and the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.drawing import ForceScale, Readout
from contactlab.simulation import World
from contactlab.spatial.arrays import FloatArray
from contactlab.viewer.scene import TOGGLES, SceneView
from contactlab.viewer.server import legend

if TYPE_CHECKING:
    import viser

NOBODY = "(nobody)"


class Controls:
    """The panel of a view; ``changes`` counts its switches: a view that stands still has to be drawn again."""

    def __init__(self, server: viser.ViserServer, view: SceneView, world: World, scale: ForceScale) -> None:
        self._server, self.changes = server, 0
        self._numbers = server.gui.add_markdown("")
        with server.gui.add_folder("show"):
            for name, shown in TOGGLES.items():
                self._add_toggle(name, view, shown)
        names = world.model.names
        self._followed = server.gui.add_dropdown("follow", [NOBODY, *names], initial_value=NOBODY)
        self._numbering = {name: i for i, name in enumerate(names)}
        self._last: FloatArray | None = None
        with server.gui.add_folder("forces"):
            server.gui.add_html(legend(scale))

    def _add_toggle(self, name: str, view: SceneView, shown: bool) -> None:
        box = self._server.gui.add_checkbox(name, initial_value=shown)

        @box.on_update
        def _(_: object) -> None:
            view.toggle(name, shown=box.value)
            self.changes += 1

    def tell(self, readout: Readout) -> None:
        """Write the numbers of the state shown."""
        worst = "-" if readout.scaled is None else f"{readout.scaled:.1e}"
        mechanical = "-" if readout.mechanical is None else f"{readout.mechanical:.1e}"
        self._numbers.content = (
            f"time **{readout.time:.3f} s**, energy **{readout.energy:.5g} J**\n\n"
            f"contacts **{readout.contacts}**, of which carry **{readout.touching}**\n\n"
            f"worst certificate: scaled **{worst}**, mechanical **{mechanical}**"
        )

    def follow(self, origins: FloatArray) -> None:
        """Move every camera along with the body it follows, at origins (nb, 3)."""
        if self._followed.value == NOBODY:
            self._last = None
            return
        here = np.array(origins[self._numbering[self._followed.value]])
        if self._last is not None:
            moved = here - self._last
            for client in self._server.get_clients().values():
                # Eye and aim move alike: the user's own turn and distance stay.
                client.camera.position = client.camera.position + moved
                client.camera.look_at = client.camera.look_at + moved
        self._last = here
