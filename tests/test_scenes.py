import dataclasses
import math
import os

import numpy as np
import pytest
from scene_texts import CUBE, SCENES, line_of, write

import lcp
from contactlab.simulation import Box, Recording, simulate, verify
from contactlab.simulation.scene import SceneError, load_scene

FILES = sorted(SCENES.glob("*.toml"))


def refused(folder, text):
    with pytest.raises(SceneError) as caught:
        load_scene(write(folder, text))
    return caught.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_scene_runs_and_verifies(path):
    """The first steps of each are certified, also by arithmetic that is not the simulation's."""
    scene = load_scene(path)
    recording = simulate(scene.world, scene.stepper, steps=20)
    report = verify(recording, every=10)
    assert report.holds, report


def test_a_scene_is_what_its_file_says(tmp_path):
    """Shape, mass from density, pose, grid, stepper and solver with options."""
    text = CUBE.replace("mass = 1.0", "density = 500.0").replace(
        "[[material]]", 'solver = "APGD"\nedges = 6\n[[material]]'
    )
    text = text.replace("position =", "count = [2, 1, 3]\nspacing = [0.5, 0.0, 0.7]\nrpy = [0.0, 0.0, 1.0]\nposition =")
    scene = load_scene(write(tmp_path, text))
    assert scene.world.model.nb == 6
    assert isinstance(scene.world.surfaces[0].shape, Box)
    assert scene.world.model.bodies[0].inertia.mass == pytest.approx(4.0)
    assert scene.world.model.names[:2] == ("cube 0", "cube 1")
    np.testing.assert_allclose(scene.world.initial_q[-7:], [0.5, 0, 1.51, math.cos(0.5), 0, 0, math.sin(0.5)])
    assert scene.stepper.edges == 6
    assert scene.stepper.solver == lcp.APGD()


def test_a_scene_with_former_names_of_options(tmp_path):
    """Scene files written before open: options of the stepper had other names."""
    text = CUBE.replace("[[material]]", "v_min = 0.2\nangle_v_min = 0.3\nshrink = 0.4\ngrow = 1.5\n[[material]]", 1)
    scene, stepper = load_scene(write(tmp_path, text)), load_scene(write(tmp_path)).stepper
    expected = dataclasses.replace(
        stepper,
        restitution_threshold=0.2,
        angle_restitution_threshold=0.3,
        shrink_factor=0.4,
        growth_factor=1.5,
    )
    assert scene.stepper == expected


def test_robots_start_from_joints_and_vectors(tmp_path):
    """A start given by joints equals the start given as a whole vector; link names contain the robot's name."""
    text = (SCENES / "double_pendulum.toml").read_text()
    (tmp_path / "double_pendulum.urdf").write_bytes((SCENES / "double_pendulum.urdf").read_bytes())
    by_name = load_scene(write(tmp_path, text)).world
    whole = text[: text.index("[robot.q]")] + "q = [1.6, 0.5]\n"
    assert np.array_equal(load_scene(write(tmp_path, whole)).world.initial_q, by_name.initial_q)
    assert by_name.model.names == ("pendulum/hook", "pendulum/upper", "pendulum/lower")
    assert "no joint is called 'elbo', did you mean 'elbow'?" in str(refused(tmp_path, text.replace("elbow", "elbo")))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("mass =", "masss =", "masss", "[[body]] 'masss': unknown key, did you mean 'mass'?"),
        ("mass = 1.0", 'mass = "1"', "mass", "must be a number, got a string"),
        ("mass = 1.0", "mass = -1.0", "mass", "must be positive"),
        ("mass = 1.0", "mass = nan", "mass", "must be finite"),
        ("mass = 1.0", "mass = 1e300", "mass", "must not exceed"),
        ("mass = 1.0", "mass = true", "mass", "got a boolean"),
        ("mass = 1.0", "", "[[body]]", "none is given"),
        ("mass = 1.0", "mass = 1.0\ndensity = 2.0", "density", "wants one of"),
        ("h = 2e-3", "", "[stepper]", "[stepper] 'h': is missing"),
        ("h = 2e-3", "h = 0.0", "h", "must be positive"),
        ("h = 2e-3", "h = 1e-12", "h", "steps of the scene"),
        ("h = 2e-3", "h = 2e-3\nedges = 7", "edges", "even"),
        ("h = 2e-3", 'h = 2e-3\nsolver = "Lemkee"', "solver", "unknown solver 'Lemkee', did you mean 'Lemke'?"),
        ("h = 2e-3", 'h = 2e-3\nsolver = "__import__"', "solver", "unknown solver"),
        ("h = 2e-3", 'h = 2e-3\nsolver = { name = "Lemke", max_pivot = 3 }', "solver", "did you mean 'max_pivots'?"),
        ("h = 2e-3", 'h = 2e-3\nsolver = { name = "Lemke", max_pivots = -3 }', "solver", "max_pivots"),
        ('shape = "box"', 'shape = "bax"', "shape", "unknown shape 'bax', did you mean 'box'?"),
        ('shape = "box"', 'shape = "sphere"', "half_extents", "does not belong to a sphere"),
        ("half_extents = [0.1, 0.1, 0.1]", "half_extents = [0.1, 0.1]", "half_extents", "must have 3 numbers, got 2"),
        ("half_extents = [0.1,", "half_extents = [-0.1,", "half_extents", "half_extents"),
        ("velocity =", "quaternion = [1, 1, 0, 0]\nvelocity =", "quaternion", "must have length 1"),
        ("mu = 0.5", "mu = -0.5", "mu", "must not be negative"),
        ('material = "rubber"\npos', 'material = "ruber"\npos', 'material = "ruber"', "did you mean 'rubber'?"),
        ("[[half_space]]", "[[halfspace]]", "[[halfspace]]", "unknown section, did you mean 'half_space'?"),
        ("[[body]]", "[body]", "[body]", "must be an array of tables"),
        ("velocity =", "count = [9999, 9999, 1]\nspacing = [1, 1, 1]\nvelocity =", "count", "at most"),
        ("duration = 0.1", "duration = 0.1 0.2", "duration", "is not TOML"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path, old, new, line, words):
    """Every fault of a scene is reported with its line and advice."""
    assert old in CUBE
    text = CUBE.replace(old, new, 1)
    error = refused(tmp_path, text)
    assert words in str(error)
    assert error.line == line_of(text, line)
    assert str(error).startswith(f"{tmp_path / 'scene.toml'}, line {error.line}: ")


