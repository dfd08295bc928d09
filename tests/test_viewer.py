"""In the browser: the HTML replay is one file, small, nothing left running; live views; switches."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

import lcp
from contactlab.contact import Box, ConvexPoints, HalfSpace, Material, Sphere
from contactlab.drawing import Arrows, ForceScale, Readout, SceneGeometry
from contactlab.drawing.palette import MODE_COLORS, MODE_NAMES, hexadecimal, srgb_to_linear
from contactlab.plotting import picture, plot_convergence, plot_toss_curve
from contactlab.simulation import STICK, Recording, StepResult, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.viewer import PlaybackView, live, write_html_replay
from contactlab.viewer.scene import TOGGLES, Controls, SceneView
from contactlab.viewer.server import free_port, legend, serving


@pytest.fixture(scope="module")
def recording() -> Recording:
    """One body of each shape, one of them flat, in the valley of a plane and an incline."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace((0.0, 0.0, 1.0), 0.0), Material(0.5))
    builder.add_half_space("slope", HalfSpace.through((1.0, 0.0, 0.0), (-0.3, 0.0, 1.0)), Material(0.5))
    octahedron = ConvexPoints(0.1 * np.concatenate((np.eye(3), -np.eye(3))))
    triangle = ConvexPoints([(0.1, 0.0, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.0)])
    shapes = {"box/1": Box.cube(0.1), "ball": Sphere(0.1), "gem": octahedron, "sheet": triangle}
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    for i, (name, shape) in enumerate(shapes.items()):
        q = (0.0, 0.5 * i, 0.15, 1.0, 0.0, 0.0, 0.0)
        builder.add_free_body(name, inertia, shape, Material(0.5), q, (1.0, 0.0, 0.0, 0.0, 2.0, 0.0))
    return simulate(builder.build(), TimeStepping(2e-3), duration=0.4)


