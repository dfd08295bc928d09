"""Shapes, parts, fixed bodies and pairs of scene files, and scenes loaded with changes."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scene_texts import CUBE, write

from contactlab.simulation import Box, Capsule, Cylinder, HalfSpace, HeightField, Sphere
from contactlab.simulation.scene import SceneError, load_scene

TERRAIN = """
[[fixed]]
name = "hills"
shape = "height_field"
heights = [[0.0, 0.1], [0.2, 0.3], [0.0, 0.0]]
grid = [0.5, 0.7]
mu = 0.4
position = [1.0, 2.0, 0.0]

[[fixed]]
name = "wall"
shape = "half_space"
normal = [1.0, 0.0, 0.0]
offset = -3.0
mu = 0.2

[[fixed]]
name = "gate"
material = "rubber"
rpy = [0.0, 0.0, 1.5707963267948966]
position = [0.0, -2.0, 0.0]

[[fixed.part]]
shape = "cylinder"
radius = 0.1
half_length = 0.5
position = [1.0, 0.0, 0.5]

[[fixed.part]]
shape = "cylinder"
radius = 0.2
half_length = 0.5
position = [-1.0, 0.0, 0.5]
mu = 0.9
"""

CLUB = """
[[body]]
name = "club"
density = 500.0
mu = 0.5
position = [0.0, 0.0, 1.0]

[[body.part]]
shape = "capsule"
radius = 0.05
half_length = 0.3
rpy = [0.0, 1.5707963267948966, 0.0]

[[body.part]]
shape = "sphere"
radius = 0.1
position = [0.3, 0.0, 0.0]
material = "rubber"

[[ignore]]
bodies = ["club", "cube"]
"""

FILTERS = """
[[half_space]]
name = "deck"
mu = 0.3
mask = 6

[[fixed]]
name = "gate"
mu = 0.2
category = 2

[[fixed.part]]
shape = "sphere"
radius = 0.1

[[fixed.part]]
shape = "sphere"
radius = 0.1
mask = 0

[[kinematic]]
name = "arm"
mu = 0.2
mask = 0xFFFFFFFD
velocity = [0.1, 0.0, 0.0]
position = [0.0, 0.0, 3.0]

[[kinematic.part]]
shape = "box"
size = [0.1, 0.1, 1.0]

