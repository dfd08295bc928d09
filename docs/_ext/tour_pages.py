"""Scenes of `contactlab.view.tour` in a page: the sentence, a replay that plays without a server, the code.

The build writes the replays beside the page, by the same command that visitors have.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from contactlab.view.tour import SCENES

FRAME = '<iframe class="tour" src="tour/{name}.html" title="{title}" loading="lazy"></iframe>'


class TourScene(Directive):
    """One scene, by its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sentence, the replay and the code."""
        scene = next(scene for scene in SCENES if scene.name == self.arguments[0])
        return [
            nodes.paragraph(text=scene.sentence),
            nodes.raw("", FRAME.format(name=scene.name, title=scene.title), format="html"),
            nodes.literal_block(scene.code, scene.code, language="python"),
        ]


def write_replays(app: Sphinx) -> None:
    """Write the replays where the page looks for them, in a separate process, so that no threads are left behind."""
    if app.builder.format == "html":
        command = [sys.executable, "-m", "contactlab.cli", "tour", "--html", str(Path(app.outdir) / "tour")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("tour-scene", TourScene)
    app.connect("builder-inited", write_replays)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
