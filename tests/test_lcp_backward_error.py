"""The backward error: the condition of "solved", for any units of rows and unknowns."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from refusals import assert_messages

import lcp

TWO_ISLANDS = lcp.LCP(np.eye(2), [-1e10, -1.0])


def test_the_small_island_beside_a_large_one_has_to_be_solved() -> None:
    """A row is measured by its terms: q = -1 beside -1e10 is not rounding."""
    for problem in (TWO_ISLANDS, lcp.LCP(sp.eye_array(2, format="csr"), TWO_ISLANDS.q)):
        assert lcp.residuals(problem, [1e10, 0.0]).backward_error == 1.0
        assert not lcp.residuals(problem, [1e10, 0.0]).solved(1e-9)
        assert lcp.residuals(problem, [1e10, 1.0]).backward_error == 0.0


# Neither is a game.
SOLVERS = [*(cls() for cls in lcp.ALL_SOLVERS if cls is not lcp.LemkeHowson), lcp.default_solver()]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("size", [1e-10, 1e10])
def test_every_solver_solves_both_islands_or_says_that_it_did_not(solver: Any, size: float) -> None:
    """Two decoupled pairs of contacts, one with loads 1e10 times the other's: no certified solution omits one."""
    block = np.array([[2.0, 1.0], [1.0, 2.0]])
    M = np.block([[block, np.zeros((2, 2))], [np.zeros((2, 2)), block]])
    result = lcp.solve(lcp.LCP(M, [-5.0, -6.0, -5.0 * size, -6.0 * size]), solver)
    assert result.solved
    np.testing.assert_allclose(result.z, [4 / 3, 7 / 3, 4 / 3 * size, 7 / 3 * size], rtol=1e-8)


def test_the_noise_of_a_load_is_not_held_against_an_answer() -> None:
    """A load of -1e-12 is balanced exactly, unless it is stated to be zero."""
    M, q, z = [[1.0, 0.0], [-1.0, 1.0]], [-1.0, -1e-12], [1.0, 1.0]
    exact = lcp.residuals(lcp.LCP(M, q), z)
    assert exact.backward_error == pytest.approx(1.0)
    assert lcp.solve(lcp.LCP(M, q)).z[1] == 1.0 + 1e-12
    assert lcp.solve(lcp.LCP(np.eye(2), [-1.0, -1e-16])).z[1] == 1e-16
    assert lcp.residuals(lcp.LCP(M, q, [0.0, 1e-11]), z).backward_error == 0.0
    # A miss beyond the noise counts as ever.
    assert lcp.residuals(lcp.LCP(M, q, [0.0, 1e-11]), [1.0, 0.5]).backward_error > 0.3
    kept = pickle.loads(pickle.dumps(lcp.LCP(M, q, [0.0, 1e-11])))
    np.testing.assert_array_equal(kept.q_uncertainty, [0.0, 1e-11])
    assert_messages(
        lcp.ProblemError,
        (r"q_uncertainty\[1\] = -1.0 is negative", lambda: lcp.LCP(M, q, [0.0, -1.0])),
        ("q_uncertainty must have length 2", lambda: lcp.LCP(M, q, [0.0])),
    )


def test_a_load_counts_however_large_the_terms_beside_it() -> None:
    """Along a null direction terms of 1e14 cancel: beside them a load of one is nothing, and still not met."""
    problem = lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])
    assert lcp.residuals(problem, [1e14, 1e14]).backward_error == pytest.approx(1.0)


def test_dust() -> None:
    """An unknown is left out if no row depends on it; rows that contain only such unknowns are not checked.

    In rows without load it counts 1024-fold; one that no row knows at all is never left out.
    """

    def error(M: Any, q: Any, z: Any) -> float:
        return lcp.residuals(lcp.LCP(M, q), z).backward_error

    with_load = [[1.0, 1.0], [0.0, 1.0]], [-1.0, 1.0]
    assert error(*with_load, [1.0, 1e-12]) == pytest.approx(1e-12, rel=1e-3)
    assert error(*with_load, [1.0, -1e-12]) == pytest.approx(1e-12, rel=1e-3)
    without = [[1.0, 0.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 1.0]], [-1.0, 0.0, 1.0]
    assert error(*without, [1.0, 1.0, 1e-11]) == pytest.approx(1e-11, rel=1e-2)
    assert error(*without, [1.0, 1.0, 1e-9]) == pytest.approx(512e-9, rel=1e-2)
    cone = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 0.0]], [-1.0, 1.0, 0.0]
    assert error(*cone, [1.0, 1e-30, 0.0]) == pytest.approx(1e-30)
    assert error([[1.0, 0.0], [1.0, 0.0]], [-1.0, 0.0], [1.0, 1e-300]) == 1.0
    assert error([[1.0, 0.0], [1.0, 0.0]], [-1.0, -1.0], [1.0, 7.0]) == 0.0


def test_mixed_problems_measure_every_equation_by_its_own_terms() -> None:
    """The equation of the small island counts, and a free unknown is never negligible."""
    problem = lcp.MLCP(np.eye(2), np.zeros((2, 1)), np.zeros((1, 2)), [[1.0]], [-1e10, -1.0], [-1e-5])
    assert lcp.residuals(problem, [1e-5], [1e10, 0.0]).backward_error == 1.0
    assert lcp.residuals(problem, [0.0], [1e10, 1.0]).backward_error == 1.0
    assert lcp.residuals(problem, [1e-5], [1e10, 1.0]).backward_error == 0.0


def test_boxed_problems_measure_the_way_to_a_bound_by_what_it_does() -> None:
    """At a bound, up to rounding of the bound; a row between bounds by its terms; outside by the distance back."""
    problem = lcp.BoxLCP(np.eye(2), [-3e10, -0.5], 0.0, [1e10, 1.0])
    assert lcp.residuals(problem, [1e10, 0.5]).backward_error == 0.0
    assert lcp.residuals(problem, [1e10 * (1 - 1e-13), 0.5]).backward_error == pytest.approx(1e-13, rel=1e-2)
    assert lcp.residuals(problem, [1e10 * (1 + 1e-13), 0.5]).backward_error == pytest.approx(1e-13, rel=1e-2)
    assert lcp.residuals(problem, [1e10, 0.0]).backward_error == 1.0
    assert lcp.residuals(problem, [1e10, 1.0]).backward_error > 0.3


@pytest.mark.parametrize("solver", lcp.ALL_FRICTION_SOLVERS)
def test_forces_that_drown_the_motion_solve_no_friction_problem(solver: Any) -> None:
    """W = 0 and a contact that closes: no force helps, and r = 3e14, in which u is lost, is not a solution."""
    problem = lcp.FrictionProblem(np.zeros((3, 3)), [-0.026, 0.872, 0.989], [0.1])
    assert not lcp.solve(problem, solver()).solved