[[kinematic.part]]
shape = "box"
size = [1.0, 0.1, 0.1]
position = [0.5, 0.0, 0.5]
category = 4
mu = 0.9
"""


def test_fixed_bodies_and_their_shapes(tmp_path):
    """Height fields, half-spaces and parts stand where the file says, with their materials."""
    world = load_scene(write(tmp_path, CUBE + TERRAIN)).world
    assert world.model.names == ("hills", "wall", "gate", "cube")
    kinds = [type(surface.shape) for surface in world.surfaces]
    assert kinds == [HeightField, HalfSpace, Cylinder, Cylinder, Box]
    assert [surface.material.mu for surface in world.surfaces] == [0.4, 0.2, 0.5, 0.9, 0.5]
    field = world.surfaces[0].shape
    assert field.spacing == (0.5, 0.7)
    np.testing.assert_array_equal(field.heights, [[0.0, 0.1], [0.2, 0.3], [0.0, 0.0]])
    np.testing.assert_allclose(world.surfaces[3].placement.p, (-1.0, 0.0, 0.5))
    np.testing.assert_allclose(world.model.bodies[2].placement.apply((1.0, 0.0, 0.5)), (0.0, -1.0, 0.5), atol=1e-12)


def test_a_body_of_parts_weighs_what_its_parts_do(tmp_path):
    """Mass, mass centre and inertia of a lying capsule and a ball, by hand; `ignore` lets it pass the cube."""
    scene = load_scene(write(tmp_path, CUBE + CLUB))
    own = scene.world.model.bodies[1].inertia
    tube, ends, ball = (500.0 * math.pi * volume for volume in (0.05**2 * 0.6, 4 / 3 * 0.05**3, 4 / 3 * 0.1**3))
    assert own.mass == pytest.approx(tube + ends + ball)
    x = 0.3 * ball / own.mass
    np.testing.assert_allclose(own.com, (x, 0.0, 0.0), atol=1e-15)
    along = tube * 0.05**2 / 2 + 0.4 * ends * 0.05**2 + 0.4 * ball * 0.1**2
    assert own.inertia[0, 0] == pytest.approx(along)
    across = tube * (0.05**2 / 4 + 0.3**2 / 3) + ends * (0.4 * 0.05**2 + 0.3**2 + 0.75 * 0.05 * 0.3)
    across += 0.4 * ball * 0.1**2 + 0.09 * ball - own.mass * x**2
    assert own.inertia[1, 1] == pytest.approx(across)
    kinds = [type(surface.shape) for surface in scene.world.surfaces]
    assert kinds == [Box, Capsule, Sphere]
    assert scene.world.excluded_pairs == ((1, 0),)
    assert CLUB.replace("density = 500.0", "mass = 2.0") != CLUB
    by_mass = load_scene(write(tmp_path, CUBE + CLUB.replace("density = 500.0", "mass = 2.0"))).world
    assert by_mass.model.bodies[1].inertia.mass == 2.0
    np.testing.assert_allclose(by_mass.model.bodies[1].inertia.inertia, 2.0 / own.mass * own.inertia, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (CLUB, 'shape = "capsule"', 'shape = "capsul" # here', "did you mean 'capsule'?"),
        (CLUB, "half_length = 0.3", "half_length = -0.3 # here", "positive"),
        (CLUB, "half_length = 0.3", "half_extents = [1, 1, 1] # here", "belong to a capsule"),
        (
            CLUB,
            '[[body.part]]\nshape = "sphere"',
            '[[body.part]] # here\nshape = "cylinder"',
            "'half_length': is missing",
        ),
        (CLUB, '[[body.part]]\nshape = "capsule"', "[[body.part]] # here", "'shape': is missing"),
        (CLUB, "[[body.part]]", 'shape = "box"\n\n[[body.part]] # here', "wants one of 'shape', 'part'"),
        (CLUB, "density = 500.0", "density = 500.0\nradius = 1.0 # here", "belongs to one of the parts"),
        (
            CLUB,
            '[[body]]\nname = "club"\ndensity = 500.0\nmu = 0.5',
            '[[body]] # here\nname = "club"\nmass = 1',
            "'mu'",
        ),
        (CLUB, 'bodies = ["club", "cube"]', 'bodies = ["club"] # here', "must name two bodies"),
        (CLUB, 'bodies = ["club", "cube"]', "bodies = 3 # here", "an array of strings"),
        (CLUB, 'bodies = ["club", "cube"]', 'bodies = ["club", "cub"] # here', "no body is called 'cub'"),
        (TERRAIN, "grid = [0.5, 0.7]", "grid = [0.5] # here", "must have 2 numbers, got 1"),
        (TERRAIN, "[0.2, 0.3], [0.0, 0.0]]", "[0.2], [0.0, 0.0]] # here", "must have 2 numbers, got 1"),
        (TERRAIN, "normal = [1.0, 0.0, 0.0]", "normal = [0.0, 0.0, 0.0] # here", "normal"),
        (TERRAIN, "offset = -3.0", "velocity = [1.0, 0.0, 0.0] # here", "unknown key"),
        (FILTERS, "mask = 6", "mask = -1 # here", "must lie between 0 and 4294967295, got -1"),
        (FILTERS, "mask = 0\n", "mask = 0x1FFFFFFFF # here\n", "must lie between"),
        (FILTERS, "category = 2", "category = 2.0 # here", "must be a whole number, got a number"),
        (FILTERS, "category = 4", "categroy = 4 # here", "did you mean 'category'?"),
        (FILTERS, "mask = 0xFFFFFFFD", "mask = true # here", "got a boolean"),
        (FILTERS, '[[kinematic]]\nname = "arm"\nmu = 0.2', '[[kinematic]] # here\nname = "arm"', "'mu'"),
        (FILTERS, "size = [0.1, 0.1, 1.0]", "size = [0.1, 0.1] # here", "must have 3 numbers, got 2"),
    ],
)
def test_errors_name_line_and_key(tmp_path, text, old, new, words):
    """A fault in a part, a fixed body or a pair is found on its line."""
    assert old in text
    whole = CUBE + text.replace(old, new, 1)
    with pytest.raises(SceneError) as caught:
        load_scene(write(tmp_path, whole))
    assert words in str(caught.value)
    assert "# here" in whole.splitlines()[caught.value.line - 1]


def test_filters_are_those_of_the_file(tmp_path):
    """Parts inherit missing keys from the body; by default everything collides."""
    everything = 0xFFFFFFFF
    world = load_scene(write(tmp_path, CUBE + FILTERS)).world
    assert world.half_space_filters == ((1, everything), (1, 6))
    found = [(surface.category, surface.mask) for surface in world.surfaces]
    arm = [(1, everything & ~2), (4, everything & ~2)]
    assert world.model.names == ("gate", "cube", "arm")
    assert found == [(2, everything), (2, 0), (1, everything), *arm]
    assert [surface.material.mu for surface in world.surfaces[3:]] == [0.2, 0.9]
    np.testing.assert_allclose(world.surfaces[4].placement.p, (0.5, 0.0, 0.5))


def test_a_robot_gives_its_filter_to_its_shapes(tmp_path):
    """A link's own shape may say otherwise."""
    (tmp_path / "arm.urdf").write_text(
        "<robot name='arm'><link name='base'/><link name='hand'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
        "<collision><geometry><sphere radius='0.1'/></geometry></collision></link>"
        "<joint name='wrist' type='continuous'><parent link='base'/><child link='hand'/><axis xyz='0 0 1'/></joint>"
        "</robot>"
    )
    robot = '\n[[robot]]\nname = "arm"\nurdf = "arm.urdf"\ncollisions = true\nmu = 0.5\ncategory = 8\nmask = 3\n'
    robot += '[[robot.shape]]\nbody = "hand"\nshape = "sphere"\nradius = 0.2\nmu = 0.1\nmask = 5\n'
    world = load_scene(write(tmp_path, CUBE + robot)).world
    assert [(surface.category, surface.mask) for surface in world.surfaces[1:]] == [(8, 3), (8, 5)]


