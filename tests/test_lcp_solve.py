"""`lcp.solve` judges every claim on the original data, by measures that hold in any units."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from refusals import assert_messages

import lcp


@dataclass(frozen=True)
class Claimant:
    """A foreign solver that returns a given claim."""

    z: tuple[float, ...]
    status: lcp.Status = lcp.Status.SOLVED

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Return the prepared claim."""
        return lcp.Claim(np.array(self.z), self.status, 1)


PROBLEM = lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])


def test_a_false_claim_is_not_believed() -> None:
    """A solver that claims SOLVED with a wrong z ends as STALLED, and the residual shows the error."""
    result = lcp.solve(PROBLEM, Claimant((1.0, 1.0)))
    assert result.status is lcp.Status.STALLED
    assert result.residual.natural_map == pytest.approx(3.0)
    with pytest.raises(lcp.SolveError, match="STALLED.*scaled residual") as caught:
        result.raise_for_status()
    assert caught.value.result is result
    lie = Returns(lcp.Claim(np.zeros(1), lcp.Status.SOLVED, 0), lcp.Traits.NONLINEAR)
    assert lcp.solve(KINDS["nonlinear"], lie).status is lcp.Status.STALLED  # type: ignore[call-overload]


class OnlyProblem:
    """A solver that takes nothing but the problem."""

    def solve(self, problem: lcp.LCP) -> lcp.Claim:
        """No start, no tolerance."""
        return lcp.Claim(np.zeros(problem.n), lcp.Status.SOLVED, 0)


class Returns:
    """A solver that returns a given claim."""

    def __init__(self, answer: object, traits: lcp.Traits) -> None:
        self.answer, self.traits = answer, traits

    def solve(self, problem: object, *, z0: object, tolerance: float, trace: bool) -> object:
        """Return the given claim, for any problem."""
        return self.answer


