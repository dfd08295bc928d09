"""Reading a scene file: TOML, from anybody."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contactlab.simulation.scene.building import build_stepper, build_world
from contactlab.simulation.scene.changes import change_table
from contactlab.simulation.scene.document import MOST_BYTES, read_document
from contactlab.simulation.scene.parsing import parse_scene
from contactlab.simulation.scene.schema import SceneEntry
from contactlab.simulation.scene.table import Table
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.world import World

__all__ = ["MOST_BYTES", "Scene", "check_scene", "load_scene"]

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
    changes
        Values by path that were put in place of the file's.
    """

    name: str
    description: str
    world: World
    stepper: TimeStepping
    duration: float
    text: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stamp(self) -> dict[str, str]:
        """What a record says of the scene it was run from: the text, its SHA-256, and the changes if there are any."""
        stamp = {"scene": self.text, "scene_sha256": hashlib.sha256(self.text.encode()).hexdigest()}
        return {**stamp, "scene_changes": json.dumps(dict(self.changes))} if self.changes else stamp


def load_scene(path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None) -> Scene:
    """Read a scene file; see ``docs/scenes.md`` for its sections.

    Nothing in it is evaluated, nothing outside its folder is read, and its size is bounded.

    Parameters
    ----------
    path
        The file.
    changes
        Values in place of the file's, by dotted paths as in ``stepper.h`` or ``body.cube.position.2``; see
        `contactlab.simulation.scene.changes.change_table`.

    Raises
    ------
    SceneError
        With file, line and key, for whatever is wrong.
    """
    path = Path(path)
    root, text = read_document(path)
    entry, stepper = check_scene(change_table(root, changes or {}))
    world = build_world(entry, path.parent)
    return Scene(entry.name, entry.description, world, stepper, entry.duration, text, dict(changes or {}))


def check_scene(root: Table) -> tuple[SceneEntry, TimeStepping]:
    """Return what the tables of a scene say; whatever is wrong raises, but for what only building its bodies tells."""
    scene = parse_scene(root)
    stepper = build_stepper(scene.stepper)
    if scene.duration / stepper.h > MOST_STEPS:
        detail = f"makes {scene.duration / stepper.h:.3g} steps of the scene, at most {MOST_STEPS:g} are taken"
        raise scene.stepper.table.error("h", detail)
    return scene, stepper
