"""Regularized, Fallback, Refined and the default cascade: attempts are listed, and the original data decide."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import lcp


@dataclass(frozen=True)
class Rounded:
    """A solver that is right to a few digits only."""

    digits: int = 4

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve and forget digits."""
        claim = lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)
        return lcp.Claim(np.round(claim.z, self.digits), lcp.Status.SOLVED, 1)


@dataclass(frozen=True)
class Fails:
    """A solver that never finds anything."""

    status: lcp.Status = lcp.Status.STALLED

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Give up."""
        return lcp.Claim(np.zeros(problem.n), self.status, 3, "gave up")


def definite(n: int, seed: int = 0) -> lcp.LCP:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return lcp.LCP(A @ A.T + np.eye(n), rng.standard_normal(n))


@dataclass(frozen=True)
class WantsDiagonal:
    """Lemke's method, but only where the diagonal of M is positive."""

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve, or give up at a zero on the diagonal."""
        if (np.diag(problem.M) <= 0.0).any():
            return lcp.Claim(np.zeros(problem.n), lcp.Status.SINGULAR_BASIS, 0)
        return lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace)


# Monotone with a zero diagonal; the one solution is (1, 2), under a shift s near (1 - 2 s, 2 - s).
SKEW = lcp.LCP([[0.0, 3.0], [-3.0, 0.0]], [-6.0, 3.0])


def test_regularized_solves_the_original_problem() -> None:
    """If the inner solver fails without a shift, it succeeds with one, and the result solves M itself."""
    assert lcp.solve(SKEW, WantsDiagonal()).status is lcp.Status.SINGULAR_BASIS
    result = lcp.solve(SKEW, lcp.Regularized(WantsDiagonal()))
    result.raise_for_status()
    assert result.regularization > 0.0
    assert lcp.residuals(SKEW, result.z).solved(1e-12)
    np.testing.assert_allclose(result.z, [1.0, 2.0], rtol=1e-12)
    assert lcp.solve(definite(4), lcp.Regularized(lcp.Lemke())).regularization == 0.0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_shifts_are_in_units_of_M(scale: float) -> None:
    """The same exponents work for any unit of M."""
    result = lcp.solve(lcp.LCP(scale * SKEW.M, SKEW.q), lcp.Regularized(WantsDiagonal(), exponents=(-10,)))
    assert result.solved
    assert result.regularization == pytest.approx(1e-10 * 3.0 * scale)


def test_regularized_without_polish_accepts_only_small_shifts() -> None:
    """A large shift changes the solution: unpolished it is refused on the original data."""
    assert lcp.solve(SKEW, lcp.Regularized(WantsDiagonal(), exponents=(-14,), polish=False)).solved
    coarse = lcp.solve(SKEW, lcp.Regularized(WantsDiagonal(), exponents=(-4,), polish=False))
    assert not coarse.solved
    assert coarse.residual.scaled > 1e-9


def test_regularized_never_trusts_the_shifted_problem() -> None:
    """Without a solution tiny shifts give vectors of size 1/shift: none of them passes."""
    for M, q in (
        ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]),
        (np.zeros((2, 2)), [-1.0, 0.0]),
        ([[2, 0], [2, 0]], [0, -2]),
    ):
        assert not lcp.solve(lcp.LCP(M, q), lcp.Regularized(lcp.Lemke())).solved


def test_regularized_heeds_its_limit_between_shifts() -> None:
    """After the limit no further shift is tried, as the detail reports; a solution found by then counts."""
    late = lcp.solve(lcp.LCP([[-1.0]], [-1.0]), lcp.Regularized(Fails(), time_limit=1e-9))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert late.iterations == 3  # one attempt
    assert late.attempts[0].detail == "time limit; no answer under 1 of 9 shifts"
    assert lcp.solve(lcp.LCP([[-1.0]], [-1.0]), lcp.Regularized(Fails())).iterations == 27
    assert lcp.solve(definite(4), lcp.Regularized(lcp.Lemke(), time_limit=1e-9)).solved


def test_refined_restores_the_digits() -> None:
    """A result right to four digits is polished to the last; a wrong one is unchanged."""
    problem = definite(8)
    assert lcp.solve(problem, Rounded()).status is lcp.Status.STALLED
    result = lcp.solve(problem, lcp.Refined(Rounded()))
    result.raise_for_status()
    np.testing.assert_allclose(result.z, lcp.solve(problem, lcp.Lemke()).z, rtol=1e-12, atol=1e-14)
    assert "polished" in result.attempts[0].detail
    assert not lcp.solve(lcp.LCP([[-1.0]], [-1.0]), lcp.Refined(Fails())).solved


def test_fallback_lists_every_attempt_with_its_own_verdict() -> None:
    """Claims are judged one by one; the result names the solver that gave z."""
    problem = definite(5)
    result = lcp.solve(problem, lcp.Fallback(Fails(), Rounded(), lcp.Lemke()))
    assert result.solved
    assert [type(a.solver).__name__ for a in result.attempts] == ["Fails", "Rounded", "Lemke"]
    assert [a.status.name for a in result.attempts] == ["STALLED", "STALLED", "SOLVED"]
    assert isinstance(result.solver, lcp.Lemke)
    assert result.attempts[1].residual.scaled > 1e-9
    assert result.iterations == sum(a.iterations for a in result.attempts)


def test_fallback_ends_at_an_answer_or_a_proof() -> None:
    """Nothing is tried after either; without both the first applicable solver's failure is reported."""
    assert len(lcp.solve(definite(3), lcp.Fallback(lcp.Lemke(), Fails())).attempts) == 1
    proof = lcp.solve(lcp.LCP([[-1.0]], [-1.0]), lcp.Fallback(lcp.Enumeration(), Fails()))
    assert proof.status is lcp.Status.INFEASIBLE
    assert len(proof.attempts) == 1
    failed = lcp.solve(
        lcp.LCP([[-1.0]], [-1.0]),
        lcp.Fallback(Fails(lcp.Status.UNSUITABLE), Fails(lcp.Status.RAY_TERMINATION), Fails()),
    )
    assert failed.status is lcp.Status.RAY_TERMINATION
    assert len(failed.attempts) == 3
    with pytest.raises(lcp.SolveError, match="gave up"):
        failed.raise_for_status()


def test_the_default_cascade_tells_its_steps() -> None:
    """Lemke where it succeeds; beyond that every step is on record."""
    assert [type(a.solver).__name__ for a in lcp.solve(definite(6)).attempts] == ["Lemke"]
    result = lcp.solve(lcp.LCP([[-0.4]], [-9.81]))
    assert result.status is lcp.Status.INFEASIBLE
    assert [type(a.solver).__name__ for a in result.attempts] == ["Lemke", "Feasibility"]
    assert [a.status for a in result.attempts][-1] is lcp.Status.INFEASIBLE
    assert lcp.default_solver() == lcp.default_solver()
