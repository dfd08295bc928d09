"""Reading a scene file: TOML, from anybody."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from contactlab.simulation.scene.building import build_stepper, build_world
from contactlab.simulation.scene.errors import SceneError
from contactlab.simulation.scene.lines import index_lines
from contactlab.simulation.scene.parsing import parse_scene
from contactlab.simulation.scene.table import Table
from contactlab.simulation.time_stepping import TimeStepping
from contactlab.simulation.world import World

__all__ = ["MOST_BYTES", "Scene", "load_scene"]

MOST_BYTES = 1 << 20
MOST_STEPS = 1e8


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene ready to run.

    Attributes
    ----------
    name, description
        As in the file.
    world, stepper
        What to step, and how.
    duration
        [s].
    text
        The file's own.
    """

    name: str
    description: str
    world: World
    stepper: TimeStepping
    duration: float
    text: str = ""

    @property
    def stamp(self) -> dict[str, str]:
        """What a record says of the scene it was run from: the text, and its SHA-256."""
        return {"scene": self.text, "scene_sha256": hashlib.sha256(self.text.encode()).hexdigest()}


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """Read a scene file; see ``docs/scenes.md`` for its sections.

    Nothing in it is evaluated, nothing outside its folder is read, and its size is bounded.

    Raises
    ------
    SceneError
        With file, line and key, for whatever is wrong.
    """
    path = Path(path)
    text = _text(path)
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise SceneError(path, 0, "", "is nested too deeply") from error
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        detail = " ".join(str(error).split())
        raise SceneError(path, int(found[1]) if found else 0, "", f"is not TOML: {detail}") from error
    scene = parse_scene(Table(path, index_lines(text), (), "scene file", values, None))
    stepper = build_stepper(scene.stepper)
    if scene.duration / stepper.h > MOST_STEPS:
        detail = f"makes {scene.duration / stepper.h:.3g} steps of the scene, at most {MOST_STEPS:g} are taken"
        raise scene.stepper.table.error("h", detail)
    return Scene(scene.name, scene.description, build_world(scene, path.parent), stepper, scene.duration, text)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise SceneError(path, 0, "", "there is no such file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SceneError(path, 0, "", f"cannot be read ({error.strerror})") from error
    if len(content) > MOST_BYTES:
        raise SceneError(path, 0, "", f"is larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SceneError(path, 0, "", f"is not UTF-8 (byte {error.start})") from error