TWO = CUBE + '\n[[body]]\nname = "stone 1.a"\nshape = "sphere"\nradius = 0.1\nmass = 2.0\nmaterial = "rubber"\n'


def test_load_scene_with_changes(tmp_path: Path) -> None:
    """Stepper and world are those of the changed file; a key new to its table is accepted; records are stamped."""
    path = write(tmp_path, TWO)
    changes = {"stepper.h": 1e-3, "stepper.edges": 8, "body.cube.mass": 2.5, "scene.duration": 1}
    changes |= {'body."stone 1.a".mass': 5.0, "body . cube . position.2": 0.5, "material.rubber.mu": 0.1}
    scene = load_scene(path, changes)
    assert (scene.stepper.h, scene.stepper.edges, scene.duration) == (1e-3, 8, 1.0)
    assert [body.inertia.mass for body in scene.world.model.bodies] == [2.5, 5.0]
    assert scene.world.initial_q[:3].tolist() == [0.0, 0.0, 0.5]
    assert scene.world.surfaces[1].material.mu == 0.1
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
    with pytest.raises(SceneError, match="names 2 entries; use their numbers"):
        load_scene(write(tmp_path, TWO.replace("stone 1.a", "cube")), {"body.cube.mass": 1.0})
    assert load_scene(write(tmp_path, TWO), {"body.1.mass": 7.0}).world.model.bodies[1].inertia.mass == 7.0
