"""A run resumed at any step gives the same bits, for any chunks and any path of the record."""

import functools
import pickle
import platform
import shutil
import socket
import tempfile
from pathlib import Path

import numpy as np
import pytest
import simulation_scenes as scenes
from body_contact_scenes import pendulum_and_box, stack
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_scenes import busy
from record_runs import same
from refusals import assert_fields

import lcp
from contactlab.simulation import (
    ConvexPoints,
    HalfSpace,
    Material,
    RecordError,
    Recording,
    RigidInertia,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from contactlab.simulation.stepping.kernels.layout import PIVOT_BUDGET

STEPS = 150
WORLDS = {"tumble": scenes.tumble, "stack": lambda: stack(3), "pendulum": pendulum_and_box, "joints": busy}


class Fickle:
    """Lemke's method that gives up on every fifth problem or so; which ones, the problem alone decides."""

    def solve(self, problem, *, z0, tolerance, trace):
        if problem.n and problem.M[0, 0] > 1e-3 and problem.q.sum().view(np.int64) % 5 == 0:
            return lcp.Claim(np.full(problem.n, np.nan), lcp.Status.SOLVED, 1)
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


STEPPERS = {
    "plain": TimeStepping(2e-3, edges=4),
    "cold": TimeStepping(2e-3, edges=4, warm_start=False),
    "erp": TimeStepping(5e-3, edges=8, erp=0.2, margin=5e-3),
    "adaptive, warm": TimeStepping(4e-3, edges=4, adaptive=True, solver=Fickle()),
    # Without a start no proposal comes before the solver, which so gives up more often.
    "adaptive": TimeStepping(4e-3, edges=4, adaptive=True, solver=Fickle(), warm_start=False),
}


@functools.cache
def whole(world, stepper):
    return simulate(WORLDS[world](), STEPPERS[stepper], steps=STEPS)


@pytest.mark.parametrize(("world", "stepper"), [("pendulum", "adaptive"), ("tumble", "adaptive, warm")])
def test_the_adaptive_run_does_adapt(world, stepper):
    """Or the property below would say nothing of it."""
    assert np.unique(whole(world, stepper).h).size > 2


@settings(max_examples=15)
@given(st.sampled_from(sorted(WORLDS)), st.sampled_from(sorted(STEPPERS)), st.integers(0, STEPS), st.booleans())
def test_from_any_step_in_memory_and_on_disk(world, stepper, step, moved):
    """The first steps saved, moved or not, and resumed: the record of an uninterrupted run."""
    run = whole(world, stepper)
    rest = simulate(WORLDS[world](), STEPPERS[stepper], steps=STEPS - step, state=run.state(step))
    assert np.array_equal(rest.q, run.q[step:])
    assert np.array_equal(rest.v, run.v[step:])
    assert np.array_equal(rest.time, run.time[step:])
    assert np.array_equal(rest.rows["contact_z"], run.rows["contact_z"][run.contacts.step >= step])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        run.first(step).save(path)
        if moved:
            (Path(folder) / "b").mkdir()
            path = Path(shutil.move(path, Path(folder) / "b" / "c.npz"))
        opened = Recording.open(path)
        assert np.array_equal(opened.state(step).q, run.state(step).q)
        assert same(simulate(WORLDS[world](), STEPPERS[stepper], steps=STEPS, path=path, resume=True), run)
        assert same(Recording.open(path), run)


def test_first_steps_are_the_record_of_a_shorter_run():
    """All arrays are cut at the end of the shorter run."""
    run = whole("tumble", "plain")
    assert same(run.first(30), simulate(scenes.tumble(), STEPPERS["plain"], steps=30))
    assert same(run.first(STEPS), run)
    assert run.first(0).n_steps == 0
    with pytest.raises(IndexError, match="0 .. 150"):
        run.first(STEPS + 1)


def test_a_duration_counts_from_the_beginning_of_the_record(tmp_path):
    """Going on to 0.1 s of an adaptive run is stopping where the uninterrupted one stops."""
    world, stepper = pendulum_and_box(), STEPPERS["adaptive"]

    def push(t, q, v):
        return 0.3 * np.sin(10.0 * t) * np.ones(v.size)

    run = simulate(world, stepper, 0.1, tau=push)
    path = tmp_path / "a.npz"
    run.first(7).save(path)
    assert same(simulate(world, stepper, 0.1, tau=push, path=path, resume=True), run)


def test_large_records_are_mapped(tmp_path, monkeypatch):
    """Above the limit nothing is compressed, and opening reads nothing; numpy reads such a file, too."""
    monkeypatch.setattr("contactlab.simulation.recording.storage.LOAD_BYTES", 1000)
    monkeypatch.setattr("problem_data.files.BLOCK_BYTES", 3000)
    run, path = whole("tumble", "plain"), tmp_path / "a.npz"
    written = simulate(scenes.tumble(), STEPPERS["plain"], steps=STEPS, path=path, chunk_steps=9, flush_seconds=0.0)
    assert same(written, run)
    opened = Recording.open(path)
    base = opened.q
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)
    assert opened.q.flags.aligned
    # Another file at its path changes nothing for a reader that has it open.
    run.first(3).save(path)
    assert same(opened, run)
    # A copy of it has the arrays themselves.
    assert same(pickle.loads(pickle.dumps(opened)), run)
    i = int(run.contacts.step[5])
    assert np.array_equal(opened.problem(i).blocks().J, run.problem(i).blocks().J)
    run.save(path, compress=False)
    with np.load(path) as archive:
        assert np.array_equal(archive["v"], run.v)
    run.save(tmp_path / "b.npz", compress=True)
    assert (tmp_path / "b.npz").stat().st_size < path.stat().st_size
    monkeypatch.setattr("contactlab.simulation.recording.storage.ARRAY_BYTES", 1000)
    with pytest.raises(RecordError, match="cannot be opened"):
        run.save(tmp_path / "b.npz", compress=True)
    assert same(Recording.open(tmp_path / "b.npz"), run)