KINDS = {
    "plain": PROBLEM,
    "mixed": lcp.MLCP([[2.0]], [[-1.0]], [[1.0]], [[0.0]], [0.2], [-1.0]),
    "box": lcp.BoxLCP(np.eye(2), [-3.0, 0.5], [-1.0, -np.inf], [1.0, np.inf]),
    "coupled": lcp.CoupledBoxLCP(np.eye(2), [-9.81, 2.0], 0.0, np.inf, [-1, 0], 0.5),
    "horizontal": lcp.HorizontalLCP([[2.0, 0.0], [0.0, 4.0]], [[4.0, 2.0], [4.0, 8.0]], [-10.0, -24.0]),
    "nonlinear": lcp.NCP(lambda z: z - 1.0, lambda z: np.eye(1), 1),
    "friction": lcp.FrictionProblem(np.diag([1.0, 2.0, 2.0]), [-1.0, 3.0, 1.0], [0.5]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_solver_returns_is_looked_at_whatever_the_problem(kind: str) -> None:
    """No claim, a claim without its vector, and an unusable signature are reported, on every path."""
    problem, other = KINDS[kind], {"nonlinear": lcp.Traits.NONLINEAR, "friction": lcp.Traits.CONE}
    traits, claim = other.get(kind, lcp.Traits(0)), "FrictionClaim" if kind == "friction" else "Claim"
    with pytest.raises(lcp.ProblemError, match=f"Returns.solve returned a ndarray, not an lcp.{claim}"):
        lcp.solve(problem, Returns(np.zeros(2), traits))  # type: ignore[call-overload]
    empty = getattr(lcp, claim)(None, "SOLVED", 1)
    with pytest.raises(lcp.ProblemError, match=r"Returns returned [zr] = None, expected \d numbers"):
        lcp.solve(problem, Returns(empty, traits))  # type: ignore[call-overload]
    if kind not in other:
        wanted = r"solve\(self, problem, \*, z0=None, tolerance=1e-9, trace=False\) -> lcp.Claim"
        with pytest.raises(lcp.ProblemError, match=rf"OnlyProblem\.solve\(problem: .*{wanted}"):
            lcp.solve(problem, OnlyProblem())  # type: ignore[call-overload]


def test_a_type_error_of_the_solver_itself_is_left_as_it_is() -> None:
    """It is not the signature's fault, and its traceback is worth more than our words."""

    class Adds:
        def solve(self, problem: lcp.LCP, *, z0: object, tolerance: float, trace: bool) -> lcp.Claim:
            return lcp.Claim(problem.q + "one", lcp.Status.SOLVED, 1)  # type: ignore[operator]

    with pytest.raises(TypeError) as caught:
        lcp.solve(PROBLEM, Adds())
    assert not isinstance(caught.value, lcp.ProblemError)


def test_claims_are_corrected_or_refused() -> None:
    """A solution handed over as a failure is one; NaN never passes; another length is an error."""
    assert lcp.solve(PROBLEM, Claimant((4 / 3, 7 / 3), lcp.Status.STALLED)).solved
    assert lcp.solve(PROBLEM, Claimant((np.nan, 1.0))).status is lcp.Status.NOT_FINITE
    with pytest.raises(lcp.ProblemError, match=r"Claimant returned z of shape \(1,\)"):
        lcp.solve(PROBLEM, Claimant((1.0,)))


@pytest.mark.parametrize("exponent", [-12, -6, 0, 6, 12])
def test_residuals_follow_their_definitions(exponent: int) -> None:
    """Each measure equals its formula, written out in numpy, at every scale of the data."""
    rng = np.random.default_rng(exponent + 50)
    M, q = rng.standard_normal((5, 5)) * 10.0**exponent, rng.standard_normal(5)
    z = rng.standard_normal(5)
    w = M @ z + q
    found = lcp.residuals(lcp.LCP(M, q), z)
    zs = np.abs(z).max()
    ws = np.abs(q) + np.abs(M).max(axis=1) * zs
    assert found.natural_map == pytest.approx(np.abs(np.minimum(z, w)).max(), rel=1e-12)
    assert found.scaled == pytest.approx(np.abs(np.minimum(z / zs, w / ws)).max(), rel=1e-12)
    assert found.fischer_burmeister == pytest.approx(np.abs(z + w - np.sqrt(z**2 + w**2)).max(), rel=1e-12)
    assert found.gap == pytest.approx(abs(z @ w), rel=1e-12)
    assert (found.min_z, found.min_w) == (z.min(), pytest.approx(w.min(), rel=1e-12))
    # Rows are measured by their terms, unknowns by their effect on rows; all loads and residuals are large here.
    terms = np.abs(M) @ np.abs(z) + np.abs(q)
    row = np.where(
        np.abs(w) > 1e-3 * np.abs(q), np.maximum(np.abs(w) / terms, np.abs(w) / np.abs(q)), np.abs(w) / terms
    )
    moved = np.abs(M * z)
    spoilt = moved > 1e-3 * np.abs(q)[:, None]
    reach = np.where(spoilt, np.maximum(moved / terms[:, None], moved / np.abs(q)[:, None]), moved / terms[:, None])
    pair = np.minimum(np.sign(z) * reach.max(axis=0), np.sign(w) * row)
    assert found.backward_error == pytest.approx(np.abs(pair).max(), rel=1e-9)
    assert found.solved(0.5) == (found.backward_error <= 0.5)


def test_sparse_measures_equal_dense_ones() -> None:
    """A sparse problem is judged as its dense twin, without being made dense."""
    rng = np.random.default_rng(3)
    M = np.where(rng.random((12, 12)) < 0.3, rng.standard_normal((12, 12)), 0.0)
    q, z = rng.standard_normal(12), rng.random(12)
    dense = lcp.residuals(lcp.LCP(M, q), z)
    sparse = lcp.residuals(lcp.LCP(sp.csr_matrix(M), q), z)
    for name in ("natural_map", "scaled", "fischer_burmeister", "min_z", "min_w", "gap", "backward_error"):
        assert getattr(sparse, name) == pytest.approx(getattr(dense, name), rel=1e-13)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
def test_a_zero_start_is_not_a_solution_at_any_scale(factor: float) -> None:
    """z = 0 with q < 0 is never called solved, however small the data are."""
    problem = lcp.LCP(np.eye(2) * factor, [-factor, factor])
    assert not lcp.residuals(problem, [0.0, 0.0]).solved()
    assert lcp.solve(problem).solved


def test_bad_arguments_are_named() -> None:
    """A class in place of a solver, a bare matrix, a bad tolerance, a bad start: each error has the reason."""
    with pytest.raises(lcp.ProblemError, match=r"solver object such as Lemke\(\)"):
        lcp.solve(PROBLEM, lcp.Lemke)  # type: ignore[arg-type]
    with pytest.raises(lcp.ProblemError, match=r"lcp.LCP.*got ndarray.*LCP\(M, q\)"):
        lcp.solve(np.eye(2))  # type: ignore[arg-type]
    for tolerance in (0.0, 1e-18, 1.0, float("nan"), "tight"):
        with pytest.raises(lcp.ProblemError, match="tolerance"):
            lcp.solve(PROBLEM, tolerance=tolerance)  # type: ignore[arg-type]
    assert_messages(
        lcp.ProblemError,
        ("z0 must have length 2, got 3", lambda: lcp.solve(PROBLEM, z0=[1.0, 2.0, 3.0])),
        (r"z0\[1\] = nan", lambda: lcp.solve(PROBLEM, z0=[1.0, np.nan])),
        ("length 3, got 2", lambda: lcp.residuals(lcp.LCP(np.eye(3), np.ones(3)), [1.0, 2.0])),
    )


@pytest.mark.parametrize("size", [1.0, 1e15, 1e60])
def test_a_load_that_drowns_in_the_sum_is_not_met(size: float) -> None:
    """z along a null direction: in double precision row 3 gives 0 for its load of -3, in truth it misses it by 3."""
    M = np.array(
        [[1, 0, 1, -1, 0, 2], [-1, 1, 0, -1, -2, 2], [2, 2, 0, 2, 2, 0], [0, 2, 1, -2, 1, 0], [-1, 1, -2, 2, -2, 0],
         [2, 1, 1, 0, 1, 1]], dtype=float
    )  # fmt: skip
    q = np.array([2.0, 0.0, -3.0, -1.0, -3.0, 0.0])
    z = np.array([0.0, 4.0, 0.0, 0.0, 2.0, 0.0]) * size
    for problem in (lcp.LCP(M, q), lcp.LCP(sp.csr_matrix(M), q), lcp.BoxLCP(M, q, 0.0, np.inf)):
        found = lcp.residuals(problem, z)
        assert not found.solved()
        assert found.natural_map == pytest.approx(3.0)


def test_the_previous_result_is_a_start() -> None:
    """A result stands for its z, a mixed one for its y: no pivot is spent on the same problem again."""
    box = lcp.BoxLCP(PROBLEM.M, PROBLEM.q, 0.0, 10.0)
    mixed = lcp.MLCP([[1.0]], [[1.0, 0.0]], [[-1.0], [0.0]], PROBLEM.M, [1.0], PROBLEM.q)
    for problem in (PROBLEM, box, mixed):
        cold = lcp.solve(problem, lcp.Lemke())
        assert cold.solved
        warm = lcp.solve(problem, lcp.Lemke(), z0=cold)
        assert warm.solved
        assert (cold.iterations > 0, warm.iterations) == (True, 0)
    with pytest.raises(lcp.ProblemError, match="z0 must have length 2, got 1"):
        lcp.solve(PROBLEM, z0=lcp.solve(lcp.LCP([[1.0]], [-1.0])))


def test_a_result_that_is_not_finite_is_no_start() -> None:
    """In a loop, a solve that failed does not make the next one raise."""
    failed = lcp.solve(PROBLEM, Claimant((np.nan, 1.0)))
    assert not np.isfinite(failed.z).all()
    np.testing.assert_array_equal(lcp.solve(PROBLEM, z0=failed).z, lcp.solve(PROBLEM).z)
    with pytest.raises(lcp.ProblemError, match=r"z0\[0\] = nan"):
        lcp.solve(PROBLEM, z0=failed.z)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e9, 1e15])
