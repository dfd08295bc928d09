"""The HTML replay: one file, small, nothing left running; the geometry behind it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import lcp
from contactlab.contact import Box, ConvexPoints, HalfSpace, Material, Sphere
from contactlab.plotting import plot_convergence, plot_recording, plot_toss_curve
from contactlab.simulation import Recording, TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.viewer import write_html_replay
from contactlab.viewer.html_replay import _shown_steps
from contactlab.viewer.patch import clip, fan, grid_lines, patch


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


def test_shown_steps_are_spread_in_time() -> None:
    """First and last state are shown; the rest at the frame rate, or every state of a coarse record."""
    fine = np.arange(1001) * 1e-3
    shown = _shown_steps(fine, 40.0)
    assert shown == list(range(0, 1001, 25))
    coarse = np.arange(6) * 0.1
    assert _shown_steps(coarse, 40.0) == list(range(6))
    assert _shown_steps(np.zeros(1), 40.0) == [0]


def test_clip_keeps_the_outside() -> None:
    """Half of a square, all of it, nothing of it."""
    square = np.array([(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (2.0, 2.0, 0.0), (0.0, 2.0, 0.0)])
    half = clip(square, np.array([1.0, 0.0, 0.0]), 1.0)
    assert sorted(map(tuple, half)) == [(1.0, 0.0, 0.0), (1.0, 2.0, 0.0), (2.0, 0.0, 0.0), (2.0, 2.0, 0.0)]
    assert len(clip(square, np.array([1.0, 0.0, 0.0]), -1.0)) == 4
    assert len(clip(square, np.array([1.0, 0.0, 0.0]), 3.0)) == 0
    assert fan(square).tolist() == [[0, 1, 2], [0, 2, 3]]


def test_patch_lies_under_the_motion_and_outside_the_others() -> None:
    """Every corner is on the plane; what another half-space buries is cut away; grid lines stay on the patch."""
    up, slope = np.array([0.0, 0.0, 1.0]), np.array([-0.6, 0.0, 0.8])
    around = np.array([(-1.0, 0.0, 1.0), (3.0, 1.0, 1.0)])
    floor = patch(up, 0.0, around, 0.5, [(slope, -0.6)])
    assert np.abs(floor @ up).max() < 1e-12
    assert (floor @ slope >= -0.6 - 1e-12).all()
    np.testing.assert_allclose(floor.min(axis=0), [-1.5, -0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(floor.max(axis=0), [1.0, 1.5, 0.0], atol=1e-12)
    lines = grid_lines(floor, up, 0.5, 0.01)
    assert {round(float(x), 6) for x in lines[:, :, 0].ravel()} == {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0}
    assert {round(float(y), 6) for y in lines[:, :, 1].ravel()} == {-0.5, 0.0, 0.5, 1.0, 1.5}
    np.testing.assert_allclose(lines[:, :, 2], 0.01, rtol=1e-6)


def test_plot_of_a_recording_is_a_picture(recording: Recording, tmp_path: Path) -> None:
    """A PNG of reasonable size."""
    path = plot_recording(recording, tmp_path / "plot.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


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