def test_arguments_are_checked(tmp_path):
    """Before anything is written."""
    world, stepper = scenes.tumble(), STEPPERS["plain"]
    path = tmp_path / "a.npz"
    run = functools.partial(simulate, world, stepper, steps=3)
    assert_fields(
        SimulationConfigError,
        ("resume", lambda: run(resume=True)),
        ("state", lambda: run(resume=True, path=path, state=world.initial_state())),
        ("flush_seconds", lambda: run(path=path, flush_seconds=-1.0)),
    )
    assert list(tmp_path.iterdir()) == []


def test_the_stamp_says_what_bits_depend_on_and_not_where(tmp_path):
    """Versions, processor, date and what the caller adds; no names of machines, users or folders."""
    path = tmp_path / "a.npz"
    run = simulate(scenes.tumble(), STEPPERS["plain"], steps=2, path=path, stamp={"scene": "tumble"})
    stamp = run.environment
    for name in (
        "contactlab",
        "python",
        "numpy",
        "numba",
        "llvmlite",
        "scipy",
        "cpu",
        "cpu_features",
        "tier",
        "date",
        "jit",
    ):
        assert stamp[name]
    assert stamp["numpy"] == np.__version__
    assert stamp["scene"] == "tumble"
    text = " ".join(stamp.values())
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text
    for name in {socket.gethostname(), platform.node()}:
        assert len(name) < 3 or name not in text.split()


def plates(count, points):
    """Return flat round plates side by side on the ground, each with this many points on its rim."""
    angles = 2 * np.pi * np.arange(points) / points
    rim = np.column_stack([0.3 * np.cos(angles), 0.3 * np.sin(angles), np.full(points, -0.02)])
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.4))
    for i in range(count):
        plate = RigidInertia(1.0, inertia=np.diag([0.02, 0.02, 0.04]))
        builder.add_free_body(f"plate {i}", plate, ConvexPoints(rim), Material(0.4), (i, 0, 0.02, 1, 0, 0, 0))
    return builder.build()


def test_a_long_solve_pauses_and_goes_on():
    """More pivots than one entry of the loop spends: the loop returns in mid-solve, without effect on the record."""
    world = plates(1, 100)
    state = world.initial_state(v=(0.5, 0.2, -1.0, 1.0, 2.0, 8.0))
    inside = simulate(world, TimeStepping(1e-3, solver=lcp.Lemke()), steps=2, state=state)
    assert inside.pivots.max() > PIVOT_BUDGET
    assert same(inside, simulate(world, TimeStepping(1e-3, solver=scenes.Outside()), steps=2, state=state))


def test_recorded_force_takes_part_in_the_problem():
    """`problem` poses the step with the force of that step."""
    world, stepper = scenes.block(0.3), TimeStepping(1e-3)
    recording = simulate(world, stepper, steps=20, tau=lambda t, q, v: (500.0 * t, 0, 0, 0, 0, 0))
    data = recording.problem(15)
    assert data.Mv[0] == 2.0 * recording.v[15, 0] + 1e-3 * (500.0 * recording.time[15])
