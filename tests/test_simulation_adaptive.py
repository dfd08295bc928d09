"""Adaptive steps: a step that is not solved is tried again, shorter, and what was used is in the record."""

import math

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import same

import lcp
from contactlab import ConstraintSolver
from contactlab.simulation import SimulationError, TimeStepping, simulate, step, verify


class FirstTries:
    """A solver whose first results are wrong, once in this many calls."""

    def __init__(self, tries, period):
        self.tries = tries
        self.period = period
        self.calls = 0

    def solve(self, problem, *, z0, tolerance, trace):
        self.calls += 1
        if self.calls % self.period < self.tries:
            return lcp.Claim(np.full(problem.n, np.nan), lcp.Status.SOLVED, 1)
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


@pytest.mark.parametrize("solver", [None, lcp.Lemke(), scenes.Outside()])
def test_a_run_that_is_solved_throughout_is_the_fixed_one(solver):
    """Nothing is shortened without a failure: same number of steps, same bits."""
    fixed = simulate(scenes.tumble(), TimeStepping(2e-3, solver=solver), 0.7)
    adaptive = simulate(scenes.tumble(), TimeStepping(2e-3, solver=solver, adaptive=True), 0.7)
    assert same(fixed, adaptive)
    assert np.all(adaptive.h == 2e-3)


@pytest.mark.nojit
def test_the_step_shrinks_until_solved_and_grows_back():
    """A bouncing ball whose contact is solved below h/4 only: short steps near the ground, long ones again above it."""
    solver = scenes.UpTo(2.5e-3)
    # Every problem must reach the solver, whose calls are counted: without a start no proposal comes before it.
    stepper = TimeStepping(0.01, solver=solver, edges=4, adaptive=True, growth_factor=2.0, warm_start=False)
    recording = simulate(scenes.dropped_ball(0.02, 0.9), stepper, steps=40)
    h, touched = recording.h, np.unique(recording.contacts.step)
    assert touched.size > 2
    assert np.all(h[touched] <= 2.5e-3)
    assert solver.seen[0] == pytest.approx(0.01)
    # Tried first at twice the last step, 0.01 at most, and halved until solved. A shorter step may reach no contact.
    first = np.minimum(0.01, 2.0 * np.concatenate(([0.01], h[:-1])))
    halvings = np.log2(first / h)
    assert np.array_equal(halvings, np.round(halvings))
    assert set(halvings) == {0.0, 1.0, 2.0}
    assert len(solver.seen) == touched.size + halvings.sum()
    assert np.count_nonzero(h[touched[0] :] == 0.01) > 0
    assert np.array_equal(recording.time[1:], np.cumsum(h))


@pytest.mark.nojit
def test_a_wrong_answer_that_solves_is_no_failure():
    """The residuals decide, not the solver's h: z = 0 is right where the ball leaves the ground anyway."""
    world = scenes.dropped_ball(0.0)
    stepper = TimeStepping(8e-3, solver=scenes.UpTo(1e-3, wrong=0.0), edges=4, adaptive=True)
    up, down = world.initial_state(v=(0, 0, 1, 0, 0, 0)), world.initial_state()
    assert step(world, stepper, up).state.h == 8e-3
    assert step(world, stepper, down).state.h == 1e-3


@pytest.mark.nojit
def test_a_failed_try_leaves_no_trace():
    """The step that succeeds is the one that a run at that h makes from the same state."""
    stepper = TimeStepping(8e-3, solver=scenes.UpTo(2e-3), edges=4, adaptive=True)
    world = scenes.ball(0.2, 1.0)
    tried = step(world, stepper, world.initial_state())
    direct = step(world, TimeStepping(2e-3, solver=lcp.Lemke(), edges=4), world.initial_state())
    assert tried.state.h == 2e-3 == direct.state.h
    assert tried.state.time == 2e-3
    for name in ("q", "v", "contact_ids", "z"):
        assert np.array_equal(getattr(tried.state, name), getattr(direct.state, name))
    assert np.array_equal(tried.contacts.impulse, direct.contacts.impulse)