def test_infeasible_problems_have_no_solution_however_small_their_loads(unit: float, size: float) -> None:
    """Rows that contradict each other: no z along the null direction passes, in any unit of the loads."""
    for M in ([[1.0, -1.0], [-1.0, 1.0]], [[unit, -unit], [-unit, unit]]):
        problem = lcp.LCP(M, [-unit, -unit])
        z = [10.0 * size, 10.0 * size]
        assert not lcp.residuals(problem, z).solved()
        assert not lcp.residuals(lcp.LCP(sp.csr_matrix(M), [-unit, -unit]), z).solved()
        assert not lcp.residuals(lcp.BoxLCP(M, [-unit, -unit], 0.0, np.inf), z).solved()
        assert lcp.solve(problem).status is lcp.Status.INFEASIBLE


def test_an_unknown_that_grows_freely_excuses_no_other_row() -> None:
    """z_3 has a column of zeros: as large as it may be, the other rows are measured by their own terms."""
    problem = lcp.LCP([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [2.0, -1.0, 0.0]], [1.0, -1.0, 0.0])
    assert not lcp.residuals(problem, [0.0, 0.5, 2.5e13]).solved()
    assert lcp.solve(problem).status is lcp.Status.UNSOLVABLE
    boxed = lcp.BoxLCP([[0.0, -1.0], [0.0, -1.0]], [0.0, 2.0], [-np.inf, -1.0], [np.inf, 0.0])
    assert not lcp.residuals(boxed, [-1e14, -1.0]).solved()
    assert not lcp.solve(boxed).solved


def test_what_no_float64_can_meet_better_is_solved() -> None:
    """Entries of 1e12 that cancel to 1: the grid of float64 leaves a row 1e-4 off, a thousandth of its load at most."""
    result = lcp.solve(lcp.LCP([[1e12 + 1, -1e12], [-1e12, 1e12 + 1]], [-0.75, -1.0]))
    result.raise_for_status()
    assert result.residual.natural_map > 1e-8
    np.testing.assert_allclose(result.z, 0.875, rtol=1e-3)


@pytest.mark.parametrize("kind", [lcp.ConcaveMinimization, lcp.CottleDantzig, lcp.Enumeration, lcp.Cascade])
@pytest.mark.parametrize("n", [1, 4])
def test_a_matrix_below_the_smallest_normal_number_ends_in_a_status(kind: type, n: int) -> None:
    """Its units exceed the largest number, so no least squares are computed."""
    for sign in (1.0, -1.0):
        problem = lcp.LCP(np.diag(np.full(n, sign * 5e-324)), np.full(n, -5e-324))
        result = lcp.solve(problem, kind())
        assert result.solved == lcp.residuals(problem, result.z).solved()


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
