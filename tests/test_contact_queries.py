"""What passes between two bodies, and when that begins and ends."""

from __future__ import annotations

import numpy as np
import pytest
import simulation_scenes as scenes
from body_contact_scenes import ball_on_a_moving_box, stack

from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, simulate

G = 9.81


@pytest.fixture(scope="module")
def pile():
    """Three cubes of 1 kg at rest, one on the other."""
    return simulate(stack(3), TimeStepping(2e-3, edges=4), steps=20)


def test_each_cube_carries_what_stands_on_it(pile):
    """Forces and wrenches between two bodies, and with the ground, in whichever order they are named."""
    for below, above, load in (("ground", "cube 0", 3), ("cube 0", "cube 1", 2), ("cube 1", "cube 2", 1)):
        pair = pile.contacts.between(below, above)
        assert pair.touching.all()
        wanted = np.tile([0.0, 0.0, load * G], (20, 1))
        np.testing.assert_allclose(pair.force_on(above), wanted, atol=1e-8)
        np.testing.assert_allclose(pair.force_on(below), -wanted, atol=1e-8)
        assert np.array_equal(pile.contacts.between(above, below).force_on(above), pair.force_on(above))
        # About the axis of the pile there is no moment; about a point 1 m aside along x, y turns by -load.
        np.testing.assert_allclose(pair.net_wrench(at=(0, 0, 7.0))[:, :3], 0.0, atol=1e-8)
        np.testing.assert_allclose(pair.net_wrench(at=(-1.0, 0, 0))[:, 1], -load * G, atol=1e-8)
        np.testing.assert_allclose(pair.net_wrench(at=(-1.0, 0, 0), on=below)[:, 1], load * G, atol=1e-8)
    assert len(pile.contacts.between("cube 0", "cube 2")) == 0
    assert np.array_equal(
        pile.contacts.between("world", "cube 0").force_on("cube 0"),
        pile.contacts.between("ground", "cube 0").force_on("cube 0"),
    )


def test_points_may_move_and_one_step_is_a_table_too(pile):
    """One point per step; the contacts of one step, and those of `step`, give one row."""
    pair = pile.contacts.between("cube 0", "cube 1")
    moving = pair.net_wrench(at=pile.q[:-1, 7:10])
    np.testing.assert_allclose(moving, pair.net_wrench(at=pile.q[0, 7:10]), atol=1e-8)
    single = pile.contacts_at(11).between("cube 0", "cube 1")
    assert np.array_equal(single.net_wrench(at=(0, 0, 0)), pair.net_wrench(at=(0, 0, 0))[11:12])
    result = pile.stepper.step(pile.world, pile.state(11))
    assert np.array_equal(
        result.contacts.between("cube 0", "cube 1").force_on("cube 1"), pair.force_on("cube 1")[11:12]
    )


def test_the_ground_is_asked_by_name(pile):
    """It carries all three; what touches it is named in the table."""
    for name in ("ground", "world"):
        np.testing.assert_allclose(pile.force_on(name), np.tile([0.0, 0.0, -3 * G], (20, 1)), atol=1e-8)
        assert np.array_equal(pile.contacts.between(name).net_wrench(at=(0, 0, 0))[:, 3:], pile.force_on(name))
    table = pile.contacts
    assert set(zip(table.names_a, table.names_b, strict=True)) == {
        ("ground", "cube 0"),
        ("cube 0", "cube 1"),
        ("cube 1", "cube 2"),
    }
    assert np.array_equal(table.rows(table.names_a == "ground").id, table.between("ground").table.id)
    with pytest.raises(SimulationConfigError, match="'grond'; close: 'ground'"):
        pile.force_on("grond")


def test_names_are_checked(pile):
    """Of bodies there are not, of two grounds, and of a third one."""
    with pytest.raises(SimulationConfigError, match=r"between\('ground'\) has all that touch 'ground'"):
        pile.contacts.between("world", "ground")
    for a, b, field in (("cube 9", "cube 1", "a"), ("cube 1", "sky", "b"), ("ground", "world", "b")):
        with pytest.raises(SimulationConfigError) as caught:
            pile.contacts.between(a, b)
        assert caught.value.field == field
    with pytest.raises(SimulationConfigError, match="cube 2"):
        pile.contacts.between("cube 0", "cube 1").force_on("cube 2")
    with pytest.raises(SimulationConfigError, match="at"):
        pile.contacts.between("cube 0", "cube 1").net_wrench(at=(0, 0))


def test_a_sliding_block_comes_to_rest():
    """Made at once, sliding, and sticking when mu g t = v; nothing else happens."""
    h, mu, speed = 1e-3, 0.3, 0.5
    recording = simulate(scenes.block(mu, speed), TimeStepping(h), 0.3)
    events = recording.events()
    assert [(event.kind, event.a, event.b) for event in events] == [
        ("made", "ground", "body"),
        ("stick", "ground", "body"),
    ]
    assert events[0].step == 0
    assert events[1].time == pytest.approx(speed / (mu * scenes.G), abs=2 * h)
    assert recording.time[events[1].step] == events[1].time


def test_a_bouncing_ball_makes_and_breaks_contact():
    """Each bounce is one step long; the first comes at sqrt(2 height / g)."""
    h = 1e-3
    recording = simulate(scenes.dropped_ball(0.05, 0.7), TimeStepping(h), 0.5)
    events = recording.events()
    assert [event.kind for event in events[:4]] == ["made", "broken", "made", "broken"]
    assert events[0].time == pytest.approx(np.sqrt(2 * 0.05 / scenes.G), abs=2 * h)
    assert events[1].step == events[0].step + 1
    flight = events[2].time - events[1].time
    assert flight == pytest.approx(2 * 0.7 * np.sqrt(2 * 0.05 / scenes.G), abs=3 * h)


def test_events_between_bodies_follow_the_table():
    """Whatever happens, made and broken alternate, and between them an impulse passes in every step."""
    recording = simulate(ball_on_a_moving_box(), TimeStepping(2e-3, edges=4), steps=150)
    touching = recording.contacts.between("box", "ball").touching
    wanted = np.zeros(150, dtype=bool)
    for event in recording.events():
        if (event.a, event.b) == ("box", "ball") and event.kind in ("made", "broken"):
            assert wanted[event.step] == (event.kind == "broken")
            wanted[event.step :] = event.kind == "made"
    assert touching.any()
    assert np.array_equal(wanted, touching)


def test_statistics_are_kept_and_time_is_no_part_of_the_record(tmp_path):
    """Sums per step; seconds beside the arrays, from memory and from disk."""
    path = tmp_path / "a.npz"
    recording = simulate(scenes.block(0.3, 0.5), TimeStepping(1e-3), steps=40, path=path, chunk_steps=16)
    statistics = Recording.open(path).statistics
    assert statistics.contacts.tolist() == [4] * 40
    assert np.array_equal(statistics.pivots, recording.pivots)
    assert statistics.portions.tolist() == [16, 32, 40]
    assert statistics.seconds.min() > 0.0
    assert not any("timing" in name for name in recording.rows)
    assert "40 steps" in str(statistics)
    assert "steps/s" in str(statistics)
    assert Recording.open(path).first(20).statistics.portions.tolist() == [16]
