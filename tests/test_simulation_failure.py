"""A step that cannot be solved stops the run, and everything needed to study it is kept."""

import pickle

import numpy as np
import pytest
import simulation_scenes as scenes

import lcp
import problem_data
from contactlab import ConstraintSolver
from contactlab.simulation import (
    ConvexPoints,
    HalfSpace,
    Material,
    RecordError,
    Recording,
    RigidInertia,
    SimulationError,
    TimeStepping,
    WorldBuilder,
    simulate,
)


class Garbage:
    """A solver that claims success with a vector of one value."""

    def __init__(self, value, after=0):
        self.value = value
        self.calls_left = after

    def solve(self, problem, *, z0, tolerance, trace):
        self.calls_left -= 1
        if self.calls_left >= 0:
            return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)
        return lcp.Claim(np.full(problem.n, self.value), lcp.Status.SOLVED, 3)


def failure(solver, tmp_path, **options):
    """Run a thrown cube into a failure."""
    with pytest.raises(SimulationError) as caught:
        simulate(scenes.tumble(), TimeStepping(2e-3, solver=solver), steps=300, **options)
    return caught.value


def test_pivot_limit_inside_the_loop(tmp_path):
    """The error carries the problem, saved beside the record; the record up to that step opens."""
    path = tmp_path / "run.npz"
    error = failure(lcp.Lemke(max_pivots=1), tmp_path, path=path)
    assert error.problem_path == tmp_path / f"run_failed_step{error.step}.npz"
    loaded = problem_data.load(error.problem_path)
    for ours, theirs in zip(error.problem.blocks(), loaded.blocks(), strict=True):
        assert np.array_equal(ours, theirs)
    assert error.result.status is lcp.Status.ITERATION_LIMIT
    assert str(error.problem_path) in str(error)
    assert error.result.status.advice in str(error)
    opened = Recording.open(path)
    assert opened.n_steps == error.step == error.recording.n_steps
    assert opened.time[-1] == error.time
    assert np.array_equal(opened.q, error.recording.q)
    copied = pickle.loads(pickle.dumps(error))
    assert str(copied) == str(error)
    assert np.array_equal(copied.recording.q, opened.q)
    # The saved problem is the one an unlimited solver meets there, and solves.
    good = simulate(scenes.tumble(), TimeStepping(2e-3), steps=error.step + 1)
    assert np.array_equal(good.q[:-1], opened.q)
    solution = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(loaded, 2e-3)
    assert solution.result.solved


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_a_solvers_claim_is_not_believed(value, tmp_path):
    """A wrong z fails the residual test for any claim of the solver."""
    error = failure(Garbage(value, after=3), tmp_path)
    assert error.result is not None
    assert not error.result.solved
    assert len(error.recording.certificates) >= 1
    assert problem_data.load(error.problem_path).nc == error.problem.nc
    error.problem_path.unlink()


@pytest.mark.nojit
def test_an_error_of_the_callers_own_code_passes(tmp_path):
    """An exception in tau is the caller's, and the record so far stays."""

    def controller(t, q, v):
        if t > 2.5e-3:
            raise ZeroDivisionError("mine")
        return np.zeros(6)

    world = scenes.ball(0.2, 1.0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        simulate(world, TimeStepping(1e-3, edges=4), steps=9, tau=controller, path=tmp_path / "a.npz", chunk_steps=1)
    assert Recording.open(tmp_path / "a.npz").n_steps == 3


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_motion_that_overflows_ends_at_its_last_finite_state(tmp_path, on_disk):
    """A force beyond all bounds stops the run as a simulation error; the record ends before it and opens."""
    path = tmp_path / "a.npz" if on_disk else None

    def tau(time, q, v):
        return np.full(v.size, 1e200 if time > 0.019 else 0.0)

    with pytest.raises(SimulationError, match="no longer finite") as caught:
        simulate(scenes.tumble(), TimeStepping(2e-3), steps=300, tau=tau, path=path)
    recording = Recording.open(path) if on_disk else caught.value.recording
    assert recording.n_steps == caught.value.step > 0
    assert np.isfinite(recording.q).all()
    assert np.isfinite(recording.v).all()
    assert np.isfinite(recording.kinetic).all()


def test_a_folder_in_the_way_is_found_before_stepping(tmp_path):
    """The packed record would have nowhere to go."""
    with pytest.raises(RecordError, match="is a folder"):
        simulate(scenes.tumble(), TimeStepping(2e-3), steps=300, path=tmp_path)
    assert not list(tmp_path.glob("*"))


def test_a_step_that_memory_cannot_hold_names_the_fastest_body(monkeypatch):
    """A disc of many corners meets the floor in one step; an adaptive stepper tries one in which it does not."""
    monkeypatch.setattr("contactlab.simulation.stepping.memory.memory_bytes", lambda: 1000)
    angles = np.linspace(0.0, 2.0 * np.pi, 300, endpoint=False)
    corners = ConvexPoints(np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles]))
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    inertia = RigidInertia.solid_box(1.0, (1.0, 1.0, 0.1))
    builder.add_free_body("disc", inertia, corners, Material(0.5), (0, 0, 1, 1, 0, 0, 0), (0, 0, -1000.0, 0, 0, 0))
    words = r"memory does not suffice .*The fastest body, 'disc', moves at .* in one step of h = 0\.002 s"
    with pytest.raises(SimulationError, match=words) as caught:
        simulate(builder.build(), TimeStepping(2e-3, solver=lcp.Lemke()), steps=1)
    assert caught.value.problem is None
    assert simulate(builder.build(), TimeStepping(2e-3, solver=lcp.Lemke(), adaptive=True), steps=1).h[0] < 2e-3


def test_a_solver_that_runs_out_of_memory_is_a_failed_step():
    """Outside the loop, too."""

    class Greedy:
        def solve(self, problem, *, z0, tolerance, trace):
            raise MemoryError

    with pytest.raises(SimulationError, match="memory does not suffice for a step with"):
        simulate(scenes.tumble(), TimeStepping(2e-3, solver=Greedy(), warm_start=False), steps=300)
