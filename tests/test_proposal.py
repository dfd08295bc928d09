"""Proposals: the previous forces, or forces for the modes they show, in place of a solve; judged like any solver."""

import math

import body_contact_scenes as pairs
import numpy as np
import pytest
import simulation_scenes as scenes

import lcp
from contactlab import ConstraintSolver
from contactlab.constraint_solver.discretized import form_discretized_lcp
from contactlab.constraint_solver.strategy_solver import StrategySolver, solve_with_strategies
from contactlab.simulation import TimeStepping, simulate
from problem_data import ConstraintVelProblemData

pytestmark = pytest.mark.nojit

THETA = math.radians(20.0)
SCENES = {
    "sliding ball": (lambda: scenes.ball(0.2, 1.0), TimeStepping(1e-3, edges=4), 6, 1),
    "brick on a slope": (lambda: scenes.incline(THETA, 0.6), TimeStepping(1e-3, edges=4), 6, 1),
    "sliding brick": (lambda: scenes.block(0.3, 1.0), TimeStepping(1e-3, edges=6), 6, 1),
    "stack": (lambda: pairs.stack(2), TimeStepping(1e-3, edges=4), 4, 1),
    "ball on a moving box": (pairs.ball_on_a_moving_box, TimeStepping(2e-3), 20, 3),
}


def problems(name):
    """Problem, step and start of some steps of a scene."""
    make, stepper, steps, every = SCENES[name]
    recording = simulate(make(), stepper, steps=steps)
    for i in range(1, steps, every):
        for j in range(recording.islands[i]):
            start = recording.warm_start(i, j)
            if start is not None:
                yield recording.problem(i, j), stepper.h, start


@pytest.mark.parametrize("selected", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_a_proposal_solves_the_lcp_by_the_dense_measures_too(name, selected):
    """w, natural map and scaled residual, summed without M, equal M z + q's to rounding."""
    met = 0
    for data, h, start in problems(name):
        formed = form_discretized_lcp(data, h)
        result = solve_with_strategies(formed, start, 1e-9, selected)
        if result is None:
            continue
        met += 1
        dense = lcp.residuals(formed.problem, result.z)
        size = np.abs(formed.qq) + np.abs(formed.MM) @ np.abs(result.z)
        np.testing.assert_allclose(result.w, formed.MM @ result.z + formed.qq, rtol=0, atol=1e-14 * (1.0 + size.max()))
        assert dense.natural_map == pytest.approx(result.residual.natural_map, abs=1e-14 * (1.0 + size.max()))
        # Its rows are not assumed larger than they are: its measures are upper bounds.
        assert dense.scaled <= result.residual.scaled + 1e-14
        assert dense.solved(1e-11)
    assert met > 2


@pytest.mark.parametrize("name", SCENES)
def test_a_proposal_moves_the_bodies_as_the_solver_does(name):
    """Forces of redundant contacts may differ, velocities do not."""
    for data, h, start in problems(name):
        fast = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, h, z0=start)
        slow = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, h)
        np.testing.assert_allclose(fast.v_plus, slow.v_plus, rtol=0, atol=1e-9)
        assert fast.certificate.holds(1e-9)


def brick() -> ConstraintVelProblemData:
    """A particle of 2 kg on the ground, pulled at 3 N beneath its friction bound."""
    h = 0.01
    return ConstraintVelProblemData(
        M=2.0 * np.eye(2), Mv=[h * 3.0, -h * 19.62], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1]
    )


def test_a_proposal_says_what_it_is_and_needs_a_start():
    """The result names no solver that did not run; without z0 the solver runs."""
    solver = ConstraintSolver(lcp.Lemke())
    cold = solver.solve_discretized_problem(brick(), 0.01)
    assert isinstance(cold.result.solver, lcp.Lemke)
    warm = solver.solve_discretized_problem(brick(), 0.01, z0=cold.result.z)
    assert isinstance(warm.result.solver, StrategySolver)
    assert warm.result.attempts[0].detail == "the forces of z0"
    np.testing.assert_allclose(warm.forces.fN, [19.62], atol=1e-12)


def test_forces_that_fit_no_more_are_corrected_for_their_modes():
    """A load changed by a tenth: still sticking, with other forces, after linear systems alone."""
    solver = ConstraintSolver(lcp.Lemke())
    start = solver.solve_discretized_problem(brick(), 0.01).result.z * 1.1
    answer = solver.solve_discretized_problem(brick(), 0.01, z0=start)
    assert isinstance(answer.result.solver, StrategySolver)
    assert "linear systems" in answer.result.attempts[0].detail
    np.testing.assert_allclose([answer.forces.fN[0], answer.forces.fF[0]], [19.62, -3.0], atol=1e-9)


def test_other_rows_than_contacts_go_to_the_solver():
    """A limit is nothing the proposal knows."""
    data = ConstraintVelProblemData(M=np.eye(1), Mv=[-1.0], L=[[1.0]])
    start = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, 0.01).result.z
    answer = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, 0.01, z0=start)
    assert isinstance(answer.result.solver, lcp.Lemke)