@pytest.mark.filterwarnings("default")  # viser's own
def test_replay_is_one_small_file_and_leaves_nothing_running(
    recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Self-contained HTML below 3 MB; the server it was made with is gone."""
    before = threading.active_count()
    path = write_html_replay(recording, tmp_path / "replay.html")
    assert capsys.readouterr().out == ""
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    assert "__VISER_EMBED_DATA__" in page
    assert "<html" in page
    for source in (' src="http', " src='http", ' href="http'):
        assert source not in page.split("<body", 1)[0]
    assert not [t.name for t in threading.enumerate() if "viser" in t.name.lower()]
    assert threading.active_count() <= before + 1


@pytest.mark.filterwarnings("default")
def test_recordings_stand_beside_each_other(recording: Recording) -> None:
    """Each at its place, under its name, with one scale of arrows; a camera has to see both."""
    with serving(free_port()) as server:
        alone = PlaybackView(server.scene, {"": recording}, root="/alone")
        both = PlaybackView(
            server.scene, {"a": recording, "b": recording}, places=[(-2, 0, 0), (2, 0, 0)], root="/both"
        )
        assert np.array_equal(alone.times, both.times)
        assert np.ptp(both.points[:, 0]) > 4.0 > np.ptp(alone.points[:, 0])
        both.show(len(both.times) - 1)
        assert both.caption(3) == alone.caption(3)


def test_the_replay_decimates_and_says_so(recording: Recording, tmp_path: Path) -> None:
    """10 frames per second of 0.4 s are 5 states of 201; progress counts them; without forces there is no legend."""
    told: list[tuple[int, int]] = []
    path = write_html_replay(recording, tmp_path / "a.html", fps=10.0, progress=lambda *done: told.append(done))
    page = path.read_text(encoding="utf-8")
    assert "5 of 201 states" in page
    assert told == [(k, 5) for k in range(1, 6)]
    for word in ("open", "stick", "slide", "per 0.1 m of arrow"):
        assert word in page.rsplit("</script>", 1)[-1]
    # The caption of every frame, at its time, in a place of the page and not of the scene.
    frames = json.loads(page.split("const frames = ")[1].split(", caption = ")[0])
    assert [time for time, _ in frames] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert all(words.startswith(f"t = {time:.3f} s") for time, words in frames)
    bare = write_html_replay(recording, tmp_path / "b.html", fps=10.0, forces=False).read_text(encoding="utf-8")
    assert "of arrow" not in bare.rsplit("</script>", 1)[-1]


@pytest.mark.filterwarnings("default")
def test_live_shows_a_world_while_it_is_simulated(recording: Recording) -> None:
    """On this machine alone; every portion's last step arrives, and those too soon for the eye are left out."""
    world = recording.world
    with live(world, port=18741, pace=None, fps=1e9) as view:
        assert view.url.startswith("http://127.0.0.1:")
        assert view._server.get_host() == "127.0.0.1"
        seen: list[float] = []

        def watch(result: StepResult) -> None:
            seen.append(result.state.time)
            view.show(result)

        simulate(world, recording.stepper, steps=20, watch=watch, chunk_steps=8)
        np.testing.assert_allclose(seen, [0.016, 0.032, 0.04])
        assert "t = 0.040 s" in view._view._text.text
    assert not [t.name for t in threading.enumerate() if "viser" in t.name.lower()]


@pytest.mark.filterwarnings("default")
def test_switches_hide_and_show(recording: Recording) -> None:
    """Every toggle acts on its nodes; ids get their labels when they are wanted."""
    rotations, origins = recording.poses()
    stage = SceneGeometry.of(recording.world, rotations, origins)
    scale = ForceScale.of_recording(recording, stage.size)
    last = recording.n_steps
    with serving(free_port()) as server:
        view = SceneView(server.scene, recording.world, stage, stage.high)
        for name, shown in TOGGLES.items():
            view.toggle(name, shown=not shown)
        arrows = Arrows.of_state(recording, last, scale)
        view.show(rotations[last], origins[last], arrows, "text")
        assert not view._forces[STICK].visible
        for mode, handle in view._forces.items():
            assert np.asarray(handle.colors).tolist() == list(srgb_to_linear(MODE_COLORS[mode]))
            assert len(handle.points) == max(1, int((arrows.modes == mode).sum()))
        assert view._normals.visible
        assert [label.text for label in view._labels] == [f"{int(i) & 0xFFFFFF:x}" for i in arrows.ids[:60]]
        controls = Controls(server, view, recording.world, scale)
        controls.show_readout(Readout.of_state(recording, last))
        assert "energy" in controls._numbers.content


def test_legends_say_each_mode_in_its_colour(recording: Recording) -> None:
    """The same words and colours in the browser and on paper, and the scale of the arrows."""
    scale = ForceScale(0.1, 1.0)
    page = legend(scale)
    handles = picture(recording, 0.4, size=(700, 200)).legends[0].legend_handles
    drawn = {str(one.get_label()): one.get_color() for one in handles if one is not None and isinstance(one, Line2D)}
    for mode, color in MODE_COLORS.items():
        assert f"color:rgb{color};" in page
        assert f"</span> {MODE_NAMES[mode]}</div>" in page
        assert drawn[MODE_NAMES[mode]] == hexadecimal(color)
    assert str(scale) in page
    assert any(label.startswith("force on the body, ") for label in drawn)


def test_plot_of_a_curve_is_a_picture(tmp_path: Path) -> None:
    """A PNG, with one point per curve or more."""
    points = [(8, 0.1, 20.0, 19.0), (8, 0.2, 15.0, 17.0), (16, 0.1, 19.0, 18.0)]
    path = plot_toss_curve(tmp_path / "curve.png", points, [("A", 14.0, 16.0)])
    assert path.read_bytes().startswith(b"\x89PNG")


def test_plot_of_a_race_is_a_picture(tmp_path: Path) -> None:
    """A PNG, whatever the solvers kept and however they ended."""
    problem = lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    results = {s.__name__: lcp.solve(problem, s(), trace=True) for s in lcp.ALL_SOLVERS}
    path = plot_convergence(tmp_path / "race.png", results, title="two contacts")
    assert path.read_bytes().startswith(b"\x89PNG")
