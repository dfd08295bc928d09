"""Records: their contents, their files, and the forces between two bodies."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import simulation_scenes as scenes
from body_contact_scenes import stack
from record_runs import same, stop_run
from refusals import assert_fields, assert_messages

import lcp
from contactlab.simulation import (
    RecordError,
    Recording,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from contactlab.simulation.recording.storage import chunk_folder, stepper_from_json, stepper_to_json
from contactlab.simulation.stepping import FORMER_OPTIONS
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.stepping.record_schema import RENAMED


@pytest.fixture(scope="module")
def tumble():
    return simulate(scenes.tumble(), TimeStepping(2e-3), steps=250)


@pytest.mark.nojit
def test_interrupted_run_leaves_a_record(tmp_path):
    """Ctrl-C after some chunks: the computed part opens, and a new run replaces it only if requested."""
    path = tmp_path / "run.npz"
    world, stepper = scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4)
    stop_run(world, stepper, path, 6, 3)
    partial = Recording.open(path)
    assert partial.n_steps == 6
    assert same(partial, Recording.open(chunk_folder(path)))
    assert not path.exists()
    with pytest.raises(RecordError, match="record of a run that was stopped .*`overwrite` replaces it"):
        simulate(world, stepper, steps=8, path=path)
    assert same(partial, Recording.open(path))
    whole = simulate(world, stepper, steps=8, path=path, overwrite=True)
    assert same(partial, whole.first(6))
    assert not chunk_folder(path).exists()
    assert_messages(
        SimulationConfigError,
        ("give one of them", lambda: simulate(world, stepper, steps=9, path=path, overwrite=True, resume=True)),
    )


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("name", "options", "now"),
    [
        ("FrictionCascade", {"time_limit": 7.0}, lcp.ContactStrategies(time_limit=7.0)),
        ("ContactAttempts", {"time_limit": 7.0}, lcp.ContactStrategies(time_limit=7.0)),
        ("ContactAttempts", {"attempts": ["held", "modes"]}, lcp.ContactStrategies(("reuse", "active_set"))),
        ("ProximalPoint", {"alpha": 0.1, "max_iterations": 9}, lcp.SemismoothNewton(alpha=0.1, max_iterations=9)),
        ("SemismoothNewton", {"max_iterations": 9}, lcp.SemismoothNewton(max_iterations=9)),
    ],
)
def test_solvers_of_old_records(name, options, now):
    """A record that names a friction solver of before opens with the solver that does its work now."""
    stepper = TimeStepping(2e-3, lcp.NSGS(), friction="cone")
    values = stepper_to_json(stepper) | {"solver": {"name": name, "options": options}}
    assert stepper_from_json(values) == replace(stepper, solver=now)


@pytest.mark.nojit
def test_records_with_former_names_open_and_are_resumed(tmp_path):
    """Before schema 11, options of the stepper and columns of the contact table had other names."""
    world, stepper = scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4, shrink_factor=0.3)
    path, whole = tmp_path / "a.npz", simulate(world, stepper, steps=8)
    first = simulate(world, stepper, steps=5, path=path)
    with np.load(path) as file:
        arrays = dict(file)
    for former, now in RENAMED.items():
        arrays[former] = arrays.pop(now)
    meta = json.loads(str(arrays.pop("meta"))) | {"schema": 10}
    for former, now in FORMER_OPTIONS.items():
        meta["stepper"][former] = meta["stepper"].pop(now)
    np.savez_compressed(path, meta=np.array(json.dumps(meta)), **arrays)
    opened = Recording.open(path)
    assert same(opened, first)
    assert opened.stepper == first.stepper
    assert same(simulate(world, stepper, steps=8, path=path, resume=True), whole)


@pytest.mark.nojit
def test_record_of_no_steps(tmp_path):
    """Zero steps and no contacts are a record too."""
    recording = simulate(scenes.dropped_ball(1.0), TimeStepping(1e-3), steps=0, path=tmp_path / "a.npz")
    assert recording.n_steps == 0
    assert recording.potential[0] == pytest.approx(0.5 * scenes.G * 1.1)
    flight = simulate(scenes.dropped_ball(1.0), TimeStepping(1e-3), duration=2e-3)
    assert (flight.n_steps, len(flight.contacts), flight.worst_certificate().scaled) == (2, 0, 0.0)
    assert flight.islands.tolist() == [0, 0]


def test_bad_files_are_named(tumble, tmp_path):
    """Missing, truncated, foreign or altered files: a typed error with the file and, if there is one, the field."""
    good = tmp_path / "good.npz"
    tumble.save(good)
    with pytest.raises(RecordError, match="no such record"):
        Recording.open(tmp_path / "none.npz")
    content = good.read_bytes()
    bad = tmp_path / "bad.npz"
    for length in (0, 100, len(content) // 2, len(content) - 30):
        bad.write_bytes(content[:length])
        with pytest.raises(RecordError) as caught:
            Recording.open(bad)
        assert caught.value.path == bad
    np.savez(bad, a=np.zeros(3))
    assert_fields(
        RecordError,
        ("meta", lambda: Recording.open(bad)),
    )
    with np.load(good) as archive:
        arrays = dict(archive)
    changes = {
        "q": arrays["q"][:, :-1],
        "v": arrays["v"][:-1],
        "contact_step": arrays["contact_step"][::-1],
        "contact_z": arrays["contact_z"].astype(np.float32),
        "time": np.where(np.arange(251) == 7, np.nan, arrays["time"]),
        "meta": np.array(str(arrays["meta"]).replace('"schema": 11', '"schema": 99')),
        "island_pivots": None,
    }
    for name, value in changes.items():
        altered = {key: array for key, array in arrays.items() if key != name}
        if value is not None:
            altered[name] = value
        np.savez(bad, **altered)
        with pytest.raises(RecordError) as caught:
            Recording.open(bad)
        assert caught.value.field == name or (name == "v" and caught.value.field in ("v", "kinetic"))


def test_shapes_of_users_survive_as_support_points(tmp_path):
    """A shape the library does not know is kept as its points and radii."""

    class Capsule:
        def support_points(self):
            return np.array([[0.1, 0, 0], [-0.1, 0, 0]]), np.array([0.05, 0.05])

    known = scenes.cube_at_rest()
    builder = WorldBuilder()
    builder.add_half_space("ground", known.half_spaces[0], known.surfaces[0].material)
    builder.add_free_body(
        "capsule", known.model.bodies[0].inertia, Capsule(), known.surfaces[0].material, (0, 0, 0.05, 1, 0, 0, 0)
    )
    recording = simulate(builder.build(), TimeStepping(1e-3), steps=3)
    recording.save(tmp_path / "a.npz")
    opened = Recording.open(tmp_path / "a.npz")
    assert np.array_equal(world_arrays(opened.world).packed.radii, [0.05, 0.05])
    assert np.array_equal(opened.problem(2).blocks().J, recording.problem(2).blocks().J)


@pytest.mark.nojit
def test_steps_out_of_range_are_index_errors():
    """Steps, states and islands that are not there."""
    recording = simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=2)
    assert_messages(
        IndexError,
        *(("0 .. 1", partial(call, 2)) for call in (recording.problem, recording.contacts_at, recording.z)),
        ("0 .. 2", lambda: recording.state(3)),
        *(("island 1", partial(call, 1, 1)) for call in (recording.problem, recording.z, recording.bodies)),
    )


@pytest.mark.parametrize(
    "solver",
    [
        None,
        lcp.Lemke(restarts=2),
        lcp.Fallback(lcp.Lemke(), lcp.Regularized(lcp.Lemke(max_pivots=50)), lcp.Enumeration(max_n=9)),
    ],
)
def test_the_solver_comes_back_with_the_record(solver, tmp_path):
    """No solver named, one of our own, and a cascade are all known again to the last option."""
    world = scenes.tumble()
    stepper = TimeStepping(h=0.002, solver=solver)
    simulate(world, stepper, steps=3).save(tmp_path / "a.npz")
    assert Recording.open(tmp_path / "a.npz").stepper == stepper.in_world(world)


G = 9.81


def test_each_cube_carries_what_stands_on_it():
    """Forces and wrenches between two bodies, in whichever order they are named; names that do not fit are refused."""
    pile = simulate(stack(3), TimeStepping(2e-3, edges=4), steps=20)
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

    between = pile.contacts.between
    assert_fields(
        SimulationConfigError,
        ("a", lambda: between("cube 9", "cube 1")),
        ("b", lambda: between("cube 1", "sky")),
        ("b", lambda: between("ground", "world")),
    )
    assert_messages(
        SimulationConfigError,
        (r"between\('ground'\) has all that touch 'ground'", lambda: between("world", "ground")),
        ("cube 2", lambda: between("cube 0", "cube 1").force_on("cube 2")),
        ("at", lambda: between("cube 0", "cube 1").net_wrench(at=(0, 0))),
    )


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
