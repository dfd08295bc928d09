"""Records: what they hold, and that they survive the disk."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import same

import lcp
from contactlab.recording.storage import chunk_folder
from contactlab.recording.world_io import stepper_from_json, stepper_to_json
from contactlab.simulation import (
    RecordError,
    Recording,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from contactlab.stepping import world_arrays
from contactlab.stepping.record_schema import RENAMED
from contactlab.stepping.time_stepping import FORMER_OPTIONS


@pytest.fixture(scope="module")
def tumble():
    return simulate(scenes.tumble(), TimeStepping(2e-3), steps=250)


def test_opened_record_poses_its_problems(tumble, tmp_path):
    """A file is enough to solve any step again, bit for bit."""
    tumble.save(tmp_path / "a.npz")
    opened = Recording.open(tmp_path / "a.npz")
    i = int(tumble.contacts.step[len(tumble.contacts) // 2])
    ours, theirs = tumble.problem(i).blocks(), opened.problem(i).blocks()
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(tumble.z(i), opened.z(i))
    # The loop takes rows of both tangents through the tree together and combines those of edges afterwards; here every
    # row is solved for itself. The sums have other orders, so that they agree to a few roundings, and no better.
    Y = opened.problem(i).solve_inertia(ours.J.T).T
    np.testing.assert_allclose(Y, ours.Y, rtol=0, atol=16.0 * np.finfo(float).eps * np.abs(ours.Y).max())


@pytest.mark.nojit
def test_run_on_disk_equals_the_run_in_memory(tmp_path):
    """Chunks are packed at the end and their folder goes."""
    path = tmp_path / "run.npz"
    written = simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=5, path=path, chunk_steps=2)
    assert same(written, simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), steps=5))
    assert same(written, Recording.open(path))
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


@pytest.mark.nojit
def test_interrupted_run_leaves_a_record(tmp_path):
    """Ctrl-C after some chunks: what was computed opens, and a new run at its place replaces it if told to."""
    path = tmp_path / "run.npz"

    def interrupt(done, total):
        assert total == 50
        if done >= 6:
            raise KeyboardInterrupt

    world, stepper = scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4)
    with pytest.raises(KeyboardInterrupt):
        simulate(world, stepper, steps=50, path=path, chunk_steps=3, progress=interrupt)
    partial = Recording.open(path)
    assert partial.n_steps == 6
    assert same(partial, Recording.open(chunk_folder(path)))
    assert not path.exists()
    rest = simulate(world, stepper, steps=2, state=partial.state(6))
    with pytest.raises(RecordError, match=r"record of a run that was stopped .*`overwrite` replaces it"):
        simulate(world, stepper, steps=8, path=path)
    assert same(partial, Recording.open(path))
    whole = simulate(world, stepper, steps=8, path=path, overwrite=True)
    assert np.array_equal(rest.q, whole.q[6:])
    assert not chunk_folder(path).exists()
    with pytest.raises(RecordError, match=r"there already: `resume` goes on with it, `overwrite` replaces it"):
        simulate(world, stepper, steps=9, path=path)
    assert same(whole, Recording.open(path))
    with pytest.raises(SimulationConfigError, match="give one of them"):
        simulate(world, stepper, steps=9, path=path, overwrite=True, resume=True)
    assert simulate(world, stepper, steps=2, path=path, overwrite=True).n_steps == 2


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
    """Missing, truncated, foreign, altered: a typed error with the file and, where there is one, the field."""
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
    with pytest.raises(RecordError) as caught:
        Recording.open(bad)
    assert caught.value.field == "meta"
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


def test_bad_chunks_are_named(tmp_path):
    """A truncated or missing chunk of an unfinished run is an error that names it."""
    path = tmp_path / "run.npz"

    def interrupt(done, total):
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(scenes.ball(0.2, 1.0), TimeStepping(1e-3), steps=9, path=path, chunk_steps=2, progress=interrupt)
    first, second = sorted(chunk_folder(path).glob("chunk_*.npz"))
    content = second.read_bytes()
    second.write_bytes(content[:-40])
    with pytest.raises(RecordError, match=second.name):
        Recording.open(path)
    second.write_bytes(content)
    assert Recording.open(path).n_steps == 2
    content = first.read_bytes()
    first.unlink()
    with pytest.raises(RecordError, match=first.name):
        Recording.open(path)
    first.write_bytes(content)
    meta = chunk_folder(path) / "meta.json"
    text = json.loads(meta.read_text())
    text["world"]["bodies"][0]["mass"] = -1.0
    meta.write_text(json.dumps(text))
    with pytest.raises(RecordError, match="mass"):
        Recording.open(path)


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
    for call in (recording.problem, recording.contacts_at, recording.z):
        with pytest.raises(IndexError, match="0 .. 1"):
            call(2)
    with pytest.raises(IndexError, match="0 .. 2"):
        recording.state(3)
    for call in (recording.problem, recording.z, recording.bodies):
        with pytest.raises(IndexError, match="island 1"):
            call(1, 1)


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
