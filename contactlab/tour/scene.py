"""A scene of the tour: a sentence, one or two sliders, and the displayed function that makes the scene."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contactlab.viewer import FrameSource, PlaybackView

if TYPE_CHECKING:
    from viser import SceneApi


@dataclass(frozen=True)
class Slider:
    """A number to be changed; its name is the name of the argument."""

    name: str
    low: float
    high: float
    step: float
    start: float
    unit: str = ""


@dataclass(frozen=True)
class TourScene:
    """One scene.

    Attributes
    ----------
    name
        Name of its module, and of the file of its replay.
    title, sentence
        Title and text for the visitor.
    page
        Page of `docs/` that explains it.
    sliders
        One or two.
    simulate
        Displayed function of the sliders' values that returns a recording, or several by name.
    spacing
        Distance of several recordings along x [m].
    view
        Direction from the scene towards the eye.
    draw
        Function that draws the result of `simulate` under a node of the browser's scene, if it is not a recording.
    """

    name: str
    title: str
    sentence: str
    page: str
    sliders: tuple[Slider, ...]
    simulate: Callable[..., Any]
    spacing: float = 0.0
    view: tuple[float, float, float] = (-0.38, -0.85, 0.42)
    draw: Callable[[SceneApi, str, Any], FrameSource] | None = None

    @property
    def code(self) -> str:
        """Code of the scene, to be pasted anywhere: its imports and its function."""
        function = inspect.getsource(self.simulate)
        used = {node.id for node in ast.walk(ast.parse(function)) if isinstance(node, ast.Name)}
        imports = []
        for line in ast.parse(inspect.getsource(inspect.getmodule(self.simulate) or self.simulate)).body:
            if isinstance(line, ast.Import | ast.ImportFrom):
                line.names = [one for one in line.names if (one.asname or one.name) in used]
                imports += [ast.unparse(line)] if line.names else []
        return "\n".join(imports) + "\n\n\n" + function

    def start(self) -> dict[str, float]:
        """Return the initial values of the sliders."""
        return {slider.name: slider.start for slider in self.sliders}

    def drawn(self, scene: SceneApi, root: str, values: dict[str, float]) -> FrameSource:
        """Simulate with these values, and draw the result under the node ``root``."""
        played = self.simulate(**values)
        if self.draw is not None:
            return self.draw(scene, root, played)
        films = played if isinstance(played, dict) else {"": played}
        places = [(self.spacing * (i - 0.5 * (len(films) - 1)), 0.0, 0.0) for i in range(len(films))]
        return PlaybackView(scene, films, places=places, root=root, view=self.view, whole=True)
