"""Event-driven runs as they are shown: impulses of impacts, states between rows, forces, replay and picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contactlab.contact import HalfSpace, Material, Sphere
from contactlab.drawing import playback_of
from contactlab.simulation import EventDriven, EventKind, EventRecording, WorldBuilder
from contactlab.spatial import RigidInertia


def dropped(height: float, e: float) -> EventRecording:
    """A ball of 0.1 m over the ground, dropped; it slides along x at 1 m/s."""
    builder = WorldBuilder((0.0, 0.0, -9.81))
    builder.add_half_space("ground", HalfSpace(), Material(0.3, e))
    inertia = RigidInertia(2.0, inertia=0.008 * np.eye(3))
    start = (0, 0, 0.1 + height, 1, 0, 0, 0)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3, e), start, (1.0, 0, 0, 0, 0, 0))
    return EventDriven().run(builder.build(), 0.5)


def test_impulses_of_impacts_are_the_change_of_momentum():
    """Of one contact on one free body, whatever the law."""
    recording = dropped(0.2, 0.5)
    impacts = recording.of_kind(EventKind.IMPACT)
    assert impacts
    for event in impacts:
        assert event.impulses.shape == (1, 3)
        np.testing.assert_allclose(event.impulses[0], 2.0 * (event.v_plus - event.v_minus)[:3], rtol=0, atol=1e-9)
        assert np.hypot(*event.impulses[0, :2]) <= 0.3 * event.impulses[0, 2] + 1e-9
    for event in recording.events:
        if event.kind is not EventKind.IMPACT:
            assert not event.impulses.any()


def test_states_between_rows_are_those_of_the_motion():
    """A parabola in flight, whatever the rows; the velocity after an impact at its time; rows are met."""
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


@pytest.mark.filterwarnings("default")  # viser's own
def test_replay_of_events_is_one_file(tmp_path: Path) -> None:
    """As for time stepping, with the states of the film."""
    pytest.importorskip("viser")
    from contactlab.viewer import write_html_replay

    recording = dropped(0.05, 0.5)
    page = write_html_replay(recording, tmp_path / "a.html", fps=10.0).read_text(encoding="utf-8")
    assert f"6 of {len(playback_of(recording).time)} states" in page


def test_picture_of_events_is_a_picture(tmp_path: Path) -> None:
    """At a time within the run."""
    pytest.importorskip("matplotlib")
    from contactlab.plotting import picture

    recording = dropped(0.05, 0.5)
    picture(recording, 0.2, path=tmp_path / "a.png", size=(80, 60))
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ValueError, match="not within"):
        picture(recording, 2.0)