@pytest.mark.parametrize("warm", [True, False])
def test_every_island_starts_again(warm):
    """Three bodies: the second or third island fails after others are solved; rows belong to the last attempt.

    With and without a start, which gives proposals that come before the solver: it is asked, and fails, less often.
    """
    solver = FirstTries(2, 23)
    recording = simulate(scenes.tumble(), TimeStepping(4e-3, solver=solver, adaptive=True, warm_start=warm), 0.8)
    assert recording.islands.max() >= 2
    short = recording.h < 4e-3
    assert short.sum() > (2 if warm else 10)
    assert verify(recording, every=5).holds
    steps = recording.certificates.step * 8 + recording.certificates.island
    assert np.all(np.diff(steps) > 0)
    ids = recording.contacts.step * 2**50 + recording.contacts.id
    assert np.unique(ids).size == ids.size


def test_a_duration_is_covered():
    """Steps continue until the time is reached, the last one less than h beyond it; a step is never shortened."""
    world = scenes.dropped_ball(0.05, 0.7)
    stepper = TimeStepping(0.01, solver=scenes.UpTo(1e-3), adaptive=True)
    totals = []
    recording = simulate(world, stepper, 0.5, progress=lambda done, total: totals.append((done, total)), chunk_steps=9)
    assert recording.n_steps > 60
    assert recording.time[-2] < 0.5 - 1e-8
    assert 0.5 - 1e-8 <= recording.time[-1] < 0.51
    assert totals[-1] == (recording.n_steps, recording.n_steps)
    assert all(done <= total for done, total in totals)
    # Up to rounding a multiple of h is that multiple, as for a fixed step.
    flight = scenes.dropped_ball(10.0)
    for duration, steps in ((0.3, 3), (0.7, 7), (0.31, 4), (0.0, 0)):
        assert simulate(flight, TimeStepping(0.1, adaptive=True), duration).n_steps == steps
    later = simulate(world, stepper, 0.1, state=recording.state(recording.n_steps))
    assert later.time[-1] == pytest.approx(recording.time[-1] + 0.1, abs=0.01)


@pytest.mark.nojit
@pytest.mark.parametrize(("h_min", "last"), [(None, 2.0**-10), (0.3, 0.5), (1.0, 1.0)])
def test_below_the_smallest_step_the_run_fails(h_min, last):
    """The error belongs to the last try, at the last admissible h, and its problem has this h."""
    h = 0.01
    stepper = TimeStepping(
        h, solver=scenes.UpTo(0.0), edges=4, adaptive=True, h_min=None if h_min is None else h_min * h
    )
    with pytest.raises(SimulationError, match="h_min") as caught:
        simulate(scenes.ball(0.2, 1.0), stepper, 0.1)
    error = caught.value
    assert error.h == last * h
    assert (error.step, error.recording.n_steps) == (0, 0)
    assert error.problem.Mv[2] == pytest.approx(-0.5 * scenes.G * error.h)
    assert stepper.solver.seen[-1] == pytest.approx(error.h)
    assert len(stepper.solver.seen) == 1 + round(math.log2(1 / last))
    error.problem_path.unlink()
    solved = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(error.problem, error.h)
    assert solved.forces.fN[0] == pytest.approx(0.5 * scenes.G)


@pytest.mark.nojit
def test_force_is_asked_for_once_per_step():
    """However often a step is tried: at its start, with the state there."""
    asked = []

    def controller(t, q, v):
        asked.append(t)
        return np.array([0.3, 0, 0, 0, 0, 0])

    stepper = TimeStepping(8e-3, solver=scenes.UpTo(1e-3), edges=4, adaptive=True)
    recording = simulate(scenes.ball(0.2, 1.0), stepper, steps=4, tau=controller)
    assert np.array_equal(asked, recording.time[:-1])
    assert recording.h[0] == 1e-3