@pytest.mark.parametrize("urdf", ["../arm.urdf", "/etc/passwd", "link.urdf", "inner/../../arm.urdf"])
def test_no_path_leads_out_of_the_folder(tmp_path, urdf):
    """Not by dots, not by an absolute path that leads elsewhere, not by a symbolic link."""
    (tmp_path / "arm.urdf").write_bytes((SCENES / "double_pendulum.urdf").read_bytes())
    folder = tmp_path / "scene"
    (folder / "inner").mkdir(parents=True)
    os.symlink(tmp_path / "arm.urdf", folder / "link.urdf")
    robot = f'\n[[robot]]\nname = "arm"\nurdf = "{urdf}"\n'
    error = refused(folder, CUBE + robot)
    assert "outside the scene's folder" in str(error)
    assert error.line == line_of(CUBE + robot, "urdf")


@pytest.mark.parametrize(("urdf", "words"), [("a" * 290, "no path"), ("a\\u0000b", "null"), (".", "no file")])
def test_names_that_are_no_files(tmp_path, urdf, words):
    """Errors of the system about a name are errors of its key."""
    assert words in str(refused(tmp_path, f'{CUBE}\n[[robot]]\nname = "arm"\nurdf = "{urdf}"\n'))


def test_files_that_are_no_scenes(tmp_path):
    """Absent, a folder, too large, not text, nested without end: one typed error each."""
    path = tmp_path / "scene.toml"
    for content, words in (
        (b"\xff\xfe", "not UTF-8"),
        (b"#" * (1 << 21), "larger"),
        (b"a=" + b"[" * 50_000, "TOML|deep"),
    ):
        path.write_bytes(content)
        with pytest.raises(SceneError, match=words):
            load_scene(path)
    for absent in (tmp_path, tmp_path / "absent.toml"):
        with pytest.raises(SceneError, match="no such file"):
            load_scene(absent)


def test_a_bad_robot_names_its_line(tmp_path):
    """A URDF refused by its reader is an error of the scene's key, with the description's line."""
    (tmp_path / "bad.urdf").write_text("<robot name='x'><link/></robot>")
    robot = '\n[[robot]]\nname = "arm"\nurdf = "bad.urdf"\n'
    error = refused(tmp_path, CUBE + robot)
    assert error.line == line_of(CUBE + robot, "urdf")
    assert "bad.urdf, line 1" in str(error)


def test_records_of_scenes_reopen(tmp_path):
    """A record keeps the world of the scene."""
    scene = load_scene(write(tmp_path))
    simulate(scene.world, scene.stepper, steps=3, path=tmp_path / "a.npz")
    assert Recording.open(tmp_path / "a.npz").world.model.names == ("cube",)
