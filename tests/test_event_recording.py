"""Event-driven runs as records: saved and opened bit for bit, damaged files refused, contacts as of stepped runs."""

from __future__ import annotations

import numpy as np
import pytest
import simulation_scenes as scenes
from test_event_driven import cradle, dropped

from contactlab.recording import RecordError
from contactlab.simulation import EventDriven, EventRecording, TimeStepping, simulate
from problem_data.files import Source, write_npz


@pytest.fixture(scope="module")
def bounces():
    return EventDriven(output_step=2e-3).run(dropped(0.3, 0.6), 0.8)


def test_a_run_is_read_back_bit_for_bit(bounces, tmp_path):
    """States, events, their problems, and what is computed from the world."""
    bounces.save(tmp_path / "run.npz")
    again = EventRecording.open(tmp_path / "run.npz")
    for name in ("time", "q", "v", "kinetic", "potential", "forces", "gaps"):
        np.testing.assert_array_equal(getattr(again, name), getattr(bounces, name))
    assert (again.contact_names, again.notices) == (bounces.contact_names, bounces.notices)
    assert len(again.events) == len(bounces.events) > 2
    for one, other in zip(again.events, bounces.events, strict=True):
        assert (one.time, one.kind, one.contacts) == (other.time, other.kind, other.contacts)
        assert (one.energy_before, one.energy_after) == (other.energy_before, other.energy_after)
        np.testing.assert_array_equal(one.impulses, other.impulses)
        assert (one.problem is None) == (other.problem is None)
        if one.problem is not None:
            np.testing.assert_array_equal(one.problem.blocks().J, other.problem.blocks().J)
            np.testing.assert_array_equal(one.problem.Mv, other.problem.Mv)
    np.testing.assert_array_equal(again.contacts.impulse, bounces.contacts.impulse)
    np.testing.assert_array_equal(again.sample([0.1, 0.3])[0], bounces.sample([0.1, 0.3])[0])


def test_contacts_carry_the_momentum(bounces):
    """What the contacts give a ball, with its weight, is its change of momentum, impact by impact."""
    table, n = bounces.contacts, len(bounces.time) - 1
    given = np.zeros((n, 3))
    np.add.at(given, table.step, table.impulse_on(0))
    weight = np.array([0.0, 0.0, -scenes.G]) * np.diff(bounces.time)[:, None]
    np.testing.assert_allclose(given + weight, np.diff(bounces.v[:, :3], axis=0), atol=1e-9)
    impact = table.rows(table.impulse_normal > 0.1)
    np.testing.assert_allclose(impact.normal, [[0.0, 0.0, 1.0]] * len(impact), atol=1e-12)
    np.testing.assert_allclose(impact.point[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(impact.restitution, 0.6)
    assert table.between("body", "ground").touching.any()


def test_a_sliding_block_has_the_contacts_of_a_stepped_one():
    """Points, modes and forces, against `TimeStepping`."""
    world = scenes.block(0.3, 1.0)
    run = EventDriven(output_step=1e-2).run(world, 0.2)
    stepped = simulate(world, TimeStepping(1e-3), 0.2)
    own, other = run.contacts, stepped.contacts
    assert set(own.mode.tolist()) == set(other.mode.tolist())
    total = np.zeros(3), np.zeros(3)
    for at, table in zip(total, (own, other), strict=True):
        at += table.impulse_on(0).sum(axis=0)
    np.testing.assert_allclose(*total, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(own.mu, 0.3)


def test_balls_touch_between_them():
    """Newton's cradle: pairs of balls, the point between, and no half-space."""
    table = EventDriven().run(cradle(3), 0.2).contacts
    assert len(table)
    assert (table.half_space == -1).all()
    assert (table.body_a >= 0).all()
    np.testing.assert_allclose(np.abs(table.normal[:, 0]), 1.0)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("q", np.zeros((2, 2)), "q: has shape"),
        ("v", None, "v: is missing"),
        ("meta", np.array("{"), "meta: is missing, or no JSON"),
        ("meta", np.array('{"format": "contactlab.Recording"}'), "Recording.open"),
        ("event_impulses", np.zeros((0, 1, 3)), "event_impulses: has shape"),
        ("shape_Mv", np.array([[99, 6, -1]]), "tells of problem 99"),
    ],
)
def test_damaged_files_are_refused_by_name(bounces, tmp_path, name, array, said):
    """A `RecordError` with file and field."""
    path = tmp_path / "run.npz"
    bounces.save(path)
    arrays = dict(np.load(path))
    arrays.pop(name)
    if array is not None:
        arrays[name] = array
    write_npz(path, {key: Source.of(value) for key, value in arrays.items()}, compress=False)
    with pytest.raises(RecordError, match=said):
        EventRecording.open(path)


def test_no_file_and_a_foreign_file(tmp_path):
    """Told of, not read."""
    with pytest.raises(RecordError, match="no such record"):
        EventRecording.open(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no zip")
    with pytest.raises(RecordError, match=r"not an \.npz"):
        EventRecording.open(tmp_path / "text.npz")
