"""Pictures and plots of records: drawn without a display, with units, of empty records too."""

import os
import sys

import body_contact_scenes
import numpy as np
import pytest
import simulation_scenes

from contactlab.cli import main
from contactlab.simulation import Box, Sphere, TimeStepping, simulate
from contactlab.view import plotting
from contactlab.view.drawing import Camera, solid_of
from contactlab.view.plotting.render import Item, render

PLOTS = (
    plotting.summary,
    plotting.ledger,
    plotting.forces,
    plotting.modes,
    plotting.gaps,
    plotting.solver_effort,
    plotting.certificates,
)


@pytest.fixture(scope="module")
def recording():
    """Two links that hit a cube: friction, an impact, rest."""
    return simulate(body_contact_scenes.pendulum_and_box(), TimeStepping(2e-3), duration=0.6)


@pytest.fixture(scope="module")
def empty():
    """A record without a step."""
    return simulate(simulation_scenes.ball(0.2, 1.0), TimeStepping(2e-3), steps=0)


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_have_units_and_draw_empty_records(plot, recording, empty, tmp_path):
    """Every axis has its unit; the time is in seconds."""
    figure = plot(recording)
    assert figure.axes[-1].get_xlabel() == "time [s]"
    for axes in figure.axes:
        label = axes.get_ylabel()
        assert "[" in label or label.startswith("contact")
    for some in (figure, plot(empty)):
        assert plotting.save_figure(some, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_moves(recording, tmp_path):
    """The number of frames follows from fps and speed, all of one size; impossible values are refused."""
    image = pytest.importorskip("PIL.Image")
    path = plotting.animation(recording, tmp_path / "run.webp", fps=10.0, speed=2.0, size=(120, 80))
    with image.open(path) as moving:
        assert (moving.n_frames, moving.size) == (4, (120, 80))
    with pytest.raises(ValueError, match="fps and speed must be positive"):
        plotting.animation(recording, path, fps=0.0)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for ffmpeg")
def test_a_film_is_what_ffmpeg_makes_of_the_frames(recording, tmp_path, monkeypatch):
    """Every frame is passed to it; if it fails, its output is in the error."""
    tool, taken = tmp_path / "ffmpeg", tmp_path / "taken"
    tool.write_text(f'#!/bin/sh\necho "$@" > {taken}\nwc -c >> {taken}\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    plotting.animation(recording, tmp_path / "run.mp4", fps=10.0, speed=2.0, size=(120, 80))
    words, count = taken.read_text(encoding="utf-8").splitlines()
    assert "-s 120x80 -r 10" in words
    assert words.endswith("run.mp4")
    assert int(count) == 4 * 120 * 80 * 3
    tool.write_text("#!/bin/sh\necho no codec today >&2\nexit 3\n", encoding="utf-8")
    with pytest.raises(OSError, match="no codec today"):
        plotting.animation(recording, tmp_path / "run.mp4", fps=10.0, speed=2.0, size=(120, 80))


def test_a_film_without_an_encoder_says_what_to_install(recording, tmp_path, monkeypatch):
    """And a suffix that nothing writes is refused, before anything is drawn."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ModuleNotFoundError, match="pip install imageio-ffmpeg"):
        plotting.animation(recording, tmp_path / "run.mp4")
    with pytest.raises(ValueError, match=r"\.webp.*\.mp4.*run\.txt"):
        plotting.animation(recording, tmp_path / "run.txt")


def test_forces_at_rest_are_the_weight(empty):
    """The line of a pair is the sum of its contacts: m g for a brick at rest."""
    brick = simulate(simulation_scenes.block(0.5), TimeStepping(2e-3), steps=20)
    line = plotting.forces(brick).axes[0].lines[0]
    assert line.get_label() == "ground - body"
    np.testing.assert_allclose(line.get_ydata()[-5:], 2.0 * 9.81, rtol=1e-9)


def test_the_camera_sees_all_and_things_fall_into_place():
    """All points fit; a ball in front hides the box behind; shadows darken the ground."""
    box, ball = solid_of(Box.cube(0.2)), solid_of(Sphere(0.3, (-0.6, -1.4, 0.7)))
    points = np.concatenate((box.vertices, ball.vertices))
    camera = Camera.at(points, 80, 60)
    screen = camera.project(points)
    assert (screen[:, 0] >= 0.0).all()
    assert (screen[:, 0] <= 80.0).all()
    assert (screen[:, 1] >= 0.0).all()
    assert (screen[:, 1] <= 60.0).all()
    image = render([Item(box, (255, 0, 0)), Item(ball, (0, 0, 255))], camera)
    assert image.shape == (60, 80, 3)
    assert (image[0, 0] == 255).all()
    x, y = camera.project(np.array([-0.6, -1.4, 0.7]))[:2].astype(int)
    assert image[y, x, 2] > image[y, x, 0] + 50


def test_a_picture_of_one_time_or_several(recording, tmp_path):
    """A PNG of moderate size; a strip has an image per time; a time outside is refused."""
    figure = plotting.picture(recording, 0.3, path=tmp_path / "a.png", size=(200, 160))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert image.shape == (160, 200, 3)
    assert (image < 250).any(axis=2).mean() > 0.05
    assert not figure.axes[0].texts
    named = plotting.picture(recording, 0.3, size=(200, 160), labels=True).axes[0].texts
    assert [text.get_text() for text in named] == list(recording.world.model.names)
    assert all(0.0 < x < 200.0 and 0.0 < y < 160.0 for x, y in (text.get_position() for text in named))
    strip = plotting.picture(recording, [0.0, 0.3, 0.6], size=(100, 100), forces=False)
    assert [axes.get_title() for axes in strip.axes] == ["t = 0.000 s", "t = 0.300 s", "t = 0.600 s"]
    for bad in (-0.1, 0.7, float("nan")):
        with pytest.raises(ValueError, match="not within the recording"):
            plotting.picture(recording, bad)
    with pytest.raises(ValueError, match="1 to 12 times"):
        plotting.picture(recording, np.linspace(0.0, 0.5, 13))


def test_a_picture_of_a_record_without_steps(empty, tmp_path):
    """The start is a state like any other."""
    plotting.picture(empty, path=tmp_path / "a.png", size=(80, 60))
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.slow
def test_replay_writes_pictures_and_plots(recording, tmp_path, capsys):
    """From the shell; a time outside the record is one line and status 2."""
    record = tmp_path / "a.npz"
    recording.save(record)
    assert main(["replay", str(record), "--plots", str(tmp_path / "plots")]) == 0
    assert sorted(path.stem for path in (tmp_path / "plots").iterdir()) == sorted(plot.__name__ for plot in PLOTS)
    assert main(["replay", str(record), "--picture", str(tmp_path / "a.png"), "--time", "9"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "contactlab: error: time: 9 s is not within the recording, 0 .. 0.6 s"
    ]
