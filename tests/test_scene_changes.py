"""Other values in a scene by dotted paths: what a path reaches, and what is said of one that reaches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scene_texts import CUBE, write

from contactlab.simulation.scene import SceneError, load_scene
from contactlab.simulation.scene.loading import value_at, with_overrides
from contactlab.simulation.scene.table import read_document

TWO = CUBE + '\n[[body]]\nname = "stone 1.a"\nshape = "sphere"\nradius = 0.1\nmass = 2.0\nmaterial = "rubber"\n'


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("stepper.h", 1e-3),
        ("scene.duration", 2.0),
        ("material.rubber.mu", 0.1),
        ("body.cube.mass", 3.0),
        ("body.0.mass", 3.0),
        ("body.cube.position", [0.0, 0.0, 1.0]),
        ("body.cube.position.2", 0.5),
        ('body."stone 1.a".mass', 5.0),
        ("body . cube . mass", 5.0),
    ],
)
def test_a_path_reaches_its_value(tmp_path: Path, path: str, value: Any) -> None:
    """And nothing else: the document read is as it was."""
    root, _ = read_document(write(tmp_path, TWO))
    before = value_at(root, path)
    changed = with_overrides(root, {path: value})
    assert value_at(changed, path) == value
    assert value_at(root, path) == before
    assert value_at(with_overrides(changed, {path: before}), path) == before
    assert with_overrides(changed, {path: before}).values == root.values


def test_load_scene_with_changes(tmp_path: Path) -> None:
    """Stepper and world are those of the changed file; a key new to its table is as good; records are stamped."""
    path = write(tmp_path)
    scene = load_scene(path, {"stepper.h": 1e-3, "stepper.edges": 8, "body.cube.mass": 2.5, "scene.duration": 1})
    assert (scene.stepper.h, scene.stepper.edges, scene.duration) == (1e-3, 8, 1.0)
    assert scene.world.model.mass == 2.5
    assert '"body.cube.mass": 2.5' in scene.stamp["scene_changes"]
    assert "scene_changes" not in load_scene(path).stamp


@pytest.mark.parametrize(
    ("changes", "key", "detail"),
    [
        ({"steper.h": 1.0}, "'steper.h'", "no 'steper' there, did you mean 'stepper'?"),
        ({"body.cub.mass": 1.0}, "'body.cub.mass'", "'cub' is none of the 2 entries, did you mean 'cube'?"),
        ({"body.7.mass": 1.0}, "'body.7.mass'", "'7' is none of the 2 entries"),
        ({"body.cube.position.3": 1.0}, "'body.cube.position.3'", "'3' is none of the 3 entries"),
        ({"body.cube.mass.x": 1.0}, "'body.cube.mass.x'", "'mass' is a single value"),
        ({"": 1.0}, "''", "not a path"),
        ({"body..mass": 1.0}, "'body..mass'", "not a path"),
        ({"stepper.": 1.0}, "'stepper.'", "not a path"),
        ({"stepper.hh": 1.0}, "[stepper] 'hh'", "unknown key"),
        ({"stepper.h": "slow"}, "[stepper] 'h'", "must be a number"),
        ({"body.cube.mass": -1.0}, "[[body]] 'mass'", "must"),
    ],
)
def test_a_path_or_value_that_the_scene_refuses(tmp_path: Path, changes: dict[str, Any], key: str, detail: str) -> None:
    """File and key are named."""
    with pytest.raises(SceneError) as caught:
        load_scene(write(tmp_path, TWO), changes)
    assert caught.value.key == key
    assert detail in caught.value.detail


def test_entries_of_one_name_go_by_number(tmp_path: Path) -> None:
    """A path must mean one of them."""
    root, _ = read_document(write(tmp_path, TWO.replace("stone 1.a", "cube")))
    with pytest.raises(SceneError, match="names 2 entries; use their numbers"):
        with_overrides(root, {"body.cube.mass": 1.0})
    assert value_at(with_overrides(root, {"body.1.mass": 7.0}), "body.1.mass") == 7.0
