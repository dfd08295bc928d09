"""In the browser: replays of steps and events are one small file; live views; switches; what a client sees."""

import gc
import json
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from contactlab.event_driven import EventDriven, EventKind, EventRecording
from contactlab.simulation import (
    Box,
    ConvexPoints,
    HalfSpace,
    Material,
    Recording,
    RigidInertia,
    Sphere,
    StepResult,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from contactlab.view.drawing import playback_of
from contactlab.view.viewer import live, write_html_replay


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
        assert "t = 0.040 s" in view._controls._view._text.text
    assert not [t.name for t in threading.enumerate() if "viser" in t.name.lower()]


def dropped(height: float, e: float) -> EventRecording:
    """A ball of 0.1 m over the ground, dropped; it slides along x at 1 m/s."""
    builder = WorldBuilder((0.0, 0.0, -9.81))
    builder.add_half_space("ground", HalfSpace(), Material(0.3, e))
    inertia = RigidInertia(2.0, inertia=0.008 * np.eye(3))
    start = (0, 0, 0.1 + height, 1, 0, 0, 0)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3, e), start, (1.0, 0, 0, 0, 0, 0))
    return EventDriven().run(builder.build(), 0.5)


def test_states_between_rows_are_those_of_the_motion():
    """A parabola in flight, between any rows; the velocity after an impact at its time; rows are reproduced."""
    height = 0.2
    recording = dropped(height, 0.5)
    times = np.linspace(0.0, 0.15, 7)
    q, v = recording.sample(times)
    np.testing.assert_allclose(q[:, 2], 0.1 + height - 0.5 * 9.81 * times**2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(q[:, 0], times, rtol=0, atol=1e-9)
    np.testing.assert_allclose(v[:, 2], -9.81 * times, rtol=0, atol=1e-9)
    impact = recording.of_kind(EventKind.IMPACT)[0]
    np.testing.assert_allclose(recording.sample(impact.time)[1][0], impact.v_plus, rtol=0, atol=1e-9)
    np.testing.assert_allclose(recording.sample(recording.time[-1])[0][0], recording.q[-1], rtol=0, atol=1e-12)


def test_a_film_shows_forces_and_impulses():
    """At rest the weight; after an impact its impulse over the time since the state before; nothing in flight."""
    recording = dropped(0.05, 0.0)
    film = playback_of(recording)
    impact = recording.of_kind(EventKind.IMPACT)[0]
    shown = int(np.searchsorted(film.time, impact.time))
    scale = film.scale(0.1)
    flight = film.arrows(shown - 2, scale)
    assert not flight.carrying.any()
    hit = film.arrows(shown, scale)
    assert hit.carrying.all()
    assert np.linalg.norm(hit.tips - hit.points) == pytest.approx(scale.longest)
    rest = film.arrows(len(film.time) - 1, scale)
    assert (rest.tips - rest.points)[0, 2] == pytest.approx(2.0 * 9.81 * scale.per_newton, rel=1e-6)
    assert film.readout(0).energy == pytest.approx(recording.energy[0], rel=1e-12)
    rotations, origins = film.poses()
    assert rotations.shape == (len(film.time), 1, 3, 3)
    np.testing.assert_allclose(origins[0, 0], (0, 0, 0.15), rtol=0, atol=1e-12)


PATIENCE = 20.0  # seconds until what was sent must have come


@pytest.fixture(autouse=True)
def _collected():
    """Objects that viser leaves open are collected here, with its warnings ignored, not within another test."""
    yield
    gc.collect()


@pytest.mark.filterwarnings("default")
def test_nobody_else_is_let_in(recording):
    """The server listens only at 127.0.0.1: other addresses of the machine, also of the loopback, have no server."""
    with live(recording.world, port=18951) as view:
        port = urlsplit(view.url).port
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
            pass
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=PATIENCE)
